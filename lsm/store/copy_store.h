// How a store comes to be from tables that are there: by checkpoint, backup, restoring and repair.
//
// Tables come first, then a log (or those of the original), then a manifest; CURRENT is last.
// Until then there is no store, so one that is cut short leaves none.
#ifndef TRELLIS_LSM_STORE_COPY_STORE_H_
#define TRELLIS_LSM_STORE_COPY_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/reports.h"
#include "lsm/store/pacer.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

// How the copy of a store is opened to be looked at, whichever options the store has: its logs are
// with its tables.
Options OptionsOfCopy(Options options);

// InvalidArgument if the path, where a copy or its logs are to be made, is one of the store's
// directories or lies in one.
absl::Status CheckIsOutside(const StoreDirectory& store, const std::string& path);

// Opens and locks a directory for a store that is to be made there.  AlreadyExists if there are
// files of one, FailedPrecondition if it is in use.
absl::StatusOr<StoreDirectory> OpenForCopy(const std::string& path, const Options& options);

struct TableSource {
  Directory* directory = nullptr;
  const ManifestState* state = nullptr;
};

// Brings all tables of `from`'s state: those that `base` (which may be without a directory) has,
// and that are verified there, by links from there; the others by links if `link`, unverified.
// Where the file system cannot link, and otherwise, by copies.  These are verified; DataLoss if one
// is not as the manifest says, naming what it was copied from.  What is verified is read in the
// mode that is wished, or buffered where its file system cannot.
absl::Status BringTables(const TableSource& from, bool link, const TableSource& base,
                         const StoreDirectory& store, ReadMode wished, Pacer* pacer, NewFiles* made,
                         CopyReport* report);

// Makes a store of the state's tables, which are there and durable but for their names: an empty
// log, a manifest, and CURRENT, whose bytes so far are `expected_current`.  Brings the state up to
// that, taking numbers from its next_file_number on.  Returns the manifest's number.
absl::StatusOr<uint64_t> FoundStore(const StoreDirectory& store,
                                    std::optional<std::string_view> expected_current,
                                    ManifestState* state, NewFiles* made);

// DB::Restore; the options are valid ones, and the backup was opened without an error.
absl::StatusOr<CopyReport> RestoreStore(const std::string& backup, const std::string& path,
                                        const Options& options, const Pace& pace);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_COPY_STORE_H_
