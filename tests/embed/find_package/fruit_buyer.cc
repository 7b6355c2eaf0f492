// Uses the library that the project in tests/embed/subdirectory exports.
bool ShopOpens(const char* path);

int main() { return ShopOpens("shop.store") ? 0 : 1; }
