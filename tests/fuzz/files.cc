#include "tests/fuzz/files.h"

#include <lz4.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lsm/block/block.h"
#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/log/log_format.h"
#include "lsm/table/partitions.h"
#include "lsm/version/manifest.h"

namespace fuzz {
namespace {

using lsm::BlockHandle;

// --- tables ---

bool IsTable(std::string_view bytes) {
  return bytes.size() >= lsm::kTableHeaderBytes + lsm::kFooterBytes &&
         bytes.starts_with(lsm::kTableMagic);
}

bool Holds(std::string_view bytes, BlockHandle handle) {
  return handle.offset <= bytes.size() && handle.stored_bytes <= bytes.size() - handle.offset &&
         bytes.size() - handle.offset - handle.stored_bytes >= lsm::kBlockTrailerBytes;
}

std::vector<std::pair<std::string, BlockHandle>> ReadIndexEntries(std::string_view index) {
  std::vector<std::pair<std::string, BlockHandle>> entries;
  lsm::Block block;
  if (!block.Init(index)) return entries;
  const auto entry = block.NewIterator(/*internal_keys=*/false, "index");
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    std::string_view value = entry->value();
    BlockHandle handle;
    if (lsm::TakeVarint64(&value, &handle.offset) &&
        lsm::TakeVarint64(&value, &handle.stored_bytes))
      entries.emplace_back(entry->key(), handle);
  }
  return entries;
}

void RepairBlock(std::string& bytes, BlockHandle handle, uint64_t file_id) {
  if (!Holds(bytes, handle)) return;
  const std::string_view checked =
      std::string_view(bytes).substr(handle.offset, handle.stored_bytes + 1);
  lsm::StoreFixed64(&bytes[handle.offset + checked.size()],
                    lsm::Checksum(checked, file_id, handle.offset));
}

// Corrects an index block and the blocks that it points to.
void RepairIndex(std::string& bytes, BlockHandle handle, uint64_t file_id) {
  RepairBlock(bytes, handle, file_id);
  if (!Holds(bytes, handle)) return;
  const std::string index = bytes.substr(handle.offset, handle.stored_bytes);
  for (const auto& [key, data_block] : ReadIndexEntries(index))
    RepairBlock(bytes, data_block, file_id);
}

void RepairPartitions(std::string& bytes, BlockHandle top_level, uint64_t file_id) {
  RepairBlock(bytes, top_level, file_id);
  if (!Holds(bytes, top_level)) return;
  const std::string entries = bytes.substr(top_level.offset, top_level.stored_bytes);
  lsm::Block block;
  if (!block.Init(entries)) return;
  const auto at = block.NewIterator(/*internal_keys=*/false, "top level");
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    lsm::PartitionEntry entry;
    if (!lsm::PartitionEntry::Decode(at->value(), &entry)) continue;
    if (!entry.filter.is_null()) RepairBlock(bytes, entry.filter, file_id);
    RepairIndex(bytes, entry.index, file_id);
  }
}

// The block between index and properties.  Its place may be impossible.
BlockHandle RangesOf(const char* footer) {
  const uint64_t begin =
      lsm::LoadFixed64(footer + 16) + lsm::LoadFixed64(footer + 24) + lsm::kBlockTrailerBytes;
  return {begin, lsm::LoadFixed64(footer + 32) - lsm::kBlockTrailerBytes - begin};
}

void RepairTable(std::string& bytes) {
  const uint64_t file_id = lsm::LoadFixed64(&bytes[8]);
  bytes.replace(0, lsm::kTableHeaderBytes, lsm::EncodeTableHeader(file_id));
  const size_t footer_at = bytes.size() - lsm::kFooterBytes;
  char* const footer = &bytes[footer_at];
  const uint32_t version = lsm::LoadFixed32(footer + 80);
  const bool has_ranges = version == lsm::kTableVersionWithRanges;
  const bool in_partitions = version == lsm::kTableVersionPartitioned ||
                             (has_ranges && lsm::LoadFixed64(footer + 88) != 0);
  for (const size_t at : {0, 16, 32}) {
    const BlockHandle handle{lsm::LoadFixed64(footer + at), lsm::LoadFixed64(footer + at + 8)};
    if (handle.is_null()) continue;  // no filter
    if (at == 32 || (at == 0 && !in_partitions)) RepairBlock(bytes, handle, file_id);
    if (at == 16)
      in_partitions ? RepairPartitions(bytes, handle, file_id)
                    : RepairIndex(bytes, handle, file_id);
    if (at == 16 && has_ranges) RepairBlock(bytes, RangesOf(footer), file_id);
  }
  lsm::StoreFixed64(footer + 48, file_id);
  lsm::StoreFixed64(footer + 56, bytes.size());
  lsm::StoreFixed64(footer + 96, lsm::Checksum({footer, 96}, file_id, footer_at));
  std::copy(lsm::kTableMagic.begin(), lsm::kTableMagic.end(), footer + 104);
}

