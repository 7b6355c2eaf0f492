#include "lsm/base/keyspace_state.h"

#include <bit>
#include <iterator>

#include "lsm/base/compaction_styles.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_choice.h"
#include "lsm/filters/filter_curve.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

enum KeyspaceOptionNumber : uint32_t {
  kFilterKindOption = 1,
  kTargetFppOption = 2,
  kCompressionOption = 3,
  kCompactionStyleOption = 4,
  kExpireAfterOption = 5,
  kExpiryMarksOption = 6,
};

void AppendOption(std::string* out, KeyspaceOptionNumber number, std::string_view contents) {
  AppendVarint32(out, number);
  AppendLengthPrefixed(out, contents);
}

absl::Status BadOption(uint32_t number) {
  return absl::DataLossError(Concat("option ", number, " of a keyspace has an invalid value"));
}

absl::Status UnknownOption(std::string_view what) {
  return absl::UnimplementedError(Concat(what, " of a keyspace is not known"));
}

absl::Status TakeFilterKind(std::string_view contents, KeyspaceOptions* options) {
  constexpr size_t kShownBytesMax = 64;
  if (!FilterChoice::Of(contents).ok())
    return UnknownOption(Concat("filter kind \"", Escape(contents, kShownBytesMax), "\""));
  options->filter_kind = std::string(contents);
  return absl::OkStatus();
}

// False unless it is a byte below `end`.
template <class T>
bool TakeChoice(std::string_view contents, size_t end, std::optional<T>* option) {
  if (contents.size() != 1 || static_cast<uint8_t>(contents.front()) >= end) return false;
  *option = static_cast<T>(contents.front());
  return true;
}

absl::Status TakeOption(uint32_t number, std::string_view contents, KeyspaceOptions* options,
                        ExpiryMarks* marks) {
  bool is_right = false;
  switch (number) {
    case kFilterKindOption:
      return TakeFilterKind(contents, options);
    case kTargetFppOption: {
      uint64_t bits = 0;
      const bool is_whole = TakeFixed64(&contents, &bits) && contents.empty();
      const auto fpp = std::bit_cast<double>(bits);
      is_right = is_whole && IsTargetFpp(fpp);
      options->target_fpp = fpp;
      break;
    }
    case kCompressionOption:
      is_right =
          TakeChoice(contents, static_cast<size_t>(Compression::kLz4) + 1, &options->compression);
      break;
    case kCompactionStyleOption:
      is_right = TakeChoice(contents, std::size(kCompactionStyles), &options->compaction_style);
      break;
    case kExpireAfterOption: {
      uint32_t seconds = 0;
      is_right = TakeVarint32(&contents, &seconds) && contents.empty();
      options->expire_after = seconds;
      break;
    }
    case kExpiryMarksOption:
      is_right = TakeFixed32(&contents, &marks->cutoff) &&
                 TakeFixed32(&contents, &marks->timed_from) && contents.empty() &&
                 marks->are_timed();
      break;
    default:
      return UnknownOption(Concat("option ", number));
  }
  return is_right ? absl::OkStatus() : BadOption(number);
}

template <class T>
void Replace(const std::optional<T>& by, std::optional<T>* option) {
  if (by) *option = by;
}

}  // namespace

ExpiryView LimitTable::At(KeyspaceId keyspace, uint32_t now) const {
  auto row = First(keyspace);
  if (row == rows_.end() || row->first != keyspace) return {};
  ExpiryView view = row->second.At(now);
  for (++row; row != rows_.end() && row->first == keyspace; ++row)
    view = ExpiryView::MilderOf(view, row->second.At(now));
  return view;
}

absl::Status DroppedKeyspace(const KeyspaceState& keyspace) {
  return absl::FailedPreconditionError(
      Concat("the keyspace \"", Escape(keyspace.name), "\" was dropped"));
}

absl::Status NoKeyspace() {
  return absl::FailedPreconditionError(
      "the keyspace belongs to no store: use one that DB::OpenKeyspace returned");
}

