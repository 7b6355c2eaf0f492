#include "lsm/block/block.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

#include "lsm/base/key_head.h"
#include "lsm/block/block_entry.h"
#include "lsm/block/block_iterator.h"
#include "lsm/block/format.h"
#include "lsm/block/key_walk.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/shared_prefix.h"
#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kRestartBytes = sizeof(uint32_t);
// A suffix that no valid entry has, since its kind is invalid.
constexpr uint64_t kDamagedSuffix = 0xff;

class OwningBlockIterator final : public Iterator {
 public:
  OwningBlockIterator(const Block& block, bool internal_keys, std::string context)
      : context_(std::move(context)), position_(block, internal_keys) {}

  bool Valid() const override { return position_.Valid(); }
  void SeekToFirst() override { position_.SeekToFirst(); }
  void SeekToLast() override { position_.SeekToLast(); }
  void Seek(std::string_view target) override { position_.Seek(target); }
  void SeekForPrev(std::string_view target) override { position_.SeekForPrev(target); }
  void Next() override { position_.Next(); }
  void Prev() override { position_.Prev(); }
  std::string_view key() const override { return position_.key(); }
  std::string_view value() const override { return position_.value(); }
  absl::Status status() const override { return position_.status(context_); }

 private:
  const std::string context_;
  BlockIterator position_;
};

}  // namespace

const char* ReadLongLengths(const char* from, const char* limit, EntryLengths* lengths) {
  from = LoadVarint32(from, limit, &lengths->shared);
  if (from != nullptr) from = LoadVarint32(from, limit, &lengths->tail_bytes);
  if (from != nullptr) from = LoadVarint32(from, limit, &lengths->value_bytes);
  return from;
}

bool Block::Init(std::string_view bytes) {
  if (bytes.size() < 2 * kRestartBytes || bytes.size() > std::numeric_limits<uint32_t>::max())
    return false;
  const size_t body_bytes = bytes.size() - kRestartBytes;
  const uint32_t count = LoadFixed32(bytes.data() + body_bytes);
  if (count == 0 || count > body_bytes / kRestartBytes) return false;
  const auto restarts_offset = static_cast<uint32_t>(body_bytes - size_t{count} * kRestartBytes);
  // Checks that restarts ascend from 0 and lie within the entries, so that a search need not check
  // again.
  uint64_t least = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t offset = LoadFixed32(bytes.data() + restarts_offset + size_t{i} * kRestartBytes);
    if (offset < least || offset >= restarts_offset || (i == 0 && offset != 0)) return false;
    least = uint64_t{offset} + 1;
  }
  bytes_ = bytes;
  restarts_offset_ = restarts_offset;
  restart_count_ = count;
  return true;
}

// An entry at or before the key, and the state of the walk there.
struct Block::Start {
  uint32_t offset;
  KeyWalk walk;
};

std::optional<Block::Start> Block::StartAtRestart(std::string_view user_key) const {
  // The last restart before all versions of the key (or the first restart).
  uint32_t low = 0;
  uint32_t high = restart_count_ - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    BlockEntry entry;
    if (!ReadBlockEntry(bytes_.data() + restart_offset(middle), limit(), &entry) ||
        entry.shared != 0 || entry.key_tail.size() < kInternalKeySuffixBytes) {
      return std::nullopt;
    }
    if (UserKeyOf(entry.key_tail) < user_key) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return Start{restart_offset(low), KeyWalk(user_key)};
}

Block::Stretch Block::PrefetchStretch(std::string_view user_key, const Signposts& signposts) const {
  const uint64_t head = KeyHead(user_key, signposts.prefix_bytes);
  const size_t below = CountHeadsBelow(signposts.heads, signposts.count, head);
  const Stretch stretch = {below, below == 0 ? 0 : signposts.offsets[below - 1],
                           below < signposts.count ? signposts.offsets[below] : restarts_offset_};
  // Includes the cache line of the end, since the entry of the next signpost may itself be the
  // sought one.
  const char* const end = bytes_.data() + stretch.end;
  for (const char* line = bytes_.data() + stretch.begin; line < end; line += 64)
    __builtin_prefetch(line);
  __builtin_prefetch(end);
  return stretch;
}

