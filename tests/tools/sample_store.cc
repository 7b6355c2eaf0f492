#include "tests/tools/sample_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "bloom/filter_policy.h"
#include "lsm/base/encoded_batch.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"
#include "tests/lsm/table/table_ranges.h"
#include "tools/sstdump/run.h"

namespace tools {
namespace {

constexpr uint64_t kCreatedMicros = uint64_t{kSampleTime} * 1'000'000;

uint64_t FileIdOf(uint64_t number) { return 0xabcd000000000000 + number; }

std::string NumberedKey(int number) {
  char key[32];
  std::snprintf(key, sizeof(key), "key%06d", number);
  return key;
}

std::optional<std::string_view> EndOf(const SampleEntry& range) {
  return range.value.empty() ? std::nullopt : std::optional<std::string_view>(range.value);
}

std::string EncodedBatch(const std::vector<SampleEntry>& entries) {
  lsm::WriteBatch batch;
  for (const SampleEntry& entry : entries) {
    if (entry.change) {
      lsm::EncodedBatch::Change(&batch, *entry.change);
    } else if (entry.is_range) {
      lsm::EncodedBatch::DeleteRange(&batch, entry.keyspace, entry.key, EndOf(entry));
    } else if (entry.is_delete) {
      lsm::EncodedBatch::Delete(&batch, entry.keyspace, entry.key);
    } else {
      lsm::EncodedBatch::Put(&batch, entry.keyspace, entry.key, entry.value);
    }
  }
  lsm::EncodedBatch::SetFirstSequence(&batch, entries.front().sequence);
  std::string encoded(lsm::EncodedBatch::Of(batch));
  if (entries.front().written) lsm::EncodedBatch::SetTime(&encoded, *entries.front().written);
  return encoded;
}

// Keys that are hard to read and to parse.
std::vector<SampleEntry> OddEntries() {
  return {{"", 1001, false, "of the empty key"},
          {std::string("\0\x01\x1b[31m", 7), 1002, false, std::string("\x1b]0;title\x07\n", 11)},
          {"back\\slash\"quote", 1003, false, "\t\r\n"},
          {"key000003", 1004, true, ""},
          {"key000009", 1007, false, "newest"},
          {"key000009", 1006, true, ""},
          {"key000009", 1005, false, "oldest"},
          {"\xc3\xa4\xff", 1008, false, std::string(300, 'v')}};
}

}  // namespace

lsm::TableMeta MakeTable(lsm::Directory& directory, const TableRecipe& recipe,
                         const std::vector<SampleEntry>& entries) {
  lsm::TableBuildOptions options;
  options.block_bytes = recipe.block_bytes;
  options.compression = recipe.compression;
  if (recipe.filter_kind != "none")
    options.filter_policy = bloom::PolicyFromName(recipe.filter_kind).value();
  options.target_fpp = recipe.target_fpp;
  options.filter_reason = recipe.filter_reason;
  options.digest_seed = recipe.digest_seed;
  options.file_id = FileIdOf(recipe.number);
  options.keyspace = recipe.keyspace;
  options.level = recipe.level;
  options.created_micros = kCreatedMicros;
  options.oldest_tombstone = kCreatedMicros / 1'000'000;
  lsm::TableBuilder builder(options,
                            directory.CreateExclusive(lsm::TableFileName(recipe.number)).value());
  for (const SampleEntry& entry : entries) {
    std::string key, value;
    lsm::AppendInternalKey(&key, entry.key, entry.sequence,
                           entry.is_delete ? lsm::EntryKind::kDelete
                           : entry.written ? lsm::EntryKind::kTimedPut
                                           : lsm::EntryKind::kPut);
    if (entry.written) lsm::AppendTimed(&value, *entry.written, entry.value);
    builder.Add(key, entry.written ? value : entry.value);
  }
  lsm::AddRanges(recipe.ranges, &builder);
  const lsm::TableSummary summary = builder.Finish().value();
  return {recipe.number,
          summary.file_id,
          summary.file_bytes,
          summary.properties.entries,
          summary.smallest,
          summary.largest,
          /*run=*/0,
          summary.properties.dead_entries(),
          summary.ranges,
          recipe.keyspace,
          summary.properties.write_times()};
}

std::vector<SampleEntry> NumberedEntries(int count, uint64_t first_sequence, size_t value_bytes) {
  std::vector<SampleEntry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back({NumberedKey(3 * i), first_sequence + static_cast<uint64_t>(i), false,
                       std::string(value_bytes, static_cast<char>('a' + i % 26))});
  }
  return entries;
}

