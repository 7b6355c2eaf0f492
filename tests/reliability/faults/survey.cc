#include "tests/reliability/faults/survey.h"

#include <memory>
#include <string_view>

#include "lsm/base/encoded_batch.h"
#include "lsm/block/block.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/limits.h"
#include "lsm/log/log_reader.h"
#include "lsm/table/table.h"
#include "lsm/version/common_keys.h"

namespace reliability {
namespace {

using lsm::EntryKind;
using lsm::FileKind;
using lsm::KeyspaceId;
using lsm::RangeMap;
using lsm::Sequence;
using Value = SurveyedKeyspace::Value;

class Survey {
 public:
  Survey(const Image& image, const Home& home) : image_(image), home_(home) {
    found_.keyspaces[lsm::kDefaultKeyspace];
  }

  // Notes the keyspaces of a manifest.  A reliable one decides which exist below its next id.
  void ReadManifest(const lsm::ManifestState& state, bool is_home) {
    const lsm::KeyspaceRecords& records = state.keyspaces;
    for (const auto& [id, record] : records.all()) {
      SurveyedKeyspace& keyspace = Of(id);
      keyspace.name.Note(0, record.name, is_home);
      keyspace.options.Note(state.last_sequence, {record.options, record.marks}, is_home);
      if (record.has_own_tree) NoteTree(id, is_home, /*has_left=*/true);
    }
    for (uint64_t id = lsm::kOtherKeyspaceMin; id < records.next_id(); ++id) {
      const auto dropped = static_cast<KeyspaceId>(id);
      if (!records.Has(dropped)) Of(dropped).name.Note(lsm::kSequenceMax, std::nullopt, is_home);
    }
  }

  Surveyed Take() {
    found_.next_id = home_.next_keyspace_id;
    const std::unique_ptr<lsm::MemoryFileSystem> files = image_.ToFiles();
    for (const auto& [path, bytes] : image_.files) {
      const std::optional<lsm::FileName> name =
          lsm::ParseFileName(path.substr(path.rfind('/') + 1));
      if (!name) continue;
      const auto open = [&, &file_path = path] { return OpenFileOf(*files, file_path); };
      if (!open().ok()) continue;
      if (name->kind == FileKind::kTable) ReadTable(name->number, open);
      if (name->kind == FileKind::kLog) ReadLog(name->number, *open());
    }
    Finish();
    return std::move(found_);
  }

 private:
  // An entry of the common tree.  Whether it is dead shows only when all files are read.
  struct CommonEntry {
    KeyspaceId id;
    std::string key;
    Sequence sequence;
    Value value;
    bool is_home;
  };

  SurveyedKeyspace& Of(KeyspaceId id) {
    if (is_home_) found_.next_id = std::max(found_.next_id, uint64_t{id} + 1);
    return found_.keyspaces[id];
  }

  // The manifest says all about the existence of this keyspace, except for a later drop.
  bool ManifestKnows(KeyspaceId id) const {
    return home_.manifest && id < home_.manifest->keyspaces.next_id();
  }

  void NoteTree(KeyspaceId id, bool is_home, bool has_left) {
    SurveyedKeyspace& keyspace = Of(id);
    keyspace.may_have_tree = true;
    keyspace.has_tree = keyspace.has_tree || is_home;
    keyspace.has_left = keyspace.has_left || (is_home && has_left);
  }

  void Note(KeyspaceId id, std::string_view key, Sequence sequence, Value value, bool is_home) {
    SurveyedKeyspace& keyspace = Of(id);
    keyspace.keys[std::string(key)].Note(sequence, std::move(value), is_home);
    keyspace.has_home_entries = keyspace.has_home_entries || is_home;
  }

  static bool IsAtHome(const std::map<uint64_t, uint64_t>& ids, uint64_t number, uint64_t id) {
    const auto place = ids.find(number);
    return place != ids.end() && place->second == id;
  }

  // The tree that a reliable manifest puts the table into.
  std::optional<KeyspaceId> RecordedTreeOf(uint64_t number) const {
    if (!home_.manifest) return std::nullopt;
    for (const auto& level : home_.manifest->levels) {
      if (const auto table = level.find(number); table != level.end())
        return table->second.keyspace;
    }
    return std::nullopt;
  }

