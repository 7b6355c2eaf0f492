#include "lsm/object_pool.h"

#include <memory>
#include <string>
#include <utility>

namespace lsm::inline TRELLIS_ABI {
namespace {

class DoneWrite final : public PendingObjectWrite {
 public:
  explicit DoneWrite(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return std::move(status_); }

 private:
  absl::Status status_;
};

}  // namespace

PendingObjectWrite::~PendingObjectWrite() = default;
ObjectPool::~ObjectPool() = default;

std::string ObjectPool::Identity() const { return ""; }

std::unique_ptr<PendingObjectWrite> ObjectPool::StartWrite(const std::string& object,
                                                           const ObjectWrite& write) {
  return std::make_unique<DoneWrite>(Write(object, write));
}

void ObjectPool::ReadMany(std::span<ObjectReadRequest> requests) {
  for (ObjectReadRequest& request : requests) request.contents = Read(request.object, request.read);
}

absl::Status ObjectPool::List(const std::function<void(const std::string& object)>& /*visit*/) {
  return absl::UnimplementedError("this pool cannot list its objects");
}

}  // namespace lsm
