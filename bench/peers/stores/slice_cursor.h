// A cursor over a store with LevelDB's API (RocksDB too): same names, slices, statuses.
#ifndef TRELLIS_BENCH_PEERS_STORES_SLICE_CURSOR_H_
#define TRELLIS_BENCH_PEERS_STORES_SLICE_CURSOR_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "bench/peers/peer.h"

namespace bench::peers {

// `kToAbsl` turns the store's status into ours.
template <typename Iterator, auto kToAbsl>
class SliceCursor : public Cursor {
 public:
  explicit SliceCursor(Iterator* iterator) : iterator_(iterator) {}

  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(std::string_view key) override { iterator_->Seek({key.data(), key.size()}); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  bool Valid() override { return iterator_->Valid(); }
  std::string_view key() override {
    const auto slice = iterator_->key();
    return {slice.data(), slice.size()};
  }
  std::string_view value() override {
    const auto slice = iterator_->value();
    return {slice.data(), slice.size()};
  }
  absl::Status status() override { return kToAbsl(iterator_->status()); }

 private:
  const std::unique_ptr<Iterator> iterator_;
};

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_STORES_SLICE_CURSOR_H_
