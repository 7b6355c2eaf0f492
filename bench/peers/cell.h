// A cell is one measurement: a workload on stores of one size, in one state, with one cache and a
// number of threads.
#ifndef TRELLIS_BENCH_PEERS_CELL_H_
#define TRELLIS_BENCH_PEERS_CELL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench::peers {

struct DataSize {
  uint64_t keys = 0;
  uint64_t value_bytes = 0;

  uint64_t user_bytes() const;  // keys and values together
  std::string name() const;     // "2M x 100 B"
  bool operator==(const DataSize&) const = default;
};

// "2M:100": a number of keys (k and M for thousands and millions) and the bytes of a value.
std::optional<DataSize> ParseDataSize(std::string_view text);

enum class State : uint8_t {
  kFilling,    // the workload begins with an empty store
  kFresh,      // after a random fill: several sorted runs
  kTables,     // merged into one run of about a thousand tables
  kCompacted,  // merged into one run
  kChanged,    // compacted, then changed by earlier workloads
};
const char* NameOf(State state);

// The size of a store's block cache, relative to its keys and values.
enum class Cache : uint8_t {
  kAll,     // holds everything, and is full before the measurement
  kTenth,   // a tenth, over the system's page cache
  kDirect,  // none, and direct I/O
};
const char* NameOf(Cache cache);

enum class Task : uint8_t {
  kFillInTurn,
  kFillRandom,
  kGet,
  kMultiGet,
  kSeek,
  kScanForward,
  kScanBackward,
  kOpen,
  kOpenAndGet,
  kOpenCold,
  kOpenColdAndGet,
  kGetWhileWriting,
  kOverwrite,
  kOverload,
  kYcsb,
  kDelete,
};

enum class Draw : uint8_t { kUniform, kZipfian };

// A row of kTasks.
struct TaskInfo {
  const char* name;
  Task task;
  double present_share;  // of the keys looked up
  Draw draw;
  char letter;  // of YCSB's workloads; otherwise 0

  // The task begins with an empty store, only reads, or changes the store's contents.
  bool fills() const { return task == Task::kFillInTurn || task == Task::kFillRandom; }
  bool reads() const { return task >= Task::kGet && task <= Task::kScanBackward; }
  bool opens() const { return task >= Task::kOpen && task <= Task::kOpenColdAndGet; }
  // For tasks that open: the files are dropped from the page cache first; the first gets are
  // measured too.
  bool is_cold() const { return task == Task::kOpenCold || task == Task::kOpenColdAndGet; }
  bool asks_first() const { return task == Task::kOpenAndGet || task == Task::kOpenColdAndGet; }
  bool changes() const { return task >= Task::kGetWhileWriting; }
  // One turn visits all keys, however long that takes.
  bool passes() const {
    return fills() || scans() || task == Task::kOverwrite || task == Task::kOverload;
  }
  bool scans() const { return task == Task::kScanForward || task == Task::kScanBackward; }
};

// In the order of measurement.  Tasks that change the contents come last.
inline constexpr std::array kTasks = {
    TaskInfo{"fillseq", Task::kFillInTurn, 1, Draw::kUniform, 0},
    TaskInfo{"fillrandom", Task::kFillRandom, 1, Draw::kUniform, 0},
    TaskInfo{"get absent", Task::kGet, 0, Draw::kUniform, 0},
    TaskInfo{"get present", Task::kGet, 1, Draw::kUniform, 0},
    TaskInfo{"get mixed", Task::kGet, 0.5, Draw::kUniform, 0},
    TaskInfo{"get absent, zipfian", Task::kGet, 0, Draw::kZipfian, 0},
    TaskInfo{"get present, zipfian", Task::kGet, 1, Draw::kZipfian, 0},
    TaskInfo{"get mixed, zipfian", Task::kGet, 0.5, Draw::kZipfian, 0},
    TaskInfo{"multiget absent", Task::kMultiGet, 0, Draw::kUniform, 0},
    TaskInfo{"multiget present", Task::kMultiGet, 1, Draw::kUniform, 0},
    TaskInfo{"seek + 10 next", Task::kSeek, 1, Draw::kUniform, 0},
    TaskInfo{"scan forward", Task::kScanForward, 1, Draw::kUniform, 0},
    TaskInfo{"scan backward", Task::kScanBackward, 1, Draw::kUniform, 0},
    TaskInfo{"open", Task::kOpen, 1, Draw::kUniform, 0},
    TaskInfo{"open + 128 gets", Task::kOpenAndGet, 1, Draw::kUniform, 0},
    TaskInfo{"open cold", Task::kOpenCold, 1, Draw::kUniform, 0},
    TaskInfo{"open cold + 128 gets", Task::kOpenColdAndGet, 1, Draw::kUniform, 0},
    TaskInfo{"get while writing", Task::kGetWhileWriting, 1, Draw::kUniform, 0},
    TaskInfo{"overwrite", Task::kOverwrite, 1, Draw::kUniform, 0},
    TaskInfo{"overload", Task::kOverload, 1, Draw::kUniform, 0},
    TaskInfo{"YCSB A", Task::kYcsb, 1, Draw::kZipfian, 'A'},
    TaskInfo{"YCSB B", Task::kYcsb, 1, Draw::kZipfian, 'B'},
    TaskInfo{"YCSB C", Task::kYcsb, 1, Draw::kZipfian, 'C'},
    TaskInfo{"YCSB D", Task::kYcsb, 1, Draw::kZipfian, 'D'},
    TaskInfo{"YCSB E", Task::kYcsb, 1, Draw::kZipfian, 'E'},
    TaskInfo{"YCSB F", Task::kYcsb, 1, Draw::kZipfian, 'F'},
    TaskInfo{"delete", Task::kDelete, 1, Draw::kUniform, 0},
};

struct Cell {
  DataSize size;
  State state = State::kFresh;
  Cache cache = Cache::kAll;
  int threads = 1;
  const TaskInfo* task = nullptr;

  bool operator==(const Cell&) const = default;
};

// The goal of a cell: at most this part of the better peer's time.
struct Goal {
  Cell cell;
  double ratio = 0;
  const char* text = "";  // "1/3"
};
const std::vector<Goal>& Goals();
// Null if the cell has no goal.
const Goal* GoalOf(const Cell& cell);

// The default measurements: cells with a goal, and those that show other goals than a ratio to the
// best peer: lookups of two threads, blocks read by cold lookups, and openings.
bool IsByDefault(const Cell& cell);

// The meaningful cells: fresh and compacted stores with every cache for tasks that read; one thread
// except for uniform lookups.
std::vector<Cell> AllCells(const std::vector<DataSize>& sizes);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_CELL_H_
