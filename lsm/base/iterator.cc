#include "lsm/iterator.h"

#include <cassert>
#include <utility>

namespace lsm::inline TRELLIS_ABI {
namespace {

class EmptyIterator : public Iterator {
 public:
  explicit EmptyIterator(absl::Status status) : status_(std::move(status)) {}

  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override { assert(Valid()); }
  void Prev() override { assert(Valid()); }
  std::string_view key() const override { return assert(Valid()), std::string_view(); }
  std::string_view value() const override { return assert(Valid()), std::string_view(); }
  absl::Status status() const override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace

Iterator::~Iterator() = default;

std::unique_ptr<Iterator> NewEmptyIterator(absl::Status status) {
  return std::make_unique<EmptyIterator>(std::move(status));
}

std::optional<std::string> PrefixEnd(std::string_view prefix) {
  while (prefix.ends_with('\xff')) prefix.remove_suffix(1);
  if (prefix.empty()) return std::nullopt;
  std::string end(prefix);
  ++end.back();
  return end;
}

}  // namespace lsm
