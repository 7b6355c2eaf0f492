// Which keys have a probe at this bit?  The digests of keys and of known false positives, in one
// list for each bit of a standard filter: what a choice between bits has to know exactly.
//
//     heads, by bit            digests, by member        links, by member and probe
//     +-----------+            +-------------+           +-----------+-----------+--- - -
//   p | member, 0 |     1      | digest: u64 |         1 | next at   | next at   |  ...
//     | for none: |----------> +-------------+           | its 1st   | its 2nd   |
//     | u32       |     2      |             |         2 | bit: u32  | bit       |
//     +-----------+            +-------------+           +-----------+-----------+--- - -
//
// The list of bit p begins with member heads[p].  That one's probes are made again from its digest;
// the first of them that is p says which of its links leads on.  A member that meets a bit twice
// is in the list once, and leaves the other link unused.
//
// Keys and false positives share the lists, since a choice asks for both, and since it is the heads
// that take most of the memory: 4 bytes a bit, and 8 1/8 + 4 * probes bytes a member (as much again
// at most where the members grew one by one); at a false-positive probability of 0.01, with as many
// keys as planned, 38 and 36 bytes a key.
//
// To find a digest, and to add or remove it, takes the time to walk the lists of its bits: of one
// key or two, unless there are many more than the bits are meant for, or an attacker who
// knows the seed chose them to share a bit.
//
// Thread-safe while no thread changes it.  Movable, not copyable; what was moved from may only be
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

class DigestsByBit {
 public:
  // What a digest is of.
  enum class Kind : bool { kFalsePositive = false, kKey = true };

  // All that a link can tell apart.
  static constexpr uint64_t kMostMembers = UINT32_MAX;

  // Of no bits, with no lists.
  DigestsByBit() = default;
  // Empty lists for the positions of Probes(Remix(digest, seed), bits).  InvalidArgument for no
  // bits or more than 2^51, or other probes than 1 to kMaxProbes, ResourceExhausted without memory.
  static absl::StatusOr<DigestsByBit> Make(uint64_t bits, uint32_t probes, uint64_t seed);

  // Takes memory for as many members.  ResourceExhausted without that, or if there cannot be as
  // many.
  absl::Status Reserve(uint64_t members);

  std::optional<Kind> Find(Digest digest) const;
  // From now on `digest` is of that kind, whatever it was.  False if it is a new one, and there are
  // as many as can be, or there is no memory for it: nothing is changed then.
  bool Put(Digest digest, Kind kind);
  // The same for one that is known to be new.
  bool PutNew(Digest digest, Kind kind);
  // False if it is not there.
  bool Remove(Digest digest);
  void RemoveAll(Kind kind);
  // Forgets all members.
  void Clear();

  // Calls visit(digest, kind) once for each member that has a probe at `bit`.  REQUIRES: there is
  // such a bit.
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
  // Of that kind, ascending.
  std::vector<Digest> Sorted(Kind kind) const;

  // What the lists take, without what is left over from growing.
  uint64_t size_bytes() const;

 private:
  // Members are numbered from 1 on.
  static constexpr uint32_t kNone = 0;

  DigestsByBit(PackedArray heads, uint32_t probes, uint64_t seed);

  uint32_t Head(uint64_t bit) const { return static_cast<uint32_t>(heads_.Get(bit)); }
  Kind KindOf(uint32_t member) const { return Kind{bool{is_key_[member - 1]}}; }
  void SetKind(uint32_t member, Kind kind);
  Probes ProbesOf(Digest digest) const { return {Remix(digest, seed_), heads_.size()}; }
  DistinctProbes BitsOf(uint32_t member) const {
    return {Remix(digests_[member - 1], seed_), heads_.size(), probes_};
  }
  // Index of the link of a member to the next at `bit`.  REQUIRES: it has a probe there.
  uint64_t LinkAt(uint32_t member, uint64_t bit) const {
    uint64_t link = uint64_t{member - 1} * probes_;
    for (Probes probes = ProbesOf(digests_[member - 1]); probes.Next() != bit;) ++link;
    return link;
  }
  uint32_t MemberOf(Digest digest) const;
  void RemoveMember(uint32_t member);
  // Makes whatever leads to `member` in the list of `bit` lead to `other`.
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
