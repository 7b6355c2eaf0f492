#include "bloom/literature/digests_by_bit.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint32_t kHeadBits = 32;

}  // namespace

DigestsByBit::DigestsByBit(PackedArray heads, uint32_t probes, uint64_t seed)
    : heads_(std::move(heads)), probes_(probes), seed_(seed) {}

absl::StatusOr<DigestsByBit> DigestsByBit::Make(uint64_t bits, uint32_t probes, uint64_t seed) {
  if (bits == 0) return absl::InvalidArgumentError("bits must be positive");
  if (std::string problem = ProbesProblem({bits, probes}); !problem.empty())
    return absl::InvalidArgumentError(problem);
  TRELLIS_ASSIGN_OR_RETURN(PackedArray heads, PackedArray::Zeros(bits, kHeadBits));
  return DigestsByBit(std::move(heads), probes, seed);
}

absl::Status DigestsByBit::Reserve(uint64_t members) {
  if (members > kMostMembers) {
    return absl::ResourceExhaustedError(
        Concat(members, " digests are more than the ", kMostMembers, " that lists hold"));
  }
  try {
    digests_.reserve(members);
    is_key_.reserve(members);
    links_.reserve(members * probes_);
  } catch (const std::bad_alloc&) {
    return NoMemoryForDigests(members);
  }
  return absl::OkStatus();
}

uint32_t DigestsByBit::MemberOf(Digest digest) const {
  if (digests_.empty()) return kNone;
  const uint64_t bit = ProbesOf(digest).Next();
  uint32_t member = Head(bit);
  while (member != kNone && digests_[member - 1] != digest) member = links_[LinkAt(member, bit)];
  return member;
}

std::optional<DigestsByBit::Kind> DigestsByBit::Find(Digest digest) const {
  const uint32_t member = MemberOf(digest);
  if (member == kNone) return std::nullopt;
  return KindOf(member);
}

void DigestsByBit::SetKind(uint32_t member, Kind kind) {
  key_count_ += uint64_t{kind == Kind::kKey} - uint64_t{KindOf(member) == Kind::kKey};
  is_key_[member - 1] = kind == Kind::kKey;
}

bool DigestsByBit::Put(Digest digest, Kind kind) {
  const uint32_t member = MemberOf(digest);
  if (member == kNone) return PutNew(digest, kind);
  SetKind(member, kind);
  return true;
}

bool DigestsByBit::PutNew(Digest digest, Kind kind) {
  const size_t others = digests_.size();
  if (others >= kMostMembers) return false;
  try {
    links_.resize((others + 1) * probes_);
    is_key_.resize(others + 1);
    digests_.push_back(digest);  // last, so that after a failure the others have at most spare room
                                 // for the next member
  } catch (const std::bad_alloc&) {
    return false;
  }
  is_key_[others] = kind == Kind::kKey;
  key_count_ += kind == Kind::kKey;
  const auto member = static_cast<uint32_t>(others + 1);
  Probes probes = ProbesOf(digest);
  for (uint64_t link = others * probes_; link < links_.size(); ++link) {
    const uint64_t bit = probes.Next();
    links_[link] = Head(bit);  // to itself if an earlier probe met the bit; never followed
    heads_.Set(bit, member);
  }
  return true;
}

void DigestsByBit::Redirect(uint64_t bit, uint32_t member, uint32_t other) {
  uint32_t at = Head(bit);
  if (at == member) return heads_.Set(bit, other);
  for (;;) {
    uint32_t& link = links_[LinkAt(at, bit)];
    if (link == member) {
      link = other;
      return;
    }
    at = link;
  }
}

bool DigestsByBit::Remove(Digest digest) {
  const uint32_t member = MemberOf(digest);
  if (member == kNone) return false;
  RemoveMember(member);
  return true;
}

void DigestsByBit::RemoveAll(Kind kind) {
  // From last to first: the member that moves into a hole has been visited.
  for (auto member = static_cast<uint32_t>(digests_.size()); member != kNone; --member) {
    if (KindOf(member) == kind) RemoveMember(member);
  }
}

// The last member moves to the place of the removed one, so that no holes remain.
void DigestsByBit::RemoveMember(uint32_t member) {
  for (const uint64_t bit : BitsOf(member)) Redirect(bit, member, links_[LinkAt(member, bit)]);
  SetKind(member, Kind::kFalsePositive);
  const auto last = static_cast<uint32_t>(digests_.size());
  if (member != last) {
    for (const uint64_t bit : BitsOf(last)) Redirect(bit, last, member);
    digests_[member - 1] = digests_.back();
    is_key_[member - 1] = is_key_[last - 1];
    std::copy_n(links_.begin() + (last - 1) * int64_t{probes_}, probes_,
                links_.begin() + (member - 1) * int64_t{probes_});
  }
  digests_.pop_back();
  is_key_.resize(last - 1);
  links_.resize((last - 1) * uint64_t{probes_});
}

void DigestsByBit::Clear() {
  heads_.Clear();
  digests_.clear();
  is_key_.clear();
  links_.clear();
  key_count_ = 0;
}

std::vector<Digest> DigestsByBit::Sorted(Kind kind) const {
  std::vector<Digest> sorted;
  sorted.reserve(Count(kind));
  ForEach(kind, [&sorted](Digest digest) { sorted.push_back(digest); });
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

uint64_t DigestsByBit::size_bytes() const {
  return heads_.bytes().size() + digests_.size() * sizeof(Digest) + (is_key_.size() + 7) / 8 +
         links_.size() * sizeof(uint32_t);
}

}  // namespace bloom
