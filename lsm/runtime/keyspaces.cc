#include "lsm/runtime/keyspaces.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "lsm/store/recovery.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Relaxed: each opening needs a number of its own, in any order.
uint64_t NewOpening() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

std::vector<FlushRun::List> ListsToFlush(const Memtable& memtable) {
  std::vector<FlushRun::List> lists;
  for (const EntryList* const list : memtable.Lists()) {
    lists.push_back({list->keyspace(), [list] { return list->NewIterator(); }, list->MapOfRanges(),
                     list->entry_count()});
  }
  return lists;
}

Keyspaces::Keyspaces(const Options* options, Mutex* mutex, Clock* clock)
    : options_(*options),
      opening_(NewOpening()),
      mutex_(mutex),
      states_({{kDefaultKeyspace, std::make_shared<KeyspaceState>(
                                      kDefaultKeyspace, kDefaultKeyspaceName, opening_)}}),
      clock_(clock),
      default_state_(states_.at(kDefaultKeyspace).get()) {
  states_.at(kDefaultKeyspace)->has_own_tree = true;
  ids_.emplace(default_state_->name, kDefaultKeyspace);
}

absl::Status Keyspaces::CheckOwner(const WriteBatch& batch) const {
  for (const auto& state : EncodedBatch::KeyspacesOf(batch)) {
    if (state->opening != opening_) {
      return absl::InvalidArgumentError(
          Concat("the batch names the keyspace \"", state->name, "\" of another DB"));
    }
  }
  return absl::OkStatus();
}

void Keyspaces::Start(const KeyspaceRecords& records) {
  MutexLock lock(mutex_);
  std::erase_if(ids_, [](const auto& entry) { return entry.second != kDefaultKeyspace; });
  std::erase_if(states_, [](const auto& entry) { return entry.first != kDefaultKeyspace; });
  own_options_.clear();
  dropped_.clear();
  limits_left_.clear();
  std::vector<LimitTable::Row> limits;
  std::optional<uint32_t> now;  // one moment for all; without times no clock is read
  for (const auto& [id, record] : records.all()) {
    std::shared_ptr<KeyspaceState>& state = states_[id];
    if (state == nullptr) state = std::make_shared<KeyspaceState>(id, record.name, opening_);
    state->options = record.options;
    state->has_own_tree = record.has_own_tree;
    if (record.marks.are_timed()) {
      if (!now) now = clock_.Now();
      const ExpiryLimit limit = ExpiryLimit::AtOpening(record.options, record.marks, *now);
      state->TakeLimit(limit);
      limits.emplace_back(id, limit);
      limits_left_[id] = {limit};
    }
    ids_.emplace(state->name, id);
    if (ReplacesAny(record.options)) {
      own_options_[id] =
          std::make_shared<const Options>(EffectiveOptions(options_, record.options));
    }
  }
  next_id_ = records.next_id();
  limits_ = limits.empty() ? nullptr : std::make_shared<const LimitTable>(std::move(limits));
}

absl::Status Keyspaces::CheckAndStart(const KeyspaceRecords& records, std::string_view directory) {
  TRELLIS_RETURN_IF_ERROR(WithContext(CheckKeyspacesAct(records, options_), directory));
  Start(records);
  return absl::OkStatus();
}

KeyspaceRecords Keyspaces::Records() const {
  KeyspaceRecords records;
  records.Advance(next_id_);
  for (const auto& [id, state] : states_) {
    if (id == kDefaultKeyspace && state->options == KeyspaceOptions()) continue;
    if (dropped_.contains(id)) continue;
    records.Put({.id = id,
                 .has_own_tree = state->has_own_tree,
                 .options = state->options,
                 .name = state->name,
                 .marks = state->GetLimit().marks});
  }
  return records;
}

std::shared_ptr<const KeyspaceState> Keyspaces::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : states_.at(found->second);
}

bool Keyspaces::Changes(const KeyspaceState& state, const KeyspaceOptions& options) const {
  return Merged(state.options, options) != state.options;
}

std::vector<std::string> Keyspaces::Names() const {
  std::vector<std::string> names;
  names.reserve(ids_.size());
  for (const auto& [name, id] : ids_) names.emplace_back(name);
  return names;
}