constexpr uint32_t kExpandedBytesMax = 1 << 20;

// Empty if `stored` cannot be expanded.
std::string Expanded(std::string_view stored) {
  uint32_t size_bytes = 0;
  if (!lsm::TakeVarint32(&stored, &size_bytes) || size_bytes > kExpandedBytesMax) return "";
  std::string bytes(size_bytes, '\0');
  const int expanded = LZ4_decompress_safe(
      stored.data(), bytes.data(), static_cast<int>(stored.size()), static_cast<int>(size_bytes));
  return expanded >= 0 && static_cast<uint32_t>(expanded) == size_bytes ? bytes : "";
}

std::string Compressed(std::string_view block) {
  std::string bytes;
  lsm::AppendVarint32(&bytes, static_cast<uint32_t>(block.size()));
  const size_t begin = bytes.size();
  const int room = LZ4_compressBound(static_cast<int>(block.size()));
  bytes.resize(begin + static_cast<size_t>(room));
  const int stored = LZ4_compress_default(block.data(), bytes.data() + begin,
                                          static_cast<int>(block.size()), room);
  bytes.resize(begin + static_cast<size_t>(std::max(stored, 0)));
  return bytes;
}

// The bytes of a part: the block's compression, then its stored bytes.
std::string StoredPart(std::string_view bytes, BlockHandle handle) {
  return std::string(1, bytes[handle.offset + handle.stored_bytes])
      .append(bytes.substr(handle.offset, handle.stored_bytes));
}

std::vector<Part> TakeTableApart(std::string_view bytes) {
  const auto footer = lsm::Footer::Decode(bytes.substr(bytes.size() - lsm::kFooterBytes),
                                          bytes.size(), "fuzzed table");
  if (!footer.ok() || !Holds(bytes, footer->index) || !Holds(bytes, footer->properties)) return {};
  if (footer->is_partitioned()) return {{'x', std::string(bytes)}};  // as it is
  std::vector<Part> parts;
  std::string numbers;
  lsm::AppendFixed64(&numbers, footer->file_id);
  lsm::AppendFixed64(&numbers, footer->entries);
  if (footer->needs_version_3) numbers.push_back('3');
  parts.push_back({'T', numbers});
  for (const auto& [key, handle] :
       ReadIndexEntries(bytes.substr(footer->index.offset, footer->index.stored_bytes))) {
    if (!Holds(bytes, handle)) return {};
    const std::string stored = StoredPart(bytes, handle);
    const std::string expanded =
        stored[0] == 1 ? Expanded(std::string_view(stored).substr(1)) : std::string();
    parts.push_back(expanded.empty() ? Part{'b', stored} : Part{'z', expanded});
    parts.push_back({'k', key});
  }
  if (!footer->filter.is_null()) {
    if (!Holds(bytes, footer->filter)) return {};
    parts.push_back({'f', StoredPart(bytes, footer->filter)});
  }
  if (!footer->ranges.is_null()) parts.push_back({'r', StoredPart(bytes, footer->ranges)});
  parts.push_back({'p', StoredPart(bytes, footer->properties)});
  return parts;
}

BlockHandle AppendBlock(std::string_view part, uint64_t file_id, std::string* file) {
  const char compression = part.empty() ? '\0' : part[0];
  const std::string_view stored = part.substr(std::min<size_t>(1, part.size()));
  const BlockHandle handle{file->size(), stored.size()};
  file->append(stored).append(1, compression).append(8, '\0');
  RepairBlock(*file, handle, file_id);
  return handle;
}

