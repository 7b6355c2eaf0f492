#include "lsm/store/memtable_filler.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status CheckBatch(std::string_view encoded, KeyspaceRecords* keyspaces) {
  class Check : public EncodedBatch::Handler {
   public:
    Check(std::string_view batch, KeyspaceRecords* records) : batch_(batch), records_(*records) {}
    absl::Status Time(uint32_t) override {
      has_time_ = true;
      return absl::OkStatus();
    }
    absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view) override {
      if (has_time_ || !records_.AreTimed(keyspace)) [[likely]]
        return CheckKeyspace(keyspace, key);
      return DamageAt(
          "write batch", static_cast<uint64_t>(key.data() - batch_.data()),
          Concat("a put of keyspace ", keyspace, " needs a time, but the record has none"));
    }
    absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
      return CheckKeyspace(keyspace, key);
    }
    absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                             std::optional<std::string_view>) override {
      return CheckKeyspace(keyspace, from);
    }
    absl::Status Change(const KeyspaceChange& change, size_t at) override {
      const std::string problem = records_.Replay(change);
      return problem.empty() ? absl::OkStatus() : DamageAt("write batch", at, problem);
    }

   private:
    absl::Status CheckKeyspace(KeyspaceId keyspace, std::string_view key) const {
      if (keyspace == kDefaultKeyspace) return absl::OkStatus();
      if (keyspace < records_.next_id()) return absl::OkStatus();
      return DamageAt("write batch", static_cast<uint64_t>(key.data() - batch_.data()),
                      Concat("a key of keyspace ", keyspace, ", which was not created"));
    }

    const std::string_view batch_;
    KeyspaceRecords& records_;
    bool has_time_ = false;
  };
  Check check(encoded, keyspaces);
  return EncodedBatch::ForEach(encoded, &check);
}

class MemtableFiller::Handler : public EncodedBatch::Handler {
 public:
  Handler(MemtableFiller* filler, std::string_view payload, LogReader* log, OfKeyspace exists,
          OfKeyspace is_timed)
      : filler_(*filler),
        payload_(payload),
        log_(*log),
        exists_(exists),
        is_timed_(is_timed),
        next_(EncodedBatch::FirstSequenceOf(payload)) {}

  absl::Status Time(uint32_t seconds) override {
    time_ = seconds;
    return absl::OkStatus();
  }
  absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view value) override {
    // A put of an earlier time than the first limit may have none.
    if (!time_ || !is_timed_(keyspace)) [[likely]]
      return Add(keyspace, EntryKind::kPut, key, value);
    timed_value_.clear();
    AppendTimed(&timed_value_, *time_, value);
    return Add(keyspace, EntryKind::kTimedPut, key, timed_value_);
  }
  absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
    return Add(keyspace, EntryKind::kDelete, key, {});
  }
  absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    const Sequence sequence = next_++;
    if (!exists_(keyspace)) return absl::OkStatus();
    TRELLIS_RETURN_IF_ERROR(MakeRoom(from.data(), HeldRanges::MemoryOf(from, to)));
    filler_.ranges_.Add(keyspace, from, to, sequence);
    return absl::OkStatus();
  }
  absl::Status Change(const KeyspaceChange& change, size_t at) override {
    ++next_;
    TRELLIS_RETURN_IF_ERROR(MakeRoom(payload_.data() + at, change.name.size()));
    filler_.memtable_->AddChange(change);
    return absl::OkStatus();
  }

 private:
  absl::Status Add(KeyspaceId keyspace, EntryKind kind, std::string_view key,
                   std::string_view value) {
    const Sequence sequence = next_++;
    if (!exists_(keyspace)) return absl::OkStatus();
    TRELLIS_RETURN_IF_ERROR(MakeRoom(key.data(), key.size() + value.size()));
    filler_.memtable_->Add(keyspace, sequence, kind, key, value);
    return absl::OkStatus();
  }

  // For an entry of this size, which begins at about this byte of the payload.
  absl::Status MakeRoom(const char* at, size_t size_bytes) {
    std::shared_ptr<Memtable>& memtable = filler_.memtable_;
    // The rest of the record counts, too; but a memtable may always have half of the maximum.
    const size_t done = static_cast<size_t>(at - payload_.data());
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
  const OfKeyspace exists_, is_timed_;
  Sequence next_;
  std::optional<uint32_t> time_;  // of the record
  std::string timed_value_;       // of the last put that has a time
};

MemtableFiller::MemtableFiller(size_t memory_bytes_max, MemtableSink sink)
    : memory_bytes_max_(memory_bytes_max), sink_(std::move(sink)) {}

absl::Status MemtableFiller::MakeRoomForNext(LogReader* log) {
  const bool fits =
      memtable_ == nullptr || memory_bytes() + log->NextPayloadBytes() <= memory_bytes_max_;
  return fits ? absl::OkStatus() : HandOver();
}

absl::Status MemtableFiller::Add(std::string_view payload, LogReader* log, OfKeyspace exists,
                                 OfKeyspace is_timed) {
  Handler handler(this, payload, log, exists, is_timed);
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