absl::StatusOr<Keyspaces::Prepared> Keyspaces::Prepare(std::string_view name,
                                                       const KeyspaceOptions& options) const {
  Prepared prepared;
  if (const auto found = ids_.find(name); found != ids_.end()) {
    prepared.state = states_.at(found->second);
    prepared.options = Merged(prepared.state->options, options);
    if (prepared.options == prepared.state->options) return prepared;
    prepared.change = {.kind = KeyspaceChange::Kind::kOptions,
                       .id = prepared.state->id,
                       .options = prepared.options};
  } else {
    if (next_id_ == KeyspaceRecords::kIdEnd)
      return absl::ResourceExhaustedError("all ids of keyspaces are used up");
    if (ids_.size() > kKeyspacesMax) {  // one of them is the default one
      return absl::ResourceExhaustedError(Concat("the store has ", ids_.size() - 1,
                                                 " keyspaces besides \"default\": it may have ",
                                                 kKeyspacesMax));
    }
    const auto id = static_cast<KeyspaceId>(next_id_);
    prepared.state = std::make_shared<KeyspaceState>(id, name, opening_);
    prepared.options = options;
    prepared.change = {.id = id, .name = std::string(name), .options = options};
    prepared.states.emplace(id, prepared.state);
    prepared.ids.emplace(prepared.state->name, id);
  }
  if (ReplacesAny(prepared.options)) {
    prepared.own_options.emplace(
        prepared.state->id,
        std::make_shared<const Options>(EffectiveOptions(options_, prepared.options)));
  }
  return prepared;
}

Keyspaces::Prepared Keyspaces::PrepareDrop(std::string_view name) const {
  Prepared prepared;
  const auto found = ids_.find(name);
  if (found == ids_.end()) return prepared;
  prepared.state = states_.at(found->second);
  prepared.change = {.kind = KeyspaceChange::Kind::kDropped, .id = prepared.state->id};
  prepared.dropped.insert(prepared.state->id);
  return prepared;
}

void Keyspaces::Announce(Prepared* prepared) {
  if (!prepared->change || prepared->change->kind == KeyspaceChange::Kind::kDropped) return;
  const KeyspaceState& state = *prepared->state;
  KeyspaceChange& change = *prepared->change;
  // A creation that failed may have had this id.
  if (change.kind == KeyspaceChange::Kind::kCreated) limits_left_.erase(state.id);
  const ExpiryLimit before = state.GetLimit();
  const bool begins = !before.marks.are_timed();
  if (begins && change.options.expire_after.value_or(0) == 0) return;
  const uint32_t now = clock_.Now();
  change.marks = {before.At(now).live_from, begins ? std::max(now, 1u) : before.marks.timed_from};
  const ExpiryLimit limit = ExpiryLimit::Of(change.options, change.marks);
  std::vector<LimitTable::Row> rows;
  if (limits_ != nullptr && !limits_have_forgotten_) rows = limits_->rows();
  if (limits_ != nullptr && limits_have_forgotten_) {
    for (const LimitTable::Row& row : limits_->rows()) {
      if (states_.contains(row.first)) rows.push_back(row);
    }
  }
  auto limits = std::make_shared<LimitTable>(std::move(rows));
  limits->Set(state.id, limit);
  std::vector<ExpiryLimit>& left = limits_left_[state.id];
  left.reserve(left.size() + 2);
  // A keyspace that existed before had no limit.
  if (left.empty() && change.kind == KeyspaceChange::Kind::kOptions) left.emplace_back();
  left.push_back(limit);
  limits_have_forgotten_ = false;  // once the new ones are in force
  prepared->limits = std::move(limits);
}

void Keyspaces::TakeBack(const Prepared& prepared) {
  if (prepared.limits == nullptr) return;
  limits_have_forgotten_ = true;  // perhaps: `limits_` stays as it was
  const auto left = limits_left_.find(prepared.state->id);
  left->second.pop_back();
  // A keyspace without times has only this one.
  if (!prepared.state->GetLimit().marks.are_timed()) limits_left_.erase(left);
}

void Keyspaces::Apply(Prepared prepared) {
  if (!prepared.change) return;
  const KeyspaceId id = prepared.state->id;
  if (prepared.change->kind == KeyspaceChange::Kind::kDropped) {
    prepared.state->dropped.store(true, std::memory_order_relaxed);
    dropped_.merge(prepared.dropped);
    ids_.erase(prepared.state->name);
    return;
  }
  next_id_ = std::max(next_id_, uint64_t{id} + 1);
  if (prepared.limits != nullptr) {
    KeyspaceState& state = *prepared.state;
    // Readers have used the old limit until now.
    ExpiryMarks marks = prepared.change->marks;
    marks.cutoff = std::max(marks.cutoff, state.GetLimit().At(clock_.Now()).live_from);
    const ExpiryLimit limit = ExpiryLimit::Of(prepared.options, marks);
    state.TakeLimit(limit);
    prepared.limits->Set(id, limit);  // replaces it
    limits_ = std::move(prepared.limits);
  }
  prepared.state->options = std::move(prepared.options);
  states_.merge(prepared.states);
  ids_.merge(prepared.ids);
  if (prepared.own_options.empty()) return;
  if (const auto known = own_options_.find(id); known != own_options_.end()) {
    known->second = prepared.own_options.at(id);
  } else {
    own_options_.merge(prepared.own_options);
  }
}