// Encodes an index as a table builder does, but accepts keys in any order.
std::string EncodeIndex(const std::vector<std::pair<std::string, BlockHandle>>& entries) {
  std::string bytes, before;
  std::vector<size_t> restarts;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [key, handle] = entries[i];
    size_t shared = 0;
    if (i % lsm::kIndexRestartInterval == 0) {
      restarts.push_back(bytes.size());
    } else {
      while (shared < std::min(before.size(), key.size()) && before[shared] == key[shared])
        ++shared;
    }
    std::string value;
    lsm::AppendVarint64(&value, handle.offset);
    lsm::AppendVarint64(&value, handle.stored_bytes);
    for (const size_t number : {shared, key.size() - shared, value.size()})
      lsm::AppendVarint32(&bytes, static_cast<uint32_t>(number));
    bytes.append(key, shared).append(value);
    before = key;
  }
  for (const size_t restart : restarts) lsm::AppendFixed32(&bytes, static_cast<uint32_t>(restart));
  lsm::AppendFixed32(&bytes, static_cast<uint32_t>(restarts.size()));
  return bytes;
}

uint64_t NumberAt(std::string_view bytes, size_t at) {
  return bytes.size() >= at + 8 ? lsm::LoadFixed64(bytes.data() + at) : 0;
}

// --- logs ---

bool IsLog(std::string_view bytes) {
  return bytes.size() >= lsm::kLogHeaderBytes && bytes.starts_with(lsm::kLogMagic);
}

// Decodes the header without checking it.
lsm::LogHeader RawLogHeader(std::string_view bytes) {
  lsm::LogHeader header;
  header.version = static_cast<uint16_t>(lsm::LoadFixed32(&bytes[8]));
  header.kind = static_cast<lsm::LogKind>(lsm::LoadFixed32(&bytes[10]) & 0xffff);
  header.file_id = lsm::LoadFixed64(&bytes[12]);
  header.reserved = lsm::LoadFixed32(&bytes[20]) & 0xffffff;
  return header;
}

struct RawRecord {
  uint64_t offset = 0;  // of its header
  uint64_t end = 0;
  lsm::RecordHeader header;
};

// Calls `visit` for each record, until a record would exceed the bytes.  Returns the end of the
// last record.
template <class Visit>
uint64_t ForEachRawRecord(std::string_view bytes, Visit visit) {
  uint64_t offset = lsm::kLogHeaderBytes;
  while (bytes.size() >= lsm::AfterTag(offset) + lsm::kRecordHeaderBytes) {
    RawRecord record;
    record.offset = lsm::AfterTag(offset);
    const char* const at = bytes.data() + record.offset;
    record.header.type = static_cast<lsm::RecordType>(at[4]);
    record.header.payload_bytes = lsm::LoadFixed32(at + 5);
    record.header.ordinal = lsm::LoadFixed32(at + 9);
    record.header.durable_offset = lsm::LoadFixed64(at + 13);
    record.end = lsm::RecordEnd(record.offset, record.header.payload_bytes);
    if (record.end > bytes.size()) break;
    visit(record);
    offset = record.end;
  }
  return offset;
}

// The pieces of a record's payload: `visit(offset of the chunk, bytes of the piece)`.
template <class Visit>
void ForEachChunk(const RawRecord& record, Visit visit) {
  uint64_t at = record.offset + lsm::kRecordHeaderBytes;
  for (uint64_t left = record.header.payload_bytes; left > 0;) {
    at = lsm::AfterTag(at);
    const size_t piece_bytes = lsm::ChunkPayloadBytes(at, left);
    visit(at, piece_bytes);
    at += piece_bytes + lsm::kChunkFramingBytes;
    left -= piece_bytes;
  }
}

// Stores the tags of the sectors that begin in [from, to).
void StoreTags(std::string* bytes, uint64_t file_id, uint64_t from, uint64_t to) {
  for (uint64_t at = (from + lsm::kSectorBytes - 1) / lsm::kSectorBytes * lsm::kSectorBytes;
       at < to; at += lsm::kSectorBytes)
    lsm::StoreSectorTag(bytes->data() + at, file_id, at);
}

