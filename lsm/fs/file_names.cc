#include "lsm/fs/file_names.h"

#include <charconv>

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kDigitsMin = 6;

constexpr std::string_view kTableSuffix = ".table";
constexpr std::string_view kLogSuffix = ".log";
constexpr std::string_view kManifestSuffix = ".manifest";

std::string Numbered(uint64_t number, std::string_view suffix) {
  std::string name = std::to_string(number);
  if (name.size() < kDigitsMin) name.insert(0, kDigitsMin - name.size(), '0');
  name.append(suffix);
  return name;
}

// Accepts only the spelling that Numbered produces: no sign, no leading zeros beyond six digits, no
// number above the largest.
std::optional<uint64_t> ParseNumber(std::string_view digits) {
  if (digits.size() < kDigitsMin) return std::nullopt;
  if (digits.size() > kDigitsMin && digits.front() == '0') return std::nullopt;
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end || number > kFileNumberMax) return std::nullopt;
  return number;
}

std::optional<FileName> ParsePermanent(std::string_view name) {
  if (name == kLockFileName) return FileName{FileKind::kLock};
  if (name == kCurrentFileName) return FileName{FileKind::kCurrent};
  if (name == kReserveFileName) return FileName{FileKind::kReserve};
  struct Suffix {
    std::string_view text;
    FileKind kind;
  };
  for (const Suffix& suffix :
       {Suffix{kTableSuffix, FileKind::kTable}, Suffix{kLogSuffix, FileKind::kLog},
        Suffix{kManifestSuffix, FileKind::kManifest}}) {
    if (!name.ends_with(suffix.text)) continue;
    name.remove_suffix(suffix.text.size());
    const std::optional<uint64_t> number = ParseNumber(name);
    if (!number) return std::nullopt;
    return FileName{suffix.kind, *number};
  }
  return std::nullopt;
}

}  // namespace

std::string TableFileName(uint64_t number) { return Numbered(number, kTableSuffix); }
std::string LogFileName(uint64_t number) { return Numbered(number, kLogSuffix); }
std::string ManifestFileName(uint64_t number) { return Numbered(number, kManifestSuffix); }

std::optional<FileName> ParseFileName(std::string_view name) {
  if (!name.ends_with(kTemporarySuffix)) return ParsePermanent(name);
  name.remove_suffix(kTemporarySuffix.size());
  if (!ParsePermanent(name)) return std::nullopt;
  return FileName{FileKind::kTemporary};
}

bool IsTableFileName(std::string_view name) {
  const std::optional<FileName> parsed = ParseFileName(name);
  return parsed && parsed->kind == FileKind::kTable;
}

}  // namespace lsm
