// Exports a class that the public headers do not mark: the checks of exports must find it.
namespace lsm::inline v0 {

class __attribute__((visibility("default"))) Snapshot {
 public:
  void Run();
};
void Snapshot::Run() {}

}  // namespace lsm
