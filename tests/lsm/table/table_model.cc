#include "tests/lsm/table/table_model.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <utility>

#include "lsm/bytes/escape.h"
#include "tests/lsm/table/table_ranges.h"

namespace lsm {
namespace {

std::string RandomBytes(Dice* dice, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(dice->Next());
  return bytes;
}

// Any of the letters of `alphabet`.
std::string RandomWord(Dice* dice, std::string_view alphabet, size_t size_bytes) {
  std::string word(size_bytes, '\0');
  for (char& letter : word) letter = alphabet[dice->Roll(alphabet.size())];
  return word;
}

}  // namespace

std::string NumberKey(int number) {
  char key[20];
  std::snprintf(key, sizeof(key), "%08d", number);
  return key;
}

const char* NameOf(KeyShape shape) {
  switch (shape) {
    case KeyShape::kDecimal:
      return "decimal";
    case KeyShape::kBinary:
      return "binary";
    case KeyShape::kExtremes:
      return "extremes";
    case KeyShape::kNested:
      return "nested";
    case KeyShape::kLongPrefix:
      return "long prefix";
    case KeyShape::kHuge:
      return "huge";
  }
  return "?";
}

std::string RandomKey(KeyShape shape, Dice* dice) {
  using std::string_view_literals::operator""sv;
  switch (shape) {
    case KeyShape::kDecimal: {
      char text[20];
      std::snprintf(text, sizeof(text), "%016d", static_cast<int>(dice->Roll(20000)));
      return text;
    }
    case KeyShape::kBinary:
      return RandomBytes(dice, dice->Roll(24));
    // The smallest and the largest bytes, and the bytes of suffixes.
    case KeyShape::kExtremes:
      return RandomWord(dice, "\x00\x01\xff\xfe"sv, dice->Roll(12));
    // Each is the beginning of others: "", "a", "aa", "ab", …
    case KeyShape::kNested:
      return RandomWord(dice, "a\x01"sv, dice->Roll(14));
    case KeyShape::kLongPrefix:
      return std::string(300, 'p') + RandomWord(dice, "xyz", 1 + dice->Roll(3)) +
             std::string(50, 'q') + RandomWord(dice, "0123456789", 4);
    case KeyShape::kHuge: {
      std::string key(dice->OneIn(2) ? 65536 : 1 + dice->Roll(5000), 'h');
      key[dice->Roll(key.size())] = static_cast<char>(dice->Roll(256));
      return key;
    }
  }
  return "";
}

Model RandomModel(KeyShape shape, size_t entries, size_t versions, size_t value_bytes_max,
                  Dice* dice) {
  Model model;
  Sequence sequence = 1;
  while (model.size() < entries) {
    const std::string user_key = RandomKey(shape, dice);
    for (size_t count = 1 + dice->Roll(2 * versions - 1); count > 0; --count) {
      sequence += 1 + dice->Roll(300);
      const bool is_delete = dice->OneIn(8);
      // Half compressible.
      const std::string half = RandomBytes(dice, dice->Roll(value_bytes_max + 1) / 2);
      model.emplace(
          InternalKey(user_key, sequence, is_delete ? EntryKind::kDelete : EntryKind::kPut),
          is_delete ? "" : half + half);
    }
  }
  return model;
}

std::string RandomProbe(KeyShape shape, const Model& model, Dice* dice) {
  if (dice->OneIn(4)) return RandomKey(shape, dice);
  auto at = model.lower_bound(InternalKey(RandomKey(shape, dice), kSequenceMax));
  if (at == model.end()) at = std::prev(at);
  std::string key(UserKeyOf(at->first));
  switch (dice->Roll(6)) {
    case 0:
      key.push_back(static_cast<char>(dice->OneIn(3) ? 0xff : dice->Roll(3)));
      break;
    case 1:
      if (!key.empty()) key.pop_back();
      break;
    // Changes a byte: mostly one of the last, which differ among keys, sometimes one that they
    // share.
    case 2:
    case 3:
      if (!key.empty()) {
        const size_t last_bytes = std::min<size_t>(key.size(), dice->OneIn(3) ? key.size() : 4);
        key[key.size() - 1 - dice->Roll(last_bytes)] += dice->OneIn(2) ? 1 : -1;
      }
      break;
    default:
      break;  // as it is
  }
  return key;
}

std::string BuildTable(const TableBuildOptions& options, const Model& model, TableSummary* summary,
                       const RangeMap& ranges) {
  auto written = std::make_shared<WrittenState>();
  TableBuilder builder(options, std::make_unique<StringAppendFile>(written));
  AddRanges(ranges, &builder);
  for (const auto& [key, value] : model) builder.Add(key, value);
  auto result = builder.Finish();
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::abort();
  }
  if (summary != nullptr) *summary = *std::move(result);
  return written->bytes;
}

absl::StatusOr<OpenedTable> OpenTableBytes(std::string bytes, std::optional<size_t> cache_bytes,
                                           bool partitions_on_demand) {
  OpenedTable opened;
  opened.file = FileOf(std::move(bytes));
  TableContext context;
  context.digest_seed = kTestSeed;
  context.partitions_on_demand = partitions_on_demand;
  if (cache_bytes.has_value()) {
    opened.cache = std::make_unique<BlockCache>(*cache_bytes);
    context.block_cache = opened.cache.get();
  }
  auto table = Table::Open(std::make_unique<CountingReadFile>(opened.file), context);
  if (!table.ok()) return table.status();
  opened.table = *std::move(table);
  return opened;
}

void PrintTo(const Answer& answer, std::ostream* out) {
  switch (answer.kind) {
    case TableAnswer::kAbsent:
      *out << "absent";
      return;
    case TableAnswer::kDeleted:
      *out << "deleted at " << SequenceOf(answer.suffix);
      return;
    case TableAnswer::kFound:
      *out << "\"" << Escape(answer.value, 40) << "\" of " << SequenceOf(answer.suffix);
      return;
  }
}

Answer AskModel(const Model& model, std::string_view user_key, Sequence sequence) {
  std::string seek(user_key);
  AppendFixed64(&seek, PackSuffix(sequence, kEntryKindMax));
  const auto at = model.lower_bound(seek);
  if (at == model.end() || UserKeyOf(at->first) != user_key) return {};
  const uint64_t suffix = SuffixOf(at->first);
  if ((suffix & 0xff) == static_cast<uint8_t>(EntryKind::kDelete))
    return {TableAnswer::kDeleted, "", suffix};
  return {TableAnswer::kFound, std::string(ValueOf(KindOf(suffix), at->second)), suffix};
}

absl::StatusOr<Answer> AskTable(const Table& table, std::string_view user_key, Sequence sequence,
                                LevelCounts* counts) {
  const LookupKey key(user_key, sequence, kTestSeed);
  const EpochGuard guard;
  const TableLookup lookup{.key = key, .counts = counts};
  if (!table.AskFilter(lookup).passed) return Answer{};
  Answer answer;
  TableHit hit;
  auto kind = table.Get(lookup, &hit);
  if (!kind.ok()) return kind.status();
  answer.kind = *kind;
  answer.suffix = hit.suffix;
  if (answer.kind == TableAnswer::kFound) answer.value = hit.value;
  return answer;
}

}  // namespace lsm
