#include "lsm/compaction/common_output.h"

#include <cassert>

#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {

// The names, and then one list after the other.
class CommonOutput::Entries final : public InnerIterator {
 public:
  explicit Entries(const CommonOutput& output) : names_(output.names_), lists_(output.lists_) {}

  bool Valid() const override { return name_ != names_.end() || list_ < lists_.size(); }
  std::string_view key() const override { return name_ != names_.end() ? name_->first : key_; }
  std::string_view value() const override {
    return name_ != names_.end() ? std::string_view(name_->second) : entries_->value();
  }
  absl::Status status() const override { return status_; }

  void SeekToFirst() override {
    status_ = absl::OkStatus();
    name_ = names_.begin();
    list_ = 0;
    EnterList();
    Settle();
  }
  void Next() override {
    assert(Valid());
    if (name_ != names_.end()) {
      ++name_;
    } else {
      entries_->Next();
    }
    Settle();
  }

  // A flush has no use for these.
  void SeekToLast() override { assert(false); }
  void Seek(std::string_view) override { assert(false); }
  void SeekForPrev(std::string_view) override { assert(false); }
  void Prev() override { assert(false); }

 private:
  void EnterList() {
    if (list_ == lists_.size()) return;
    entries_ = lists_[list_].new_entries();
    entries_->SeekToFirst();
  }
  // Goes on to the next list at the end of one.
  void Settle() {
    if (name_ != names_.end()) return;
    for (; list_ < lists_.size(); EnterList()) {
      if (entries_->Valid()) {
        key_ = CommonKeyOf(lists_[list_].keyspace, entries_->key());
        return;
      }
      status_ = entries_->status();
      list_ = status_.ok() ? list_ + 1 : lists_.size();
    }
  }

  const std::map<std::string, std::string>& names_;
  const std::vector<List>& lists_;
  std::map<std::string, std::string>::const_iterator name_ = names_.end();
  size_t list_ = lists_.size();
  std::unique_ptr<InnerIterator> entries_;  // of the list
  std::string key_;                         // of the current entry, if that is no name
  absl::Status status_;
};

void CommonOutput::AddName(const KeyspaceRecord& record) {
  std::string key;
  AppendInternalKey(&key, NameKeyOf(record.id), sequence_, EntryKind::kPut);
  names_.emplace(std::move(key), EncodeName(record));
}

void CommonOutput::AddDropped(KeyspaceId keyspace) {
  std::string key;
  AppendInternalKey(&key, NameKeyOf(keyspace), sequence_, EntryKind::kDelete);
  names_.emplace(std::move(key), "");
}

void CommonOutput::AddList(KeyspaceId keyspace,
                           std::function<std::unique_ptr<InnerIterator>()> new_entries,
                           const RangeMap& ranges, uint64_t keys) {
  assert(lists_.empty() || lists_.back().keyspace < keyspace);
  lists_.push_back({keyspace, std::move(new_entries)});
  ranges_.push_back(InCommonTree(keyspace, ranges));
  keys_ += keys;
}

std::unique_ptr<InnerIterator> CommonOutput::NewEntries() const {
  return std::make_unique<Entries>(*this);
}

RangeMap CommonOutput::Ranges() const {
  std::vector<const RangeMap*> maps;
  maps.reserve(ranges_.size());
  for (const RangeMap& map : ranges_) maps.push_back(&map);
  RangeMap of_lists = RangeMap::Joined(maps);
  if (strays_.empty()) return of_lists;
  const RangeMap over_strays = RangesOverAll(strays_, sequence_);
  const RangeMap* const both[] = {&of_lists, &over_strays};
  return RangeMap::Merged(both);
}

}  // namespace lsm
