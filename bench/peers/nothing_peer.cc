#include "bench/peers/nothing_peer.h"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace bench::peers {
namespace {

class NothingReader : public Reader {
 public:
  NothingReader(const Contents* contents, size_t kept) : contents_(*contents), kept_(kept) {
    answers_.reserve(kept);  // short values are stored inline, and views of them are returned
  }

  Answer Get(std::string_view key, std::string_view* value) override {
    if (answers_.size() < kept_) Record(key);
    const std::optional<std::string>& answer = answers_[at_];
    at_ = at_ + 1 == kept_ ? 0 : at_ + 1;
    if (!answer) return Answer::kAbsent;
    *value = *answer;
    return Answer::kFound;
  }

  absl::Status MultiGet(std::span<const std::string_view> keys,
                        std::vector<std::optional<std::string_view>>* values) override {
    values->clear();
    for (const std::string_view key : keys) {
      std::string_view value;
      const bool found = Get(key, &value) == Answer::kFound;
      values->push_back(found ? std::optional(value) : std::nullopt);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Cursor> NewCursor() override { return nullptr; }

 private:
  void Record(std::string_view key) {
    uint64_t digits = 0;
    std::from_chars(key.data(), key.data() + key.size(), digits);
    std::optional<std::string>& answer = answers_.emplace_back();
    if (digits % 2 == 0) contents_.Make(digits / 2, &answer.emplace());
  }

  const Contents& contents_;
  const size_t kept_;
  std::vector<std::optional<std::string>> answers_;
  size_t at_ = 0;
};

class NothingPeer : public Peer {
 public:
  NothingPeer(const Contents* contents, size_t kept) : contents_(contents), kept_(kept) {}

  std::string name() const override { return "nothing"; }
  std::string details() const override { return ""; }
  bool has_direct_reads() const override { return false; }
  bool has_multi_get() const override { return true; }
  absl::Status Open(const std::string&, const PeerSettings&, Begin) override { return {}; }
  absl::Status Close() override { return {}; }
  absl::Status Put(std::string_view, std::string_view value) override {
    asm volatile("" : : "r"(value.data()) : "memory");  // the value must be computed
    return {};
  }
  absl::Status Delete(std::string_view) override { return {}; }
  absl::Status WaitUntilQuiet() override { return {}; }
  absl::Status CompactAll() override { return {}; }
  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<NothingReader>(contents_, kept_);
  }
  std::optional<uint64_t> data_block_reads() override { return std::nullopt; }
  absl::StatusOr<PeerFigures> Figures() override { return PeerFigures{}; }

 private:
  const Contents* const contents_;
  const size_t kept_;
};

}  // namespace

std::unique_ptr<Peer> NewNothingPeer(const Contents* contents, size_t kept) {
  return std::make_unique<NothingPeer>(contents, kept);
}

}  // namespace bench::peers
