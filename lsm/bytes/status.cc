#include "lsm/bytes/status.h"

#include "absl/strings/cord.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Creates the status at the start of the program, before memory can run out.
[[maybe_unused]] const absl::Status& made_at_the_start = OutOfMemory();

constexpr char kDiskFullMark[] = "trellis/disk-full";

}  // namespace

const absl::Status& OutOfMemory() {
  static const absl::Status& status =
      *new absl::Status(absl::StatusCode::kResourceExhausted, "out of memory");
  return status;
}

absl::Status OutOfMemoryFor(std::string_view file) noexcept {
  return CatchOutOfMemory([&] { return WithContext(OutOfMemory(), file); });
}

absl::Status OutOfMemoryAt(std::string_view file, uint64_t offset) noexcept {
  return CatchOutOfMemory(
      [&] { return WithContext(OutOfMemory(), Concat(file, ": offset ", offset)); });
}

absl::Status DamageAt(std::string_view file, uint64_t offset, std::string_view what) {
  return absl::DataLossError(Concat(file, ": offset ", offset, ": ", what));
}

absl::Status WithContext(const absl::Status& status, std::string_view context) {
  return status.ok() ? status : WithCode(status.code(), status, context);
}

absl::Status WithCode(absl::StatusCode code, const absl::Status& status, std::string_view context) {
  absl::Status with_context(code, Concat(context, ": ", MessageOf(status)));
  status.ForEachPayload([&with_context](absl::string_view type, const absl::Cord& payload) {
    with_context.SetPayload(type, payload);
  });
  return with_context;
}

absl::Status WithMark(absl::StatusCode code, std::string_view message, const char* mark) {
  absl::Status status(code, absl::string_view(message.data(), message.size()));
  status.SetPayload(mark, absl::Cord());
  return status;
}

bool HasMark(const absl::Status& status, const char* mark) {
  return status.GetPayload(mark).has_value();
}

absl::Status DiskFull(std::string_view message) {
  return WithMark(absl::StatusCode::kResourceExhausted, message, kDiskFullMark);
}

bool IsDiskFull(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && HasMark(status, kDiskFullMark);
}

absl::Status AsDamage(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::DataLossError(status.message()) : status;
}

}  // namespace lsm
