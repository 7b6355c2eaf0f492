// A keyspace has the calls of DB.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/pinned_value.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// The calls of a keyspace have the signatures of the calls of DB.  This does not compile otherwise.
template <typename Result, typename... Arguments>
constexpr bool HaveSameSignature(Result (DB::*)(Arguments...), Result (Keyspace::*)(Arguments...)) {
  return true;
}
template <typename Result, typename... Arguments>
constexpr bool HaveSameSignature(Result (DB::*)(Arguments...),
                                 Result (Keyspace::*)(Arguments...) const) {
  return true;
}
using Found = absl::StatusOr<bool>;
static_assert(HaveSameSignature(&DB::Put, &Keyspace::Put));
static_assert(HaveSameSignature(&DB::Delete, &Keyspace::Delete));
static_assert(HaveSameSignature(&DB::DeleteRange, &Keyspace::DeleteRange));
static_assert(HaveSameSignature<absl::StatusOr<std::optional<std::string>>>(&DB::Get,
                                                                            &Keyspace::Get));
static_assert(HaveSameSignature<Found, std::string_view, std::string*, const ReadOptions&>(
    &DB::Get, &Keyspace::Get));
static_assert(HaveSameSignature<Found, std::string_view, PinnedValue*, const ReadOptions&>(
    &DB::Get, &Keyspace::Get));
static_assert(HaveSameSignature(&DB::MultiGet, &Keyspace::MultiGet));
static_assert(HaveSameSignature(&DB::NewIterator, &Keyspace::NewIterator));
static_assert(HaveSameSignature(&DB::CompactRange, &Keyspace::CompactRange));
static_assert(HaveSameSignature(&DB::ApproximateBytes, &Keyspace::ApproximateBytes));
static_assert(HaveSameSignature(&DB::Explain, &Keyspace::Explain));

// Makes each of these calls without its last arguments, and returns the answers.
template <typename Store>
std::string AnswersOf(Store& store) {
  for (const char* const key : {"a", "b", "c", "d"}) EXPECT_OK(store.Put(key, Concat("of ", key)));
  EXPECT_OK(store.Delete("b"));
  EXPECT_OK(store.DeleteRange("d", std::nullopt));
  std::string value;
  PinnedValue pinned;
  const std::vector<std::string_view> keys = {"b", "c"};
  std::string answers = store.Get("a").value().value_or("absent");
  EXPECT_TRUE(store.Get("c", &value).value());
  EXPECT_TRUE(store.Get("c", &pinned).value());
  answers += Concat(", ", value, ", ", pinned.view());
  for (const auto& found : store.MultiGet(keys))
    answers += Concat(", ", found.value().value_or("absent"));
  const std::unique_ptr<Iterator> iterator = store.NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    answers += Concat(", ", iterator->key(), "=", iterator->value());
  answers += Concat(", ", store.Explain("d").value().answered_by);
  EXPECT_OK(store.CompactRange());
  return Concat(answers, ", ", store.ApproximateBytes() > 0);
}

using KeyspaceCallsTest = KeyspacesTest;

TEST_F(KeyspaceCallsTest, AreThoseOfDB) {
  Open();
  MakeOwnTrees({"own"});
  const std::string answers = AnswersOf(*db_);
  EXPECT_EQ(answers, "of a, of c, of c, absent, of c, a=of a, c=of c, memtable, 1");
  for (const char* const name : {"default", "own", "common"}) {
    Keyspace keyspace = OpenKeyspace(name);
    EXPECT_EQ(AnswersOf(keyspace), answers) << name;
  }
}

}  // namespace
}  // namespace lsm
