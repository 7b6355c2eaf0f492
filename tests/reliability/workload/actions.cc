#include "tests/reliability/workload/actions.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "bloom/catalog.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "tests/reliability/workload/reduce.h"
#include "tests/reliability/workload/styles.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr size_t kShownKeyBytes = 24;
constexpr size_t kShownValueBytes = 8;

// A quarter of all writes goes to this many keys, so these get many versions.
constexpr size_t kOftenWritten = 16;

// One in this many values is huge, up to this many bytes.
constexpr size_t kHugeOneIn = 5000;
constexpr uint32_t kHugeBytes = 150'000;

// The cost of running a list, in actions, in addition to the list's own actions.
constexpr size_t kRunEffort = 1000;

constexpr size_t kShownActions = 40;

constexpr uint32_t kFillingOffsets = 1 << 15;
constexpr uint32_t kNumberBytes = sizeof(uint32_t);

// Draws from few different bytes, so that keys share prefixes and are prefixes of one another.
std::string AnyShortKey(Draws& draws) {
  if (draws.OneIn(3)) return Concat("row", 10'000 + draws.Roll(20'000));
  static constexpr char kBytes[] = {'a', 'b', 'c', 'x', 'y', '\0', '\x01', '\xfe', '\xff'};
  std::string key = draws.OneIn(2) ? "shared/prefix/" : "";
  for (size_t left = 1 + draws.Roll(8); left > 0; --left) key.push_back(draws.Of(kBytes));
  return key;
}

std::vector<std::string> FilterKinds() {
  std::vector<std::string> kinds = {"by-level", "none"};
  bloom::KeyedKinds::ForEach([&](auto kind) { kinds.emplace_back(decltype(kind)::kName); });
  return kinds;
}

// Returns the list without actions that it does not need to fail.
std::vector<Action> Reduced(std::vector<Action> actions, size_t effort_max, const RunActions& run) {
  size_t effort = 0;
  // Runs `candidate`.  If it fails, it becomes the list.
  const auto adopt = [&](std::vector<Action> candidate) {
    if (candidate.size() == actions.size() || effort >= effort_max) return false;
    effort += candidate.size() + kRunEffort;
    const std::optional<size_t> at = run(candidate, nullptr).failed_at;
    if (!at) return false;
    candidate.resize(std::min(*at + 1, candidate.size()));
    actions = std::move(candidate);
    return true;
  };
  for (size_t kind = 0; kind < Action::kKinds; ++kind) {
    std::vector<Action> others = actions;
    others.erase(std::remove_if(others.begin(), others.end() - 1,
                                [&](const Action& action) { return action.kind == kind; }),
                 others.end() - 1);
    adopt(std::move(others));
  }
  bool smaller = false;
  for (size_t piece = actions.size() / 2; piece > 0 && effort < effort_max;) {
    smaller = false;
    for (size_t end = actions.size(); end > 0;) {
      end = std::min(end, actions.size());
      const size_t begin = end - std::min(end, piece);
      std::vector<Action> others(actions.begin(), actions.begin() + static_cast<ptrdiff_t>(begin));
      others.insert(others.end(), actions.begin() + static_cast<ptrdiff_t>(end), actions.end());
      smaller = adopt(std::move(others)) || smaller;
      end = begin;
    }
    // Repeats single actions until none can be left out.
    if (piece > 1) {
      piece = std::min(piece, actions.size()) / 2;
    } else if (!smaller) {
      break;
    }
  }
  return actions;
}

// Every second store has a filter goal.  It is derived from numbers that were drawn already, so
// that known seeds still draw the same episodes.
lsm::FilterGoal GoalFor(const lsm::Options& options) {
  if (options.filter_kind == "none") return {};
  switch ((options.level0_compaction_tables + options.level0_stop_tables) % 6) {
    case 1:
      return lsm::FilterGoal::BitsPerKey(10);
    case 3:
      return lsm::FilterGoal::Bytes(2048);
    case 5:
      return lsm::FilterGoal::WastedReads(0.1);
    default:
      return {};
  }
}

}  // namespace

