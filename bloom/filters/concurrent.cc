#include "bloom/concurrent.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kWordsPerLine = kLineBits / 64;

constexpr uint64_t kClaimCount = 1024;
constexpr uint64_t kStateMask = kClaimCount - 1;  // the place tells these bits of the hash
constexpr uint64_t kBeingSet = 1;
constexpr uint64_t kSet = 2;

// Enough that threads rarely share a line, few enough to sum up.
constexpr uint64_t kCountLines = 16;
constexpr uint64_t kWordsPerCount = AlignedBytes::kAlignment / 8;

// Word i of memory that is accessed only by such references while it is shared.
std::atomic_ref<uint64_t> WordOf(const AlignedBytes& bytes, uint64_t i) {
  static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);
  // C++20 has no reference to a const word, not even for loads.
  return std::atomic_ref<uint64_t>(
      reinterpret_cast<uint64_t*>(const_cast<uint8_t*>(bytes.data()))[i]);
}

// Converts between a word in memory, whose first byte is the lowest, and a word in which bit p of a
// line is bit (p & 63) of word (p >> 6).
constexpr uint64_t InMemory(uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

uint64_t FirstWordOf(const Shape& shape, uint64_t hash) {
  return Blocked::LineOffset(shape, hash) / 8;
}

uint64_t ClaimPlace(uint64_t hash) { return hash & kStateMask; }
uint64_t ClaimOf(uint64_t hash, uint64_t state) { return (hash & ~kStateMask) | state; }

// Assigns the counts to threads in turn.
uint64_t MyCountLine() {
  static std::atomic<uint64_t> next{0};
  // Relaxed: the numbers only have to differ.
  thread_local const uint64_t mine = next.fetch_add(1, std::memory_order_relaxed) % kCountLines;
  return mine;
}

}  // namespace

// Memory orders of the bits: all accesses are relaxed, because nothing else is published through
// the bits.  All threads see one order of changes of a word.  So if a thread learnt of an addition
// by other means (which order memory), it cannot see a state of the word from before that addition.
struct ConcurrentFilter::LineMask {
  LineMask(const Shape& shape, uint64_t hash) : first_word(FirstWordOf(shape, hash)) {
    const uint64_t in_line = Blocked::InLine(hash);
    for (uint32_t i = 0; i < shape.probes; ++i) {
      const uint32_t position = Blocked::Position(in_line, i);
      words[position >> 6] |= InMemory(uint64_t{1} << (position & 63));
    }
  }

  uint64_t first_word;
  std::array<uint64_t, kWordsPerLine> words{};
};

absl::StatusOr<ConcurrentFilter> ConcurrentFilter::MakeFrom(StoredBits stored) {
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes claims, ZerosFor(kClaimCount * 8));
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes counts, ZerosFor((kCountLines + 1) * kWordsPerCount * 8));
  ConcurrentFilter filter(stored.header, std::move(stored.bits), std::move(claims),
                          std::move(counts));
  filter.CountMany(stored.header.key_count);
  filter.header_.key_count = 0;
  return filter;
}

absl::StatusOr<ConcurrentFilter> ConcurrentFilter::Make(uint64_t key_count, double target_fpp,
                                                        uint64_t seed) {
  TRELLIS_ASSIGN_OR_RETURN(const Shape shape, Blocked::ShapeFor(key_count, target_fpp));
  TRELLIS_ASSIGN_OR_RETURN(
      StoredBits stored,
      StoredBits::Zeros<Blocked>(shape, Blocked::PayloadBytes(shape), seed, target_fpp));
  return MakeFrom(std::move(stored));
}

absl::StatusOr<ConcurrentFilter> ConcurrentFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Load<Blocked>(bytes));
  return MakeFrom(std::move(stored));
}

void ConcurrentFilter::SetBitsOf(uint64_t hash) {
  const LineMask mask(header_.shape, hash);
  for (uint64_t i = 0; i < kWordsPerLine; ++i) {
    const std::atomic_ref<uint64_t> word = WordOf(bits_, mask.first_word + i);
    // The load first costs little, and leaves the line with other cores that read it.
    if ((mask.words[i] & ~word.load(std::memory_order_relaxed)) != 0) {
      word.fetch_or(mask.words[i], std::memory_order_relaxed);
    }
  }
}

bool ConcurrentFilter::HasBitsOf(uint64_t hash) const {
  const uint64_t first_word = FirstWordOf(header_.shape, hash);
  const uint64_t in_line = Blocked::InLine(hash);
  uint64_t all = 1;
  for (uint32_t i = 0; i < header_.shape.probes; ++i) {
    const uint32_t position = Blocked::Position(in_line, i);
    const uint64_t word =
        WordOf(bits_, first_word + (position >> 6)).load(std::memory_order_relaxed);
    all &= InMemory(word) >> (position & 63);
  }
  return (all & 1) != 0;
}

