#include "tools/sstdump/table_file.h"

#include <cassert>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block.h"
#include "lsm/table/block_io.h"
#include "tools/sstdump/layout.h"

namespace tools {
namespace {

using lsm::Concat;

absl::Status CheckSize(const std::string& path, std::string_view what,
                       const lsm::BlockHandle& handle, uint64_t bytes_max) {
  if (handle.stored_bytes <= bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(Concat(path, ": offset ", handle.offset, ": the ", what,
                                             " block has ", lsm::ReadableBytes(handle.stored_bytes),
                                             ", more than the ", lsm::ReadableBytes(bytes_max),
                                             " that sstdump loads"));
}

// What a footer that is otherwise sound would make Table::Open load.
absl::Status CheckSizes(const lsm::ReadFile& file) {
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(file);
  if (!footer.ok()) return absl::OkStatus();  // Table::Open says so better
  LSM_RETURN_IF_ERROR(CheckSize(file.path(), "filter", footer->filter, kFilterBytesMax));
  LSM_RETURN_IF_ERROR(CheckSize(file.path(), "index", footer->index, kIndexBytesMax));
  return CheckSize(file.path(), "properties", footer->properties, kPropertiesBytesMax);
}

}  // namespace

absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file) {
  LSM_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  if (file_bytes < lsm::kTableHeaderBytes + lsm::kFooterBytes)
    return lsm::DamageAt(file.path(), file_bytes, "the file is too short for a table");
  std::string bytes(lsm::kFooterBytes, '\0');
  LSM_ASSIGN_OR_RETURN(const size_t read_bytes,
                       file.ReadAt(file_bytes - lsm::kFooterBytes, {bytes.data(), bytes.size()}));
  if (read_bytes != bytes.size())
    return lsm::DamageAt(file.path(), file_bytes, "the file ends before its former end");
  return lsm::Footer::Decode(bytes, file_bytes, file.path());
}

absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, OpenTarget(target));
  LSM_RETURN_IF_ERROR(CheckSizes(*file));
  absl::StatusOr<std::unique_ptr<lsm::Table>> table = lsm::Table::Open(std::move(file), {});
  if (!table.ok()) return lsm::AsDamage(table.status());
  return table;
}

absl::Status TableWalk::CheckPlace(size_t ordinal, std::string_view first) const {
  const uint64_t offset = table_.block_handle(ordinal).offset;
  const std::string_view user_key = lsm::UserKeyOf(first);
  const auto quoted = [](std::string_view key) {
    return Concat("\"", lsm::Escape(key, kShownKeyBytes), "\"");
  };
  if (ordinal > 0 && user_key < table_.block_fence(ordinal - 1)) {
    return lsm::DamageAt(
        table_.path(), offset,
        Concat("key ", quoted(user_key), " is before the block's place in the index, ",
               quoted(table_.block_fence(ordinal - 1))));
  }
  if (!last_.empty() && lsm::CompareInternalKeys(last_, first) >= 0) {
    return lsm::DamageAt(table_.path(), offset,
                         Concat("key ", quoted(user_key), " is not after the one before it"));
  }
  return absl::OkStatus();
}

void TableWalk::WalkEntries(const lsm::Block& block, const EntryVisitor& visit, BlockFacts* facts) {
  const std::unique_ptr<lsm::Iterator> entry = block.NewIterator(
      /*internal_keys=*/true, Concat(table_.path(), ": offset ", facts->handle.offset));
  lsm::ParsedKey key;
  bool goes_on = true;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    // The iterator refuses others.
    const bool is_key = lsm::ParseInternalKey(entry->key(), &key);
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
  // Keys may be long and entries many, so the last one is copied once, which means to find it
  // again.
  if (!entry->Valid() && entry->status().ok()) {
    entry->SeekToLast();
  } else if (!entry->Valid()) {
    entry->SeekToFirst();
    for (uint64_t i = 1; i < facts->entries && entry->Valid(); ++i) entry->Next();
  }
  if (!entry->Valid()) return;
  facts->last_key.assign(lsm::UserKeyOf(entry->key()));
  if (facts->status.ok()) last_.assign(entry->key());
}

BlockFacts TableWalk::Walk(size_t ordinal, const EntryVisitor& visit) {
  BlockFacts facts;
  facts.ordinal = ordinal;
  facts.handle = table_.block_handle(ordinal);
  const auto fail = [&](absl::Status status) {
    last_.clear();
    facts.status = std::move(status);
    return facts;
  };
  lsm::BlockBuffer stored(facts.handle.stored_bytes + lsm::kBlockTrailerBytes);
  const absl::StatusOr<size_t> read_bytes =
      table_.file().ReadAt(facts.handle.offset, {stored.data(), stored.size()});
  if (!read_bytes.ok()) return fail(read_bytes.status());
  stored.Truncate(*read_bytes);
  const absl::StatusOr<lsm::Compression> compression =
      lsm::VerifyBlock(stored.view(), facts.handle, table_.footer().file_id, table_.path());
  if (!compression.ok()) return fail(compression.status());
  facts.compression = *compression;
  std::string_view bytes = stored.view().substr(0, facts.handle.stored_bytes);
  lsm::BlockBuffer expanded;
  if (facts.compression == lsm::Compression::kLz4) {
    absl::StatusOr<lsm::BlockBuffer> buffer =
        lsm::ExpandLz4(bytes, facts.handle.offset, table_.path());
    if (!buffer.ok()) return fail(buffer.status());
    expanded = *std::move(buffer);
    bytes = expanded.view();
  }
  facts.expanded_bytes = bytes.size();
  lsm::Block block;
  if (!block.Init(bytes)) {
    return fail(
        lsm::DamageAt(table_.path(), facts.handle.offset, "the block's restart points cannot be"));
  }
  facts.restarts = block.restart_count();
  WalkEntries(block, visit, &facts);
  if (!facts.status.ok()) last_.clear();
  return facts;
}

std::string UnknownFilterText(const lsm::Table& table) { return table.filter().Describe().problem; }

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key) {
  return bloom::DigestOf(user_key, table.properties().digest_seed);
}

const char* NameOf(lsm::FilterPresence presence) {
  switch (presence) {
    case lsm::FilterPresence::kUsable:
      return "usable";
    case lsm::FilterPresence::kAbsent:
      return "absent";
    case lsm::FilterPresence::kDamaged:
      return "damaged";
    case lsm::FilterPresence::kUnknown:
      return "unknown";
  }
  return "?";
}

}  // namespace tools
