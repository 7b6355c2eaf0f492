// Stores whose checksums are right and whose contents contradict each other.
#ifndef TRELLIS_TESTS_LSM_STORE_STORE_FORGER_H_
#define TRELLIS_TESTS_LSM_STORE_STORE_FORGER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bloom/filter_policy.h"
#include "lsm/base/range_map.h"
#include "lsm/block/block.h"
#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/table.h"
#include "lsm/table/table_builder.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/table/table_ranges.h"

namespace lsm {

// Changes the files of a sound store that is not open.
class StoreForger {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;  // internal key, value

  StoreForger(MemoryFileSystem* files, std::string path)
      : files_(*files),
        path_(std::move(path)),
        directory_(files_.OpenDirectory(path_, /*create=*/false).value()) {}

  ManifestState State() const { return ReadManifest(*directory_).value().state; }

  // Replaces the manifest with a single edit, which is the sum of all edits after `change`.
  void ChangeManifest(const std::function<void(VersionEdit*)>& change) {
    const ManifestContents contents = ReadManifest(*directory_).value();
    VersionEdit edit = contents.state.ToSnapshot();
    change(&edit);
    directory_->Remove(contents.file_name).IgnoreError();
    std::unique_ptr<ManifestWriter> manifest =
        ManifestWriter::Create(*directory_, contents.current.manifest_number,
                               contents.current.manifest_file_id, edit, contents.current_bytes)
            .value();
    manifest->Close().IgnoreError();
  }

  void RemoveManifest() {
    const std::string name = ReadManifest(*directory_).value().file_name;
    directory_->Remove(name).IgnoreError();
  }
  void RemoveTable(uint64_t table) { directory_->Remove(TableFileName(table)).IgnoreError(); }

  void ChangeRecord(uint64_t table, const std::function<void(VersionEdit::Added*)>& change) {
    ChangeManifest([&](VersionEdit* edit) {
      for (VersionEdit::Added& added : edit->added) {
        if (added.table.number == table) change(&added);
      }
    });
  }

  // Also updates the table's size in the manifest.
  void ChangeProperties(uint64_t table,
                        const std::function<void(TableProperties*, Footer*)>& change) {
    const std::string path = PathOf(table);
    const std::string bytes = files_.FileBytes(path);
    std::unique_ptr<Table> open = Open(table);
    TableProperties properties = open->properties();
    Footer footer = open->footer();
    std::string file = bytes.substr(0, footer.properties.offset);
    change(&properties, &footer);
    const std::string encoded = properties.Encode();
    footer.properties = {file.size(), encoded.size()};
    std::string stored = encoded + '\0';  // not compressed
    AppendFixed64(&stored, Checksum(stored, footer.file_id, footer.properties.offset));
    file += stored;
    footer.file_bytes = file.size() + kFooterBytes;
    file += footer.Encode();
    files_.SetFileBytes(path, file);
    ChangeRecord(table, [&](VersionEdit::Added* added) { added->table.file_bytes = file.size(); });
  }

  RangeMap RangesOf(uint64_t table) const { return Open(table)->ranges(); }
  Footer FooterOf(uint64_t table) const { return Open(table)->footer(); }

  Entries EntriesOf(uint64_t table) const {
    Entries entries;
    const std::unique_ptr<Table> open = Open(table);
    const std::unique_ptr<Iterator> iterator = open->NewIterator({});
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      entries.emplace_back(iterator->key(), iterator->value());
    return entries;
  }

