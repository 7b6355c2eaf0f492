#include "lsm/base/key_ranges.h"

#include <algorithm>
#include <cassert>

#include "lsm/base/shared_prefix.h"

namespace lsm {

KeyRanges::KeyRanges(std::span<const Range> ranges) {
  if (ranges.empty()) return;
  const std::string_view any = ranges.front().smallest;
  prefix_bytes_ = any.size();
  for (const Range& range : ranges) {
    assert(range.smallest <= range.largest);
    for (const std::string_view key : {range.smallest, range.largest})
      prefix_bytes_ = std::min(prefix_bytes_, SharedPrefixBytes(any, key));
  }
  heads_.reserve(ranges.size());
  ends_.reserve(2 * ranges.size() + 1);
  ends_.push_back(0);
  for (const Range& range : ranges) {
    heads_.push_back(
        {KeyHead(range.smallest, prefix_bytes_), KeyHead(range.largest, prefix_bytes_)});
    for (const std::string_view key : {range.smallest, range.largest}) {
      bytes_.append(key);
      ends_.push_back(bytes_.size());
    }
  }
}

}  // namespace lsm
