#include "tests/reliability/jobs/differential.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/iterator.h"
#include "tests/reliability/workload/actions.h"
#include "tests/reliability/workload/changes.h"
#include "tests/reliability/workload/compared_stores.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr size_t kEpisodeActions = 20'000;
constexpr size_t kReductionEffortMax = 150'000;
constexpr size_t kIteratorsHeld = 3;

ActionWeights WeightsOf(uint64_t seed) {
  ActionWeights weights = {};
  weights[Action::kPut] = 2700;
  weights[Action::kDelete] = 700;
  weights[Action::kBatch] = 300;
  weights[Action::kGet] = 4200;
  weights[Action::kMultiGet] = 40;
  weights[Action::kSnapshot] = 100;
  weights[Action::kNewIterator] = 200;
  weights[Action::kWalk] = 1400;
  weights[Action::kScan] = 2;
  weights[Action::kBackgroundJob] = 100;
  weights[Action::kBackground] = 5;
  weights[Action::kFlush] = 6;
  weights[Action::kCompact] = 4;
  weights[Action::kReopen] = 3;
  // Every second episode has range deletes.
  if (seed % 2 == 1) {
    Draws draws(seed);
    weights[Action::kDeleteRange] = draws.Of({10, 40, 150});
    weights[Action::kRangeBatch] = draws.Of({5, 20});
  }
  if (ComparedMaterial::FamiliesIn(seed) > 1) weights[Action::kDropKeyspace] = 8;
  return weights;
}

class Comparison {
 public:
  // `words`, if given, receives a line for each action.
  Comparison(const ComparedMaterial& material, DifferentialReport* report,
             std::vector<std::string>* words)
      : material_(material),
        keys_(material.keys),
        report_(*report),
        words_(words),
        stores_(MakeStores(material)) {}

  Outcome Run(const std::vector<Action>& actions) {
    ForEach([](ComparedStore& store) { return store.Open(); });
    for (size_t i = 0; i < actions.size() && problem_.empty(); ++i) {
      if (words_ != nullptr) words_->push_back(NameOf(actions[i].kind));
      Draws draws(actions[i].salt);
      Make(actions[i].kind, draws);
      ++report_.operations;
      if (!problem_.empty()) return {i, problem_};
    }
    if (words_ != nullptr) words_->push_back("all keys, at the end");
    for (family_ = 0; family_ < material_.families; ++family_) {
      for (const bool forward : {true, false}) ScanAll(kNow, forward);
    }
    Close();
    if (problem_.empty()) return {};
    return {actions.empty() ? 0 : actions.size() - 1, problem_};
  }

 private:
  // Corresponding iterators, one of each store that has the family.
  using Iterators = std::array<std::unique_ptr<lsm::Iterator>, kComparedStores>;

  // The stores that have the family of the current action.
  size_t stores() const { return family_ == 0 ? kComparedStores : kComparedStores - 1; }

  void Make(Action::Kind kind, Draws& draws) {
    family_ = HasFamily(kind) ? AnyFamily(draws) : 0;
    switch (kind) {
      case Action::kPut:
      case Action::kDelete:
      case Action::kBatch:
      case Action::kDeleteRange:
      case Action::kRangeBatch:
        return Write(kind, draws);
      case Action::kGet: {
        const size_t snapshot = AnySnapshot(draws);
        return Get(snapshot, keys_.Any(draws));
      }
      case Action::kMultiGet: {
        const size_t snapshot = AnySnapshot(draws);
        for (size_t left = draws.Roll(20); left > 0; --left) Get(snapshot, keys_.Any(draws));
        return;
      }
      case Action::kSnapshot:
        return TakeOrReleaseSnapshot(draws);
      case Action::kNewIterator:
        return NewIterators(draws);
      case Action::kWalk: {
        const size_t place = draws.Roll(kIteratorsHeld);
        Say([&] { return Concat(" of iterator ", place); });
        return Walk(iterators_[place], draws);
      }
      case Action::kScan: {
        const size_t snapshot = AnySnapshot(draws);
        return ScanAll(snapshot, draws.OneIn(2));
      }
      case Action::kBackgroundJob:
        return stores_[0]->RunBackgroundJob();
      case Action::kBackground:
        return Check(stores_[0]->name(), stores_[0]->RunBackgroundJobs());
      case Action::kFlush:
        return ForEach([](ComparedStore& store) { return store.Flush(); });
      case Action::kCompact:
        return Compact(draws);
      case Action::kReopen:
        Close();
        ++report_.reopenings;
        return ForEach([](ComparedStore& store) { return store.Open(); });
      case Action::kDropKeyspace:
        family_ = 1 + draws.Roll(material_.families - 1);
        Say([&] { return Concat(" of ", FamilyName(family_)); });
        ++report_.drops;
        return ForEach([&](ComparedStore& store) { return store.Replace(family_); });
      default:
        return;
    }
  }