KeyspaceOptions Merged(KeyspaceOptions options, const KeyspaceOptions& changes) {
  // Names every option, so that a new one does not compile before it is replaced below.
  auto& [filter_kind, target_fpp, compression, compaction_style, expire_after] = options;
  Replace(changes.filter_kind, &filter_kind);
  Replace(changes.target_fpp, &target_fpp);
  Replace(changes.compression, &compression);
  Replace(changes.compaction_style, &compaction_style);
  Replace(changes.expire_after, &expire_after);
  return options;
}

bool ReplacesAny(const KeyspaceOptions& options) {
  return options.filter_kind || options.target_fpp || options.compression ||
         options.compaction_style;
}

Options EffectiveOptions(const Options& store, const KeyspaceOptions& keyspace) {
  Options options = store;
  options.filter_kind = keyspace.filter_kind.value_or(store.filter_kind);
  options.target_fpp = keyspace.target_fpp.value_or(store.target_fpp);
  options.compression = keyspace.compression.value_or(store.compression);
  options.compaction_style = keyspace.compaction_style.value_or(store.compaction_style);
  return options;
}

absl::Status ValidateKeyspace(std::string_view name, const KeyspaceOptions& options,
                              const Options& store) {
  if (name.empty() || name.size() > kKeyspaceNameBytesMax) {
    return absl::InvalidArgumentError(Concat("the name of a keyspace has ", name.size(),
                                             " bytes: it must have 1 to ", kKeyspaceNameBytesMax));
  }
  if (name == kDefaultKeyspaceName) {
    if (!ReplacesAny(options)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "filters, compression and style of the keyspace \"default\" are those of DB::Open: no "
        "KeyspaceOptions may be set");
  }
  if (options.filter_kind == "none" && !store.filter_goal.is_none()) {
    return absl::InvalidArgumentError(
        "KeyspaceOptions::filter_kind is none: it must have filters where Options::filter_goal is "
        "set");
  }
  const absl::Status status = ValidateOptions(EffectiveOptions(store, options));
  // The store's options are valid, so the message begins with the name of one of the keyspace's.
  return status.ok() ? status : absl::InvalidArgumentError(Concat("Keyspace", MessageOf(status)));
}

std::string EncodeKeyspaceOptions(const KeyspaceOptions& options, const ExpiryMarks& marks) {
  const auto& [filter_kind, target_fpp, compression, compaction_style, expire_after] = options;
  std::string out, contents;
  if (filter_kind) AppendOption(&out, kFilterKindOption, *filter_kind);
  if (target_fpp) {
    AppendFixed64(&contents, std::bit_cast<uint64_t>(*target_fpp));
    AppendOption(&out, kTargetFppOption, contents);
  }
  if (compression)
    AppendOption(&out, kCompressionOption, std::string(1, static_cast<char>(*compression)));
  if (compaction_style) {
    AppendOption(&out, kCompactionStyleOption,
                 std::string(1, static_cast<char>(*compaction_style)));
  }
  if (expire_after) {
    contents.clear();
    AppendVarint32(&contents, *expire_after);
    AppendOption(&out, kExpireAfterOption, contents);
  }
  if (marks.are_timed()) {
    contents.clear();
    AppendFixed32(&contents, marks.cutoff);
    AppendFixed32(&contents, marks.timed_from);
    AppendOption(&out, kExpiryMarksOption, contents);
  }
  return out;
}

absl::Status DecodeKeyspaceOptions(std::string_view bytes, KeyspaceOptions* options,
                                   ExpiryMarks* marks) {
  uint32_t last = 0;
  while (!bytes.empty()) {
    uint32_t number = 0;
    std::string_view contents;
    if (!TakeVarint32(&bytes, &number) || !TakeLengthPrefixed(&bytes, &contents))
      return absl::DataLossError("an option of a keyspace is cut off");
    if (number <= last) return absl::DataLossError("the options of a keyspace are not in order");
    last = number;
    TRELLIS_RETURN_IF_ERROR(TakeOption(number, contents, options, marks));
  }
  return absl::OkStatus();
}

}  // namespace lsm
