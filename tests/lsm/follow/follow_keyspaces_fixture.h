// A fixture with a writer and a follower of a store that has keyspaces.
#ifndef TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_KEYSPACES_FIXTURE_H_
#define TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_KEYSPACES_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/follow/follow_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {

// Only calls of Resume refresh the view.  The follower's own thread finds no CURRENT.
class FollowKeyspacesTest : public FollowTest {
 protected:
  FollowKeyspacesTest() {
    fault_ = [this](FileOperation operation, const std::string& path, uint64_t) {
      return IsOfAnotherThread() && operation == FileOperation::kOpenRead &&
                     path.ends_with("CURRENT")
                 ? absl::UnavailableError("held")
                 : absl::OkStatus();
    };
    world_.files->SetFault(fault_);
  }
  ~FollowKeyspacesTest() override { world_.files->SetFault(nullptr); }
  bool IsOfAnotherThread() const { return std::this_thread::get_id() != thread_; }

  // The writer's and the follower's.
  Keyspace Make(std::string_view name, const KeyspaceOptions& options = {}) {
    return Open(writer_.get(), name, options);
  }
  Keyspace See(std::string_view name, const KeyspaceOptions& options = {}) {
    return Open(follower_.get(), name, options);
  }
  std::vector<std::string> List() {
    absl::StatusOr<std::vector<std::string>> names = follower_->ListKeyspaces();
    EXPECT_OK(names);
    return names.ok() ? *std::move(names) : std::vector<std::string>();
  }
  // The value of the key, "absent", or the error.
  static std::string Get(const Keyspace& keyspace, std::string_view key,
                         const ReadOptions& options = {}) {
    const absl::StatusOr<std::optional<std::string>> value = keyspace.Get(key, options);
    return value.ok() ? value->value_or("absent") : value.status().ToString();
  }
  static absl::StatusOr<Contents> ReadAllOf(Iterator& iterator) {
    Contents contents;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next())
      contents.emplace(iterator.key(), iterator.value());
    TRELLIS_RETURN_IF_ERROR(iterator.status());
    return contents;
  }
  // "a=1 b=2", or the error.
  static std::string Scan(const Keyspace& keyspace, const ReadOptions& options = {}) {
    const absl::StatusOr<Contents> contents = ReadAllOf(*keyspace.NewIterator(options));
    if (!contents.ok()) return contents.status().ToString();
    std::string text;
    for (const auto& [key, value] : *contents)
      text += Concat(text.empty() ? "" : " ", key, "=", value);
    return text;
  }

  // Where the newest log ends now.
  struct Mark {
    std::string log;
    size_t bytes = 0;
  };
  Mark MarkLog() {
    std::string log = world_.FilesOf(FileKind::kLog).back();
    const size_t bytes = world_.files->FileBytes(log).size();
    return {std::move(log), bytes};
  }
  // The writer's machine crashes.  The log of the mark, which is the newest one with records, loses
  // what came after it.
  void CrashWriter(const Mark& mark) {
    KillWriter();
    world_.files->SetFileBytes(mark.log, world_.files->FileBytes(mark.log).substr(0, mark.bytes));
    OpenWriter();
  }

 private:
  static Keyspace Open(DB* db, std::string_view name, const KeyspaceOptions& options) {
    absl::StatusOr<Keyspace> keyspace = db->OpenKeyspace(name, options);
    EXPECT_OK(keyspace) << name;
    return keyspace.ok() ? *std::move(keyspace) : Keyspace();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_KEYSPACES_FIXTURE_H_