void MakeManifest(lsm::Directory& directory, lsm::VersionEdit snapshot,
                  const std::vector<lsm::VersionEdit>& edits) {
  snapshot.is_snapshot = true;
  snapshot.digest_seed = kSampleSeed;
  auto writer = lsm::ManifestWriter::Create(directory, 1, FileIdOf(1), snapshot, std::nullopt);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (const lsm::VersionEdit& edit : edits) ASSERT_TRUE((*writer)->Append(edit).ok());
  ASSERT_TRUE((*writer)->Close().ok());
}

void MakeLog(lsm::Directory& directory, uint64_t number,
             const std::vector<std::vector<SampleEntry>>& batches, LogState state) {
  auto log = lsm::LogWriter::Create(directory.CreateExclusive(lsm::LogFileName(number)).value(),
                                    lsm::LogKind::kWriteAhead, FileIdOf(number));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  for (const auto& batch : batches) ASSERT_TRUE((*log)->Append(EncodedBatch(batch)).ok());
  ASSERT_TRUE((*log)->Sync().ok());
  if (state == LogState::kClosed) {
    ASSERT_TRUE((*log)->Close(/*sync=*/true).ok());
  }
}

void MakeSampleStore(lsm::FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  const std::vector<SampleEntry> all = NumberedEntries(600, 1);
  std::vector<SampleEntry> low, high;
  for (size_t i = 0; i < all.size(); i += 6) {
    SampleEntry newer = all[i];
    newer.sequence += i < 300 ? 600 : 400;  // up to the last one of the compaction below
    newer.value = "newer";
    (i < 300 ? low : high).push_back(newer);
  }
  const lsm::TableMeta t2 =
      MakeTable(*directory, {.number = 2, .level = 2, .filter_kind = "standard"}, all);
  const lsm::TableMeta t3 = MakeTable(*directory, {.number = 3, .level = 1}, low);
  const lsm::TableMeta t4 =
      MakeTable(*directory, {.number = 4, .level = 1, .filter_kind = "none"}, high);
  const lsm::TableMeta t5 = MakeTable(*directory, {.number = 5}, OddEntries());
  const lsm::TableMeta t6 =
      MakeTable(*directory, {.number = 6, .target_fpp = 0.001},
                {{"key000006", 1009, true, ""}, {"key000012", 1010, false, "in level 0"}});
  MakeTable(*directory, {.number = 9}, low);
  MakeLog(*directory, 7,
          {{{"key000015", 1011, false, "from a log"}, {"key000018", 1012, true, ""}}},
          LogState::kClosed);
  MakeLog(*directory, 8,
          {{{"key000015", 1013, false, "from the last log"}}, {{"new\x7f", 1014, false, "new"}}},
          LogState::kOpen);
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 3;
  snapshot.last_sequence = 600;
  snapshot.oldest_log = 2;
  snapshot.added = {{2, t2}};
  lsm::VersionEdit compaction;
  compaction.next_file_number = 6;
  compaction.last_sequence = 1000;
  compaction.added = {{1, t3}, {1, t4}, {1, t5}};
  lsm::VersionEdit flush;
  flush.next_file_number = 10;
  flush.last_sequence = 1010;
  flush.oldest_log = 7;
  flush.removed = {{1, 5}};
  flush.added = {{0, t5}, {0, t6}};
  lsm::VersionEdit synced;
  synced.synced_logs = {7};
  MakeManifest(*directory, snapshot, {compaction, flush, synced});
}