void RepairLog(std::string& bytes) {
  const lsm::LogHeader header = RawLogHeader(bytes);
  lsm::StoreLogHeader(bytes.data(), header);
  uint64_t start = lsm::kLogHeaderBytes;
  ForEachRawRecord(bytes, [&](const RawRecord& record) {
    StoreTags(&bytes, header.file_id, start, record.end);
    start = record.end;
    lsm::StoreRecordHeader(&bytes[record.offset], record.header, header.file_id, record.offset);
    uint64_t end = record.offset + lsm::kRecordHeaderBytes;
    ForEachChunk(record, [&](uint64_t at, size_t piece_bytes) {
      const std::string piece = bytes.substr(at + 8, piece_bytes);
      lsm::StoreChunk(&bytes[at], piece, header.file_id, at);
      end = at + piece_bytes + lsm::kChunkFramingBytes;
    });
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(end),
              bytes.begin() + static_cast<ptrdiff_t>(record.end), '\0');
  });
}

std::vector<Part> TakeLogApart(std::string_view bytes) {
  std::vector<Part> parts = {{'L', std::string(bytes.substr(8, 15))}};
  const uint64_t end = ForEachRawRecord(bytes, [&](const RawRecord& record) {
    std::string part;
    lsm::AppendFixed64(&part, record.header.durable_offset);
    ForEachChunk(record, [&](uint64_t at, size_t piece_bytes) {
      part.append(bytes.substr(at + 8, piece_bytes));
    });
    parts.push_back({record.header.type == lsm::RecordType::kEnd ? 'e' : 'r', part});
  });
  if (end < bytes.size()) parts.push_back({'t', std::string(bytes.substr(end))});
  return parts;
}

std::string PutLogTogether(const std::vector<Part>& parts) {
  std::string file(lsm::kLogHeaderBytes, '\0');
  lsm::LogHeader header;
  for (const Part& part : parts) {
    if (part.kind != 'L') continue;
    std::string fields(lsm::kLogMagic);
    fields.append(part.bytes).resize(lsm::kLogHeaderBytes);
    header = RawLogHeader(fields);
  }
  lsm::StoreLogHeader(file.data(), header);
  uint32_t ordinal = 0;
  std::string tail;
  for (const Part& part : parts) {
    if (part.kind == 't') tail += part.bytes;
    if (part.kind != 'r' && part.kind != 'e') continue;
    RawRecord record;
    const uint64_t start = file.size();
    record.offset = lsm::AfterTag(start);
    record.header.type = part.kind == 'r' ? lsm::RecordType::kData : lsm::RecordType::kEnd;
    const std::string payload = part.bytes.substr(std::min<size_t>(8, part.bytes.size()));
    record.header.payload_bytes = static_cast<uint32_t>(payload.size());
    record.header.ordinal = ordinal++;
    // The synced length cannot exceed the existing bytes.
    record.header.durable_offset = std::min(NumberAt(part.bytes, 0), start);
    file.resize(lsm::RecordEnd(start, payload.size()), '\0');
    StoreTags(&file, header.file_id, start, file.size());
    lsm::StoreRecordHeader(&file[record.offset], record.header, header.file_id, record.offset);
    size_t from = 0;
    ForEachChunk(record, [&](uint64_t at, size_t piece_bytes) {
      lsm::StoreChunk(&file[at], std::string_view(payload).substr(from, piece_bytes),
                      header.file_id, at);
      from += piece_bytes;
    });
  }
  return file + tail;
}

// --- CURRENT ---

bool IsCurrent(std::string_view bytes) {
  return bytes.size() == lsm::kCurrentBytes && bytes.starts_with(lsm::kCurrentMagic);
}

void RepairCurrent(std::string& bytes) {
  constexpr size_t kChecked = lsm::kCurrentBytes - 8;
  lsm::StoreFixed64(&bytes[kChecked],
                    lsm::Checksum(std::string_view(bytes).substr(0, kChecked), 0, 0));
}

bool Has(const std::vector<Part>& parts, char kind) {
  return std::any_of(parts.begin(), parts.end(),
                     [kind](const Part& part) { return part.kind == kind; });
}

}  // namespace

void RepairFile(std::string& bytes) {
  if (IsTable(bytes)) RepairTable(bytes);
  if (IsLog(bytes)) RepairLog(bytes);
  if (IsCurrent(bytes)) RepairCurrent(bytes);
}

