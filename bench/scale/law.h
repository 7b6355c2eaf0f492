// The predicted costs of a store of any size; `scale` draws them beside its measurements.
//
// The store: N keys, each written once in random order, of e bytes in the tables and u user bytes;
// leveled and settled (no compaction is due).  A flush makes a table of level 0 of f bytes; k of
// them (Options::level0_compaction_tables) move down together; level i holds at most B_i = B_1
// T^(i-1) bytes, with B_1 = Options::level1_bytes and T = 10.
//
//   bytes of a level    The data fills the levels from above:
//                       s_i = min(B_i, N e - B_1 - ... - B_(i-1)).  The deepest level L grows as
//                       log_T(N e / B_1).  With fewer than k flushes everything is in level 0.
//   density             A level moves down the tables with the fewest overlapping bytes per byte,
//                       where it has received data for longest.  So the parts of the key range take
//                       turns, and a part holds twice the mean when its turn comes.  d_i is what a
//                       level would hold if all of it were as dense as the part that leaves:
//                         d_1 = k f                  all of level 0 moves at once
//                         d_2 = 2 B_1 + k f          level 1 receives k f at a time and moves down
//                                                    as much: a turn of 2 B_1 / (k f) + 1 rounds
//                         d_i = 2 B_(i-1)            deeper levels move table by table
//   runs                An absent key asks 0 to k - 1 tables of level 0, (k - 1) / 2 on average;
//                       level 1 where it has not just moved down, 2 B_1 / d_2 of the range (all, if
//                       there is no level 2); one table of each deeper level, and of the deepest
//                       min(1, s_L / d_L), since the first turn moves down beside existing data.
//   write amplification A byte is written by the flush, and again at each level that it reaches,
//                       together with the bytes that it is merged with: 1 + s_i / d_i.  The first
//                       turn, d_i bytes, overlaps nothing and is moved without being written
//                       (except out of level 0).  Summed over the growing store, each byte pays
//                       for what the levels held when it came.  a_i = N e - B_1 - ... - B_(i-1) is
//                       all that ever came to level i; o_i = d_i, o_1 = 0, is the part that came
//                       without overlap:
//                         W = e / u (1 + sum over i of
//                               (G(s_i) - G(o_i) + (a_i - s_i) (1 + B_i / d_i)) / (N e))
//                         G(s) = s + s^2 / (2 d_i), where s_i > o_i (else nothing is written)
//                       So each full level adds 1 + T / 2 = 6, and the filling one up to that.
//   filters             Bits per key by the kind: `blocked` in levels 0 and 1, `ribbon` below
//                       (lsm/filters/filter_choice.h), each at the target FPP of its layout
//                       (lsm/filters/filter_curve.h).  So memory is linear in N.
//   wasted reads        For an absent key: the sum of the FPPs of the runs that it asks.
//   index               Bits per key are constant: b N.
//   opening             a + b x tables: each is opened and verified alone.  An opening reads all
//                       filters and indexes, and some bytes for each table.
//   lookup              a + b x dependent waits for memory.  A line among that many resident bytes
//                       misses the last-level cache with probability
//                       m(bytes) = 1 - min(1, C / bytes).  An absent key waits for the lines of all
//                       filters at once, m(filters); probing each run takes about a tenth of a
//                       wait; a wasted read costs a block.  A cached block costs kLinesOfABlock
//                       m(resident bytes: filters, index, cached blocks), an uncached one
//                       kWaitsOfARead more.  A present key costs one block more.  Holds if the
//                       files are in the page cache: on paper the memory grows along.
//
// e, f and u are the measured store's own.  Where a law has a and b, they are fitted to the
// measurements (least squares of relative errors, neither below 0); then only the law's form is
// tested.
//
// Threads: all functions are pure.
#ifndef TRELLIS_BENCH_SCALE_LAW_H_
#define TRELLIS_BENCH_SCALE_LAW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench::scale {

// Dependent lines in a cached block: an index entry, the block's slot, a signpost in the block, the
// entry.
inline constexpr double kLinesOfABlock = 4;
// Reading a block from the page cache, verifying and expanding it: about this many waits for
// memory.
inline constexpr double kWaitsOfARead = 10;
// Probing a filter that is in cache, in waits for memory.
inline constexpr double kWaitsOfARun = 0.1;

// The parameters of the laws.
struct Design {
  double key_bytes = 75;        // e
  double user_key_bytes = 116;  // u
  double flush_bytes = 1;       // f
  double level0_tables = 4;     // k
  double level1_bytes = 1;      // B_1
  double level_ratio = 10;      // T
  double table_bytes = 1;
  double upper_bits = 0, upper_fpp = 0;  // per key, filters of levels 0 and 1
  double lower_bits = 0, lower_fpp = 0;  // per key, filters of deeper levels
  double index_bits = 0;                 // per key
  double cpu_cache_bytes = 1;            // C
};

// Returns s_0, s_1, ... s_L.  Level 0 holds its mean number of tables, which is not subtracted from
// the other levels.
std::vector<double> LevelBytes(const Design& design, double keys);

double Runs(const Design& design, double keys);
double Tables(const Design& design, double keys);
double WriteAmplification(const Design& design, double keys);
double FilterBytes(const Design& design, double keys);
double FilterBitsPerKey(const Design& design, double keys);
double IndexBytes(const Design& design, double keys);
double WastedReads(const Design& design, double keys);
// Waits for memory per lookup, with this share of the user bytes in the block cache.
double AbsentWaits(const Design& design, double keys, double cached_share);
double PresentWaits(const Design& design, double keys, double cached_share);

// The function a + b x.
struct Line {
  double a = 0, b = 0;
};
// Fits a and b >= 0 with the least sum of squares of (a + b x) / y - 1.  `points` are (x, y) with y
// > 0.  If all have the same x, b is 0.  With `through_zero` a is 0.
Line FitLine(const std::vector<std::pair<double, double>>& points, bool through_zero);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_LAW_H_
