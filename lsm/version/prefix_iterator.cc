#include "lsm/version/prefix_iterator.h"

#include <cassert>
#include <utility>

#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class PrefixIterator final : public InnerIterator {
 public:
  PrefixIterator(KeyspaceId keyspace, std::unique_ptr<InnerIterator> of_tree)
      : prefix_(CommonKeyOf(keyspace, "")),
        end_(CommonEndOf(keyspace)),
        of_tree_(std::move(of_tree)) {}

  bool Valid() const override { return is_here_; }
  std::string_view key() const override {
    assert(Valid());
    return of_tree_->key().substr(kKeyspacePrefixBytes);
  }
  std::string_view value() const override {
    assert(Valid());
    return of_tree_->value();
  }
  absl::Status status() const override { return of_tree_->status(); }

  void SeekToFirst() override {
    AssignNewest(prefix_);
    of_tree_->Seek(target_);
    Look();
  }
  void SeekToLast() override {
    if (!end_) {
      of_tree_->SeekToLast();
      return Look();
    }
    AssignNewest(*end_);
    of_tree_->SeekForPrev(target_);
    // The last possible sequence number has the key that was sought.
    while (of_tree_->Valid() && UserKeyOf(of_tree_->key()) >= *end_) of_tree_->Prev();
    Look();
  }
  void Seek(std::string_view target) override {
    AssignTarget(target);
    of_tree_->Seek(target_);
    Look();
  }
  void SeekForPrev(std::string_view target) override {
    AssignTarget(target);
    of_tree_->SeekForPrev(target_);
    Look();
  }
  void Next() override {
    assert(Valid());
    of_tree_->Next();
    Look();
  }
  void Prev() override {
    assert(Valid());
    of_tree_->Prev();
    Look();
  }
  void PrefetchSeek(std::string_view target, int step) override {
    AssignTarget(target);
    of_tree_->PrefetchSeek(target_, step);
  }

 private:
  // Each move ends with it.
  void Look() { is_here_ = of_tree_->Valid() && of_tree_->key().starts_with(prefix_); }
  void AssignTarget(std::string_view target) {
    target_.assign(prefix_);
    target_.append(target);
  }
  // The first internal key of the user key.
  void AssignNewest(std::string_view user_key) {
    target_.clear();
    AppendInternalKey(&target_, user_key, kSequenceMax, kEntryKindMax);
  }

  const std::string prefix_;
  const std::optional<std::string> end_;  // nullopt: no id is higher
  const std::unique_ptr<InnerIterator> of_tree_;
  std::string target_;
  bool is_here_ = false;
};

}  // namespace

std::unique_ptr<InnerIterator> NewPrefixIterator(KeyspaceId keyspace,
                                                 std::unique_ptr<InnerIterator> of_tree) {
  return std::make_unique<PrefixIterator>(keyspace, std::move(of_tree));
}

PrefixCover::PrefixCover(KeyspaceId keyspace, const RangeCover* of_tree)
    : prefix_(CommonKeyOf(keyspace, "")), of_tree_(*of_tree) {}

std::string_view PrefixCover::InTree(std::string_view internal_key) const {
  buffer_.assign(prefix_);
  buffer_.append(internal_key);
  return buffer_;
}

std::string_view PrefixCover::BeginHere(std::string_view tree_key) const {
  return tree_key.starts_with(prefix_) ? tree_key.substr(kKeyspacePrefixBytes) : "";
}

std::optional<std::string_view> PrefixCover::EndHere(
    std::optional<std::string_view> tree_key) const {
  if (!tree_key || !tree_key->starts_with(prefix_)) return std::nullopt;
  return tree_key->substr(kKeyspacePrefixBytes);
}

CoverStretch PrefixCover::StretchAt(std::string_view internal_key, Sequence at) const {
  CoverStretch found = of_tree_.StretchAt(InTree(internal_key), at);
  found.begin = BeginHere(found.begin);
  found.end = EndHere(found.end);
  return found;
}

// A key that says "nothing is passed" is a view of the buffer, and becomes one of the caller's key.
CoverEnds PrefixCover::EndsOfCover(std::string_view internal_key, Sequence at,
                                   uint64_t* walked) const {
  const std::string_view user_key = UserKeyOf(internal_key);
  CoverEnds ends = of_tree_.EndsOfCover(InTree(internal_key), at, walked);
  ends.of_older = EndHere(ends.of_older);
  ends.of_itself = EndHere(ends.of_itself);
  if (ends.of_older == user_key) ends.of_older = user_key;
  if (ends.of_itself == user_key) ends.of_itself = user_key;
  return ends;
}

CoverBegins PrefixCover::BeginsOfCover(std::string_view internal_key, Sequence at,
                                       uint64_t* walked) const {
  const std::string_view user_key = UserKeyOf(internal_key);
  CoverBegins begins = of_tree_.BeginsOfCover(InTree(internal_key), at, walked);
  begins.of_older = BeginHere(begins.of_older);
  begins.of_itself = BeginHere(begins.of_itself);
  if (begins.of_older == user_key) begins.of_older = user_key;
  if (begins.of_itself == user_key) begins.of_itself = user_key;
  return begins;
}

}  // namespace lsm
