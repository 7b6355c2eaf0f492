#include "lsm/objects/memory_object_pool.h"

#include <algorithm>
#include <functional>

#include "lsm/bytes/status.h"
#include "lsm/objects/object_values.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status NoObject(const std::string& name) {
  return absl::NotFoundError(Concat(name, ": no such object"));
}

bool AreBelow(const ObjectValues& values, const ObjectValues& limits) {
  return std::all_of(limits.begin(), limits.end(),
                     [&](const auto& one) { return ValueOf(values, one.first) < one.second; });
}

bool HasGuards(const ObjectWrite& write) {
  return !write.attributes_equal.empty() || !write.entries_equal.empty() ||
         !write.attributes_below.empty();
}

absl::Status GuardFailed(const std::string& name) {
  return absl::AbortedError(Concat(name, ": the object is not as expected"));
}

}  // namespace

void MemoryObjects::Advance(uint64_t nanos) {
  MutexLock lock(&mutex_);
  now_nanos_ += nanos;
}

uint64_t MemoryObjects::now_nanos() const {
  MutexLock lock(&mutex_);
  return now_nanos_;
}

std::vector<std::string> MemoryObjects::Names() const {
  MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [name, object] : objects_) names.push_back(name);
  return names;
}

uint64_t MemoryObjects::Fingerprint() const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto add = [](uint64_t* sum, const std::string& text) {
    *sum = (*sum + std::hash<std::string>()(text)) * kOdd;
  };
  MutexLock lock(&mutex_);
  uint64_t sum = 0;
  for (const auto& [name, object] : objects_) {
    if (object->fingerprint == 0) {
      uint64_t of_object = object->lock_cookie.empty() ? 1 : 2;
      add(&of_object, object->bytes);
      for (const ObjectValues* values : {&object->attributes, &object->entries}) {
        add(&of_object, "");
        for (const auto& [key, value] : *values) {
          add(&of_object, key);
          add(&of_object, value);
        }
      }
      object->fingerprint = of_object | 1;
    }
    add(&sum, name);
    sum = (sum + object->fingerprint) * kOdd;
  }
  return sum;
}

std::unique_ptr<MemoryObjects> MemoryObjects::Clone() const {
  auto copy = std::make_unique<MemoryObjects>();
  MutexLock lock(&mutex_);
  MutexLock copy_lock(&copy->mutex_);
  copy->now_nanos_ = now_nanos_;
  copy->objects_ = objects_;
  return copy;
}

MemoryObjects::Object& MemoryObjects::Own(std::shared_ptr<Object>* object) {
  if (object->use_count() > 1) *object = std::make_shared<Object>(**object);
  (*object)->fingerprint = 0;
  return **object;
}