void MakeGoalStore(lsm::FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  const std::string share = "share: its share of 8.00 bits a key";
  const auto make = [&](const TableRecipe& recipe, int keys) {
    return MakeTable(*directory, recipe, NumberedEntries(keys, 2000 - 100 * recipe.number));
  };
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 6;
  snapshot.last_sequence = 3000;
  snapshot.oldest_log = 6;
  snapshot.added = {
      {0, make({.number = 5, .target_fpp = 0.0001, .filter_reason = share}, 10)},
      {1, make({.number = 4, .level = 1, .target_fpp = 0.002, .filter_reason = share}, 100)},
      {2,
       make({.number = 3,
             .level = 2,
             .filter_kind = "ribbon",
             .target_fpp = 0.02,
             .filter_reason = "less: since older tables have more than theirs, less than its share "
                              "of 8.00 bits a key"},
            1000)},
      {3, make({.number = 2,
                .level = 3,
                .filter_kind = "none",
                .filter_reason = "does not pay: no filter here, within 8.00 bits a key"},
               400)}};
  MakeManifest(*directory, snapshot);
}

void MakeStoreOfRuns(lsm::FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  lsm::VersionEdit snapshot;
  uint64_t number = 1, sequence = 1;
  for (const uint32_t run : {0, 1, 4}) {
    std::vector<SampleEntry> entries = NumberedEntries(100, sequence);
    sequence += 100;
    for (SampleEntry& entry : entries) entry.value = "run " + std::to_string(run);
    // Each run except the first begins at a different key.
    if (run > 0) entries.erase(entries.begin(), entries.begin() + 10 * run);
    const auto middle = entries.begin() + 50;
    for (const auto& part : {std::vector<SampleEntry>(entries.begin(), middle),
                             std::vector<SampleEntry>(middle, entries.end())}) {
      lsm::TableMeta table = MakeTable(*directory, {.number = ++number, .level = 1}, part);
      table.run = run;
      snapshot.added.push_back({1, table});
    }
  }
  MakeLog(*directory, ++number, {{{"logged", sequence, false, "in the log"}}}, LogState::kClosed);
  snapshot.last_sequence = sequence - 1;
  snapshot.oldest_log = number;
  snapshot.next_file_number = number + 1;
  MakeManifest(*directory, snapshot);
}

void MakeStoreOfRanges(lsm::FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  const auto put = [](std::string key, uint64_t sequence) {
    return SampleEntry{key, sequence, false, key + std::to_string(sequence)};
  };
  const lsm::RangeMap newest = lsm::RangesOf({{"a", "b", 12}, {"e", "h", 11}}),
                      newer = lsm::RangesOf({{"c", "f", 9}}),
                      oldest = lsm::RangesOf({{"x", std::nullopt, 7}});
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 6;
  snapshot.last_sequence = 12;
  snapshot.oldest_log = 5;
  snapshot.added = {
      {2,
       MakeTable(*directory, {.number = 2, .level = 2, .block_bytes = 1, .ranges = oldest},
                 {put("a", 1), put("c", 2), put("e", 3), put("g", 4), put("i", 5), put("k", 6)})},
      {1, MakeTable(*directory, {.number = 3, .level = 1, .ranges = newer},
                    {put("d", 8), put("e", 10)})},
      {0, MakeTable(*directory, {.number = 4, .ranges = newest}, {})}};
  MakeLog(*directory, 5, {{put("c", 13), {"i", 14, true, "j", true}}}, LogState::kClosed);
  MakeManifest(*directory, snapshot);
}