void Block::PrefetchSeek(std::string_view user_key, const Signposts& signposts) const {
  if (signposts.count == 0 || user_key.size() < signposts.prefix_bytes) return;
  PrefetchStretch(user_key, signposts);
  __builtin_prefetch(bytes_.data());
  __builtin_prefetch(bytes_.data() + bytes_.size() - 1);  // the restarts
}

std::optional<Block::Stretch> Block::StretchFor(std::string_view user_key,
                                                const Signposts& signposts) const {
  const size_t prefix_bytes = signposts.prefix_bytes;
  if (signposts.count == 0 || user_key.size() < prefix_bytes) return std::nullopt;
  const Stretch stretch = PrefetchStretch(user_key, signposts);
  // The first entry has its whole key, including the prefix.
  BlockEntry first;
  if (!ReadBlockEntry(bytes_.data(), limit(), &first) || first.key_tail.size() < prefix_bytes ||
      SharedPrefixBytes(user_key, first.key_tail.substr(0, prefix_bytes)) < prefix_bytes) {
    return std::nullopt;
  }
  return stretch;
}

std::optional<Block::Start> Block::StartAtSignpost(std::string_view user_key,
                                                   const Signposts& signposts) const {
  const std::optional<Stretch> stretch = StretchFor(user_key, signposts);
  if (!stretch) return std::nullopt;
  const size_t below = stretch->below;
  if (below == 0) return Start{0, KeyWalk(user_key)};
  // The heads differ, so they tell in which byte the keys differ, unless that is padding after the
  // end of the entry's key.
  const size_t prefix_bytes = signposts.prefix_bytes;
  const uint64_t signpost_head = signposts.heads[below - 1];
  const int matched_bits = std::countl_zero(KeyHead(user_key, prefix_bytes) ^ signpost_head) & ~7;
  const auto differing_byte = static_cast<uint8_t>(signpost_head >> (56 - matched_bits));
  BlockEntry entry;
  if (differing_byte == 0 || !ReadBlockEntry(bytes_.data() + stretch->begin, limit(), &entry))
    return std::nullopt;
  return Start{static_cast<uint32_t>(entry.end() - bytes_.data()),
               KeyWalk(user_key, entry.shared + entry.key_tail.size(),
                       prefix_bytes + static_cast<size_t>(matched_bits) / 8, differing_byte)};
}

Block::Extent Block::Measure() const {
  Extent extent;
  const char* from = bytes_.data();
  const char* const limit = from + entries_bytes();
  BlockEntry entry;
  while (from != limit && ReadBlockEntry(from, limit, &entry)) {
    ++extent.entries;
    extent.key_bytes += entry.shared + entry.key_tail.size();
    from = entry.end();
  }
  return extent;
}

