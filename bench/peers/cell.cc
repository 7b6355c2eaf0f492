#include "bench/peers/cell.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/count.h"
#include "bench/peers/data_set.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

const TaskInfo* TaskOf(std::string_view name) {
  return std::find_if(kTasks.begin(), kTasks.end(),
                      [&](const TaskInfo& task) { return task.name == name; });
}

constexpr DataSize kSmall{2000000, 100};
constexpr DataSize kLarge{20000000, 100};

}  // namespace

uint64_t DataSize::user_bytes() const { return keys * (kKeyBytes + value_bytes); }

std::string DataSize::name() const {
  return lsm::Concat(ShortCount(keys), " x ", value_bytes, " B");
}

std::optional<DataSize> ParseDataSize(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> keys = ParseCount(text.substr(0, colon));
  const std::optional<uint64_t> value_bytes = ParseCount(text.substr(colon + 1));
  if (!keys || !value_bytes || *keys < 1000 || *keys > UINT32_MAX || *value_bytes > (1 << 20))
    return std::nullopt;
  return DataSize{*keys, *value_bytes};
}

const char* NameOf(State state) {
  switch (state) {
    case State::kFilling:
      return "filling";
    case State::kFresh:
      return "fresh";
    case State::kTables:
      return "tables";
    case State::kCompacted:
      return "compacted";
    case State::kChanged:
      return "changed";
  }
  return "?";
}

const char* NameOf(Cache cache) {
  switch (cache) {
    case Cache::kAll:
      return "all";
    case Cache::kTenth:
      return "tenth";
    case Cache::kDirect:
      return "direct";
  }
  return "?";
}

const std::vector<Goal>& Goals() {
  static const std::vector<Goal> goals = {
      {{kSmall, State::kCompacted, Cache::kAll, 1, TaskOf("get absent")}, 1.0 / 2, "1/2"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("get absent")}, 1.0 / 3, "1/3"},
      {{kSmall, State::kCompacted, Cache::kAll, 1, TaskOf("get present")}, 1.0 / 3, "1/3"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("get present")}, 1.0 / 3, "1/3"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("multiget absent")}, 1.0 / 5, "1/5"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("multiget present")}, 1.0 / 4, "1/4"},
      {{kLarge, State::kFilling, Cache::kAll, 1, TaskOf("fillrandom")}, 1.0 / 2, "1/2"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("seek + 10 next")}, 1.0 / 2, "1/2"},
      {{kLarge, State::kFresh, Cache::kAll, 1, TaskOf("scan forward")}, 2.0 / 3, "2/3"},
      {{kLarge, State::kFresh, Cache::kDirect, 1, TaskOf("multiget present")}, 1.0 / 6, "1/6"},
  };
  return goals;
}

const Goal* GoalOf(const Cell& cell) {
  for (const Goal& goal : Goals()) {
    if (goal.cell == cell) return &goal;
  }
  return nullptr;
}

bool IsByDefault(const Cell& cell) {
  if (GoalOf(cell) != nullptr) return true;
  if (cell.task->opens()) return cell.size == kLarge;
  const bool looks_up = cell.task == TaskOf("get absent") || cell.task == TaskOf("get present");
  if (!looks_up || cell.size != kLarge || cell.state != State::kFresh) return false;
  return (cell.cache == Cache::kAll && cell.threads == 2) ||
         (cell.cache == Cache::kDirect && cell.threads == 1);
}

std::vector<Cell> AllCells(const std::vector<DataSize>& sizes) {
  std::vector<Cell> cells;
  for (const DataSize& size : sizes) {
    for (const TaskInfo& task : kTasks) {
      if (task.fills()) cells.push_back({size, State::kFilling, Cache::kAll, 1, &task});
    }
    for (const State state : {State::kFresh, State::kCompacted}) {
      for (const Cache cache : {Cache::kAll, Cache::kTenth, Cache::kDirect}) {
        for (const TaskInfo& task : kTasks) {
          if (!task.reads()) continue;
          cells.push_back({size, state, cache, 1, &task});
          const bool looks_up = task.task == Task::kGet || task.task == Task::kMultiGet;
          if (looks_up && task.draw == Draw::kUniform)
            cells.push_back({size, state, cache, 2, &task});
        }
      }
    }
    for (const TaskInfo& task : kTasks) {
      if (task.opens()) cells.push_back({size, State::kTables, Cache::kAll, 1, &task});
    }
    for (const TaskInfo& task : kTasks) {
      if (task.changes()) cells.push_back({size, State::kChanged, Cache::kAll, 1, &task});
    }
  }
  return cells;
}

}  // namespace bench::peers