  // Writes the table again, with these entries in this order and these range deletes.  Updates its
  // properties and its record in the manifest.
  void SetEntries(uint64_t table, const Entries& entries, const RangeMap& ranges = {}) {
    TableBuildOptions build;
    {
      const std::unique_ptr<Table> open = Open(table);
      build.file_id = open->footer().file_id;
      build.level = open->properties().level;
      build.keyspace = static_cast<KeyspaceId>(open->properties().keyspace);
      build.digest_seed = *open->properties().digest_seed_and_hash();
    }
    build.block_bytes = 512;
    build.compression = Compression::kNone;
    build.filter_policy = bloom::PolicyFromName("blocked").value();
    directory_->Remove(TableFileName(table)).IgnoreError();
    TableBuilder builder(build, directory_->CreateExclusive(TableFileName(table)).value());
    for (const auto& [key, value] : entries) builder.Add(key, value);
    AddRanges(ranges, &builder);
    const TableSummary summary = builder.Finish().value();
    ChangeRecord(table, [&](VersionEdit::Added* added) {
      added->table.file_bytes = summary.file_bytes;
      added->table.entries = summary.properties.entries;
      added->table.dead = summary.properties.dead_entries();
      added->table.ranges = summary.ranges;
      added->table.smallest = summary.smallest;
      added->table.largest = summary.largest;
    });
  }

  // Writes the table again, without a filter, with its entries in these blocks.  The blocks may be
  // in any order, because the index has for each block the largest key so far.
  void SetBlocks(uint64_t table, const std::vector<Entries>& blocks) {
    TableProperties properties;
    Footer footer;
    {
      const std::unique_ptr<Table> open = Open(table);
      properties = open->properties();
      footer = open->footer();
    }
    std::string file = EncodeTableHeader(footer.file_id);
    const auto append = [&](const std::string& bytes) {
      const BlockHandle handle{file.size(), bytes.size()};
      std::string stored = bytes + '\0';  // not compressed
      AppendFixed64(&stored, Checksum(stored, footer.file_id, handle.offset));
      file += stored;
      return handle;
    };
    BlockBuilder index(kIndexRestartInterval);
    std::string fence;
    properties.uncompressed_data_bytes = 0;
    for (const Entries& entries : blocks) {
      BlockBuilder block(16);
      for (const auto& [key, value] : entries) {
        block.Add(key, value);
        fence = std::max(fence, std::string(UserKeyOf(key)));
      }
      const std::string bytes(block.Finish());
      properties.uncompressed_data_bytes += bytes.size();
      const BlockHandle handle = append(bytes);
      std::string place;
      AppendVarint64(&place, handle.offset);
      AppendVarint64(&place, handle.stored_bytes);
      index.Add(fence, place);
      fence += '0';
    }
    properties.data_bytes = file.size() - kTableHeaderBytes;
    properties.data_blocks = footer.data_blocks = blocks.size();
    const std::string index_bytes(index.Finish());
    footer.index = append(index_bytes);
    footer.filter = {};
    footer.index_partitions = 0;
    properties.index_bytes = index_bytes.size();
    properties.filter_bytes = properties.partitions = 0;
    properties.filter_kind = "none";
    footer.properties = append(properties.Encode());
    footer.file_bytes = file.size() + kFooterBytes;
    file += footer.Encode();
    files_.SetFileBytes(PathOf(table), file);
    ChangeRecord(table, [&](VersionEdit::Added* added) { added->table.file_bytes = file.size(); });
  }

  // Gives every entry of the table another sequence.
  void ChangeSequences(uint64_t table, const std::function<Sequence(Sequence)>& change) {
    Entries entries = EntriesOf(table);
    for (auto& [key, value] : entries) {
      ParsedKey parsed;
      ParseInternalKey(key, &parsed);
      std::string changed;
      AppendInternalKey(&changed, parsed.user_key, change(parsed.sequence), parsed.kind);
      key = changed;
    }
    SetEntries(table, entries);
  }

  std::string PathOf(uint64_t table) const { return Concat(path_, "/", TableFileName(table)); }

 private:
  std::unique_ptr<Table> Open(uint64_t table) const {
    return Table::Open(directory_->OpenRead(TableFileName(table), ReadMode::kBuffered).value(), {})
        .value();
  }

  MemoryFileSystem& files_;
  const std::string path_;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_STORE_STORE_FORGER_H_
