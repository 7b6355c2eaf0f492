#include "tests/reliability/histories/history_caller.h"

#include <map>
#include <thread>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/iterator.h"
#include "lsm/pinned_value.h"
#include "lsm/snapshot.h"
#include "lsm/write_batch.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr uint64_t kCallsPerThread = 55;
constexpr uint64_t kValuesPerThread = 1000;  // more than a history's calls write
constexpr std::string_view kOpening = "OpenKeyspace";

// Most values are short.  Some are long, to fill memtables.
std::string ValueOf(uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15;
  const uint64_t kind = mixed >> 58;
  const size_t filling = kind == 0 ? 12'000 : kind < 6 ? 2'000 : static_cast<size_t>(kind);
  return Concat(number, ":", std::string(filling, static_cast<char>('a' + number % 26)));
}

bool IsRefusal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition;
}
bool Names(const absl::Status& status, size_t keyspace) {
  return status.message().find(Concat('"', HistoryKeys::NameOf(keyspace), '"')) !=
         std::string_view::npos;
}

// Calls `use` with the store for "default", and with the handle for another keyspace.
template <typename Place, typename Use>
auto In(lsm::DB& db, Place& place, const Use& use) {
  return place.keyspace == 0 ? use(db) : use(place.handle);
}

}  // namespace

// No call of Keyspace returns the id.
uint64_t LifeOf(const lsm::Keyspace& keyspace) {
  lsm::WriteBatch batch;
  batch.Delete(keyspace, "");
  return lsm::EncodedBatch::KeyspacesOf(batch).front()->id;
}

std::string HistoryKeys::TextOfRegisters() const {
  std::string text = Concat("k", RegisterOf(0, 0), " to k", RegisterOf(1, 0) - 1, ": default");
  for (size_t keyspace = 1; keyspace <= keyspaces_; ++keyspace) {
    text += Concat("; k", RegisterOf(keyspace, 0), " to k", RegisterOf(keyspace + 1, 0) - 1, ": ",
                   NameOf(keyspace), ", with its life in k", LifeRegisterOf(keyspace));
  }
  return text;
}

HistoryCaller::HistoryCaller(Scene* scene, uint64_t seed, uint64_t history, int thread)
    : scene_(*scene),
      keys_(scene->keys),
      thread_(thread),
      dice_(seed),
      next_value_((history * kCallers + static_cast<uint64_t>(thread)) * kValuesPerThread + 1) {
  for (size_t i = 0; i <= keys_.keyspaces(); ++i) places_.push_back({.keyspace = i});
}

void HistoryCaller::Run() {
  scene_.start.arrive_and_wait();
  while (calls_.size() < kCallsPerThread) Call(/*depth=*/0);
  // Relaxed: a thread that reads 0 only ends.  The results are read after the thread was joined.
  scene_.callers.fetch_sub(1, std::memory_order_relaxed);
}

std::vector<uint64_t> HistoryCaller::Finish() {
  std::vector<uint64_t> values(keys_.registers(), kAbsent);
  const std::vector<std::string> names = List();
  for (Place& place : places_) {
    if (place.keyspace > 0) {
      if (std::find(names.begin(), names.end(), keys_.NameOf(place.keyspace)) == names.end())
        continue;
      Open(&place);
      values[keys_.LifeRegisterOf(place.keyspace)] = place.life;
      own_trees_ += place.handle.GetStatistics().has_own_tree;
    }
    MultiGetOf(place, AllKeys(), {}, Begin("MultiGet at the end", TimedCall::kRead), nullptr);
    for (const KeyValue& entry : calls_.back().entries) values[entry.key] = entry.value;
    ScanOf(place, {}, /*depth=*/1, nullptr);
  }
  return values;
}

