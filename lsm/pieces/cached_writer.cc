#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/status.h"
#include "lsm/pieces/cached_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class CachedWriter final : public AppendFile {
 public:
  CachedWriter(std::shared_ptr<PieceContext> context, uint64_t path_hash,
               std::unique_ptr<AppendFile> below)
      : context_(std::move(context)), path_hash_(path_hash), below_(std::move(below)) {}

  absl::Status Append(std::string_view bytes) override {
    const absl::Status status = below_->Append(bytes);
    Keep(status, [&] { Add(bytes); });
    return status;
  }
  absl::Status Allocate(uint64_t bytes) override {
    GiveUp();
    return below_->Allocate(bytes);
  }
  absl::Status Sync() override {
    const absl::Status status = below_->Sync();
    Keep(status, [&] { Commit(); });
    return status;
  }
  void StartWriteback() override { below_->StartWriteback(); }
  absl::Status Close() override { return below_->Close(); }
  uint64_t size_bytes() const override { return below_->size_bytes(); }
  const std::string& path() const override { return below_->path(); }

 private:
  PieceStore& store() { return context_->store; }

  // Does it if the call below succeeded; otherwise it is unknown which bytes the file has.
  template <typename Call>
  void Keep(const absl::Status& status, const Call& call) {
    if (has_given_up_) return;
    const absl::Status kept = CatchOutOfMemory([&] {
      if (status.ok() && store().is_usable()) call();
      return absl::OkStatus();
    });
    if (!status.ok() || !kept.ok()) GiveUp();
  }

  void GiveUp() {
    has_given_up_ = true;
    pieces_.clear();
    buffer_ = {};
    if (is_committed_ && store().is_usable()) store().Forget(path_hash_);
  }

  void Add(std::string_view bytes) {
    if (is_committed_ && !bytes.empty()) return GiveUp();  // the footer is not at the end any more
    while (!bytes.empty()) {
      const std::string_view some = bytes.substr(0, kPieceBytes - buffer_.size());
      buffer_.append(some);
      bytes.remove_prefix(some.size());
      if (buffer_.size() == kPieceBytes) StoreBuffer();
    }
  }

  // The buffer keeps the last bytes, of which the footer may be a part.
  void StoreBuffer() {
    if (std::optional<StoredPiece> piece = store().AddUnfinished(path_hash_, next_number_, buffer_))
      pieces_.push_back(*std::move(piece));
    ++next_number_;
    last_bytes_ = buffer_.substr(buffer_.size() - std::min(buffer_.size(), kFooterBytes));
    buffer_.clear();
  }

  void Commit() {
    if (is_committed_) return;
    const std::optional<TableIdentity> table =
        IdentityOf(path_hash_, last_bytes_ + buffer_, below_->size_bytes());
    if (!table) return;
    if (!buffer_.empty()) StoreBuffer();
    is_committed_ = true;
    store().Commit(*table, std::exchange(pieces_, {}));
  }

  const std::shared_ptr<PieceContext> context_;
  const uint64_t path_hash_;
  const std::unique_ptr<AppendFile> below_;
  bool has_given_up_ = false;
  bool is_committed_ = false;
  uint32_t next_number_ = 0;
  std::string buffer_;      // the bytes of the piece with that number
  std::string last_bytes_;  // before them: as many as a footer has
  std::vector<StoredPiece> pieces_;
};

}  // namespace

std::unique_ptr<AppendFile> NewCachedWriter(std::shared_ptr<PieceContext> context,
                                            uint64_t path_hash, std::unique_ptr<AppendFile> below) {
  return std::make_unique<CachedWriter>(std::move(context), path_hash, std::move(below));
}

}  // namespace lsm