absl::StatusOr<Keyspaces::NextView> Keyspaces::PrepareView(const KeyspaceRecords& records,
                                                           std::string_view directory) const {
  TRELLIS_RETURN_IF_ERROR(WithContext(CheckKeyspacesAct(records, options_), directory));
  NextView view;
  std::vector<LimitTable::Row> limits;
  const KeyspaceRecord usual_default;
  std::vector<const KeyspaceRecord*> all;
  if (!records.all().contains(kDefaultKeyspace)) all.push_back(&usual_default);
  for (const auto& [id, record] : records.all()) all.push_back(&record);
  for (const KeyspaceRecord* const record : all) {
    const auto known = states_.find(record->id);
    std::shared_ptr<KeyspaceState>& state = view.states[record->id];
    // An opening lowers a cutoff that is later than the present (ExpiryLimit::AtOpening).  A
    // follower does not: its clock may be slow, and set right later.
    const ExpiryLimit limit = ExpiryLimit::Of(record->options, record->marks);
    if (record->marks.are_timed()) limits.emplace_back(record->id, limit);
    if (known == states_.end() || known->second->name != record->name) {
      state = std::make_shared<KeyspaceState>(record->id, record->name, opening_);
      state->options = record->options;
      state->has_own_tree = record->has_own_tree;
      state->TakeLimit(limit);
    } else {
      state = known->second;
      if (state->options != record->options || state->has_own_tree != record->has_own_tree ||
          state->GetLimit() != limit)
        view.changed.push_back({state, *record, limit});
    }
    view.ids.insert_or_assign(state->name, record->id);
  }
  view.next_id = records.next_id();
  if (!limits.empty()) view.limits = std::make_shared<const LimitTable>(std::move(limits));
  return view;
}

void Keyspaces::Apply(NextView view) {
  for (const auto& [id, state] : states_) {
    const auto next = view.states.find(id);
    if (next == view.states.end() || next->second != state)
      state->dropped.store(true, std::memory_order_relaxed);
  }
  for (auto& [state, record, limit] : view.changed) {
    state->options = std::move(record.options);
    state->has_own_tree = record.has_own_tree;
    state->TakeLimit(limit);
  }
  limits_ = std::move(view.limits);
  ids_.swap(view.ids);
  states_.swap(view.states);
  next_id_ = view.next_id;
}

OwnOptions Keyspaces::OwnOptionsIn(const Version& version) const {
  OwnOptions options;
  for (const auto& [id, tree] : version.trees()) {
    if (const auto own = own_options_.find(id); own != own_options_.end()) options.insert(*own);
  }
  return options;
}

std::shared_ptr<const KeyspaceState> Keyspaces::StateOf(KeyspaceId id) const {
  const auto found = states_.find(id);
  return found == states_.end() ? nullptr : found->second;
}
const Tree& Keyspaces::FullestTree(const Version& version) const {
  if (dropped_.empty()) return *version.fullest_tree();
  const Tree* fullest = version.default_tree().get();
  for (const auto& [id, tree] : version.trees()) {
    if (!dropped_.contains(id) && tree->level0_tables() > fullest->level0_tables())
      fullest = tree.get();
  }
  return *fullest;
}

KeyspaceId Keyspaces::LargestDropped(const Version& version) const {
  KeyspaceId largest = kDefaultKeyspace;
  uint64_t bytes = 0;
  for (const KeyspaceId id : dropped_) {
    const Tree* const tree = version.TreeOf(id);
    if (tree == nullptr || tree->bytes() <= bytes) continue;
    largest = id;
    bytes = tree->bytes();
  }
  return largest;
}

bool Keyspaces::Forget(const std::vector<KeyspaceChange>& changes, const Version& version) {
  bool has_limit = false;
  for (const KeyspaceChange& change : changes) {
    if (change.kind != KeyspaceChange::Kind::kDropped) {
      const auto left = limits_left_.find(change.id);
      // Without limits if there was no memory to announce one.
      if (left == limits_left_.end() || left->second.empty()) continue;
      has_limit = true;
      // No crash can bring back earlier limits.  The first one is that of the manifest, or of this
      // change.
      const auto recorded = std::find(std::next(left->second.begin()), left->second.end(),
                                      ExpiryLimit::Of(change.options, change.marks));
      if (recorded != left->second.end()) left->second.erase(left->second.begin(), recorded);
      continue;
    }
    limits_have_forgotten_ |= limits_left_.erase(change.id) > 0;
    dropped_.erase(change.id);
    own_options_.erase(change.id);
    states_.erase(change.id);
  }
  return has_limit && MayHaveExpired(version);
}