// `depth`: the number of enclosing calls that hold a snapshot or an iterator.
void HistoryCaller::Call(int depth) {
  const size_t roll = dice_.Roll(scene_.calls_others ? 104 : 100);
  if (roll < 27) return Put();
  if (roll < 31) return Delete();
  if (roll < 35) return DeleteRange();
  if (roll < 50) return Batch();
  if (roll < 66) return Get();
  if (roll < 78) {
    Place& place = AnyPlace();
    const std::vector<size_t> numbers = SomeKeys();
    return MultiGetOf(place, numbers, {}, Begin("MultiGet", TimedCall::kRead), nullptr);
  }
  if (roll >= 103) return Work();
  if (roll >= 102) return (void)List();
  if (roll >= 100) return Drop();
  if (depth > 0) return;
  if (roll < 89) return AtSnapshot();
  ScanOf(AnyPlace(), {}, depth, nullptr);
}

TimedCall HistoryCaller::Begin(const char* name, TimedCall::Kind kind) {
  return {kind, name, thread_, scene_.moments.Next(), 0, {}};
}

void HistoryCaller::Fail(const std::string& what) {
  if (problem_.empty()) problem_ = Concat("thread ", thread_, ": ", what);
}

void HistoryCaller::FailUnlessOk(const char* what, const absl::Status& status) {
  if (!status.ok()) Fail(Concat(what, ": ", status.ToString()));
}

// --- keyspaces ---

HistoryCaller::Place& HistoryCaller::AnyPlace() {
  if (!scene_.calls_others) return places_[0];
  Place& place = places_[dice_.OneIn(4) ? 0 : dice_.Roll(places_.size())];
  if (place.keyspace > 0 && place.life == kAbsent) Open(&place);
  return place;
}

// Opens or creates the keyspace.  Some openings change an option.
void HistoryCaller::Open(Place* place) {
  lsm::KeyspaceOptions options;
  if (dice_.OneIn(8)) options.target_fpp = dice_.OneIn(2) ? 0.25 : 0.01;
  TimedCall call = Begin(kOpening.data(), TimedCall::kRead);
  absl::StatusOr<lsm::Keyspace> keyspace =
      scene_.db->OpenKeyspace(keys_.NameOf(place->keyspace), options);
  Return(&call);
  FailUnlessOk(call.name, keyspace.status());
  if (!keyspace.ok()) return;
  place->handle = *std::move(keyspace);
  place->life = LifeOf(place->handle);
  call.given = {{keys_.LifeRegisterOf(place->keyspace), place->life}};
  calls_.push_back(std::move(call));
}

void HistoryCaller::Drop() {
  const size_t keyspace = scene_.drops_from + dice_.Roll(places_.size() - scene_.drops_from);
  const size_t life = keys_.LifeRegisterOf(keyspace);
  TimedCall call = Begin("DropKeyspace", TimedCall::kWrite);
  const absl::Status status = scene_.db->DropKeyspace(keys_.NameOf(keyspace));
  Return(&call);
  call.given = {{life, kAbsent, /*differs=*/status.ok()}};
  if (absl::IsNotFound(status)) {
    call.kind = TimedCall::kRead;
  } else {
    FailUnlessOk(call.name, status);
    ++drops_;
    call.entries.push_back({life, kAbsent});
    for (const size_t key : AllKeys())
      call.entries.push_back({keys_.RegisterOf(keyspace, key), kAbsent});
  }
  calls_.push_back(std::move(call));
}

std::vector<std::string> HistoryCaller::List() {
  TimedCall call = Begin("ListKeyspaces", TimedCall::kRead);
  const absl::StatusOr<std::vector<std::string>> names = scene_.db->ListKeyspaces();
  Return(&call);
  FailUnlessOk(call.name, names.status());
  if (!names.ok()) return {};
  for (size_t keyspace = 1; keyspace < places_.size(); ++keyspace) {
    const bool is_there =
        std::find(names->begin(), names->end(), keys_.NameOf(keyspace)) != names->end();
    call.given.push_back({keys_.LifeRegisterOf(keyspace), kAbsent, /*differs=*/is_there});
  }
  calls_.push_back(std::move(call));
  return *names;
}

