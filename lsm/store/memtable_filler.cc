#include "lsm/store/memtable_filler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status CheckBatch(std::string_view encoded) {
  class Check : public EncodedBatch::Handler {
   public:
    explicit Check(std::string_view batch) : batch_(batch) {}
    absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view) override {
      return CheckKeyspace(keyspace, key);
    }
    absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
      return CheckKeyspace(keyspace, key);
    }
    absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                             std::optional<std::string_view>) override {
      return CheckKeyspace(keyspace, from);
    }

   private:
    absl::Status CheckKeyspace(KeyspaceId keyspace, std::string_view key) const {
      if (keyspace == kDefaultKeyspace) return absl::OkStatus();
      return DamageAt("write batch", static_cast<uint64_t>(key.data() - batch_.data()),
                      Concat("a key of keyspace ", keyspace, ", which was not created"));
    }

    const std::string_view batch_;
  };
  Check check(encoded);
  return EncodedBatch::ForEach(encoded, &check);
}

class MemtableFiller::Handler : public EncodedBatch::Handler {
 public:
  Handler(MemtableFiller* filler, std::string_view payload, LogReader* log)
      : filler_(*filler),
        payload_(payload),
        log_(*log),
        next_(EncodedBatch::FirstSequenceOf(payload)) {}

  absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view value) override {
    return Add(keyspace, EntryKind::kPut, key, value);
  }
  absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
    return Add(keyspace, EntryKind::kDelete, key, {});
  }
  absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    TRELLIS_RETURN_IF_ERROR(MakeRoom(from, HeldRanges::MemoryOf(from, to)));
    filler_.ranges_.Add(keyspace, from, to, next_++);
    return absl::OkStatus();
  }

 private:
  absl::Status Add(KeyspaceId keyspace, EntryKind kind, std::string_view key,
                   std::string_view value) {
    TRELLIS_RETURN_IF_ERROR(MakeRoom(key, key.size() + value.size()));
    filler_.memtable_->Add(keyspace, next_++, kind, key, value);
    return absl::OkStatus();
  }

  // For an entry of this size, which begins at about `key`.
  absl::Status MakeRoom(std::string_view key, size_t size_bytes) {
    std::shared_ptr<Memtable>& memtable = filler_.memtable_;
    // The rest of the record counts, too; but a memtable may always have half of the maximum.
    const size_t done = static_cast<size_t>(key.data() - payload_.data());
    const size_t most = filler_.memory_bytes_max_;
    const size_t room = std::max(most / 2, most - std::min(most, payload_.size() - done));
    if (memtable != nullptr && filler_.memory_bytes() + size_bytes > room) {
      log_.GiveBackPayload(done);
      TRELLIS_RETURN_IF_ERROR(filler_.HandOver());
    }
    if (memtable == nullptr) memtable = std::make_shared<Memtable>();
    return absl::OkStatus();
  }

  MemtableFiller& filler_;
  const std::string_view payload_;
  LogReader& log_;
  Sequence next_;
};

MemtableFiller::MemtableFiller(size_t memory_bytes_max, MemtableSink sink)
    : memory_bytes_max_(memory_bytes_max), sink_(std::move(sink)) {}

absl::Status MemtableFiller::MakeRoomForNext(LogReader* log) {
  const bool fits =
      memtable_ == nullptr || memory_bytes() + log->NextPayloadBytes() <= memory_bytes_max_;
  return fits ? absl::OkStatus() : HandOver();
}

absl::Status MemtableFiller::Add(std::string_view payload, LogReader* log) {
  Handler handler(this, payload, log);
  TRELLIS_RETURN_IF_ERROR(EncodedBatch::ForEach(payload, &handler));
  log->GiveBackPayload(payload.size());
  return absl::OkStatus();
}

absl::Status MemtableFiller::HandOver() {
  if (memtable_ == nullptr) return absl::OkStatus();
  ranges_.MoveTo(memtable_.get());
  std::shared_ptr<Memtable> full = std::exchange(memtable_, nullptr);
  return full->empty() ? absl::OkStatus() : sink_(std::move(full));
}

}  // namespace lsm
