// Exports a class that the public headers do not mark for export.  The checks of exports must find
// it.
namespace lsm::inline v0 {

class __attribute__((visibility("default"))) Snapshot {
 public:
  void Run();
};
void Snapshot::Run() {}

}  // namespace lsm