  // --- findings ---

  void Check(const char* name, const absl::Status& status) {
    if (!status.ok() && problem_.empty()) problem_ = Concat(name, " fails: ", status.ToString());
  }
  // Appends `text()` to the current line, if the caller wants the lines.
  template <typename Text>
  void Say(const Text& text) {
    if (words_ != nullptr) words_->back() += text();
  }
  template <typename Call>
  void ForEach(const Call& call) {
    for (size_t i = 0; i < stores(); ++i) Check(stores_[i]->name(), call(*stores_[i]));
  }
  // Reports that the stores disagree.  `text(i)` is the answer of store i.
  template <typename Text>
  void FailWith(const std::string& what, const Text& text) {
    if (!problem_.empty()) return;
    problem_ = Concat(what, ":");
    for (size_t i = 0; i < stores(); ++i)
      problem_ += Concat(i == 0 ? " " : ", ", stores_[i]->name(), " says ", text(i));
  }

  // --- actions ---

  void Write(Action::Kind kind, Draws& draws) {
    DrawChanges(kind, keys_, material_.values, draws, &changes_);
    Say([&] { return Concat(" ", TextOf(changes_, keys_)); });
    ++report_.writes;
    ForEach([&](ComparedStore& store) { return store.Write(family_, changes_); });
  }

  void Compact(Draws& draws) {
    const RankBounds range = AnyBounds(keys_, draws);
    Say([&] { return TextOf(range, keys_); });
    lsm::ReadOptions bounds;
    range.SetIn(keys_, &bounds);
    ForEach([&](ComparedStore& store) {
      return store.Compact(family_, bounds.lower_bound, bounds.upper_bound);
    });
  }

  static bool HasFamily(Action::Kind kind) {
    switch (kind) {
      case Action::kSnapshot:
      case Action::kWalk:
      case Action::kBackgroundJob:
      case Action::kBackground:
      case Action::kFlush:
      case Action::kReopen:
      case Action::kDropKeyspace:
        return false;
      default:
        return true;
    }
  }
  size_t AnyFamily(Draws& draws) {
    if (material_.families == 1 || draws.OneIn(2)) return 0;
    const size_t family = draws.Roll(material_.families);
    if (family > 0) Say([&] { return Concat(" in ", FamilyName(family)); });
    return family;
  }

  size_t AnySnapshot(Draws& draws) {
    const size_t place = draws.Roll(2 * kSnapshotsHeld);
    if (place >= kSnapshotsHeld || !has_snapshot_[place]) return kNow;
    Say([&] { return Concat(" as of snapshot ", place); });
    return place;
  }

  void TakeOrReleaseSnapshot(Draws& draws) {
    const size_t place = draws.Roll(kSnapshotsHeld);
    const bool take = has_snapshot_[place] = !has_snapshot_[place];
    Say([&] { return Concat(" ", place, take ? " taken" : " released"); });
    for (const auto& store : stores_)
      take ? store->TakeSnapshot(place) : store->ReleaseSnapshot(place);
  }

  void Get(size_t snapshot, uint32_t rank) {
    bool found[kComparedStores] = {};
    for (size_t i = 0; i < stores(); ++i) {
      const absl::StatusOr<bool> answer =
          stores_[i]->Get(family_, keys_[rank], snapshot, &values_[i]);
      Check(stores_[i]->name(), answer.status());
      found[i] = answer.ok() && *answer;
    }
    ++report_.answers;
    for (size_t i = 1; i < stores(); ++i) {
      if (found[i] == found[0] && (!found[0] || values_[i] == values_[0])) continue;
      FailWith(keys_.TextOf(rank), [&](size_t which) {
        return TextOfValue(found[which] ? OptionalKey(values_[which]) : std::nullopt);
      });
    }
  }