KeyPool::KeyPool(uint64_t seed, size_t count) {
  Draws draws(seed);
  std::set<std::string> keys = {"",
                                std::string(1, '\0'),
                                std::string(2, '\0'),
                                "\xff",
                                "\xff\xff",
                                std::string(9, '\xff'),
                                std::string("a\0b", 3),
                                std::string(2000, 'k'),
                                std::string(2000, 'k') + "l"};
  if (draws.OneIn(4)) keys.insert(std::string(lsm::kKeyBytesMax, 'm'));
  while (keys.size() < count) keys.insert(AnyShortKey(draws));
  keys_.assign(keys.begin(), keys.end());
  for (uint32_t rank = 0; rank < size(); ++rank) {
    if (!draws.OneIn(8)) written_.push_back(rank);
  }
  for (size_t i = written_.size(); i > 1; --i) std::swap(written_[i - 1], written_[draws.Roll(i)]);
}

std::string KeyPool::TextOf(uint32_t rank) const { return TextOfKey(keys_[rank]); }

std::string TextOfKey(std::string_view key) {
  return Concat('"', lsm::Escape(key, kShownKeyBytes), '"');
}

uint32_t KeyPool::AnyWritten(Draws& draws) const {
  const bool often = draws.OneIn(4) && written_.size() > kOftenWritten;
  return written_[draws.Roll(often ? kOftenWritten : written_.size())];
}

ValuePool::ValuePool(uint64_t seed, uint32_t small_bytes, uint32_t large_bytes)
    : small_bytes_(small_bytes), large_bytes_(large_bytes) {
  Draws draws(seed);
  filling_.resize(kFillingOffsets + std::max({small_bytes, large_bytes, kHugeBytes}));
  // Half of it compresses well.
  char letter = 'a';
  for (size_t i = 0; i < filling_.size(); ++i) {
    if (i % 256 == 0) letter = static_cast<char>('a' + draws.Roll(26));
    filling_[i] = i % 2 == 0 ? letter : static_cast<char>(draws.Roll(256));
  }
}

Value ValuePool::Any(Draws& draws) const {
  Value value;
  value.number = static_cast<uint32_t>(draws.Next()) | 1;
  const uint32_t roll = draws.Roll(kHugeOneIn);
  if (roll == 0) {
    value.bytes = draws.Roll(kHugeBytes);
  } else if (roll < kHugeOneIn / 100) {
    value.bytes = draws.Roll(large_bytes_ + 1);
  } else if (roll < kHugeOneIn / 100 * 97) {
    value.bytes = draws.Roll(small_bytes_ + 1);
  }
  return value;
}

std::string_view ValuePool::BytesOf(Value value, std::string* buffer) const {
  buffer->assign(filling_, value.number % kFillingOffsets, value.bytes);
  char number[kNumberBytes];
  lsm::StoreFixed32(number, value.number);
  std::memcpy(buffer->data(), number, std::min(value.bytes, kNumberBytes));
  return *buffer;
}

bool ValuePool::IsOf(Value value, std::string_view bytes) const {
  if (!value.exists() || bytes.size() != value.bytes) return false;
  char number[kNumberBytes];
  lsm::StoreFixed32(number, value.number);
  const size_t head = std::min<size_t>(bytes.size(), kNumberBytes);
  return std::memcmp(bytes.data(), number, head) == 0 &&
         bytes.substr(head) == std::string_view(filling_).substr(
                                   value.number % kFillingOffsets + head, bytes.size() - head);
}

std::string TextOfValue(std::optional<std::string_view> bytes) {
  if (!bytes) return "nothing";
  if (bytes->size() <= kShownValueBytes) return Concat('"', lsm::Escape(*bytes), '"');
  return Concat('"', lsm::Escape(bytes->substr(0, kShownValueBytes)), "…\" (", bytes->size(),
                " bytes)");
}