  template <typename Open>
  void ReadTable(uint64_t number, const Open& open) {
    lsm::TableContext context;
    context.partitions_on_demand = true;
    context.opens_without_ranges = true;
    // If the id is known, no answer depends on the header.
    if (home_.table_ids.contains(number)) context.file_id = home_.table_ids.at(number);
    absl::StatusOr<std::unique_ptr<lsm::Table>> opened = lsm::Table::Open(*open(), context);
    if (!opened.ok()) {
      context.file_id.reset();
      opened = lsm::Table::Open(*open(), context);
    }
    if (!opened.ok()) return;
    const lsm::Table& table = **opened;
    const uint64_t stated = table.properties().keyspace;
    if (stated >= lsm::KeyspaceRecords::kIdEnd) return;
    tree_ = static_cast<KeyspaceId>(stated);
    is_home_ = IsAtHome(home_.table_ids, number, table.footer().file_id);
    if (is_home_) found_.next_id = std::max(found_.next_id, stated + 1);
    // Its keys would answer in another keyspace.
    if (is_home_ && RecordedTreeOf(number).value_or(tree_) != tree_) return;
    if (tree_ != lsm::kDefaultKeyspace && tree_ != lsm::kCommonTree)
      NoteTree(tree_, is_home_, /*has_left=*/false);
    auto& ranges = tree_ == lsm::kCommonTree ? common_ranges_ : Of(tree_).ranges;
    if (!table.ranges().empty()) ranges.emplace_back(table.ranges(), is_home_);
    for (size_t part = 0; part < table.index_part_count(); ++part) {
      const absl::StatusOr<lsm::IndexPart> index = table.ReadIndexPart(part);
      for (size_t i = index.ok() ? index->begin() : 0; index.ok() && i < index->end(); ++i)
        ReadBlock(table.ReadDataBlock(index->handle(i)));
    }
  }

  void ReadBlock(const absl::StatusOr<std::string>& bytes) {
    lsm::Block block;
    if (!bytes.ok() || !block.Init(*bytes)) return;
    const std::unique_ptr<lsm::Iterator> entry = block.NewIterator(/*internal_keys=*/true, "");
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
      lsm::ParsedKey key;
      if (ParseInternalKey(entry->key(), &key)) ReadEntry(key, entry->value());
    }
  }

  void ReadEntry(const lsm::ParsedKey& key, std::string_view stored) {
    std::string_view user_key = key.user_key;
    const bool is_common = tree_ == lsm::kCommonTree;
    if (is_common && user_key.size() < lsm::kKeyspacePrefixBytes) return;
    const KeyspaceId id = is_common ? lsm::KeyspaceOf(user_key) : tree_;
    if (is_common && id == lsm::kNamesInCommonTree) return ReadName(key, stored);
    if (is_common) user_key.remove_prefix(lsm::kKeyspacePrefixBytes);
    if (user_key.size() > lsm::kKeyBytesMax) return;
    Value value;
    if (key.kind != EntryKind::kDelete) value = lsm::ValueOf(key.kind, stored);
    if (!is_common) return Note(id, user_key, key.sequence, std::move(value), is_home_);
    Of(id);
    common_.push_back({id, std::string(user_key), key.sequence, std::move(value), is_home_});
  }

  void ReadName(const lsm::ParsedKey& key, std::string_view value) {
    if (key.user_key.size() != 2 * lsm::kKeyspacePrefixBytes) return;
    lsm::KeyspaceRecord record;
    record.id = lsm::KeyspaceOf(key.user_key.substr(lsm::kKeyspacePrefixBytes));
    SurveyedKeyspace& keyspace = Of(record.id);
    const bool counts = is_home_ && !ManifestKnows(record.id);
    if (key.kind == EntryKind::kDelete)
      return keyspace.name.Note(key.sequence, std::nullopt, counts);
    if (!lsm::DecodeName(value, &record).ok()) return;
    keyspace.name.Note(key.sequence, record.name, counts);
    keyspace.options.Note(key.sequence, {record.options, record.marks}, counts);
    if (record.has_own_tree) NoteTree(record.id, counts, /*has_left=*/true);
  }

