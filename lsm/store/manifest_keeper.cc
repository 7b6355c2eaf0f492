#include "lsm/store/manifest_keeper.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

absl::StatusOr<uint64_t> ManifestKeeper::Begin(ManifestState state,
                                               std::optional<std::string_view> expected_current,
                                               NewFiles* made) {
  const uint64_t number = NewFileNumber();
  state.next_file_number = next_file_number();
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ManifestWriter> writer,
                           CreateManifest(store_, number, state, expected_current, made));
  Adopt(std::move(writer));
  state_ = std::move(state);
  status_ = absl::OkStatus();
  return number;
}

absl::Status ManifestKeeper::Record(const VersionEdit& edit) {
  TRELLIS_RETURN_IF_ERROR(status_);
  absl::Status status;
  try {
    status = Write(edit);
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  if (!status.ok()) Fail(status);
  return status;
}

void ManifestKeeper::Fail(const absl::Status& status) {
  status_ = status;
  on_failure_(status);
}

absl::Status ManifestKeeper::Write(const VersionEdit& edit) {
  TRELLIS_RETURN_IF_ERROR(writer_->Append(edit));
  TRELLIS_RETURN_IF_ERROR(state_.Apply(edit, "the manifest being written", writer_->size_bytes()));
  return writer_->size_bytes() > bytes_max_ ? Rotate() : absl::OkStatus();
}

void ManifestKeeper::Adopt(std::unique_ptr<ManifestWriter> writer) {
  writer_ = std::move(writer);
  // The snapshot of a large store may be long itself, and must not be written again at each edit.
  bytes_max_ = std::max(kBytesMin, 2 * writer_->size_bytes());
}

absl::Status ManifestKeeper::Rotate() {
  const uint64_t old_number = writer_->number();
  const uint64_t number = NewFileNumber();
  state_.next_file_number = std::max(state_.next_file_number, number + 1);
  const std::string current = writer_->current_bytes();
  NewFiles made;
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ManifestWriter> next,
                           CreateManifest(store_, number, state_, current, &made));
  (void)writer_->Close();
  Adopt(std::move(next));
  (void)store_.directory->Remove(ManifestFileName(old_number));  // or at the next opening
  return absl::OkStatus();
}

}  // namespace lsm