const char* NameOf(Action::Kind kind) {
  switch (kind) {
    case Action::kPut:
      return "put";
    case Action::kDelete:
      return "delete";
    case Action::kBatch:
      return "batch";
    case Action::kGet:
      return "get";
    case Action::kMultiGet:
      return "multi-get";
    case Action::kExplain:
      return "explain";
    case Action::kStatistics:
      return "statistics";
    case Action::kSnapshot:
      return "snapshot";
    case Action::kNewIterator:
      return "new iterator";
    case Action::kWalk:
      return "walk";
    case Action::kScan:
      return "scan";
    case Action::kBackgroundJob:
      return "one background job";
    case Action::kBackground:
      return "all background jobs";
    case Action::kFlush:
      return "flush";
    case Action::kCompact:
      return "compact";
    case Action::kReopen:
      return "close and open";
    case Action::kKill:
      return "kill and open";
    case Action::kCrash:
      return "crash of the machine";
    case Action::kDisturb:
      return "failing call";
    case Action::kFullDisk:
      return "full disk";
    case Action::kWindow:
      return "window";
    case Action::kDeleteRange:
      return "delete range";
    case Action::kRangeBatch:
      return "batch with ranges";
    case Action::kDropKeyspace:
      return "drop and create";
  }
  return "?";
}

std::vector<Action> MakeActions(uint64_t seed, const ActionWeights& weights, size_t count) {
  Draws draws(seed);
  uint32_t sum = 0;
  for (const uint32_t weight : weights) sum += weight;
  std::vector<Action::Kind> kinds;  // each as often as its weight
  kinds.reserve(sum);
  for (size_t kind = 0; kind < weights.size(); ++kind)
    kinds.insert(kinds.end(), weights[kind], static_cast<Action::Kind>(kind));
  std::vector<Action> actions(count);
  for (Action& action : actions) action = {kinds[draws.Roll(sum)], draws.Next()};
  return actions;
}

void RankBounds::SetIn(const KeyPool& keys, lsm::ReadOptions* options) const {
  if (has_lower) options->lower_bound = keys[first];
  if (has_upper) options->upper_bound = keys[end];
}

RankBounds AnyBounds(const KeyPool& keys, Draws& draws) {
  RankBounds bounds{0, keys.size(), draws.OneIn(3), draws.OneIn(3)};
  if (bounds.has_lower) bounds.first = keys.Any(draws);
  if (bounds.has_upper) bounds.end = keys.Any(draws);
  return bounds;
}

std::string TextOf(const RankBounds& bounds, const KeyPool& keys) {
  return Concat(bounds.has_lower ? Concat(" from ", keys.TextOf(bounds.first)) : std::string(),
                bounds.has_upper ? Concat(" to ", keys.TextOf(bounds.end)) : std::string());
}

Move AnyMove(bool valid, const KeyPool& keys, Draws& draws) {
  const uint32_t roll = draws.Roll(16);
  if (valid && roll < 6) return {Move::kNext, 0};
  if (valid && roll < 12) return {Move::kPrev, 0};
  if (roll == 12) return {Move::kSeekToFirst, 0};
  if (roll == 13) return {Move::kSeekToLast, 0};
  return {roll % 2 == 0 ? Move::kSeek : Move::kSeekForPrev, keys.Any(draws)};
}

std::string TextOf(const Move& move, const KeyPool& keys) {
  switch (move.kind) {
    case Move::kNext:
      return "Next";
    case Move::kPrev:
      return "Prev";
    case Move::kSeekToFirst:
      return "SeekToFirst";
    case Move::kSeekToLast:
      return "SeekToLast";
    case Move::kSeek:
      return Concat("Seek ", keys.TextOf(move.rank));
    case Move::kSeekForPrev:
      return Concat("SeekForPrev ", keys.TextOf(move.rank));
  }
  return "?";
}

