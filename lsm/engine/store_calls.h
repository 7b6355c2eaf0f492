// The calls that DB and Keyspace have in common.  Null is the default keyspace.  They throw
// std::bad_alloc only if they return no status.
#ifndef TRELLIS_LSM_ENGINE_STORE_CALLS_H_
#define TRELLIS_LSM_ENGINE_STORE_CALLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/explanation.h"
#include "lsm/options.h"
#include "lsm/pinned_value.h"
#include "lsm/table/pinned_value_filler.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

// The error of an open store.  If one of its files is missing or in the way, another program caused
// that, and NotFound or AlreadyExists would mislead the caller.
absl::Status OfOpenStore(const absl::Status& status);

inline absl::Status WriteTo(Engine* engine, const WriteBatch& batch, const WriteOptions& options) {
  return CatchOutOfMemory([&] { return OfOpenStore(engine->Write(batch, options)); });
}

inline absl::StatusOr<std::optional<std::string>> GetFrom(Engine* engine,
                                                          const KeyspaceState* keyspace,
                                                          std::string_view key,
                                                          const ReadOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::optional<std::string>> {
    std::optional<std::string> value;
    const auto keep = [&](LookupResult& result) { value.emplace(result.value); };
    TRELLIS_RETURN_IF_ERROR(engine->Get(keyspace, key, options, {keep}).status());
    return value;
  });
}

inline absl::StatusOr<bool> GetFrom(Engine* engine, const KeyspaceState* keyspace,
                                    std::string_view key, std::string* value,
                                    const ReadOptions& options) {
  return CatchOutOfMemory([&] {
    return engine->Get(keyspace, key, options,
                       {[&](LookupResult& result) { value->assign(result.value); }});
  });
}

inline void PinResult(LookupResult& result, PinnedValue* pinned) {
  // The value is in a memtable.  It is copied, because a pin would keep the whole memtable.
  if (!result.pin) return PinnedValueFiller::AssignCopy(result.value, pinned);
  PinnedValueFiller::AssignPinned(
      result.value, result.pin.Release(),
      [](void* block) { static_cast<CachedBlock*>(block)->Unref(); }, pinned);
}

inline absl::StatusOr<bool> GetFrom(Engine* engine, const KeyspaceState* keyspace,
                                    std::string_view key, PinnedValue* value,
                                    const ReadOptions& options) {
  value->Reset();
  return CatchOutOfMemory([&] {
    return engine->Get(keyspace, key, options,
                       {[&](LookupResult& result) { PinResult(result, value); }, /*pins=*/true});
  });
}

inline absl::Status CompactIn(Engine* engine, const KeyspaceState* keyspace,
                              std::optional<std::string_view> from,
                              std::optional<std::string_view> to) {
  return CatchOutOfMemory([&] { return OfOpenStore(engine->CompactRange(keyspace, from, to)); });
}

inline absl::StatusOr<Explanation> ExplainIn(Engine* engine, const KeyspaceState* keyspace,
                                             std::string_view key, const ReadOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Explanation> {
    Explanation explanation;
    const absl::StatusOr<bool> found =
        engine->Get(keyspace, key, options, {[](LookupResult&) {}}, &explanation);
    if (!found.ok()) {
      if (explanation.tables_by_level.empty()) return found.status();  // the lookup did not begin
      explanation.error = found.status().ToString();
    }
    return explanation;
  });
}

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_STORE_CALLS_H_
