// One data or index block, uncompressed: sorted entries with prefix compression.
//
//   entry    = varint32 shared | varint32 unshared | varint32 value length | key[shared..] | value
//   block    = entry* | fixed32 restart offset * r | fixed32 r
//
// At a restart offset `shared` is 0.  A seek is a binary search over the restarts, then a walk.
//
// The bytes are not trusted: every length is checked where it is used, and a block that does not
// hold what it says makes Init fail, or the iterator stop with DataLoss.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_H_
#define TRELLIS_LSM_BLOCK_BLOCK_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/block/block_entry.h"
#include "lsm/block/signposts.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// A view; the bytes must outlive it.
class Block {
 public:
  Block() = default;

  // False if the restart array cannot be.
  bool Init(std::string_view bytes);

  // The block in a copy of its bytes, which is made there.
  Block CopiedTo(char* to) const {
    bytes_.copy(to, bytes_.size());
    Block copy = *this;
    copy.bytes_ = {to, bytes_.size()};
    return copy;
  }

  uint32_t restart_count() const { return restart_count_; }
  std::string_view bytes() const { return bytes_; }
  // Where the entries end.
  uint32_t entries_bytes() const { return restarts_offset_; }
  // REQUIRES: i < restart_count().  From 0, ascending, and within the entries.
  uint32_t restart_offset(uint32_t i) const {
    assert(i < restart_count_);
    return LoadFixed32(bytes_.data() + restarts_offset_ + size_t{i} * sizeof(uint32_t));
  }

  // How many entries there are, and the bytes of their keys, each written out in full.  Makes no
  // copy, and believes what the entries say of themselves: up to the first that cannot be read.
  struct Extent {
    uint64_t entries = 0;
    uint64_t key_bytes = 0;
  };
  Extent Measure() const;

  // The last one at or before an entry's offset.
  uint32_t RestartBefore(uint32_t offset) const;

  // The point lookup in a data block, whose keys are internal ones: the first entry at or after
  // `key`.
  enum class Answer : uint8_t {
    kFound,       // that entry is of the same user key: `value` and `suffix` are set
    kAbsent,      // that entry is of another user key
    kPastTheEnd,  // there is no such entry in this block
    kDamaged,
  };
  struct Hit {
    std::string_view value;  // in the block's bytes
    uint64_t suffix = 0;     // sequence and kind
    // Whatever the answer (but kDamaged): the block has a version that is newer than what the
    // lookup may see.
    bool skipped_newer = false;
  };
  Answer Find(const LookupKey& key, Hit* hit) const { return Find(key, Signposts(), hit); }
  // The same with the help of signposts that were made of this block.
  Answer Find(const LookupKey& key, const Signposts& signposts, Hit* hit) const;

  // Begins to load what a seek for the key reads, if it begins at a signpost.
  void PrefetchSeek(std::string_view user_key, const Signposts& signposts) const;

  // The first entry at or after a user key, for a caller that goes on from there.  What its key
  // shares with the one before are the first bytes of the user key.  Nothing if it cannot be found
  // from signposts.
  struct Landing {
    uint32_t offset;
    BlockEntry entry;
  };
  std::optional<Landing> LandAt(std::string_view user_key, const Signposts& signposts) const;

  // Entries with their keys as they are; compares as internal keys if `internal_keys`, else by
  // bytes.  `context` (file and offset) stands in the message of an error.
  std::unique_ptr<Iterator> NewIterator(bool internal_keys, std::string context) const;

 private:
  // Where a walk to the key may begin: nothing if that cannot be told from signposts, or if the
  // block is damaged.
  struct Start;
  // The entries between two signposts among which the first one at or after a key is to be found,
  // or which stand right before it.
  struct Stretch {
    size_t below;         // so many signposts are before the key
    uint32_t begin, end;  // offsets
  };
  // Begins to load it; nothing if that cannot be told, for want of signposts or because the key
  // does not begin as all keys of the block do.
  std::optional<Stretch> StretchFor(std::string_view user_key, const Signposts& signposts) const;
  // REQUIRES: there are signposts, and the key is not shorter than their prefix.
  Stretch PrefetchStretch(std::string_view user_key, const Signposts& signposts) const;
  std::optional<Start> StartAtSignpost(std::string_view user_key, const Signposts& signposts) const;
  std::optional<Start> StartAtRestart(std::string_view user_key) const;
  const char* limit() const { return bytes_.data() + restarts_offset_; }  // of the entries
  // The suffix of the entry there, some of which is shared with the entry before.
  uint64_t SharedSuffix(uint32_t offset) const;

  std::string_view bytes_;        // all of it
  uint32_t restarts_offset_ = 0;  // where the restart array begins
  uint32_t restart_count_ = 0;
};

// Makes one.  Grammar: (Add+ Finish Reset)*.
class BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval);

  // REQUIRES: after all keys added since the last Finish.
  void Add(std::string_view key, std::string_view value);

  // The block's bytes, good until the next call.
  std::string_view Finish();
  void Reset();

  size_t size_bytes_estimate() const { return bytes_.size() + 4 * restarts_.size() + 4; }
  bool empty() const { return bytes_.empty(); }

 private:
  const int restart_interval_;
  std::string bytes_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
  int since_restart_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_H_