  class Batch : public lsm::EncodedBatch::Handler {
   public:
    Batch(Survey* survey, Sequence first) : survey_(*survey), next_(first) {}
    absl::Status Put(KeyspaceId id, std::string_view key, std::string_view value) override {
      survey_.Note(id, key, next_++, Value(value), survey_.is_home_);
      return absl::OkStatus();
    }
    absl::Status Delete(KeyspaceId id, std::string_view key) override {
      survey_.Note(id, key, next_++, std::nullopt, survey_.is_home_);
      return absl::OkStatus();
    }
    absl::Status DeleteRange(KeyspaceId id, std::string_view from,
                             std::optional<std::string_view> to) override {
      const lsm::RangeDelete range = {from, to, next_++};
      SurveyedKeyspace& keyspace = survey_.Of(id);
      keyspace.ranges.emplace_back(RangeMap::Of({&range, 1}), survey_.is_home_);
      keyspace.has_home_entries = keyspace.has_home_entries || survey_.is_home_;
      return absl::OkStatus();
    }
    absl::Status Change(const lsm::KeyspaceChange& change, size_t) override {
      survey_.ReadChange(change, next_++);
      return absl::OkStatus();
    }
    absl::Status Time(uint32_t) override { return absl::OkStatus(); }

   private:
    Survey& survey_;
    Sequence next_;
  };

  void ReadChange(const lsm::KeyspaceChange& change, Sequence sequence) {
    using Kind = lsm::KeyspaceChange::Kind;
    SurveyedKeyspace& keyspace = Of(change.id);
    if (change.kind == Kind::kDropped) return keyspace.name.Note(sequence, std::nullopt, is_home_);
    const bool creates = change.kind == Kind::kCreated;
    const bool counts = is_home_ && !(creates && ManifestKnows(change.id));
    keyspace.options.Note(sequence, {change.options, change.marks}, counts);
    if (creates) keyspace.name.Note(sequence, change.name, counts);
  }

  void ReadLog(uint64_t number, std::unique_ptr<lsm::ReadFile> file) {
    absl::StatusOr<std::unique_ptr<lsm::LogReader>> log =
        lsm::LogReader::Open(std::move(file), lsm::LogKind::kWriteAhead);
    if (!log.ok()) return;
    is_home_ = IsAtHome(home_.log_ids, number, (*log)->file_id());
    for (;;) {
      lsm::LogReader::Record record;
      const absl::StatusOr<bool> more = (*log)->Next(&record);
      if (more.ok() && !*more) return;
      if (!more.ok()) {
        const absl::StatusOr<bool> skipped = (*log)->SkipDamage();
        if (!skipped.ok() || !*skipped) return;
        continue;
      }
      if (record.payload.size() < lsm::EncodedBatch::kHeaderBytes) continue;
      Batch batch(this, lsm::EncodedBatch::FirstSequenceOf(record.payload));
      (void)lsm::EncodedBatch::ForEach(record.payload, &batch);
    }
  }

  // The entries and ranges in the common tree that are not dead.  If a tree may or may not have
  // left, nothing there must be found again.
  void Finish() {
    for (CommonEntry& entry : common_) {
      const SurveyedKeyspace& keyspace = Of(entry.id);
      if (keyspace.has_left) continue;
      Note(entry.id, entry.key, entry.sequence, std::move(entry.value),
           entry.is_home && !keyspace.may_have_tree);
    }
    for (auto& [id, keyspace] : found_.keyspaces) {
      for (const auto& [map, is_home] : common_ranges_) {
        if (keyspace.has_left || id == lsm::kDefaultKeyspace) continue;
        keyspace.ranges.emplace_back(lsm::OutOfCommonTree(id, map),
                                     is_home && !keyspace.may_have_tree);
      }
      for (const auto& [map, is_home] : keyspace.ranges) {
        for (auto& [key, statements] : keyspace.keys) {
          const Sequence sequence = map.NewestAt(key, lsm::kSequenceMax);
          if (sequence > 0) statements.Note(sequence, std::nullopt, is_home);
        }
      }
    }
  }

  const Image& image_;
  const Home& home_;
  Surveyed found_;
  std::vector<CommonEntry> common_;
  std::vector<std::pair<RangeMap, bool>> common_ranges_;
  KeyspaceId tree_ = lsm::kDefaultKeyspace;  // of the table that is being read
  bool is_home_ = false;                     // of the file that is being read
};

}  // namespace

Surveyed SurveyStore(const Image& image, const Home& home, const lsm::ManifestState& before) {
  Survey survey(image, home);
  survey.ReadManifest(before, /*is_home=*/false);
  if (home.manifest) survey.ReadManifest(*home.manifest, /*is_home=*/true);
  return survey.Take();
}

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenFileOf(lsm::MemoryFileSystem& files,
                                                          const std::string& path) {
  const size_t slash = path.rfind('/');
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::Directory> directory,
                           files.OpenDirectory(path.substr(0, slash), /*create=*/false));
  return directory->OpenRead(path.substr(slash + 1), lsm::ReadMode::kBuffered);
}

}  // namespace reliability
