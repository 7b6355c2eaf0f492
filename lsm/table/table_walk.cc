#include "lsm/table/table_walk.h"

#include <cassert>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/statusor.h"
#include "lsm/block/block.h"
#include "lsm/block/block_io.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status TableWalk::CheckPlace(size_t ordinal, std::string_view first) const {
  const uint64_t offset = table_.block_handle(ordinal).offset;
  const std::string_view user_key = UserKeyOf(first);
  if (ordinal > 0 && user_key < table_.block_fence(ordinal - 1)) {
    return DamageAt(
        table_.path(), offset,
        Concat("key ", QuotedKey(user_key), " is before the block's place in the index, ",
               QuotedKey(table_.block_fence(ordinal - 1))));
  }
  if (!last_.empty() && CompareInternalKeys(last_, first) >= 0) {
    return DamageAt(table_.path(), offset,
                    Concat("key ", QuotedKey(user_key), " is not after the one before it"));
  }
  return absl::OkStatus();
}

void TableWalk::WalkEntries(const Block& block, const EntryVisitor& visit, BlockFacts* facts) {
  const std::unique_ptr<Iterator> entry = block.NewIterator(
      /*internal_keys=*/true, Concat(table_.path(), ": offset ", facts->handle.offset));
  ParsedKey key;
  bool goes_on = true;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    // The iterator rejects other keys.
    const bool is_key = ParseInternalKey(entry->key(), &key);
    assert(is_key);
    (void)is_key;
    if (facts->entries == 0) {
      facts->first_key.assign(key.user_key);
      facts->status = CheckPlace(facts->ordinal, entry->key());
    }
    ++facts->entries;
    if (facts->status.ok()) goes_on = visit(key, entry->value());
    if (!goes_on) break;
  }
  if (facts->status.ok()) facts->status = entry->status();
  if (facts->entries == 0) return;
  // Keys may be long and entries many, so the last key is copied only once.  That requires finding
  // it again.
  if (!entry->Valid() && entry->status().ok()) {
    entry->SeekToLast();
  } else if (!entry->Valid()) {
    entry->SeekToFirst();
    for (uint64_t i = 1; i < facts->entries && entry->Valid(); ++i) entry->Next();
  }
  if (!entry->Valid()) return;
  facts->last_key.assign(UserKeyOf(entry->key()));
  if (facts->status.ok()) last_.assign(entry->key());
}

BlockFacts TableWalk::Walk(size_t ordinal, const EntryVisitor& visit) {
  try {
    return WalkUnguarded(ordinal, visit);
  } catch (const std::bad_alloc&) {
    last_.clear();
    BlockFacts facts;
    facts.ordinal = ordinal;
    facts.handle = table_.block_handle(ordinal);
    facts.status = OutOfMemoryAt(table_.path(), facts.handle.offset);
    return facts;
  }
}

BlockFacts TableWalk::WalkUnguarded(size_t ordinal, const EntryVisitor& visit) {
  BlockFacts facts;
  facts.ordinal = ordinal;
  facts.handle = table_.block_handle(ordinal);
  const auto fail = [&](absl::Status status) {
    last_.clear();
    facts.status = std::move(status);
    return facts;
  };
  BlockBuffer stored(facts.handle.stored_bytes + kBlockTrailerBytes);
  const absl::StatusOr<size_t> read_bytes =
      table_.file().ReadAt(facts.handle.offset, {stored.data(), stored.size()});
  if (!read_bytes.ok()) return fail(read_bytes.status());
  stored.Truncate(*read_bytes);
  const absl::StatusOr<Compression> compression =
      VerifyBlock(stored.view(), facts.handle, table_.footer().file_id, table_.path());
  if (!compression.ok()) return fail(compression.status());
  facts.compression = *compression;
  std::string_view bytes = stored.view().substr(0, facts.handle.stored_bytes);
  BlockRoom room;
  if (facts.compression == Compression::kLz4) {
    const absl::StatusOr<std::string_view> expanded =
        ExpandLz4(bytes, facts.handle.offset, table_.path(), &room);
    if (!expanded.ok()) return fail(expanded.status());
    bytes = *expanded;
  }
  facts.expanded_bytes = bytes.size();
  Block block;
  if (!block.Init(bytes)) {
    return fail(
        DamageAt(table_.path(), facts.handle.offset, "the block's restart points are impossible"));
  }
  facts.restarts = block.restart_count();
  WalkEntries(block, visit, &facts);
  if (!facts.status.ok()) last_.clear();
  return facts;
}

}  // namespace lsm