// Flushes or compacts, beside the upkeep (histories.cc).
void HistoryCaller::Work() {
  if (dice_.OneIn(2)) return FailUnlessOk("Flush", scene_.db->Flush());
  Place& place = AnyPlace();
  TimedCall call = Begin("CompactRange", TimedCall::kRead);
  const absl::Status status = In(*scene_.db, place, [](auto& in) { return in.CompactRange(); });
  Return(&call);
  NoteRead(place, std::move(call), status, {}, nullptr);
}

void HistoryCaller::Grow() {
  Place& place = places_[1];
  Open(&place);
  lsm::WriteBatch batch;
  for (int i = 0; i < 7; ++i) {
    std::string value;  // which no compression makes smaller
    while (value.size() < 12'000) value.push_back(static_cast<char>(dice_.Next()));
    batch.Put(place.handle, Concat("filling", i), value);
  }
  TimedCall call = Begin("Write of a filling", TimedCall::kRead);
  const absl::Status status = scene_.db->Write(batch);
  Return(&call);
  NoteRead(place, std::move(call), status, {}, nullptr);
}

// Notes what the status of a call says about the life of a keyspace that it named.  True if it is
// OK.  After a refusal some calls more use the old handle.
bool HistoryCaller::Settle(const Place& place, const absl::Status& status, TimedCall* call) {
  const bool is_refusal = place.keyspace > 0 && IsRefusal(status);
  if (!is_refusal) FailUnlessOk(call->name, status);
  if (place.keyspace > 0)
    call->given.push_back(
        {keys_.LifeRegisterOf(place.keyspace), place.life, /*differs=*/is_refusal});
  if (!is_refusal) return status.ok();
  ++refusals_;
  if (!Names(status, place.keyspace)) Fail(Concat(call->name, ": ", status.ToString()));
  call->kind = TimedCall::kRead;
  call->entries.clear();
  Place& mine = places_[place.keyspace];
  if (mine.life == call->given.back().value && dice_.OneIn(2)) mine.life = kAbsent;
  return false;
}

// --- writes ---

void HistoryCaller::Put() {
  Place& place = AnyPlace();
  const size_t key = AnyKey();
  const uint64_t value = next_value_++;
  const std::string text = ValueOf(value);
  const lsm::WriteOptions options = Sync(8);
  TimedCall call = Begin("Put", TimedCall::kWrite);
  const absl::Status status =
      In(*scene_.db, place, [&](auto& in) { return in.Put(keys_[key], text, options); });
  Return(&call);
  call.entries = {{keys_.RegisterOf(place.keyspace, key), value}};
  Settle(place, status, &call);
  calls_.push_back(std::move(call));
}

void HistoryCaller::Delete() {
  Place& place = AnyPlace();
  const size_t key = AnyKey();
  const lsm::WriteOptions options = Sync(8);
  TimedCall call = Begin("Delete", TimedCall::kWrite);
  const absl::Status status =
      In(*scene_.db, place, [&](auto& in) { return in.Delete(keys_[key], options); });
  Return(&call);
  call.entries = {{keys_.RegisterOf(place.keyspace, key), kAbsent}};
  Settle(place, status, &call);
  calls_.push_back(std::move(call));
}

// One write of several keys.
void HistoryCaller::DeleteRange() {
  Place& place = AnyPlace();
  const KeyRange range = AnyRange();
  const lsm::WriteOptions options = Sync(8);
  TimedCall call = Begin("DeleteRange", TimedCall::kWrite);
  const absl::Status status = In(
      *scene_.db, place, [&](auto& in) { return in.DeleteRange(range.from, range.to, options); });
  Return(&call);
  for (size_t key = range.first; key < range.end; ++key)
    call.entries.push_back({keys_.RegisterOf(place.keyspace, key), kAbsent});
  Settle(place, status, &call);
  calls_.push_back(std::move(call));
}

// The last of several changes to a key in a batch counts.
void HistoryCaller::Batch() {
  lsm::WriteBatch batch;
  std::vector<std::optional<uint64_t>> left(keys_.registers());
  std::vector<bool> named(places_.size());
  for (size_t i = 2 + dice_.Roll(4); i > 0; --i) {
    Place& place = AnyPlace();
    named[place.keyspace] = true;
    AddChange(place, &batch, &left);
  }
  const lsm::WriteOptions options = Sync(6);
  TimedCall call = Begin("Write", TimedCall::kWrite);
  const absl::Status status = scene_.db->Write(batch, options);
  Return(&call);
  for (size_t key = 0; key < left.size(); ++key) {
    if (left[key]) call.entries.push_back({key, *left[key]});
  }
  for (const Place& place : places_) {
    if (named[place.keyspace] && (!IsRefusal(status) || Names(status, place.keyspace)))
      Settle(place, status, &call);
  }
  if (IsRefusal(status) && call.given.empty()) FailUnlessOk(call.name, status);
  calls_.push_back(std::move(call));
}

// Adds a change of the keyspace to the batch, and to what it leaves in the registers.
void HistoryCaller::AddChange(const Place& place, lsm::WriteBatch* batch,
                              std::vector<std::optional<uint64_t>>* left) {
  const bool is_default = place.keyspace == 0;
  if (dice_.OneIn(12)) {
    const KeyRange range = AnyRange();
    is_default ? batch->DeleteRange(range.from, range.to)
               : batch->DeleteRange(place.handle, range.from, range.to);
    for (size_t key = range.first; key < range.end; ++key)
      (*left)[keys_.RegisterOf(place.keyspace, key)] = kAbsent;
    return;
  }
  const size_t key = AnyKey();
  const uint64_t value = dice_.OneIn(6) ? kAbsent : next_value_++;
  (*left)[keys_.RegisterOf(place.keyspace, key)] = value;
  if (value == kAbsent) {
    is_default ? batch->Delete(keys_[key]) : batch->Delete(place.handle, keys_[key]);
  } else {
    is_default ? batch->Put(keys_[key], ValueOf(value))
               : batch->Put(place.handle, keys_[key], ValueOf(value));
  }
}

// --- reads ---

void HistoryCaller::Get() {
  Place& place = AnyPlace();
  const size_t key = AnyKey();
  TimedCall call = Begin("Get", TimedCall::kRead);
  const absl::StatusOr<uint64_t> found = Found(place, key, {});
  Return(&call);
  NoteRead(place, std::move(call), found.status(),
           {{keys_.RegisterOf(place.keyspace, key), found.value_or(kAbsent)}}, nullptr);
}

// Looks up one key in a randomly chosen way.
absl::StatusOr<uint64_t> HistoryCaller::Found(Place& place, size_t key,
                                              const lsm::ReadOptions& options) {
  return In(*scene_.db, place, [&](auto& in) -> absl::StatusOr<uint64_t> {
    std::string text;
    lsm::PinnedValue pinned;
    absl::StatusOr<bool> found = false;
    switch (dice_.Roll(4)) {
      case 0:
        found = in.Get(keys_[key], &text, options);
        break;
      case 3: {
        const std::unique_ptr<lsm::Iterator> iterator = in.NewIterator(options);
        dice_.OneIn(2) ? iterator->Seek(keys_[key]) : iterator->SeekForPrev(keys_[key]);
        const bool is_there = iterator->Valid() && iterator->key() == keys_[key];
        if (is_there) text = iterator->value();
        found = iterator->status().ok() ? absl::StatusOr<bool>(is_there) : iterator->status();
        break;
      }
      case 1:
        found = in.Get(keys_[key], &pinned, options);
        if (dice_.OneIn(4)) std::this_thread::yield();  // a pinned value must stay valid
        if (found.ok() && *found) text = pinned.view();
        break;
      default: {
        absl::StatusOr<std::optional<std::string>> value = in.Get(keys_[key], options);
        found = value.status().ok() ? absl::StatusOr<bool>(value->has_value()) : value.status();
        if (found.ok() && *found) text = **std::move(value);
      }
    }
    TRELLIS_RETURN_IF_ERROR(found.status());
    return *found ? ValueIn(text) : kAbsent;
  });
}

// The number of an intact value.  For other values, reports a failure and returns a number that no
// write uses.
uint64_t HistoryCaller::ValueIn(std::string_view text) {
  uint64_t number = 0;
  for (const char c : text.substr(0, text.find(':')))
    number = 10 * number + static_cast<uint64_t>(c - '0');
  if (text != ValueOf(number)) Fail(Concat("a value that no call wrote: ", text.substr(0, 40)));
  return number;
}

// Notes a read that found these entries, if its status is OK.  `at`, if given, takes the snapshot
// that the read shows.  The keyspace may be dropped after the snapshot, so the read itself says
// only whether the keyspace is still there.
void HistoryCaller::NoteRead(const Place& place, TimedCall call, const absl::Status& status,
                             const std::vector<KeyValue>& entries, TimedCall* at) {
  if (Settle(place, status, &call)) {
    TimedCall& shows = at != nullptr ? *at : call;
    shows.entries.insert(shows.entries.end(), entries.begin(), entries.end());
    if (at != nullptr) at->given.insert(at->given.end(), call.given.begin(), call.given.end());
  }
  if (at == nullptr || place.keyspace > 0) calls_.push_back(std::move(call));
}

void HistoryCaller::MultiGetOf(Place& place, const std::vector<size_t>& numbers,
                               const lsm::ReadOptions& options, TimedCall call, TimedCall* at) {
  std::vector<std::string_view> names;
  for (const size_t key : numbers) names.push_back(keys_[key]);
  const auto values = In(*scene_.db, place, [&](auto& in) { return in.MultiGet(names, options); });
  Return(&call);
  std::vector<KeyValue> entries;
  absl::Status status;
  for (size_t i = 0; i < numbers.size(); ++i) {
    status.Update(values[i].status());
    if (values[i].ok()) {
      entries.push_back({keys_.RegisterOf(place.keyspace, numbers[i]),
                         *values[i] ? ValueIn(**values[i]) : kAbsent});
    }
  }
  if (!status.ok() && !entries.empty()) Fail("MultiGet refuses a part of its keys");
  NoteRead(place, std::move(call), status, entries, at);
}

// Makes other calls while this thread holds a snapshot or an iterator.  The snapshot or iterator
// must not show later writes, including the thread's own.
void HistoryCaller::Meanwhile() {
  for (size_t i = dice_.Roll(dice_.OneIn(5) ? 15 : 4); i > 0; --i) Call(/*depth=*/1);
  if (dice_.OneIn(3)) std::this_thread::yield();
}

// Reads several keys, of one keyspace or more, at a snapshot.  Counts as one read at the moment of
// GetSnapshot.
void HistoryCaller::AtSnapshot() {
  // The handles are older than the snapshot.  So a keyspace that is there later was there then.
  std::vector<Place> places = {AnyPlace()};
  for (size_t i = dice_.Roll(3); i > 0; --i) places.push_back(AnyPlace());
  TimedCall at = Begin("reads at a snapshot", TimedCall::kRead);
  const std::unique_ptr<const lsm::Snapshot> snapshot = scene_.db->GetSnapshot();
  Return(&at);
  Meanwhile();
  for (Place& place : places) ReadAt(place, {.snapshot = snapshot.get()}, &at);
  calls_.push_back(std::move(at));
}

void HistoryCaller::ReadAt(Place& place, const lsm::ReadOptions& options, TimedCall* at) {
  switch (dice_.Roll(4)) {
    case 0:
      return MultiGetOf(place, SomeKeys(), options,
                        Begin("MultiGet at a snapshot", TimedCall::kRead), at);
    case 1:
      return ScanOf(place, options, /*depth=*/1, at);
    default:
      for (const size_t key : SomeKeys()) {
        TimedCall call = Begin("Get at a snapshot", TimedCall::kRead);
        const absl::StatusOr<uint64_t> found = Found(place, key, options);
        Return(&call);
        NoteRead(place, std::move(call), found.status(),
                 {{keys_.RegisterOf(place.keyspace, key), found.value_or(kAbsent)}}, at);
        if (dice_.OneIn(4)) std::this_thread::yield();
      }
  }
}

// Reads all keys with an iterator.  Counts as one read at the moment of NewIterator, or of the
// snapshot.  The iterator goes on if the keyspace is dropped meanwhile.
void HistoryCaller::ScanOf(Place& place, lsm::ReadOptions options, int depth, TimedCall* at) {
  options.lower_bound = keys_.from();
  options.upper_bound = keys_.to();
  options.fill_cache = dice_.OneIn(2);
  Place mine = place;  // other calls may get another handle meanwhile
  TimedCall call = Begin(at == nullptr ? "scan" : "scan at a snapshot", TimedCall::kRead);
  const std::unique_ptr<lsm::Iterator> iterator =
      In(*scene_.db, mine, [&](auto& in) { return in.NewIterator(options); });
  Return(&call);
  if (const absl::Status status = iterator->status(); !status.ok())
    return NoteRead(mine, std::move(call), status, {}, at);
  if (depth == 0) Meanwhile();
  std::vector<uint64_t> values(keys_.count(), kAbsent);
  const auto take = [&] {
    const size_t key = keys_.NumberOf(iterator->key());
    if (key == keys_.count()) return Fail(Concat("a scan shows a key: ", iterator->key()));
    if (values[key] != kAbsent) return Fail(Concat("a scan shows twice: ", iterator->key()));
    values[key] = ValueIn(iterator->value());
  };
  if (dice_.OneIn(2)) {
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) take();
  } else {
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) take();
  }
  FailUnlessOk("a scan", iterator->status());
  std::vector<KeyValue> entries;
  for (const size_t key : AllKeys())
    entries.push_back({keys_.RegisterOf(mine.keyspace, key), values[key]});
  NoteRead(mine, std::move(call), absl::OkStatus(), entries, at);
}

