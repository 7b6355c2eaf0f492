#include "tests/reliability/expiry/expiry_follower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/keyspace.h"

namespace reliability {
namespace {

using lsm::Concat;

// `found` are the keys of a view at the time `now`.
std::string CompareView(const ExpiringKeyspace& writer, const KeysAndValues& found, uint64_t now,
                        uint64_t writer_now) {
  ExpiringKeyspace followed = writer;
  followed.cutoff = std::min(writer.logged_cutoff, now);
  for (const auto& [key, put] : writer.puts) {
    const auto seen = found.find(key);
    // After the writer was opened under a clock that was set back, the follower's time is later.
    const bool must_be_seen =
        !put.is_gone && !writer.IsExpired(put, writer_now) && !followed.IsExpired(put, now);
    if (seen == found.end() && must_be_seen)
      return Concat("lacks key ", lsm::Escape(key), ", put at ", put.time.value_or(0),
                    "; live from ", followed.LiveFrom(now));
    if (seen != found.end() && followed.IsExpired(put, now))
      return Concat("shows key ", lsm::Escape(key), ", which has expired; put at ",
                    put.time.value_or(0), ", live from ", followed.LiveFrom(now));
  }
  for (const auto& [key, value] : found) {
    const auto put = writer.puts.find(key);
    if (put == writer.puts.end() || put->second.Value() != value)
      return Concat("shows an older version of key ", lsm::Escape(key));
  }
  return "";
}

std::string ReadAs(lsm::DB& db, const std::string& name, const lsm::ReadOptions& options,
                   KeysAndValues* found) {
  const auto keyspace = db.OpenKeyspace(name);
  if (!keyspace.ok()) return Concat("lacks ", name, ": ", keyspace.status().ToString());
  std::string problem = ReadKeyspace(*keyspace, options, found);
  if (!problem.empty()) return problem;
  std::vector<std::string> keys = {"absent"};
  for (const auto& [key, value] : *found) keys.push_back(key);
  uint64_t answers = 0;
  return CompareLookups(*keyspace, keys, options, *found, &answers);
}

}  // namespace

std::string ExpiryFollower::Open(const std::string& path, lsm::Options options) {
  options.mode = lsm::OpenMode::kFollow;
  options.environment.scheduler = &scheduler_;
  auto db = lsm::DB::Open(path, options);
  if (!db.ok()) return Concat("a follower cannot open the store: ", db.status().ToString());
  db_ = *std::move(db);
  return "";
}

std::string ExpiryFollower::Follow(const ExpiringStore& writer, uint64_t clock,
                                   uint64_t writer_now) {
  now_ = std::max(now_, clock);
  if (const absl::Status status = db_->Resume(); !status.ok())
    return Concat("a follower cannot refresh its view: ", status.ToString());
  std::map<std::string, KeysAndValues> shown;
  for (const auto& [name, keyspace] : writer.keyspaces) {
    KeysAndValues& found = shown[name];
    std::string problem = ReadAs(*db_, name, {}, &found);
    if (problem.empty()) problem = CompareView(keyspace, found, now_, writer_now);
    if (!problem.empty()) return Concat("a follower at ", now_, ", in ", name, ", ", problem);
  }
  if (snapshot_ == nullptr) {
    snapshot_ = db_->GetSnapshot();
    shown_ = std::move(shown);
    std::erase_if(shown_, [](const auto& entry) { return entry.first.starts_with("x"); });
  }
  return CheckSnapshot();
}

std::string ExpiryFollower::CheckSnapshot() const {
  for (const auto& [name, shown] : shown_) {
    KeysAndValues found;
    std::string problem = ReadAs(*db_, name, {.snapshot = snapshot_.get()}, &found);
    if (problem.empty() && found != shown) problem = "shows something else than at first";
    if (!problem.empty()) return Concat("a follower's snapshot, in ", name, ", ", problem);
  }
  return "";
}

}  // namespace reliability
