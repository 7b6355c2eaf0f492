#include "lsm/fs/file_names.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace lsm {
namespace {

TEST(FileNamesTest, HaveSixDigitsOrMore) {
  EXPECT_EQ(TableFileName(7), "000007.table");
  EXPECT_EQ(LogFileName(123456), "123456.log");
  EXPECT_EQ(ManifestFileName(1234567), "1234567.manifest");
}

TEST(FileNamesTest, AreReadBack) {
  for (const uint64_t number :
       {uint64_t{0}, uint64_t{1}, uint64_t{999999}, uint64_t{1000000}, kFileNumberMax}) {
    const std::optional<FileName> table = ParseFileName(TableFileName(number));
    ASSERT_TRUE(table.has_value());
    EXPECT_EQ(table->kind, FileKind::kTable);
    EXPECT_EQ(table->number, number);
    EXPECT_EQ(ParseFileName(LogFileName(number))->kind, FileKind::kLog);
    EXPECT_EQ(ParseFileName(ManifestFileName(number))->kind, FileKind::kManifest);
  }
  EXPECT_EQ(ParseFileName("LOCK")->kind, FileKind::kLock);
  EXPECT_EQ(ParseFileName("CURRENT")->kind, FileKind::kCurrent);
  EXPECT_EQ(ParseFileName("RESERVE")->kind, FileKind::kReserve);
  EXPECT_EQ(ParseFileName("CURRENT.tmp")->kind, FileKind::kTemporary);
  EXPECT_EQ(ParseFileName("000007.manifest.tmp")->kind, FileKind::kTemporary);
}

TEST(FileNamesTest, RefusesOtherNames) {
  for (const char* name : {"",
                           ".",
                           "..",
                           "LOCK2",
                           "lock",
                           "CURRENT.tmp.tmp",
                           ".tmp",
                           "notes.tmp",
                           "7.table",
                           "00007.table",
                           "0000007.table",
                           "000007",
                           "000007.",
                           "000007.sst",
                           "000007.table ",
                           " 000007.table",
                           "+00007.table",
                           "-00007.table",
                           "0x0007.table",
                           "00000a.table",
                           ".table",
                           "../000007.table",
                           "000007.table/",
                           "9007199254740992.table",
                           "18446744073709551614.table",
                           "18446744073709551616.table",
                           "99999999999999999999999.log"}) {
    EXPECT_FALSE(ParseFileName(name).has_value()) << name;
  }
  EXPECT_FALSE(ParseFileName(std::string("000007.table\0", 13)).has_value());
}

}  // namespace
}  // namespace lsm
