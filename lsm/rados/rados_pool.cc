#include "lsm/rados/rados_pool.h"

#include <rados/librados.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "lsm/rados/rados_call.h"
#include "lsm/rados/rados_lock.h"
#include "lsm/rados/rados_operations.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using bloom::Concat;

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case ECANCELED:
      return absl::StatusCode::kAborted;
    case ENOSPC:
    case EDQUOT:
      return absl::StatusCode::kResourceExhausted;
    case ESHUTDOWN:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

std::string_view HintFor(int error) {
  switch (error) {
    case ECANCELED:
      return " (the object is not as expected)";
    case ENOSPC:
      return " (the pool or the cluster is full)";
    case EDQUOT:
      return " (the pool's quota)";
    case ESHUTDOWN:
      return " (the cluster evicted this client; to continue at once, destroy the DB and its file "
             "system, and call OpenRados again)";
    case EPERM:
      return " (the user lacks a right: lsm/rados/README.md has those that are needed)";
    default:
      return "";
  }
}

// `error` is a result of librados: below 0 after a failure.
absl::Status StatusOf(int error, std::string_view object, std::string_view call) {
  if (error >= 0) return absl::OkStatus();  // a read whose guards hold returns 1
  return absl::Status(CodeOf(-error),
                      Concat(object, ": ", call, ": ", RadosErrorText(-error), HintFor(-error)));
}

std::string TookTooLong(const RadosClient& client, std::string_view object, std::string_view call) {
  return Concat(object, ": ", call, ": no answer within ", client.give_up_after_millis(), " ms");
}

absl::Status Outcome(const RadosClient& client, std::optional<int> result, std::string_view object,
                     std::string_view call) {
  if (result) return StatusOf(*result, object, call);
  return absl::UnknownError(Concat(TookTooLong(client, object, call), "; it may be applied later"));
}

absl::Status CheckProcess(const RadosClient& client, std::string_view object) {
  if (client.process().IsThisOne()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(object, ": was opened by another process, of which this one is a forked child"));
}

// librados takes names of objects and attributes, and the start of a page of entries, up to their
// first zero byte.
template <typename Names>
absl::Status CheckNames(const std::string& object, const Names& names) {
  const auto has_zero = [](std::string_view name) { return name.find('\0') != name.npos; };
  if (!has_zero(object) && std::none_of(names.begin(), names.end(), has_zero))
    return absl::OkStatus();
  return absl::InvalidArgumentError(Concat(object, ": a name contains a zero byte"));
}

absl::Status CheckWrite(const RadosClient& client, const std::string& object,
                        const ObjectWrite& write) {
  TRELLIS_RETURN_IF_ERROR(CheckProcess(client, object));
  std::vector<std::string_view> names(write.remove_entries.begin(), write.remove_entries.end());
  for (const ObjectValues* values :
       {&write.attributes_equal, &write.attributes_below, &write.entries_equal,
        &write.set_attributes, &write.set_entries}) {
    for (const auto& [name, value] : *values) names.push_back(name);
  }
  return CheckNames(object, names);
}

absl::Status CheckRead(const RadosClient& client, const std::string& object,
                       const ObjectRead& read) {
  TRELLIS_RETURN_IF_ERROR(CheckProcess(client, object));
  std::vector<std::string_view> names(read.entries.begin(), read.entries.end());
  for (const auto& [name, value] : read.attributes_equal) names.push_back(name);
  if (read.entries_after) names.push_back(*read.entries_after);
  return CheckNames(object, names);
}

// Starts an operation that changes an object.  Without FULL_TRY it would wait until a full pool has
// space again.
RadosCall StartOperation(const RadosClient& client, const std::string& object,
                         rados_write_op_t op) {
  return RadosCall(client, nullptr, [&](rados_completion_t completion) {
    return rados_aio_write_op_operate(op, client.io(), completion, object.c_str(), nullptr,
                                      LIBRADOS_OPERATION_FULL_TRY);
  });
}

class PendingRadosWrite final : public PendingObjectWrite {
 public:
  PendingRadosWrite(const RadosClient& client, std::string object, rados_write_op_t op)
      : client_(client), object_(std::move(object)), call_(StartOperation(client, object_, op)) {}

  absl::Status Wait() override {
    TRELLIS_RETURN_IF_ERROR(CheckProcess(client_, object_));
    return Outcome(client_, call_.Wait(), object_, "write");
  }

 private:
  const RadosClient& client_;
  const std::string object_;
  RadosCall call_;
};

class RefusedWrite final : public PendingObjectWrite {
 public:
  explicit RefusedWrite(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return std::move(status_); }

 private:
  absl::Status status_;
};

// A read in flight.
class PendingRadosRead {
 public:
  PendingRadosRead(const RadosClient& client, const std::string& object, const ObjectRead& read)
      : client_(client),
        object_(object),
        output_(std::make_shared<RadosReadOutput>(read)),
        call_(client, output_, [&](rados_completion_t completion) {
          rados_read_op_t op = rados_create_read_op();
          output_->AddTo(op, read);
          const int error =
              rados_aio_read_op_operate(op, client.io(), completion, object_.c_str(), 0);
          rados_release_read_op(op);
          return error;
        }) {}

