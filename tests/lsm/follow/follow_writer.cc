// Writes to a store until it is killed: follow_writer DIRECTORY SEED.  Prints the number of each
// acknowledged write (counted_writes.h).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "lsm/db.h"
#include "tests/lsm/follow/counted_writes.h"
#include "tests/support/dice.h"

namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "follow_writer: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::unique_ptr<lsm::DB> Open(const std::string& directory) {
  lsm::Options options;
  options.write_buffer_bytes = 64 << 10;
  options.table_bytes = 64 << 10;
  options.level1_bytes = 64 << 10;
  options.reserve_bytes = 0;
  options.level0_compaction_tables = 2;
  auto db = lsm::DB::Open(directory, options);
  if (!db.ok()) Die(db.status());
  return *std::move(db);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  testing_support::Dice dice(static_cast<uint64_t>(std::atoi(argv[2])));
  std::unique_ptr<lsm::DB> db = Open(argv[1]);
  const auto counted = db->Get("a");
  if (!counted.ok()) Die(counted.status());
  for (uint64_t number = std::stoull(counted->value_or("0")) + 1;; ++number) {
    const bool sync = dice.OneIn(40);
    if (const absl::Status written = db->Write(lsm::CountedWrite(number), {sync}); !written.ok())
      Die(written);
    const std::string line = std::to_string(number) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 0;  // the test has ended
    if (dice.OneIn(300)) db->Flush().IgnoreError();
    if (dice.OneIn(1000)) db->CompactRange().IgnoreError();
    if (dice.OneIn(700)) {
      db = nullptr;
      db = Open(argv[1]);
    }
  }
}
