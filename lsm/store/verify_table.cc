#include "lsm/store/verify_table.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "lsm/block/format.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/table/table_check.h"
#include "lsm/version/open_table.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kProblemsMax = 100;  // of a file

void CompareEnd(const Table& table, std::string_view which, const std::string& stated,
                const std::string& found, VerifyReport* report) {
  if (stated == found) return;
  report->problems.push_back(Concat(table.path(), ": the manifest says ", which, " key ",
                                    QuotedInternalKey(stated), ", the table has ",
                                    QuotedInternalKey(found)));
}

// A file that another table owns.
class BorrowedFile final : public ReadFile {
 public:
  explicit BorrowedFile(const ReadFile* file) : file_(*file) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    return file_.ReadAt(offset, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return file_.Size(); }
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const override {
    return file_.NextData(offset);
  }
  const std::string& path() const override { return file_.path(); }

 private:
  const ReadFile& file_;
};

// `open` is called once the pacer allows it.
absl::Status Verify(const std::string& path,
                    absl::FunctionRef<absl::StatusOr<std::unique_ptr<ReadFile>>()> open,
                    const TableMeta& meta, const TablePlace& place,
                    const bloom::DigestSeed& digest_seed, Pacer* pacer, VerifyReport* report) {
  TRELLIS_RETURN_IF_ERROR(pacer->Take(path, 0));
  TableContext context;
  context.digest_seed = digest_seed;
  context.file_id = meta.file_id;
  context.opens_without_ranges = true;  // CheckTable reports their damage
  // Opens the table whatever its properties say, so that all of it can be compared.
  const auto open_table = [&]() -> absl::StatusOr<std::unique_ptr<Table>> {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file, open());
    return Table::Open(std::move(file), context);
  };
  const absl::StatusOr<std::unique_ptr<Table>> opened = open_table();
  if (absl::IsResourceExhausted(opened.status())) return opened.status();
  ++report->tables;
  report->bytes += meta.file_bytes;
  if (!opened.ok()) {
    report->problems.emplace_back(MessageOf(opened.status()));
    return absl::OkStatus();
  }
  const Table& table = **opened;
  uint64_t bytes_opening = table.file_bytes();
  for (size_t i = 0; i < table.block_count(); ++i)
    bytes_opening -= table.block_handle(i).stored_bytes + kBlockTrailerBytes;
  TRELLIS_RETURN_IF_ERROR(pacer->Take(path, bytes_opening));  // the next read waits for it
  const size_t before = report->problems.size();
  absl::Status ended;
  TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    if (absl::IsResourceExhausted(status)) {
      ended = status;
      return false;
    }
    report->problems.emplace_back(MessageOf(status));
    return report->problems.size() < before + kProblemsMax;
  };
  calls.before_block = [&](uint64_t bytes) {
    ended = pacer->Take(path, bytes);
    return ended.ok();
  };
  const TableFacts facts = CheckTable(table, calls);
  TRELLIS_RETURN_IF_ERROR(ended);
  report->blocks += facts.blocks;
  report->entries += facts.entries;
  report->keys += facts.keys;
  report->keys_in_filter += facts.keys_in_filter;
  report->filters_absent += table.filter_presence() == FilterPresence::kAbsent;
  report->filters_unknown += table.filter_presence() == FilterPresence::kUnknown;
  // Entries that were not read cannot be compared.
  if (report->problems.size() != before) return absl::OkStatus();
  const TableRecord record = RecordOf(meta);
  for (const absl::Status& status : {CheckClaims(table, record), CheckPlace(table, place)}) {
    if (!status.ok()) report->problems.emplace_back(MessageOf(status));
  }
  CompareEnd(table, "smallest", meta.smallest, facts.smallest, report);
  CompareEnd(table, "largest", meta.largest, facts.largest, report);
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyTable(Directory& directory, const TableMeta& meta, const TablePlace& place,
                         ReadMode mode, const bloom::DigestSeed& digest_seed, Pacer* pacer,
                         VerifyReport* report) {
  return Verify(
      Concat(directory.path(), "/", TableFileName(meta.number)),
      [&] { return OpenFileOfTable(directory, meta, mode); }, meta, place, digest_seed, pacer,
      report);
}

absl::Status VerifyOpenTable(const ReadFile& file, const TableMeta& meta, const TablePlace& place,
                             const bloom::DigestSeed& digest_seed, Pacer* pacer,
                             VerifyReport* report) {
  return Verify(
      file.path(), [&] { return std::make_unique<BorrowedFile>(&file); }, meta, place, digest_seed,
      pacer, report);
}

}  // namespace lsm
