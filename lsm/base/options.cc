#include "lsm/options.h"

#include <cmath>
#include <iterator>
#include <string>

#include "lsm/base/compaction_styles.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_choice.h"
#include "lsm/filters/filter_curve.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status Refuse(std::string_view option, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      Concat("Options::", option, " is ", value, ": it must be ", wanted));
}

absl::Status CheckBytes(std::string_view option, uint64_t bytes, uint64_t least, uint64_t most) {
  if (bytes >= least && bytes <= most) return absl::OkStatus();
  return Refuse(option, Concat(bytes, bytes == 1 ? " byte" : " bytes"),
                Concat("in [", ReadableBytes(least), ", ", ReadableBytes(most), "]"));
}

// The comparison is written so that NaN fails.
absl::Status CheckGoal(const Options& options) {
  const FilterGoal& goal = options.filter_goal;
  const auto check = [&](std::string_view name, double least, double most, std::string_view range) {
    if (goal.value() >= least && goal.value() <= most) return absl::OkStatus();
    const std::string value = std::isnan(goal.value()) ? "nan" : ReadableNumber(goal.value());
    return Refuse("filter_goal", Concat("FilterGoal::", name, "(", value, ")"), range);
  };
  switch (goal.kind()) {
    case FilterGoal::Kind::kNone:
      return absl::OkStatus();
    case FilterGoal::Kind::kBitsPerKey:
      TRELLIS_RETURN_IF_ERROR(check("BitsPerKey", 0.1, 64, "in [0.1, 64]"));
      break;
    case FilterGoal::Kind::kBytes:
      TRELLIS_RETURN_IF_ERROR(check("Bytes", 1024, 0x1p44, "in [1 KiB, 16 TiB]"));
      break;
    case FilterGoal::Kind::kWastedReads:
      TRELLIS_RETURN_IF_ERROR(check("WastedReads", 0.000001, 100, "in [0.000001, 100]"));
      break;
  }
  if (options.filter_kind != "none") return absl::OkStatus();
  return Refuse("filter_goal", goal.ToText(),
                "FilterGoal() where Options::filter_kind is \"none\"");
}

absl::Status CheckFilter(const Options& options) {
  if (!IsTargetFpp(options.target_fpp)) {
    return Refuse("target_fpp",
                  std::isnan(options.target_fpp) ? "nan" : ReadableNumber(options.target_fpp),
                  "in [0.000001, 0.5]");
  }
  if (options.filter_hash != bloom::DigestHash::kXxh3 &&
      options.filter_hash != bloom::DigestHash::kSipHash) {
    return Refuse("filter_hash", Concat(static_cast<int>(options.filter_hash)),
                  "DigestHash::kXxh3 or kSipHash");
  }
  const auto choice = FilterChoice::Of(options.filter_kind);
  if (choice.ok()) return CheckGoal(options);
  return absl::InvalidArgumentError(Concat("Options::filter_kind: ", MessageOf(choice.status())));
}

absl::Status CheckLevel0(const Options& options) {
  const int compaction = options.level0_compaction_tables;
  const int stop = options.level0_stop_tables;
  if (compaction >= 1 && compaction <= stop && stop <= 1000) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("Options::level0_compaction_tables and level0_stop_tables are ", compaction, " and ",
             stop, ": they must be in [1, 1000], the second not less than the first"));
}

}  // namespace

const char* NameOf(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "none";
    case Compression::kLz4:
      return "lz4";
  }
  return "?";
}

const char* NameOf(CompactionStyle style) {
  switch (style) {
    case CompactionStyle::kLeveled:
      return "leveled";
    case CompactionStyle::kTiered:
      return "tiered";
    case CompactionStyle::kLazyLeveled:
      return "lazy-leveled";
  }
  return "?";
}

absl::Status ValidateOptions(const Options& options) {
  // Names every option, so that a new one does not compile before it is named here and its check,
  // if it needs one, is added below.
  [[maybe_unused]] const auto& [mode, target_fpp, filter_goal, filter_kind, filter_hash,
                                write_buffer_bytes, block_cache_bytes, block_bytes,
                                block_restart_interval, compression, table_bytes, compaction_style,
                                level1_bytes, level0_compaction_tables, level0_stop_tables,
                                scrub_seconds, listener, direct_reads, reserve_bytes, log_directory,
                                lock_wait_seconds, file_access, environment] = options;
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kMiB = 1024 * kKiB;
  constexpr uint64_t kGiB = 1024 * kMiB;
  if (options.mode > OpenMode::kFollow) {
    return Refuse("mode", Concat(static_cast<int>(options.mode)),
                  "OpenMode::kOpenOrCreate, kMustExist, kMustNotExist, kReadOnly or kFollow");
  }
  TRELLIS_RETURN_IF_ERROR(CheckFilter(options));
  TRELLIS_RETURN_IF_ERROR(
      CheckBytes("write_buffer_bytes", options.write_buffer_bytes, 64 * kKiB, 4 * kGiB));
  TRELLIS_RETURN_IF_ERROR(CheckBytes("block_bytes", options.block_bytes, 256, kMiB));
  if (options.block_restart_interval < 1 || options.block_restart_interval > 1024) {
    return Refuse("block_restart_interval", Concat(options.block_restart_interval), "in [1, 1024]");
  }
  if (options.compression > Compression::kLz4) {
    return Refuse("compression", Concat(static_cast<int>(options.compression)),
                  "Compression::kNone or kLz4");
  }
  if (static_cast<size_t>(options.compaction_style) >= std::size(kCompactionStyles)) {
    return Refuse("compaction_style", Concat(static_cast<int>(options.compaction_style)),
                  "CompactionStyle::kLeveled, kTiered or kLazyLeveled");
  }
  if (options.scrub_seconds != 0 &&
      (options.scrub_seconds < 60 || options.scrub_seconds > 1'000'000'000)) {
    return Refuse("scrub_seconds", Concat(options.scrub_seconds), "0, or in [60, 1000000000]");
  }
  if (options.reserve_bytes && *options.reserve_bytes != 0)
    TRELLIS_RETURN_IF_ERROR(
        CheckBytes("reserve_bytes", *options.reserve_bytes, 64 * kKiB, 1024 * kGiB));
  if (options.lock_wait_seconds > 1'000'000'000) {
    return Refuse("lock_wait_seconds", Concat(options.lock_wait_seconds), "at most 1000000000");
  }
  if (options.file_access > FileAccess::kAll) {
    return Refuse("file_access", Concat(static_cast<int>(options.file_access)),
                  "FileAccess::kOwner, kGroup or kAll");
  }
  TRELLIS_RETURN_IF_ERROR(CheckBytes("table_bytes", options.table_bytes, 64 * kKiB, 2 * kGiB));
  TRELLIS_RETURN_IF_ERROR(CheckBytes("level1_bytes", options.level1_bytes, 64 * kKiB, 1024 * kGiB));
  return CheckLevel0(options);
}

}  // namespace lsm
