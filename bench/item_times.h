// Micro benchmarks that print a table.  Collects, by "FUNCTION/ARGUMENTS", the counter ns_per_item
// of every repetition and the last values of the other counters.
#ifndef TRELLIS_BENCH_ITEM_TIMES_H_
#define TRELLIS_BENCH_ITEM_TIMES_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"

namespace bench {

class ItemTimes : public benchmark::BenchmarkReporter {
 public:
  struct Item {
    std::vector<double> nanos;               // one per repetition
    std::map<std::string, double> counters;  // of the last repetition

    double best() const { return *std::min_element(nanos.begin(), nanos.end()); }
    double median() const {
      std::vector<double> sorted = nanos;
      std::sort(sorted.begin(), sorted.end());
      return sorted[sorted.size() / 2];
    }
  };

  bool ReportContext(const Context&) override { return true; }

  // Also prints each result on stderr, because a table takes minutes.
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      Item& item = items_[run.run_name.function_name + "/" + run.run_name.args];
      for (const auto& [counter, value] : run.counters) item.counters[counter] = value;
      item.nanos.push_back(1e9 * item.counters["ns_per_item"]);
      repetitions_ = std::max(repetitions_, run.repetitions);
      std::fprintf(stderr, "%s: %.1f ns\n", run.benchmark_name().c_str(), item.nanos.back());
    }
  }

  // Null if it did not run.
  const Item* Find(const std::string& name) const {
    const auto found = items_.find(name);
    return found == items_.end() ? nullptr : &found->second;
  }
  bool empty() const { return items_.empty(); }
  int64_t repetitions() const { return repetitions_; }

 private:
  int64_t repetitions_ = 1;
  std::map<std::string, Item> items_;
};

// Cells of a Markdown table: " 12 |", " 1.2 |", " 1.2 / 0.9 |", or " - |" without a result.
inline std::string NanosText(double nanos) {
  char text[32];
  std::snprintf(text, sizeof text, nanos < 9.95 ? "%.1f" : "%.0f", nanos);
  return text;
}
inline void PrintNanosCell(double nanos) { std::printf(" %s |", NanosText(nanos).c_str()); }
inline void PrintNanosCell(double median, double best) {
  std::printf(" %s / %s |", NanosText(median).c_str(), NanosText(best).c_str());
}
inline void PrintNoCell() { std::printf(" - |"); }

// The body of a program's main; returns the exit code.  With --table (unknown to Google Benchmark)
// runs everything with `table_options` and prints the table; 1 if there is nothing to print or
// printing fails.
inline int RunBenchmarks(int argc, char** argv, std::vector<std::string> table_options,
                         const std::function<void()>& register_all,
                         const std::function<void(const ItemTimes&)>& print_table) {
  std::vector<char*> arguments(argv, argv + argc);
  const bool table = std::erase_if(arguments, [](const char* argument) {
                       return std::string_view(argument) == "--table";
                     }) > 0;
  if (table) {  // in front, because later options override them
    for (std::string& option : table_options)
      arguments.insert(arguments.begin() + 1, option.data());
  }
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  benchmark::AddCustomContext("cpu", DescribeCpu());
  register_all();
  if (table) {
    ItemTimes times;
    benchmark::RunSpecifiedBenchmarks(&times);
    if (times.empty()) {
      std::fprintf(stderr, "%s: nothing was measured\n", argv[0]);
      return 1;
    }
    print_table(times);
  } else {
    benchmark::RunSpecifiedBenchmarks();
  }
  benchmark::Shutdown();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fprintf(stderr, "%s: cannot write to the standard output\n", argv[0]);
  return 1;
}

}  // namespace bench

#endif  // TRELLIS_BENCH_ITEM_TIMES_H_