  Iterators IteratorsOver(size_t snapshot, const RankBounds& bounds) {
    lsm::ReadOptions options;
    bounds.SetIn(keys_, &options);
    Iterators iterators;
    for (size_t i = 0; i < stores(); ++i) {
      iterators[i] =
          stores_[i]->NewIterator(family_, snapshot, options.lower_bound, options.upper_bound);
    }
    return iterators;
  }

  void NewIterators(Draws& draws) {
    const size_t place = draws.Roll(kIteratorsHeld);
    Say([&] { return Concat(" ", place); });
    const size_t snapshot = AnySnapshot(draws);
    const RankBounds bounds = AnyBounds(keys_, draws);
    Say([&] { return TextOf(bounds, keys_); });
    iterators_[place] = IteratorsOver(snapshot, bounds);
    Walk(iterators_[place], draws);
  }

  void Walk(const Iterators& iterators, Draws& draws) {
    if (iterators[0] == nullptr) return;
    for (size_t left = 1 + draws.Roll(12); left > 0 && problem_.empty(); --left) {
      const Move move = AnyMove(iterators[0]->Valid(), keys_, draws);
      Say([&] { return Concat(", ", TextOf(move, keys_)); });
      MoveAll(move, iterators);
    }
  }

  void ScanAll(size_t snapshot, bool forward) {
    const Iterators iterators = IteratorsOver(snapshot, {});
    MoveAll({forward ? Move::kSeekToFirst : Move::kSeekToLast, 0}, iterators);
    while (problem_.empty() && iterators[0]->Valid())
      MoveAll({forward ? Move::kNext : Move::kPrev, 0}, iterators);
  }

  void MoveAll(const Move& move, const Iterators& iterators) {
    bool same = true;
    ++report_.answers;
    for (size_t i = 0; i < kComparedStores && iterators[i] != nullptr; ++i) {
      MakeMove(move, keys_, iterators[i].get());
      Check(stores_[i]->name(), iterators[i]->status());
      same = same && iterators[i]->Valid() == iterators[0]->Valid() &&
             (!iterators[i]->Valid() || (iterators[i]->key() == iterators[0]->key() &&
                                         iterators[i]->value() == iterators[0]->value()));
    }
    if (same) return;
    FailWith(TextOf(move, keys_), [&](size_t i) {
      if (iterators[i] == nullptr) return std::string("nothing");
      if (!iterators[i]->Valid()) return std::string("no key");
      return Concat(TextOfKey(iterators[i]->key()), " = ", TextOfValue(iterators[i]->value()));
    });
  }

  void Close() {
    for (Iterators& iterators : iterators_) iterators = {};
    for (bool& has : has_snapshot_) has = false;
    for (const auto& store : stores_) store->Close();
  }

  const ComparedMaterial& material_;
  const KeyPool& keys_;
  DifferentialReport& report_;
  std::vector<std::string>* const words_;
  std::string problem_;
  size_t family_ = 0;  // of the current action
  const std::vector<std::unique_ptr<ComparedStore>> stores_;
  Iterators iterators_[kIteratorsHeld];
  bool has_snapshot_[kSnapshotsHeld] = {};
  std::string values_[kComparedStores];
  std::vector<Change> changes_;
};

}  // namespace

DifferentialReport CompareWithPeers(uint64_t seed, uint64_t operations) {
  DifferentialReport report;
  for (; report.operations < operations && report.finding.empty(); ++seed) {
    SayUnderWay(Concat("the episode of seed ", seed, " (as amount, ", report.operations + 1, ")"));
    const ComparedMaterial material(seed);
    const std::vector<Action> actions = MakeActions(seed, WeightsOf(seed), kEpisodeActions);
    ++report.episodes;
    const std::optional<size_t> failed_at =
        Comparison(material, &report, nullptr).Run(actions).failed_at;
    if (!failed_at) continue;
    report.finding =
        Concat("seed ", seed, ", ",
               FindingOf(actions, *failed_at, "", kReductionEffortMax,
                         [&](const std::vector<Action>& some, std::vector<std::string>* words) {
                           DifferentialReport unused;
                           return Comparison(material, &unused, words).Run(some);
                         }));
  }
  return report;
}

}  // namespace reliability
