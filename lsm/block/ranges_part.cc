#include "lsm/block/ranges_part.h"

#include <cassert>
#include <vector>

#include "lsm/block/block.h"
#include "lsm/block/block_entry.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr std::string_view kTooLarge = "the map takes too much memory";

// Describes what is wrong with a value; empty if nothing is.  Appends its sequences.
std::string_view TakeSequences(std::string_view value, std::vector<Sequence>* sequences) {
  uint32_t count = 0;
  if (!TakeVarint32(&value, &count)) return "a list of sequences is cut off";
  // Checked before they are read: each takes at least a byte there, and eight in memory.
  if (count > kRangesBytesMax / sizeof(Sequence)) return kTooLarge;
  Sequence sequence = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    if (!TakeVarint64(&value, &number)) return "a list of sequences is cut off";
    if (i == 0 && (number == 0 || number > kSequenceMax)) return "a sequence is impossible";
    if (i != 0 && (number == 0 || number >= sequence)) return "sequences do not descend";
    sequence = i == 0 ? number : sequence - number;
    sequences->push_back(sequence);
  }
  return value.empty() ? "" : "a list of sequences is too long";
}

// Checks what the map would take before it is made.
absl::Status CheckExtent(const Block& block, std::string_view path, uint64_t offset) {
  const uint64_t stored_bytes = block.bytes().size();
  const uint64_t key_bytes = block.Measure().key_bytes;
  // A block with a full key at every kIndexRestartInterval-th entry cannot hold more.
  if (key_bytes > kIndexRestartInterval * stored_bytes)
    return DamageAt(path, offset, "the keys of the range deletes share more than they can");
  if (stored_bytes > kRangesBytesMax || key_bytes > kRangesBytesMax) {
    return DamageAt(path, offset,
                    Concat("the range deletes take ", stored_bytes, " bytes, with keys in full ",
                           key_bytes, "; those of a table may take ", kRangesBytesMax));
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeRanges(const RangeMap& ranges) {
  assert(!ranges.empty());
  BlockBuilder block(kIndexRestartInterval);
  std::string value;
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch) {
    const size_t count = ranges.sequence_count(stretch);
    value.clear();
    AppendVarint32(&value, static_cast<uint32_t>(count));
    for (size_t i = 0; i < count; ++i) {
      const Sequence sequence = ranges.sequence(stretch, i);
      AppendVarint64(&value, i == 0 ? sequence : ranges.sequence(stretch, i - 1) - sequence);
    }
    block.Add(ranges.boundary(stretch), value);
  }
  return std::string(block.Finish());
}

absl::StatusOr<RangeMap> DecodeRanges(std::string_view bytes, std::string_view path,
                                      uint64_t offset) {
  const auto damage = [&](std::string_view problem) {
    return DamageAt(path, offset, Concat("range deletes: ", problem));
  };
  Block block;
  if (!block.Init(bytes)) return damage("the block is malformed");
  TRELLIS_RETURN_IF_ERROR(CheckExtent(block, path, offset));
  RangeMapBuilder builder;
  std::vector<Sequence> sequences;
  std::string key;
  uint64_t full_bytes = 0;
  const char* const limit = bytes.data() + block.entries_bytes();
  BlockEntry entry;
  // Not by BlockIterator, which refuses bounds after the longest key.
  for (const char* at = bytes.data(); at != limit; at = entry.end()) {
    const bool is_first = at == bytes.data();
    if (!ReadBlockEntry(at, limit, &entry) || entry.shared > key.size())
      return damage("an entry is malformed");
    if (entry.shared + entry.key_tail.size() > kTreeBoundBytesMax)
      return damage("a bound is longer than bounds may be");
    if (!is_first && entry.key_tail <= std::string_view(key).substr(entry.shared))
      return damage("bounds are out of order");
    key.resize(entry.shared);
    key.append(entry.key_tail);
    sequences.clear();
    const std::string_view problem = TakeSequences(entry.value, &sequences);
    if (!problem.empty()) return damage(problem);
    full_bytes += key.size() + kBoundaryBytes + sequences.size() * sizeof(Sequence);
    if (full_bytes > kRangesBytesMax) return damage(kTooLarge);
    if (builder.Joins(sequences)) {
      return damage(is_first ? "the first bound has no sequences"
                             : "neighbours have the same sequences");
    }
    builder.Add(key, sequences);
  }
  return builder.Finish();
}

}  // namespace lsm
