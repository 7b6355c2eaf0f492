// The surroundings of a flush or a compaction, for tests that run one.
#ifndef TRELLIS_TESTS_LSM_COMPACTION_JOB_WORLD_H_
#define TRELLIS_TESTS_LSM_COMPACTION_JOB_WORLD_H_

#include <cstdint>
#include <string_view>

#include "lsm/compaction/jobs.h"
#include "lsm/options.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/deterministic_environment.h"

namespace lsm {

// Test fixtures derive from it.  File numbers count from `first_number` on.
class JobWorld {
 protected:
  JobWorld(uint64_t seed, uint64_t first_number, std::string_view filter_kind)
      : random_(seed), next_number_(first_number) {
    options_.compression = Compression::kNone;
    context_.options = &options_;
    context_.directory = maker_.directory.get();
    context_.clock = &clock_;
    context_.random = &random_;
    context_.digest_seed = TableMaker::kDigestSeed;
    context_.table_context = maker_.context;
    context_.filter_choice = FilterChoice::Of(filter_kind).value();
    context_.new_file_number = [this] { return next_number_++; };
  }

  TableMaker maker_;
  testing_support::ManualClock clock_;
  testing_support::SeededRandom random_;
  Options options_;
  JobContext context_;
  uint64_t next_number_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_COMPACTION_JOB_WORLD_H_
