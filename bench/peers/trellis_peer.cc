#include <cstdio>

#include "bench/peers/peer.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"

namespace bench {
namespace {

class TrellisPeer : public Peer {
 public:
  std::string name() const override { return "Trellis"; }

  std::string details() const override {
    return lsm::BuildInfo() +
           "; LZ4; filter blocked, by target FPP; checksums verified on each read";
  }

  absl::Status Open(const std::string& directory, const PeerSettings& settings) override {
    lsm::Options options;
    LSM_RETURN_IF_ERROR(lsm::DB::Destroy(directory, options));
    options.mode = lsm::OpenMode::kMustNotExist;
    options.write_buffer_bytes = settings.write_buffer_bytes;
    options.block_cache_bytes = settings.block_cache_bytes;
    options.block_bytes = settings.block_bytes;
    // What both others have is like it: as fast, and as large.
    options.filter_kind = "blocked";
    options.target_fpp = settings.target_fpp;
    LSM_ASSIGN_OR_RETURN(db_, lsm::DB::Open(directory, options));
    return absl::OkStatus();
  }

  absl::Status Close() override {
    value_.Reset();
    db_.reset();
    return absl::OkStatus();
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return db_->Put(key, value);
  }

  absl::Status WaitUntilQuiet() override { return db_->WaitForBackgroundWork(); }

  absl::Status CompactAll() override { return db_->CompactRange(); }

  absl::Status Scan(uint64_t* entries) override {
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    *entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++*entries;
    return iterator->status();
  }

  Answer Get(std::string_view key, std::string_view* value) override {
    const absl::StatusOr<bool> found = db_->Get(key, &value_);
    if (!found.ok()) [[unlikely]] {
      error_ = found.status();
      return Answer::kError;
    }
    if (!*found) return Answer::kAbsent;
    *value = value_.view();
    return Answer::kFound;
  }

 private:
  std::unique_ptr<lsm::DB> db_;
  lsm::PinnedValue value_;
};

}  // namespace

std::unique_ptr<Peer> NewTrellisPeer() { return std::make_unique<TrellisPeer>(); }

}  // namespace bench
