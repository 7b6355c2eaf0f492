// Applies records exactly once, though they may arrive more than once.
//
// An id's mark and its effect are written in one atomic, synced batch, so the store has both or
// neither.  The record is acknowledged after that.  Nearly all records are new.  For most of them
// the filter says so, and only ids that pass it are looked up in the store.  The filter must not
// lack an id of the store; ids_filter.h ensures that.
//
// It includes headers of bloom/examples by relative paths: copy that folder too.
//
//   add_executable(exactly_once exactly_once.cc)
//   target_link_libraries(exactly_once PRIVATE Trellis::lsm)
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../bloom/examples/command_line.h"
#include "../../bloom/examples/text.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ids_filter.h"
#include "lsm/db.h"

namespace {

constexpr std::string_view kHelp =
    R"(Usage: exactly_once STORE [--ids N] [--fpp F] [--seed N] < records

Adds the amounts of records `id,amount` to a total.  Each id counts once, however often it comes,
and however often the program is killed and started again.  The source must send unacknowledged
records again.  The program acknowledges each record by a line, `ID applied` or `ID again`.  Amounts
are whole numbers.  Lines that are not records, and ids that come back with another amount, are
named on the standard error; the exit code is then 1, after all other records are done.

  --ids N   expected number of ids; 1,000,000.  More ids make lookups in the store more frequent
  --fpp F   share of new ids that are looked up in the store uselessly; 0.01
  --seed N  seed of a new filter; random, so that a sender cannot choose ids that pass the filter
)";

constexpr std::string_view kTotalKey = "total";
constexpr size_t kIdBytesMax = 1024;

struct Counts {
  uint64_t applied = 0, again = 0, refused = 0;
  uint64_t asked = 0;  // number of lookups of marks in the store
};

class Account {
 public:
  static absl::StatusOr<Account> Open(const std::string& directory, uint64_t ids, double fpp,
                                      uint64_t seed) {
    absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(directory);
    if (!db.ok()) return db.status();
    absl::StatusOr<examples::TakenFilter> taken = examples::TakeIdsFilter(**db, ids, fpp, seed);
    if (!taken.ok()) return taken.status();
    const absl::StatusOr<std::optional<std::string>> total = (*db)->Get(kTotalKey);
    if (!total.ok()) return total.status();
    int64_t amount = 0;
    const bool is_ours = total->has_value() ? examples::ParseNumber(**total, &amount)
                                            : taken->filter.added_count() == 0;
    if (!is_ours) {
      // Unchanged: the program that it belongs to needs its filter back.
      if (absl::Status status = examples::SaveIdsFilter(**db, *taken); !status.ok()) return status;
      return absl::DataLossError(
          directory + ": its total is no number, or missing: it is no store of this program");
    }
    std::cerr << "exactly_once: total " << amount << ", filter "
              << (taken->was_saved ? "as it was saved: " : "made from the store: ")
              << taken->filter.added_count() << " ids\n";
    return Account(*std::move(db), *std::move(taken), amount);
  }

  absl::Status Take(std::string_view record) {
    const size_t comma = record.find(',');
    const std::string_view id = record.substr(0, comma);
    int64_t amount = 0;
    if (comma == record.npos || id.empty() || id.size() > kIdBytesMax ||
        !examples::ParseNumber(record.substr(comma + 1), &amount))
      return Refuse(record, "is no record");
    if (ids_.filter.MayContain(id)) {
      ++counts_.asked;
      const absl::StatusOr<std::optional<std::string>> mark = db_->Get(examples::KeyOf(id));
      if (!mark.ok()) return mark.status();
      if (mark->has_value()) {
        if (**mark != std::to_string(amount)) return Refuse(record, "came before as " + **mark);
        // The mark is durable: written by this process, or before TakeIdsFilter, which synced it.
        ++counts_.again;
        std::cout << id << " again" << std::endl;
        return absl::OkStatus();
      }
    }
    int64_t total = 0;
    if (__builtin_add_overflow(total_, amount, &total))
      return Refuse(record, "would take the total beyond 2^63");
    lsm::WriteBatch batch;
    batch.Put(examples::KeyOf(id), std::to_string(amount));
    batch.Put(kTotalKey, std::to_string(total));
    // After a failure the content of the store is unknown: the process must end, and check at the
    // next start.
    if (absl::Status status = db_->Write(batch, {.sync = true}); !status.ok()) return status;
    total_ = total;
    ids_.filter.Add(id);
    ++counts_.applied;
    std::cout << id << " applied" << std::endl;  // flushed: this is the acknowledgement
    return absl::OkStatus();
  }

  absl::Status Refuse(std::string_view record, const std::string& why) {
    ++counts_.refused;
    std::cerr << "exactly_once: \"" << record.substr(0, 100) << "\" " << why << "\n";
    return absl::OkStatus();
  }

  absl::Status Close() {
    const uint64_t syncs = db_->GetStatistics().log_syncs - syncs_before_;
    if (absl::Status status = examples::SaveIdsFilter(*db_, ids_); !status.ok()) return status;
    std::cerr << "exactly_once: total " << total_ << "; " << counts_.applied << " applied, "
              << counts_.again << " again, " << counts_.refused << " refused; the store was asked "
              << counts_.asked << " times and synced " << syncs << " times\n";
    if (counts_.refused == 0) return absl::OkStatus();
    return absl::DataLossError("not all lines were records");
  }

 private:
  Account(std::unique_ptr<lsm::DB> db, examples::TakenFilter ids, int64_t total)
      : db_(std::move(db)),
        ids_(std::move(ids)),
        total_(total),
        syncs_before_(db_->GetStatistics().log_syncs) {}

  std::unique_ptr<lsm::DB> db_;
  examples::TakenFilter ids_;
  int64_t total_;
  uint64_t syncs_before_;
  Counts counts_;
};

absl::Status Run(examples::CommandLine& line) {
  const uint64_t ids = line.Count("--ids", 1'000'000);
  const double fpp = line.Fpp("--fpp", 0.01);
  const uint64_t seed = line.SeedOrRandom("--seed");
  if (!line.status().ok()) return line.status();
  absl::StatusOr<Account> account = Account::Open(line.words()[0], ids, fpp, seed);
  if (!account.ok()) return account.status();
  bool is_first = true;
  for (std::string text; std::cout && std::getline(std::cin, text); is_first = false) {
    const std::string_view record =
        examples::WithoutCarriageReturn(is_first ? examples::WithoutMark(text) : text);
    // A line without its end may be incomplete: "7,1" of "7,125".
    const absl::Status status =
        std::cin.eof() ? account->Refuse(record, "is cut off") : account->Take(record);
    if (!status.ok()) return status;
  }
  if (std::cin.bad()) return absl::UnavailableError("cannot read the standard input");
  return account->Close();
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(argc, argv,
                        {.name = "exactly_once",
                         .help = kHelp,
                         .options = {"--ids", "--fpp", "--seed"},
                         .words = {1, 1}},
                        Run);
}