// Returns false if the bits are set, true if the caller must set them.
bool ConcurrentFilter::Claim(uint64_t hash) {
  const std::atomic_ref<uint64_t> claim = WordOf(claims_, ClaimPlace(hash));
  // Acquire, here and when a swap fails.  The thread that wrote this claim had seen the bits of all
  // earlier claims, and the thread that marked it as set had set the claim's own bits.  HasBitsOf
  // below must see all of these.
  uint64_t found = claim.load(std::memory_order_acquire);
  for (;;) {
    if ((found & kStateMask) == kBeingSet) SetBitsOf((found & ~kStateMask) | ClaimPlace(hash));
    if (HasBitsOf(hash)) return false;
    // Release: publishes what was seen and set above to the next thread that finds this claim.
    if (claim.compare_exchange_weak(found, ClaimOf(hash, kBeingSet), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return true;
    }
  }
}

void ConcurrentFilter::AddDigest(Digest digest) {
  SetBitsOf(Remix(digest, header_.seed));
  CountOne();
}

bool ConcurrentFilter::AddDigestIfAbsent(Digest digest) {
  const uint64_t hash = Remix(digest, header_.seed);
  if (HasBitsOf(hash) || !Claim(hash)) return false;
  SetBitsOf(hash);
  uint64_t mine = ClaimOf(hash, kBeingSet);
  // The next thread that finds this claim then need not set its bits.  Release: that thread relies
  // on the bits.  If the claim has been replaced by now, its owner has set the bits.
  WordOf(claims_, ClaimPlace(hash))
      .compare_exchange_strong(mine, ClaimOf(hash, kSet), std::memory_order_release,
                               std::memory_order_relaxed);
  CountOne();
  return true;
}

bool ConcurrentFilter::MayContainDigest(Digest digest) const {
  return HasBitsOf(Remix(digest, header_.seed));
}

absl::Status ConcurrentFilter::Merge(const ConcurrentFilter& other) {
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(header_, other.header_));
  for (uint64_t i = 0; i < bits_.size() / 8; ++i) {
    const uint64_t theirs = WordOf(other.bits_, i).load(std::memory_order_relaxed);
    if (theirs != 0) WordOf(bits_, i).fetch_or(theirs, std::memory_order_relaxed);
  }
  CountMany(other.added_count());
  return absl::OkStatus();
}

void ConcurrentFilter::Clear() {
  std::memset(bits_.data(), 0, bits_.size());
  // A remaining claim could occur a second time.
  std::memset(claims_.data(), 0, claims_.size());
  std::memset(counts_.data(), 0, counts_.size());
}

void ConcurrentFilter::CopyWords(uint64_t first, uint64_t count, uint8_t* to) const {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t word = WordOf(bits_, first + i).load(std::memory_order_relaxed);
    std::memcpy(to + 8 * i, &word, 8);
  }
}

std::string ConcurrentFilter::Serialize() const {
  FilterHeader header = header_;
  header.key_count = added_count();
  std::vector<uint8_t> copy(bits_.size());
  CopyWords(0, bits_.size() / 8, copy.data());
  return EncodeFilter(header, copy);
}

// Relaxed, also below: nothing else depends on the sum.
void ConcurrentFilter::CountOne() {
  WordOf(counts_, MyCountLine() * kWordsPerCount).fetch_add(1, std::memory_order_relaxed);
}

// Uses the line after those of the threads, so that single additions never overflow.
void ConcurrentFilter::CountMany(uint64_t additions) {
  const std::atomic_ref<uint64_t> word = WordOf(counts_, kCountLines * kWordsPerCount);
  uint64_t count = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(count, AddUpTo(UINT64_MAX, count, additions),
                                     std::memory_order_relaxed)) {
  }
}

uint64_t ConcurrentFilter::added_count() const {
  uint64_t sum = 0;
  for (uint64_t i = 0; i <= kCountLines; ++i) {
    sum = AddUpTo(UINT64_MAX, sum,
                  WordOf(counts_, i * kWordsPerCount).load(std::memory_order_relaxed));
  }
  return sum;
}

double ConcurrentFilter::CurrentFpp() const {
  constexpr uint64_t kLinesAtOnce = 256;
  alignas(AlignedBytes::kAlignment) std::array<uint8_t, kLinesAtOnce * Blocked::kLineBytes> copy;
  double sum = 0;
  for (uint64_t line = 0; line < header_.shape.size; line += kLinesAtOnce) {
    FilterView view{copy.data(), header_.shape, header_.seed};
    view.shape.size = std::min(header_.shape.size - line, kLinesAtOnce);
    CopyWords(line * kWordsPerLine, view.shape.size * kWordsPerLine, copy.data());
    sum += Blocked::CurrentFpp(view) * static_cast<double>(view.shape.size);
  }
  return sum / static_cast<double>(header_.shape.size);
}

uint64_t ConcurrentFilter::CountOnes() const {
  uint64_t ones = 0;
  for (uint64_t i = 0; i < bits_.size() / 8; ++i) {
    ones += static_cast<uint64_t>(std::popcount(WordOf(bits_, i).load(std::memory_order_relaxed)));
  }
  return ones;
}

double ConcurrentFilter::EstimatedKeyCount() const {
  const double fill = static_cast<double>(CountOnes()) / static_cast<double>(size_bits());
  return Blocked::KeyCountFromFill(header_.shape, fill);
}

}  // namespace bloom