  absl::StatusOr<ObjectContents> Wait() {
    const std::optional<int> result = call_.Wait();
    if (!result) return absl::UnavailableError(TookTooLong(client_, object_, "read"));
    TRELLIS_RETURN_IF_ERROR(StatusOf(*result, object_, "read"));
    return output_->Take(object_);
  }

 private:
  const RadosClient& client_;
  const std::string object_;
  const std::shared_ptr<RadosReadOutput> output_;
  RadosCall call_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RadosPool>> RadosPool::Connect(const RadosOptions& options) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<RadosClient> client, RadosClient::Connect(options));
  return std::unique_ptr<RadosPool>(new RadosPool(std::move(client)));
}

absl::Status RadosPool::Write(const std::string& object, const ObjectWrite& write) {
  return StartWrite(object, write)->Wait();
}

std::unique_ptr<PendingObjectWrite> RadosPool::StartWrite(const std::string& object,
                                                          const ObjectWrite& write) {
  absl::Status status = CheckWrite(*client_, object, write);
  if (!status.ok()) return std::make_unique<RefusedWrite>(std::move(status));
  const RadosWriteOperation op;
  AddTo(op.get(), write);
  return std::make_unique<PendingRadosWrite>(*client_, object, op.get());
}

absl::StatusOr<ObjectContents> RadosPool::Read(const std::string& object, const ObjectRead& read) {
  TRELLIS_RETURN_IF_ERROR(CheckRead(*client_, object, read));
  return PendingRadosRead(*client_, object, read).Wait();
}

void RadosPool::ReadMany(std::span<ObjectReadRequest> requests) {
  std::vector<std::unique_ptr<PendingRadosRead>> reads(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    ObjectReadRequest& request = requests[i];
    const absl::Status status = CheckRead(*client_, request.object, request.read);
    if (!status.ok()) {
      request.contents = status;
    } else {
      reads[i] = std::make_unique<PendingRadosRead>(*client_, request.object, request.read);
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (reads[i] != nullptr) requests[i].contents = reads[i]->Wait();
  }
}

absl::Status RadosPool::CallLockClass(const std::string& object, const char* method,
                                      const std::string& request, int* error) {
  *error = 0;
  TRELLIS_RETURN_IF_ERROR(CheckProcess(*client_, object));
  TRELLIS_RETURN_IF_ERROR(CheckNames(object, std::vector<std::string_view>()));
  const RadosWriteOperation op;
  rados_write_op_assert_exists(op.get());
  rados_write_op_exec(op.get(), kRadosLockClass, method, request.data(), request.size(), nullptr);
  const std::optional<int> result = StartOperation(*client_, object, op.get()).Wait();
  if (result && *result < 0) *error = -*result;
  return Outcome(*client_, result, object, method);
}

absl::Status RadosPool::Lock(const std::string& object, const std::string& cookie,
                             uint64_t duration_nanos) {
  int error = 0;
  const std::string request =
      RadosLockRequest(cookie, RadosProcess::Name(), duration_nanos, /*must_renew=*/false);
  const absl::Status status = CallLockClass(object, "lock", request, &error);
  if (error == EBUSY || error == EEXIST)
    return absl::FailedPreconditionError(Concat(object, ": another holder has the lock"));
  return status;
}

absl::Status RadosPool::Renew(const std::string& object, const std::string& cookie,
                              uint64_t duration_nanos) {
  int error = 0;
  const std::string request =
      RadosLockRequest(cookie, RadosProcess::Name(), duration_nanos, /*must_renew=*/true);
  const absl::Status status = CallLockClass(object, "lock", request, &error);
  if (error == EBUSY || error == ENOENT)
    return absl::FailedPreconditionError(Concat(object, ": the lock is not held"));
  return status;
}

absl::Status RadosPool::Unlock(const std::string& object, const std::string& cookie) {
  int error = 0;
  const absl::Status status = CallLockClass(object, "unlock", RadosUnlockRequest(cookie), &error);
  return error == ENOENT ? absl::OkStatus() : status;
}

absl::Status RadosPool::List(const std::function<void(const std::string& object)>& visit) {
  constexpr std::string_view kPool = "the pool", kCall = "list objects";
  TRELLIS_RETURN_IF_ERROR(CheckProcess(*client_, kPool));
  rados_list_ctx_t opened = nullptr;
  TRELLIS_RETURN_IF_ERROR(StatusOf(rados_nobjects_list_open(client_->io(), &opened), kPool, kCall));
  const std::unique_ptr<void, void (*)(rados_list_ctx_t)> list(opened, rados_nobjects_list_close);
  for (;;) {
    const char* name = nullptr;
    const int error = rados_nobjects_list_next(list.get(), &name, nullptr, nullptr);
    if (error == -ENOENT) return absl::OkStatus();
    TRELLIS_RETURN_IF_ERROR(StatusOf(error, kPool, kCall));
    visit(name);
  }
}

}  // namespace lsm
