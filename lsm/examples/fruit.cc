// The program of the README: writes a batch, looks up a missing key, and shows which filter said
// no.
//
//   add_executable(fruit fruit.cc)
//   target_link_libraries(fruit PRIVATE Trellis::lsm)
#include <iostream>

#include "lsm/db.h"

int main() {
  auto opened = lsm::DB::Open("fruit.store", {.target_fpp = 0.001});
  if (!opened.ok()) return std::cerr << opened.status() << "\n", 1;
  lsm::DB& db = **opened;

  lsm::WriteBatch batch;
  batch.Put("apple", "red");
  batch.Put("cherry", "dark red");
  auto written = db.Write(batch, {.sync = true});  // both or neither, and on disk when it returns
  if (written.ok()) written = db.Flush();          // into a table that carries its filter

  auto banana = db.Get("banana");  // a status; then a value, or none
  if (!written.ok() || !banana.ok()) return std::cerr << written << banana.status() << "\n", 1;
  std::cout << "banana: " << banana->value_or("not found") << "\n";
  std::cout << db.Explain("banana")->ToText();  // which filter said no
}