uint32_t Block::RestartBefore(uint32_t offset) const {
  uint32_t low = 0;
  uint32_t high = restart_count_ - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (restart_offset(middle) <= offset) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::optional<Block::Landing> Block::LandAt(std::string_view user_key,
                                            const Signposts& signposts) const {
  const std::optional<Start> start = StartAtSignpost(user_key, signposts);
  if (!start.has_value()) return std::nullopt;
  KeyWalk walk = start->walk;
  Landing landing;
  for (const char* at = bytes_.data() + start->offset; at < limit(); at = landing.entry.end()) {
    if (!ReadBlockEntry(at, limit(), &landing.entry)) return std::nullopt;
    const KeyWalk::Order order = walk.Advance(landing.entry);
    if (order == KeyWalk::Order::kBefore) continue;
    // In a sound block, the bytes that this entry shares with an entry before the sought key are
    // also bytes of the sought key.
    if (order == KeyWalk::Order::kDamaged || landing.entry.shared > walk.matched())
      return std::nullopt;
    landing.offset = static_cast<uint32_t>(at - bytes_.data());
    return landing;
  }
  return std::nullopt;
}

uint64_t Block::SharedSuffix(uint32_t offset) const {
  std::string key;
  BlockEntry entry;
  for (const char* at = bytes_.data() + restart_offset(RestartBefore(offset));
       at <= bytes_.data() + offset; at = entry.end()) {
    if (!ReadBlockEntry(at, limit(), &entry) || entry.shared > key.size()) return kDamagedSuffix;
    key.resize(entry.shared);
    key.append(entry.key_tail);
  }
  return key.size() < kInternalKeySuffixBytes ? kDamagedSuffix : SuffixOf(key);
}

Block::Answer Block::Find(const LookupKey& key, const Signposts& signposts, Hit* hit) const {
  std::optional<Start> start = StartAtSignpost(key.user_key(), signposts);
  if (!start.has_value()) start = StartAtRestart(key.user_key());
  if (!start.has_value()) return Answer::kDamaged;
  KeyWalk walk = start->walk;

  const uint64_t sought_suffix = SuffixOf(key.internal_key());
  uint64_t suffix = 0;
  bool suffix_known = false;  // suffix of the last entry of this user key
  BlockEntry entry;
  for (const char* at = bytes_.data() + start->offset; at < limit(); at = entry.end()) {
    if (!ReadBlockEntry(at, limit(), &entry)) return Answer::kDamaged;
    switch (walk.Advance(entry)) {
      case KeyWalk::Order::kBefore:
        continue;
      case KeyWalk::Order::kAfter:
        return Answer::kAbsent;
      case KeyWalk::Order::kDamaged:
        return Answer::kDamaged;
      case KeyWalk::Order::kSame:
        break;
    }
    if (entry.key_tail.size() >= kInternalKeySuffixBytes) [[likely]] {
      suffix = SuffixOf(entry.key_tail);
    } else if (suffix_known) {
      // The later of two versions of a key shares the beginning of its suffix with the one before.
      char bytes[kInternalKeySuffixBytes];
      StoreFixed64(bytes, suffix);
      entry.key_tail.copy(bytes + sizeof(bytes) - entry.key_tail.size(), entry.key_tail.size());
      suffix = LoadFixed64(bytes);
    } else {
      suffix = SharedSuffix(static_cast<uint32_t>(at - bytes_.data()));
    }
    suffix_known = true;
    if (!IsSoundEntry(suffix, entry.value.size())) return Answer::kDamaged;
    if (suffix > sought_suffix) {
      hit->skipped_newer = true;
      continue;
    }
    hit->value = entry.value;
    hit->suffix = suffix;
    return Answer::kFound;
  }
  return Answer::kPastTheEnd;
}

std::unique_ptr<Iterator> Block::NewIterator(bool internal_keys, std::string context) const {
  return std::make_unique<OwningBlockIterator>(*this, internal_keys, std::move(context));
}

BlockBuilder::BlockBuilder(int restart_interval) : restart_interval_(restart_interval) {
  assert(restart_interval >= 1);
}

void BlockBuilder::Add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (restarts_.empty() || since_restart_ >= restart_interval_) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  } else {
    shared = SharedPrefixBytes(last_key_, key);
  }
  // Reserves once, with room for the restarts: a growing string would hold a large value twice.
  const size_t needed_bytes =
      size_bytes_estimate() + 3 * kVarint32BytesMax + key.size() + value.size();
  if (needed_bytes > bytes_.capacity())
    bytes_.reserve(std::max(needed_bytes, 2 * bytes_.capacity()));
  // Appended together: each call of append takes about 40 instructions.
  char lengths[3 * kVarint64BytesMax];
  char* end = StoreVarint32(lengths, static_cast<uint32_t>(shared));
  end = StoreVarint32(end, static_cast<uint32_t>(key.size() - shared));
  end = StoreVarint32(end, static_cast<uint32_t>(value.size()));
  bytes_.append(lengths, static_cast<size_t>(end - lengths));
  bytes_.append(key.substr(shared));
  bytes_.append(value);
  last_key_.resize(shared);
  last_key_.append(key.substr(shared));
  ++since_restart_;
}

std::string_view BlockBuilder::Finish() {
  for (const uint32_t restart : restarts_) AppendFixed32(&bytes_, restart);
  AppendFixed32(&bytes_, static_cast<uint32_t>(restarts_.size()));
  restarts_.clear();
  return bytes_;
}

void BlockBuilder::Reset() {
  if (bytes_.size() > kLargeBlockBytesMin) GiveBackPages(bytes_.data(), bytes_.size());
  bytes_.clear();
  last_key_.clear();
  restarts_.clear();
  since_restart_ = 0;
}

}  // namespace lsm
