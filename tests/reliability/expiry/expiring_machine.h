// A store in which entries expire, on a simulated machine, with its model.  The job draws what it
// does (expiry_job.cc).
#ifndef TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRING_MACHINE_H_
#define TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRING_MACHINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/options.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/expiry/expiry_job.h"
#include "tests/reliability/expiry/expiry_model.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {

class ExpiringMachine {
 public:
  ExpiringMachine(uint64_t seed, ExpiryReport* report);
  virtual ~ExpiringMachine();
  ExpiringMachine(const ExpiringMachine&) = delete;
  ExpiringMachine& operator=(const ExpiringMachine&) = delete;

 protected:
  lsm::MemoryFileSystem& files() { return *world_.files; }

  // --- openings ---

  // Makes the store, with keyspaces in each kind of tree.  One of them expires from the beginning
  // on, so the store reads the clock.
  void Start();
  // The store must have the state of its last sequence.
  void Reopen(bool is_repaired = false);
  void Close();
  void LetGoOfStore();
  virtual void LetGoOfReaders() = 0;

  // --- changes ---

  // The store has said whether it did a change, of this many entries.
  void Settle(std::string_view what, const absl::Status& status, ExpiringStore next,
              uint64_t entries);
  // The writes up to this sequence are durable, or all of them.
  void NoteDurable(uint64_t sequence);
  void NoteDurable() { NoteDurable(model_.sequence); }
  void Create(const std::string& name, const lsm::KeyspaceOptions& options);
  void SetLimit(const std::string& name, const lsm::KeyspaceOptions& options);
  void SetLimit(const std::string& name, uint64_t seconds) {
    SetLimit(name, {.expire_after = static_cast<uint32_t>(seconds)});
  }
  void Put(const std::string& name, const std::string& key, uint64_t size, bool sync = false);
  // With a new value.
  ExpiringPut NewPut(const ExpiringKeyspace& keyspace, uint64_t size);
  // The store sees the time at once: a snapshot asks for it.
  void Advance(uint64_t seconds);
  void Flush();

  // --- work and faults ---

  // The work of a store of this job takes far fewer calls of the file system.
  static constexpr uint64_t kCallsMax = 30'000;

  // The work must end.  `beside` is called once, while it makes its `tables_before`-th table.
  void RunToEnd(const std::function<absl::Status()>& work,
                const std::function<void()>& beside = nullptr, size_t tables_before = 0);
  // While `calls` run, the log cannot be written.  Then calls Resume.
  void FailLog(lsm::FileOperation operation, const std::function<void()>& calls);
  void Resume();

  // --- findings ---

  void Find(std::string_view what, const absl::Status& status);
  void Find(const std::string& when, const std::string& problem);
  void Find(std::string_view what) {
    if (finding_.empty()) finding_ = what;
  }

  mutable testing_support::Dice dice_;
  const uint64_t seed_;
  const uint64_t seconds_;  // a usual limit
  ExpiryReport& report_;
  testing_support::SetClock clock_;
  lsm::World world_;
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  std::map<std::string, lsm::Keyspace> handles_;  // of those that exist
  ExpiringStore model_;
  uint64_t now_ = 0;  // the store's time, which stands still after a jump back
  // After a crash the store has one of these: the durable state, or a later one.
  std::vector<ExpiringStore> possible_;
  bool is_crashing_ = false;  // calls may fail, and then the store ends
  bool is_failing_ = false;   // calls may fail, and Resume follows
  bool has_failed_job_ = false;
  std::string finding_;

 private:
  void OpenHandle(const std::string& name);
  void NoteOpening(const std::string& name, ExpiringKeyspace* keyspace, uint64_t ended);

  uint64_t last_birth_ = 0;
  uint64_t last_number_ = 0;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRING_MACHINE_H_