std::unique_ptr<lsm::Directory> MakeStoreOfKeyspaces(lsm::FileSystem& file_system,
                                                     const std::string& path) {
  using lsm::CommonKeyOf;
  std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 8;
  snapshot.last_sequence = 20;
  snapshot.oldest_log = 7;
  snapshot.next_keyspace_id = 6;
  snapshot.keyspaces = {
      {.id = 2, .options = {.filter_kind = "ribbon", .target_fpp = 0.25}, .name = "users"},
      {.id = 3, .has_own_tree = false, .name = "jobs"},
      {.id = 4, .has_own_tree = false, .name = "mail"},
      {.id = 5, .name = "idle"}};
  const auto add = [&](const TableRecipe& recipe, const std::vector<SampleEntry>& entries) {
    snapshot.added.push_back({recipe.level, MakeTable(*directory, recipe, entries)});
  };
  add({.number = 2, .level = 1}, {{"a", 1, false, "of default"}});
  add({.number = 3, .level = 2, .keyspace = 2}, {{"a", 2, false, "of users"}});
  add({.number = 4,
       .level = 2,
       .ranges = lsm::InCommonTree(3, lsm::RangesOf({{"d", std::nullopt, 6}})),
       .keyspace = lsm::kCommonTree},
      {{lsm::NameKeyOf(3), 3, false, lsm::EncodeName(snapshot.keyspaces[1])},
       {CommonKeyOf(3, "a"), 4, false, "of jobs"},
       {CommonKeyOf(3, "e"), 5, false, "deleted"},
       {CommonKeyOf(4, "a"), 7, false, "of mail"}});
  add({.number = 5, .level = 1, .keyspace = lsm::kCommonTree},
      {{CommonKeyOf(3, "b"), 8, false, "newer"}});
  add({.number = 6, .keyspace = lsm::kCommonTree}, {{CommonKeyOf(4, "c"), 9, true, ""}});
  MakeManifest(*directory, snapshot);
  return directory;
}