lsm::Options AnyOptions(Draws& draws) {
  static const std::vector<std::string> kinds = FilterKinds();
  constexpr size_t kKiB = 1024;
  lsm::Options options;
  options.filter_kind = kinds[draws.Roll(kinds.size())];
  options.target_fpp = draws.Of({0.5, 0.1, 0.01, 0.001, 0.0001});
  options.write_buffer_bytes = draws.Of({64 * kKiB, 64 * kKiB, 96 * kKiB, 200 * kKiB});
  options.block_cache_bytes = draws.Of({size_t{0}, 3 * kKiB, 64 * kKiB, 8192 * kKiB});
  options.block_bytes = draws.Of({256, 300, 512, 1024, 4096, 16384});
  options.block_restart_interval = draws.Of({1, 2, 16});
  options.compression = draws.Of({lsm::Compression::kNone, lsm::Compression::kLz4});
  options.table_bytes = draws.Of({64 * kKiB, 64 * kKiB, 100 * kKiB});
  options.level1_bytes = draws.Of({64 * kKiB, 64 * kKiB, 150 * kKiB});
  options.level0_compaction_tables = 1 + static_cast<int>(draws.Roll(4));
  options.level0_stop_tables = options.level0_compaction_tables + static_cast<int>(draws.Roll(9)) +
                               static_cast<int>(draws.Roll(9));
  options.compaction_style = StyleOf(draws.Roll(3));
  options.filter_goal = GoalFor(options);
  return options;
}

std::string TextOf(const lsm::Options& options) {
  const auto bytes = [](uint64_t count) { return lsm::ReadableBytes(count); };
  const bool sip = options.filter_hash == bloom::DigestHash::kSipHash;
  return Concat("filters ", options.filter_kind, sip ? " by SipHash" : "", " at ",
                lsm::ReadableNumber(options.target_fpp), ", goal ", options.filter_goal.ToText(),
                ", compression ", NameOf(options.compression), ", blocks of ",
                bytes(options.block_bytes), " with restarts every ", options.block_restart_interval,
                ", cache ", bytes(options.block_cache_bytes), ", memtable ",
                bytes(options.write_buffer_bytes), ", tables of ", bytes(options.table_bytes), ", ",
                NameOf(options.compaction_style), ", level 1 of ", bytes(options.level1_bytes),
                ", level 0 of ", options.level0_compaction_tables, " and ",
                options.level0_stop_tables, " tables");
}

void MakeMove(const Move& move, const KeyPool& keys, lsm::Iterator* iterator) {
  switch (move.kind) {
    case Move::kNext:
      return iterator->Next();
    case Move::kPrev:
      return iterator->Prev();
    case Move::kSeekToFirst:
      return iterator->SeekToFirst();
    case Move::kSeekToLast:
      return iterator->SeekToLast();
    case Move::kSeek:
      return iterator->Seek(keys[move.rank]);
    case Move::kSeekForPrev:
      return iterator->SeekForPrev(keys[move.rank]);
  }
}

std::string FindingOf(std::vector<Action> actions, size_t failed_at, const std::string& settings,
                      size_t effort_max, const RunActions& run) {
  const size_t count = actions.size();
  actions.resize(failed_at + 1);
  std::vector<std::string> words;
  Outcome outcome = run(actions, &words);
  const std::string where = Concat("operation ", failed_at, " of ", count, ", ",
                                   words.empty() ? std::string() : words.back(), ": ");
  if (!outcome.failed_at)
    return Concat(where, "went wrong once, and not again\n  ", settings, "\n");
  std::string finding = Concat(where, outcome.problem, "\n  ", settings, "\n");
  if (!shortens_findings) return finding;
  actions = Reduced(std::move(actions), effort_max, run);
  words.clear();
  outcome = run(actions, &words);
  finding += Concat("  reduced to ", actions.size(), " operations on an empty store:\n");
  const size_t hidden = words.size() - std::min(words.size(), kShownActions);
  if (hidden > 0) finding += Concat("    ", hidden, " others, then\n");
  for (size_t i = hidden; i < words.size(); ++i) finding += Concat("    ", words[i], "\n");
  return finding + Concat("    ", outcome.problem, "\n");
}

}  // namespace reliability