void Keyspaces::ForgetDropped() {
  for (const KeyspaceId id : dropped_) {
    limits_have_forgotten_ |= limits_left_.erase(id) > 0;
    own_options_.erase(id);
    states_.erase(id);
  }
  dropped_.clear();
}

std::shared_ptr<const ReadTime> Keyspaces::TimeOfSnapshot() const {
  if (limits_ == nullptr) return nullptr;
  return std::make_shared<const ReadTime>(ReadTime{clock_.Now(), limits_});
}

SnapshotList Keyspaces::Present() const {
  SnapshotList present;
  if (limits_ != nullptr)
    present.expiry = std::make_shared<const JobExpiry>(JobExpiry{{clock_.Now(), limits_}, {}});
  return present;
}

std::shared_ptr<const JobExpiry> Keyspaces::ExpiryOfJob(
    std::vector<JobExpiry::Reader> readers) const {
  std::vector<LimitTable::Row> rows;
  for (const auto& [id, limits] : limits_left_) {
    for (const ExpiryLimit& limit : limits) rows.emplace_back(id, limit);
  }
  return std::make_shared<const JobExpiry>(JobExpiry{
      {clock_.Now(), std::make_shared<const LimitTable>(std::move(rows))}, std::move(readers)});
}

std::optional<Keyspaces::UnrecordedLimits> Keyspaces::Unrecorded() const {
  if (std::none_of(limits_left_.begin(), limits_left_.end(),
                   [](const auto& entry) { return entry.second.size() > 1; }))
    return std::nullopt;
  UnrecordedLimits limits = {Present(), {}};
  limits.recorded.expiry = ExpiryOfJob({});
  return limits;
}

SnapshotList Keyspaces::ForJob(const Sequences& sequences) const {
  SnapshotList list = sequences.Snapshots();
  if (!limits_left_.empty()) list.expiry = ExpiryOfJob(sequences.Readers());
  return list;
}

bool Keyspaces::MayHaveExpired(const Version& version) const {
  if (limits_ == nullptr) return false;
  const LimitTable& limits = *limits_;
  const uint32_t now = clock_.Now();
  return std::any_of(version.trees().begin(), version.trees().end(),
                     [&](const auto& entry) { return entry.tree->MayHaveExpired(limits, now); });
}

void Keyspaces::NoteAllRecorded() {
  for (auto& [id, limits] : limits_left_) {
    const auto state = states_.find(id);
    if (state == states_.end() || limits.empty()) continue;
    limits.erase(std::next(limits.begin()), limits.end());
    limits.front() = state->second->GetLimit();
  }
}

bool Keyspaces::MayLeave(KeyspaceId id) const {
  const auto found = states_.find(id);
  return found != states_.end() && !IsDropped(found->second.get()) &&
         !found->second->stays_in_common;
}

void Keyspaces::NoteLeft(KeyspaceId id) {
  if (const auto found = states_.find(id); found != states_.end())
    found->second->has_own_tree = true;
}

void Keyspaces::NoteStays(KeyspaceId id) {
  if (const auto found = states_.find(id); found != states_.end())
    found->second->stays_in_common = true;
}

void Keyspaces::AddTo(const std::vector<KeyspaceChange>& changes, VersionEdit* edit) const {
  std::map<KeyspaceId, KeyspaceRecord> records;
  std::set<KeyspaceId> created;
  for (const KeyspaceChange& change : changes) {
    switch (change.kind) {
      case KeyspaceChange::Kind::kCreated:
        created.insert(change.id);
        records[change.id] = {.id = change.id,
                              .has_own_tree = false,
                              .options = change.options,
                              .name = change.name,
                              .marks = change.marks};
        edit->next_keyspace_id = uint64_t{change.id} + 1;
        break;
      case KeyspaceChange::Kind::kOptions: {
        if (!created.contains(change.id)) {
          const auto known = states_.find(change.id);
          if (known == states_.end()) break;  // its drop follows
          records[change.id].name = known->second->name;
          records[change.id].has_own_tree = known->second->has_own_tree;
        }
        records[change.id].id = change.id;
        records[change.id].options = change.options;
        records[change.id].marks = change.marks;
        break;
      }
      case KeyspaceChange::Kind::kDropped:
        records.erase(change.id);
        if (!created.contains(change.id)) edit->dropped_keyspaces.push_back(change.id);
        break;
    }
  }
  for (auto& [id, record] : records) edit->keyspaces.push_back(std::move(record));
}

}  // namespace lsm
