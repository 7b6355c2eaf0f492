// Finds the keys that have a probe at a given bit.  Stores the digests of keys and of known false
// positives in one list for each bit of a standard filter.  RetouchedFilter chooses bits by it.
//
//     heads, by bit            digests, by member        links, by member and probe
//     +-----------+            +-------------+           +-----------+-----------+--- - -
//   p | member, 0 |     1      | digest: u64 |         1 | next at   | next at   |  ...
//     | for none: |----------> +-------------+           | its 1st   | its 2nd   |
//     | u32       |     2      |             |         2 | bit: u32  | bit       |
//     +-----------+            +-------------+           +-----------+-----------+--- - -
//
// The list of bit p begins with member heads[p].  The probes of a member are computed from its
// digest. If probe i is the first at bit p, link i of the member leads to the next member.  A
// member with several probes at a bit is in its list once, and leaves the other links unused.
//
// Keys and false positives share the lists, since a choice needs both, and since the heads take
// most of the memory.  Memory: 4 bytes per bit, and 8 1/8 + 4 * probes bytes per member (up to
// twice that if the members were added one by one).  With the planned number of keys at an FPP of
// 0.01 that is 38 and 36 bytes/key.
//
// Finding, adding or removing a digest walks the lists of its bits.  They have one or two members
// on average, unless there are far more members than the bits are planned for, or an attacker who
// knows the seed chose keys that share a bit.
//
// Thread-safe while no thread changes it.  Movable, not copyable; a moved-from object may only be
// assigned to or destroyed.
#ifndef TRELLIS_BLOOM_LITERATURE_DIGESTS_BY_BIT_H_
#define TRELLIS_BLOOM_LITERATURE_DIGESTS_BY_BIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/packed.h"
#include "bloom/core/probe.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API DigestsByBit {
 public:
  // The kind of a member.
  enum class Kind : bool { kFalsePositive = false, kKey = true };

  // Limit of a 32-bit link.
  static constexpr uint64_t kMostMembers = UINT32_MAX;

  // Has no bits and no lists.
  DigestsByBit() = default;
  // Makes empty lists for the positions of Probes(Remix(digest, seed), bits).  InvalidArgument for
  // no bits, more than 2^51 bits, or probes outside of 1 to kMaxProbes; ResourceExhausted without
  // memory.
  static absl::StatusOr<DigestsByBit> Make(uint64_t bits, uint32_t probes, uint64_t seed);

  // Reserves memory for that many members.  ResourceExhausted without memory, or if the number
  // exceeds the limit.
  absl::Status Reserve(uint64_t members);

  std::optional<Kind> Find(Digest digest) const;
  // Adds `digest` as a member of that kind, or changes the kind of an existing one.  Returns false,
  // and changes nothing, if a new member exceeds the limit or the memory.
  bool Put(Digest digest, Kind kind);
  // As Put, for a digest that is known to be new.
  bool PutNew(Digest digest, Kind kind);
  // Returns false if it is not a member.
  bool Remove(Digest digest);
  void RemoveAll(Kind kind);
  // Removes all members.
  void Clear();

  // Calls visit(digest, kind) once for each member that has a probe at `bit`.  REQUIRES: `bit`
  // exists.
  template <class Visit>
  void ForEachAt(uint64_t bit, Visit visit) const {
    for (uint32_t member = Head(bit); member != kNone; member = links_[LinkAt(member, bit)])
      visit(digests_[member - 1], KindOf(member));
  }

  // Calls visit(digest) once for each member of that kind.
  template <class Visit>
  void ForEach(Kind kind, Visit visit) const {
    for (size_t i = 0; i < digests_.size(); ++i) {
      if (is_key_[i] == (kind == Kind::kKey)) visit(digests_[i]);
    }
  }

  uint64_t Count(Kind kind) const {
    return kind == Kind::kKey ? key_count_ : digests_.size() - key_count_;
  }
  // Digests of that kind, ascending.
  std::vector<Digest> Sorted(Kind kind) const;

  // Memory of the lists, without spare capacity.
  uint64_t size_bytes() const;

 private:
  // Members are numbered from 1.
  static constexpr uint32_t kNone = 0;

  DigestsByBit(PackedArray heads, uint32_t probes, uint64_t seed);

  uint32_t Head(uint64_t bit) const { return static_cast<uint32_t>(heads_.Get(bit)); }
  Kind KindOf(uint32_t member) const { return Kind{bool{is_key_[member - 1]}}; }
  void SetKind(uint32_t member, Kind kind);
  Probes ProbesOf(Digest digest) const { return {Remix(digest, seed_), heads_.size()}; }
  DistinctProbes BitsOf(uint32_t member) const {
    return {Remix(digests_[member - 1], seed_), heads_.size(), probes_};
  }
  // Index of the link from a member to the next one at `bit`.  REQUIRES: the member has a probe
  // there.
  uint64_t LinkAt(uint32_t member, uint64_t bit) const {
    uint64_t link = uint64_t{member - 1} * probes_;
    for (Probes probes = ProbesOf(digests_[member - 1]); probes.Next() != bit;) ++link;
    return link;
  }
  uint32_t MemberOf(Digest digest) const;
  void RemoveMember(uint32_t member);
  // Makes the head or link that points to `member` in the list of `bit` point to `other`.
  void Redirect(uint64_t bit, uint32_t member, uint32_t other);

  PackedArray heads_;
  uint32_t probes_ = 0;
  uint64_t seed_ = 0;
  std::vector<Digest> digests_;
  std::vector<bool> is_key_;
  std::vector<uint32_t> links_;
  uint64_t key_count_ = 0;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_DIGESTS_BY_BIT_H_