// --- draws ---

HistoryCaller::KeyRange HistoryCaller::AnyRange() {
  const size_t first = AnyKey(), end = first + 1 + dice_.Roll(keys_.count() - first);
  return {first, end, keys_[first], end == keys_.count() ? keys_.to() : keys_[end]};
}

std::vector<size_t> HistoryCaller::AllKeys() const {
  std::vector<size_t> all(keys_.count());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Draws two or more keys, in any order.
std::vector<size_t> HistoryCaller::SomeKeys() {
  std::vector<size_t> chosen = AllKeys();
  for (size_t i = 0; i + 1 < chosen.size(); ++i)
    std::swap(chosen[i], chosen[i + dice_.Roll(chosen.size() - i)]);
  chosen.resize(2 + dice_.Roll(chosen.size() - 1));
  return chosen;
}

// The openings that returned a new life find it.  The one that began first may have created it: it
// had not returned before any other of them.  So the creation is somewhere between its beginning
// and the first return.
void AddCreations(const std::vector<uint64_t>& initial, std::vector<TimedCall>* calls) {
  std::map<std::pair<size_t, uint64_t>, TimedCall> creations;
  for (const TimedCall& call : *calls) {
    if (call.name != kOpening) continue;
    const auto [key, life, differs] = call.given.front();
    if (initial[key] == life) continue;
    const TimedCall creation = {TimedCall::kWrite, "creation",    call.thread,     call.begun,
                                call.returned,     {{key, life}}, {{key, kAbsent}}};
    TimedCall& known = creations.try_emplace({key, life}, creation).first->second;
    known.begun = std::min(known.begun, call.begun);
    known.returned = std::min(known.returned, call.returned);
  }
  for (auto& [life, creation] : creations) calls->push_back(std::move(creation));
}

}  // namespace reliability
