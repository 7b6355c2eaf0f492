// A data or index block, uncompressed: sorted entries with prefix compression, then the offsets of
// restarts.  lsm/FORMAT.md, section "Data blocks and the index block", draws them.
//
// At a restart offset `shared` is 0.  A seek is a binary search over the restarts, then a walk.
//
// The bytes are not trusted.  Every length is checked before use.  In a malformed block Init fails,
// or the iterator stops with DataLoss.
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

// A view of a block, whose bytes must outlive it.
class Block {
 public:
  Block() = default;

  // False if the restart array is impossible.
  bool Init(std::string_view bytes);

  // Copies the bytes to `to`, and returns the block there.
  Block CopiedTo(char* to) const {
    bytes_.copy(to, bytes_.size());
    Block copy = *this;
    copy.bytes_ = {to, bytes_.size()};
    return copy;
  }

  uint32_t restart_count() const { return restart_count_; }
  std::string_view bytes() const { return bytes_; }
  // End of the entries.
  uint32_t entries_bytes() const { return restarts_offset_; }
  // They ascend from 0, within the entries.  REQUIRES: i < restart_count().
  uint32_t restart_offset(uint32_t i) const {
    assert(i < restart_count_);
    return LoadFixed32(bytes_.data() + restarts_offset_ + size_t{i} * sizeof(uint32_t));
  }

  // Number of entries, and total size of their keys, written in full.  Makes no copies, and relies
  // on the entries' own lengths, up to the first unreadable entry.
  struct Extent {
    uint64_t entries = 0;
    uint64_t key_bytes = 0;
  };
  Extent Measure() const;

  // The last restart at or before the offset of an entry.
  uint32_t RestartBefore(uint32_t offset) const;

  // A point lookup in a data block, with internal keys: finds the first entry at or after `key`.
  enum class Answer : uint8_t {
    kFound,       // the entry has the same user key: `value` and `suffix` are set
    kAbsent,      // the entry has another user key
    kPastTheEnd,  // there is no such entry in this block
    kDamaged,
  };
  struct Hit {
    std::string_view value;  // in the block's bytes
    uint64_t suffix = 0;     // sequence and kind
    // Set for any answer except kDamaged: the block has a version of the key that is too new for
    // the lookup.
    bool skipped_newer = false;
  };
  Answer Find(const LookupKey& key, Hit* hit) const { return Find(key, Signposts(), hit); }
  // As above, using signposts made from this block.
  Answer Find(const LookupKey& key, const Signposts& signposts, Hit* hit) const;

  // Starts loading what a seek for the key reads, if it can begin at a signpost.
  void PrefetchSeek(std::string_view user_key, const Signposts& signposts) const;

  // The first entry at or after a user key, for a caller that continues from there.  The bytes that
  // the found key shares with the entry before it are also the first bytes of the user key that was
  // sought. nullopt if signposts cannot find it.
  struct Landing {
    uint32_t offset;
    BlockEntry entry;
  };
  std::optional<Landing> LandAt(std::string_view user_key, const Signposts& signposts) const;

  // Iterates over the entries with their keys as stored.  Compares them as internal keys if
  // `internal_keys`, otherwise by bytes.  `context` (file and offset) is part of error messages.
  std::unique_ptr<Iterator> NewIterator(bool internal_keys, std::string context) const;

 private:
  // Where a walk to the key may begin; nullopt if signposts cannot tell, or if the block is
  // damaged.
  struct Start;
  // The entries between two signposts.  The first entry at or after a key is among them, or right
  // after them.
  struct Stretch {
    size_t below;         // number of signposts before the key
    uint32_t begin, end;  // offsets
  };
  // Finds the stretch and starts loading it. nullopt if there are no signposts, or if the key does
  // not begin with the common prefix of the block.
  std::optional<Stretch> StretchFor(std::string_view user_key, const Signposts& signposts) const;
  // REQUIRES: there are signposts, and the key is at least as long as their prefix.
  Stretch PrefetchStretch(std::string_view user_key, const Signposts& signposts) const;
  std::optional<Start> StartAtSignpost(std::string_view user_key, const Signposts& signposts) const;
  std::optional<Start> StartAtRestart(std::string_view user_key) const;
  const char* limit() const { return bytes_.data() + restarts_offset_; }  // end of the entries
  // The suffix of the entry at `offset`, part of which the entry shares with the entry before it.
  uint64_t SharedSuffix(uint32_t offset) const;

  std::string_view bytes_;        // all of it
  uint32_t restarts_offset_ = 0;  // start of the restart array
  uint32_t restart_count_ = 0;
};

// Builds a block: (Add+ Finish Reset)*.
class BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval);

  // REQUIRES: the key is after all keys added since the last Finish.
  void Add(std::string_view key, std::string_view value);

  // The block's bytes, valid until the next call.
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