void MakeStoreOfExpiry(lsm::FileSystem& file_system, const std::string& path) {
  using lsm::CommonKeyOf;
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  const auto put = [](std::string key, uint64_t sequence, std::string value, uint32_t after,
                      lsm::KeyspaceId keyspace = lsm::kDefaultKeyspace) {
    return SampleEntry{.key = std::move(key),
                       .sequence = sequence,
                       .value = std::move(value),
                       .keyspace = keyspace,
                       .written = kSampleTime + after};
  };
  constexpr lsm::ExpiryMarks kMarks = {.cutoff = 0, .timed_from = kSampleTime};
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 7;
  snapshot.last_sequence = 11;
  snapshot.oldest_log = 6;
  snapshot.next_keyspace_id = 4;
  snapshot.keyspaces = {
      {.id = 2, .options = {.expire_after = 3600}, .name = "sessions", .marks = kMarks},
      {.id = 3,
       .has_own_tree = false,
       .options = {.expire_after = 86'400},
       .name = "carts",
       .marks = kMarks}};
  const auto add = [&](const TableRecipe& recipe, const std::vector<SampleEntry>& entries) {
    snapshot.added.push_back({recipe.level, MakeTable(*directory, recipe, entries)});
  };
  add({.number = 2, .level = 2, .keyspace = 2}, {{"a", 1, false, "before the limit"},
                                                 put("b", 2, "old", 600),
                                                 put("c", 3, "expired", 1200),
                                                 put("d", 4, "deleted", 5000)});
  add({.number = 3, .level = 1, .keyspace = 2},
      {put("b", 5, "new", 5000), put("c", 6, "expired, too", 3000), {"d", 7, true}});
  add({.number = 4, .level = 1, .keyspace = lsm::kCommonTree},
      {{lsm::NameKeyOf(3), 8, false, lsm::EncodeName(snapshot.keyspaces[1])},
       put(CommonKeyOf(3, "a"), 9, "by the limit in the log", 4000),
       put(CommonKeyOf(3, "b"), 10, "cart", 5000)});
  add({.number = 5, .level = 1}, {{"a", 11, false, "for ever"}});
  SampleEntry limit = {"", 14};
  limit.change = {.kind = lsm::KeyspaceChange::Kind::kOptions,
                  .id = 3,
                  .options = {.expire_after = 3000},
                  .marks = kMarks};
  MakeLog(*directory, 6,
          {{put("e", 12, "logged", 6000, 2), put("f", 13, "logged", 6000, 2)}, {limit}},
          LogState::kOpen);
  MakeManifest(*directory, snapshot);
}

void MakeTinyStore(lsm::FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<lsm::Directory> directory =
      file_system.OpenDirectory(path, /*create=*/true).value();
  const std::vector<SampleEntry> entries = {
      {"a", 1, false, "one"}, {"b", 2, true, ""}, {"c", 3, false, "three"}};
  const lsm::TableMeta table =
      MakeTable(*directory, {.number = 2, .level = 1, .block_bytes = 1}, entries);
  MakeLog(*directory, 3, {{{"d", 4, false, "four"}}, {{"e", 5, true, ""}}}, LogState::kClosed);
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 4;
  snapshot.last_sequence = 3;
  snapshot.oldest_log = 3;
  snapshot.synced_logs = {3};
  snapshot.added = {{1, table}};
  MakeManifest(*directory, snapshot);
}

RunResult RunIn(lsm::FileSystem& file_system, const Terminal& terminal,
                const std::function<int(const World&)>& run) {
  std::ostringstream out, err;
  RunResult result;
  // The clock advances when the program waits, and a little with each reading.
  std::atomic<uint64_t> nanos = 1;
  result.code = run({.file_system = &file_system,
                     .out = &out,
                     .err = &err,
                     .terminal = terminal,
                     .resolve = nullptr,
                     .shows_progress = terminal.is_terminal,
                     .now_nanos = [&nanos] { return nanos += 1000; },
                     .sleep_nanos = [&nanos](uint64_t slept) { nanos += slept; },
                     .now_seconds = [] { return kSampleNow; }});
  result.nanos = nanos;
  result.out = out.str();
  result.err = err.str();
  return result;
}

RunResult Run(lsm::FileSystem& file_system, const std::vector<std::string>& arguments,
              const Terminal& terminal) {
  return RunIn(file_system, terminal,
               [&](const World& world) { return RunSstdump(arguments, world); });
}

std::vector<std::vector<std::string>> CommandsOn(const std::string& path, uint32_t kinds) {
  std::vector<std::vector<std::string>> all;
  for (const Command& command : Commands()) {
    if ((command.kinds & kinds) == 0) continue;
    std::vector<std::string>& arguments = all.emplace_back(1, command.name);
    arguments.push_back(path);
    if (command.arguments.key) arguments.emplace_back("b");
  }
  return all;
}

nlohmann::json ParseOutput(const std::string& out) {
  nlohmann::json document = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  if (document.contains("results")) return document;
  nlohmann::json results = nlohmann::json::array(), entries = nlohmann::json::array();
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    document = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object()) return nlohmann::json(nlohmann::json::value_t::discarded);
    if (document.contains("command")) break;
    if (!document.contains("outcome")) {
      entries.push_back(document);
      continue;
    }
    document["entries"] = std::exchange(entries, nlohmann::json::array());
    results.push_back(document);
  }
  std::string rest;
  if (std::getline(lines, rest) || !entries.empty() || !document.contains("command"))
    return nlohmann::json(nlohmann::json::value_t::discarded);
  document["results"] = results;
  return document;
}

std::vector<std::string> FilesIn(lsm::FileSystem& file_system, const std::string& path) {
  std::vector<std::string> names =
      file_system.OpenDirectory(path, /*create=*/false).value()->List().value();
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tools
