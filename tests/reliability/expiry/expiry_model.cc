#include "tests/reliability/expiry/expiry_model.h"

#include <algorithm>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace reliability {

using lsm::Concat;

std::string ExpiringPut::Value() const { return Concat(number, std::string(size, 'v')); }

uint64_t ExpiringKeyspace::LiveFrom(uint64_t now) const {
  if (timed_from == 0) return 0;
  const uint64_t seconds = options.expire_after.value_or(0);
  return std::max(cutoff, seconds == 0 || now < seconds ? 0 : now - seconds);
}

bool ExpiringKeyspace::IsExpired(const ExpiringPut& put, uint64_t now) const {
  return put.time.value_or(timed_from) < LiveFrom(now);
}

bool ExpiringKeyspace::Change(const lsm::KeyspaceOptions& changes, uint64_t now) {
  const lsm::KeyspaceOptions before = options;
  const uint64_t live_from = LiveFrom(now);
  if (changes.expire_after) options.expire_after = changes.expire_after;
  if (changes.target_fpp) options.target_fpp = changes.target_fpp;
  if (options == before) return false;
  cutoff = logged_cutoff = live_from;
  if (timed_from == 0 && options.expire_after.value_or(0) != 0) timed_from = now;
  return true;
}

void ExpiringKeyspace::DeleteRange(const std::string& from, const std::optional<std::string>& to) {
  if (to && *to <= from) return;
  puts.erase(puts.lower_bound(from), to ? puts.lower_bound(*to) : puts.end());
}

KeysAndValues ExpiringKeyspace::SeenAt(uint64_t now) const {
  KeysAndValues seen;
  for (const auto& [key, put] : puts) {
    if (!put.is_gone && !IsExpired(put, now)) seen.emplace(key, put.Value());
  }
  return seen;
}

uint64_t ExpiringKeyspace::NoteEnd(uint64_t now) {
  uint64_t expired = 0;
  for (auto& [key, put] : puts) {
    expired += IsExpired(put, now);
    put.may_be_gone = put.may_be_gone || IsExpired(put, now);
    put.is_gone = false;
  }
  return expired;
}

std::string ExpiringKeyspace::NoteOpening(uint64_t now, const KeysAndValues& found,
                                          uint64_t* seen_again) {
  is_clamped = is_clamped || cutoff > now;
  // Otherwise new puts would be older than the cutoff.
  cutoff = logged_cutoff = std::min(logged_cutoff, now);
  for (auto& [key, put] : puts) {
    const auto seen = found.find(key);
    if (IsExpired(put, now)) continue;
    if (seen != found.end()) {
      *seen_again += put.may_be_gone;
      put.may_be_gone = false;
    } else if (put.may_be_gone) {
      put.is_gone = true;
    } else {
      return Concat("key ", lsm::Escape(key), " is lost, put at ", put.time.value_or(0));
    }
  }
  for (const auto& [key, value] : found) {
    const auto put = puts.find(key);
    if (put == puts.end()) return Concat("key ", lsm::Escape(key), " was deleted, and is back");
    if (value != put->second.Value())
      return Concat("key ", lsm::Escape(key), " has an older value");
    if (IsExpired(put->second, now)) return Concat("key ", lsm::Escape(key), " has expired");
  }
  return "";
}

}  // namespace reliability
