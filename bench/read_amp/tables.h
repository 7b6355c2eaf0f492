// The figures of a run as tables: for the terminal, and for the page.
#ifndef TRELLIS_BENCH_READ_AMP_TABLES_H_
#define TRELLIS_BENCH_READ_AMP_TABLES_H_

#include <string>
#include <vector>

#include "bench/read_amp/results.h"
#include "bench/table.h"

namespace bench {

// --- one row a store ---

// Target, predicted and observed FPP, memory.
Table FilterTable(const Results& results);
// Levels and sizes.
Table ShapeTable(const Results& results);
// Avoided I/O, blocks a lookup, lookups a second: a column for each cache and workload.
Table AvoidedTable(const Results& results);
Table BlocksTable(const Results& results);
Table RateTable(const Results& results);
// Filter memory beside wasted reads.
Table MemoryTable(const Results& results);

// --- one row a measurement ---

Table LatencyTable(const Results& results);
Table FullTable(const Results& results);

// All that a terminal shows at the end, at most 112 columns wide.
std::string RenderText(const Results& results);

// Markdown for bench/README.md: lookups of absent keys with the smallest cache, and the avoided I/O
// of all.  Empty if absent keys were not looked up.
std::string RenderExcerpt(const Results& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_TABLES_H_