absl::Status MemoryObjects::Apply(const std::string& name, const ObjectWrite& write) {
  MutexLock lock(&mutex_);
  const auto place = objects_.find(name);
  if (place != objects_.end() && write.must_be_new)
    return absl::AlreadyExistsError(Concat(name, ": the object exists"));
  if (place == objects_.end() && (HasGuards(write) || write.remove)) return NoObject(name);
  if (place != objects_.end() && (!AreEqual(place->second->attributes, write.attributes_equal) ||
                                  !AreEqual(place->second->entries, write.entries_equal) ||
                                  !AreBelow(place->second->attributes, write.attributes_below))) {
    return GuardFailed(name);
  }
  if (write.remove) {
    objects_.erase(place);
    return absl::OkStatus();
  }
  if (place == objects_.end()) objects_[name] = std::make_shared<Object>();
  Object& object = Own(&objects_[name]);
  for (const auto& [attribute, value] : write.set_attributes) object.attributes[attribute] = value;
  for (const std::string& entry : write.remove_entries) object.entries.erase(entry);
  for (const auto& [entry, value] : write.set_entries) object.entries[entry] = value;
  if (write.offset) {
    const size_t end = static_cast<size_t>(*write.offset) + write.bytes.size();
    if (object.bytes.size() < end) object.bytes.resize(end);
    write.bytes.copy(object.bytes.data() + *write.offset, write.bytes.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<ObjectContents> MemoryObjects::Get(const std::string& name, const ObjectRead& read) {
  MutexLock lock(&mutex_);
  const auto place = objects_.find(name);
  if (place == objects_.end()) return NoObject(name);
  const Object& object = *place->second;
  if (!AreEqual(object.attributes, read.attributes_equal)) return GuardFailed(name);
  ObjectContents contents;
  contents.size_bytes = object.bytes.size();
  if (read.with_attributes) contents.attributes = object.attributes;
  for (const std::string& wanted : read.entries) {
    const auto entry = object.entries.find(wanted);
    if (entry != object.entries.end()) contents.entries.insert(*entry);
  }
  if (read.entries_after) {
    auto entry = object.entries.upper_bound(*read.entries_after);
    for (; entry != object.entries.end() && contents.entries.size() < kObjectEntriesMax; ++entry)
      contents.entries.insert(*entry);
    contents.has_more_entries = entry != object.entries.end();
  }
  if (read.offset < object.bytes.size())
    contents.bytes = object.bytes.substr(read.offset, read.bytes_max);
  return contents;
}

absl::Status MemoryObjects::ChangeLock(
    const std::string& name, const std::function<absl::Status(Object*, uint64_t now)>& change) {
  MutexLock lock(&mutex_);
  const auto place = objects_.find(name);
  if (place == objects_.end()) return NoObject(name);
  Object& object = Own(&place->second);
  if (object.lock_until_nanos <= now_nanos_) object.lock_cookie.clear();
  return change(&object, now_nanos_);
}

void MemoryObjectPool::SetHooks(Hooks hooks) {
  auto shared = std::make_shared<const Hooks>(std::move(hooks));
  MutexLock lock(&mutex_);
  hooks_ = std::move(shared);
}

uint64_t MemoryObjectPool::call_count() const {
  MutexLock lock(&mutex_);
  return call_count_;
}

void MemoryObjectPool::DeliverDelayed() {
  std::vector<Delayed> delayed;
  {
    MutexLock lock(&mutex_);
    delayed.swap(delayed_);
  }
  for (Delayed& one : delayed) {
    one.write.bytes = one.bytes;
    objects_->Apply(one.object, one.write).IgnoreError();
  }
}

template <typename Result>
Result MemoryObjectPool::Call(ObjectCall call, const std::string& object,
                              const std::function<Result()>& apply,
                              const std::function<void()>& delay) {
  std::shared_ptr<const Hooks> hooks;
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    hooks = hooks_;
    number = call_count_++;
  }
  const Fate fate = hooks != nullptr && hooks->before != nullptr
                        ? hooks->before(call, object, number)
                        : Fate::kApplied;
  if (fate == Fate::kDelayed && delay != nullptr) delay();
  if (fate == Fate::kFull)
    return absl::ResourceExhaustedError(Concat(object, ": the pool is full"));
  if (fate == Fate::kEvicted)
    return absl::PermissionDeniedError(Concat(object, ": this client was evicted"));
  if (fate != Fate::kApplied) return absl::UnavailableError(Concat(object, ": no answer"));
  Result result = apply();
  if (hooks != nullptr && hooks->after != nullptr && !hooks->after(call, object, number))
    return absl::UnavailableError(Concat(object, ": the answer is lost"));
  return result;
}

absl::Status MemoryObjectPool::Write(const std::string& object, const ObjectWrite& write) {
  return Call<absl::Status>(
      ObjectCall::kWrite, object, [&] { return objects_->Apply(object, write); },
      [&] {
        MutexLock lock(&mutex_);
        delayed_.push_back({object, write, std::string(write.bytes)});
      });
}

// A write in flight.
class MemoryObjectPool::HeldWrite final : public PendingObjectWrite {
 public:
  HeldWrite(MemoryObjectPool* pool, std::shared_ptr<Started> started)
      : pool_(*pool), started_(std::move(started)) {}
  ~HeldWrite() override { pool_.ApplyStarted(started_.get()); }
  absl::Status Wait() override {
    pool_.ApplyStarted(started_.get());
    return *started_->status;
  }

 private:
  MemoryObjectPool& pool_;
  const std::shared_ptr<Started> started_;
};

std::unique_ptr<PendingObjectWrite> MemoryObjectPool::StartWrite(const std::string& object,
                                                                 const ObjectWrite& write) {
  auto started = std::make_shared<Started>(Started{object, write, std::nullopt});
  {
    MutexLock lock(&mutex_);
    if (holds_started_writes_) {
      started_.push_back(started);
      return std::make_unique<HeldWrite>(this, std::move(started));
    }
  }
  return ObjectPool::StartWrite(object, write);
}

void MemoryObjectPool::ApplyStarted(const Started* last) {
  for (;;) {
    std::shared_ptr<Started> next;
    {
      MutexLock lock(&mutex_);
      if (last->status) return;
      const auto place = std::find_if(started_.begin(), started_.end(),
                                      [&](const auto& one) { return one->object == last->object; });
      next = *place;
      started_.erase(place);
    }
    next->status = Write(next->object, next->write);
  }
}

void MemoryObjectPool::ApplyStartedWrites() {
  for (;;) {
    std::shared_ptr<Started> last;
    {
      MutexLock lock(&mutex_);
      if (started_.empty()) return;
      last = started_.back();
    }
    ApplyStarted(last.get());
  }
}

void MemoryObjectPool::HoldStartedWrites() {
  MutexLock lock(&mutex_);
  holds_started_writes_ = true;
}

size_t MemoryObjectPool::writes_in_flight() const {
  MutexLock lock(&mutex_);
  return started_.size();
}

std::string MemoryObjectPool::Identity() const {
  return Concat("memory:", reinterpret_cast<uintptr_t>(objects_.get()));
}

absl::StatusOr<ObjectContents> MemoryObjectPool::Read(const std::string& object,
                                                      const ObjectRead& read) {
  return Call<absl::StatusOr<ObjectContents>>(
      ObjectCall::kRead, object, [&] { return objects_->Get(object, read); }, nullptr);
}

absl::Status MemoryObjectPool::Lock(const std::string& object, const std::string& cookie,
                                    uint64_t duration_nanos) {
  return Call<absl::Status>(
      ObjectCall::kLock, object,
      [&] {
        return objects_->ChangeLock(object, [&](MemoryObjects::Object* one, uint64_t now) {
          if (!one->lock_cookie.empty())
            return absl::FailedPreconditionError(Concat(object, ": another holder has the lock"));
          one->lock_cookie = cookie;
          one->lock_until_nanos = now + duration_nanos;
          return absl::OkStatus();
        });
      },
      nullptr);
}

absl::Status MemoryObjectPool::Renew(const std::string& object, const std::string& cookie,
                                     uint64_t duration_nanos) {
  return Call<absl::Status>(
      ObjectCall::kRenew, object,
      [&] {
        return objects_->ChangeLock(object, [&](MemoryObjects::Object* one, uint64_t now) {
          if (one->lock_cookie != cookie)
            return absl::FailedPreconditionError(Concat(object, ": the lock is not held"));
          one->lock_until_nanos = now + duration_nanos;
          return absl::OkStatus();
        });
      },
      nullptr);
}

absl::Status MemoryObjectPool::Unlock(const std::string& object, const std::string& cookie) {
  return Call<absl::Status>(
      ObjectCall::kUnlock, object,
      [&] {
        return objects_->ChangeLock(object, [&](MemoryObjects::Object* one, uint64_t) {
          if (one->lock_cookie == cookie) one->lock_cookie.clear();
          return absl::OkStatus();
        });
      },
      nullptr);
}

absl::Status MemoryObjectPool::List(const std::function<void(const std::string& object)>& visit) {
  return Call<absl::Status>(
      ObjectCall::kList, "the pool",
      [&] {
        for (const std::string& name : objects_->Names()) visit(name);
        return absl::OkStatus();
      },
      nullptr);
}

}  // namespace lsm
