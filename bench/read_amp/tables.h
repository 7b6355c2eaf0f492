// The results as tables, for the terminal and for the page.
#ifndef TRELLIS_BENCH_READ_AMP_TABLES_H_
#define TRELLIS_BENCH_READ_AMP_TABLES_H_

#include <string>
#include <vector>

#include "bench/read_amp/results.h"
#include "bench/table.h"

namespace bench {

// --- one row for each store ---

// Target, predicted and observed FPP, memory.
Table FilterTable(const Results& results);
// Levels and sizes.
Table ShapeTable(const Results& results);
// Avoided I/O, blocks per lookup, lookups per second: a column for each cache and workload.
Table AvoidedTable(const Results& results);
Table BlocksTable(const Results& results);
Table RateTable(const Results& results);
// Filter memory and wasted reads.
Table MemoryTable(const Results& results);

// --- one row for each measurement ---

Table LatencyTable(const Results& results);
Table FullTable(const Results& results);

// The whole output for the terminal, at most 112 columns wide.
std::string RenderText(const Results& results);

// Markdown for bench/README.md: lookups of absent keys with the smallest cache, and the avoided I/O
// of all.  Empty if absent keys were not looked up.
std::string RenderExcerpt(const Results& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_TABLES_H_