std::vector<Part> TakeFileApart(std::string_view bytes) {
  if (IsTable(bytes)) return TakeTableApart(bytes);
  if (IsLog(bytes)) return TakeLogApart(bytes);
  return {{IsCurrent(bytes) ? 'C' : 'x', std::string(bytes)}};
}

std::string PutTableTogether(const std::vector<Part>& parts) {
  lsm::Footer footer;
  std::string filter, ranges, properties;
  std::vector<std::string> data_blocks, keys;
  for (const Part& part : parts) {
    if (part.kind == 'T') footer.file_id = NumberAt(part.bytes, 0);
    if (part.kind == 'T') footer.entries = NumberAt(part.bytes, 8);
    if (part.kind == 'T') footer.needs_version_3 = part.bytes.size() > 16;
    if (part.kind == 'b') data_blocks.push_back(part.bytes);
    if (part.kind == 'z') data_blocks.push_back('\1' + Compressed(part.bytes));
    if (part.kind == 'k') keys.push_back(part.bytes);
    if (part.kind == 'f') filter = part.bytes;
    if (part.kind == 'r') ranges = part.bytes;
    if (part.kind == 'p') properties = part.bytes;
  }
  std::string file = lsm::EncodeTableHeader(footer.file_id);
  std::vector<std::pair<std::string, BlockHandle>> index;
  for (size_t i = 0; i < data_blocks.size(); ++i) {
    const BlockHandle handle = AppendBlock(data_blocks[i], footer.file_id, &file);
    if (i < keys.size()) index.emplace_back(keys[i], handle);
  }
  footer.data_blocks = index.size();
  if (!filter.empty()) footer.filter = AppendBlock(filter, footer.file_id, &file);
  const bool has_only_ranges = index.empty() && !ranges.empty();
  footer.index =
      AppendBlock(has_only_ranges ? "" : '\0' + EncodeIndex(index), footer.file_id, &file);
  if (!ranges.empty()) footer.ranges = AppendBlock(ranges, footer.file_id, &file);
  footer.properties = AppendBlock(properties, footer.file_id, &file);
  footer.file_bytes = file.size() + lsm::kFooterBytes;
  return file + footer.Encode();
}

std::string PutFileTogether(const std::vector<Part>& parts) {
  if (Has(parts, 'T')) {
    std::vector<Part> repaired = parts;
    for (Part& part : repaired) {
      if (part.kind != 'f' || part.bytes.empty()) continue;
      std::string filter = part.bytes.substr(1);
      RepairHeader(filter);
      part.bytes.replace(1, filter.size(), filter);
    }
    return PutTableTogether(repaired);
  }
  if (Has(parts, 'L')) return PutLogTogether(parts);
  std::string file;
  for (const Part& part : parts) {
    if (part.kind == 'C' || part.kind == 'x') file += part.bytes;
  }
  if (IsCurrent(file)) RepairCurrent(file);
  return file;
}

WordsAndFile SplitWords(std::string_view bytes) {
  WordsAndFile both;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view word = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (word.empty()) break;
    both.words.emplace_back(word);
  }
  both.file = bytes;
  return both;
}

std::string JoinWords(const WordsAndFile& both) {
  std::string bytes;
  for (std::string word : both.words) {
    std::replace(word.begin(), word.end(), '\n', ' ');
    if (!word.empty()) bytes += word + '\n';
  }
  return bytes + '\n' + both.file;
}

void RepairBehindWords(std::string& bytes) {
  WordsAndFile both = SplitWords(bytes);
  RepairFile(both.file);
  bytes.replace(bytes.size() - both.file.size(), both.file.size(), both.file);
}

std::vector<Part> TakeWordsAndFileApart(std::string_view bytes) {
  const WordsAndFile both = SplitWords(bytes);
  std::vector<Part> parts = TakeFileApart(both.file);
  if (parts.empty()) return {};
  std::vector<Part> all;
  for (const std::string& word : both.words) all.push_back({'a', word});
  for (Part& part : parts) all.push_back(std::move(part));
  return all;
}

std::string PutWordsAndFileTogether(const std::vector<Part>& parts) {
  WordsAndFile both;
  for (const Part& part : parts) {
    if (part.kind == 'a') both.words.push_back(part.bytes);
  }
  both.file = PutFileTogether(parts);
  return JoinWords(both);
}

}  // namespace fuzz
