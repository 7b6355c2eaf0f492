// What the design predicts for a store of any size, which a run of scale draws beside its figures.
//
// The store: N keys, each written once, in random order, of e bytes in the tables and u bytes to
// the user; leveled, settled (no compaction is due).  A flush makes a table of level 0 of f bytes;
// k of them (Options::level0_compaction_tables) go down together; level i holds at most B_i = B_1
// T^(i-1) bytes, with B_1 = Options::level1_bytes and T = 10.
//
//   bytes of a level    What is there fills the levels from above:
//                       s_i = min(B_i, N e - B_1 - ... - B_(i-1)); the deepest is L, which grows as
//                       log_T(N e / B_1).  With fewer than k flushes all of it is in level 0.
//   density             A level gives its tables down where fewest bytes overlap per byte, which is
//                       where it has taken in longest: so each part of the range of keys has its
//                       turn, and by then holds twice the mean.  With d_i for what a level would
//                       hold if all of it were as dense as what leaves it:
//                         d_1 = k f                  all of level 0 goes at once
//                         d_2 = 2 B_1 + k f          level 1 takes in k f at a time, and gives as
//                                                    much: a turn of 2 B_1 / (k f) + 1 rounds
//                         d_i = 2 B_(i-1)            from there on it is table by table
//   runs                What an absent key asks: of level 0 from 0 to k - 1 tables, (k - 1) / 2 on
//                       average; level 1 where it has not just given, 2 B_1 / d_2 of the range
//                       (all, while there is no level 2); one of each below, and of the deepest
//                       min(1, s_L / d_L), as the first turn moves down beside what is there.
//   write amplification A byte is written by the flush, and once more for each level that it comes
//                       to, with what it is merged with there: 1 + s_i / d_i.  The first turn, d_i
//                       bytes, overlaps nothing, and is moved without being written (but out of
//                       level 0).  Summed over the growing store, where each byte pays what the
//                       levels held when it came, with a_i = N e - B_1 - ... - B_(i-1) for what
//                       ever came to level i, and o_i = d_i, o_1 = 0, for what came without
//                       overlap:
//                         W = e / u (1 + sum over i of
//                               (G(s_i) - G(o_i) + (a_i - s_i) (1 + B_i / d_i)) / (N e))
//                         G(s) = s + s^2 / (2 d_i), where s_i > o_i (else nothing is written)
//                       So each full level adds 1 + T / 2 = 6, and the one that fills up to that.
//   filters             Bits a key by the kind: those of `blocked` in levels 0 and 1, of `ribbon`
//                       below (lsm/filters/filter_choice.h), each as its layout has at the target
//                       FPP (lsm/filters/filter_curve.h).  So memory is linear in N.
//   wasted reads        Of an absent key: the sum of the FPPs of the runs that it asks.
//   index               Bits a key are constant: b N.
//   opening             a + b x tables: each is opened and verified alone.  The bytes read are
//   those
//                       of filters and indexes, and some for each table.
//   lookup              a + b x waits for memory that follow one another.  A line of so many
//   resident
//                       bytes is missed by the last level cache with probability
//                       m(bytes) = 1 - min(1, C / bytes).  An absent key waits for the lines of all
//                       filters at once, m(filters), and each run takes about a tenth of a wait to
//                       be probed; a wasted read costs a block.  A block in the cache costs
//                       kLinesOfABlock m(all that is resident: filters, index, cached blocks), and
//                       one that is not kWaitsOfARead more; a present key costs one besides.  Holds
//                       where the files are in the page cache: on paper the memory grows along.
//
// e, f and u are the measured store's own.  Where the law names a and b, they are fitted to what
// was measured (least squares of relative errors, neither below 0): then its form is what is
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

// In a cached block, one after another: an entry of the index, the block's slot, a signpost in the
// block, the entry.
inline constexpr double kLinesOfABlock = 4;
// To read a block from the page cache, verify and expand it, in waits for memory; about.
inline constexpr double kWaitsOfARead = 10;
// To probe a filter that is at hand, likewise.
inline constexpr double kWaitsOfARun = 0.1;

// What the laws start from.
struct Design {
  double key_bytes = 75;        // e
  double user_key_bytes = 116;  // u
  double flush_bytes = 1;       // f
  double level0_tables = 4;     // k
  double level1_bytes = 1;      // B_1
  double level_ratio = 10;      // T
  double table_bytes = 1;
  double upper_bits = 0, upper_fpp = 0;  // a key of the filters of levels 0 and 1
  double lower_bits = 0, lower_fpp = 0;  // and below
  double index_bits = 0;                 // a key
  double cpu_cache_bytes = 1;            // C
};

// s_0, s_1, ... s_L; level 0 has what its mean number of tables holds, which is not taken from the
// others.
std::vector<double> LevelBytes(const Design& design, double keys);

double Runs(const Design& design, double keys);
double Tables(const Design& design, double keys);
double WriteAmplification(const Design& design, double keys);
double FilterBytes(const Design& design, double keys);
double FilterBitsPerKey(const Design& design, double keys);
double IndexBytes(const Design& design, double keys);
double WastedReads(const Design& design, double keys);
// Waits for memory of a lookup, with such a share of the user's bytes in the block cache.
double AbsentWaits(const Design& design, double keys, double cached_share);
double PresentWaits(const Design& design, double keys, double cached_share);

// a + b x.
struct Line {
  double a = 0, b = 0;
};
// With the least sum of squares of (a + b x) / y - 1, and neither below 0.  `points` are (x, y)
// with y > 0; of a single one, or where x is the same in all, b is 0.  With `through_zero` a is 0.
Line FitLine(const std::vector<std::pair<double, double>>& points, bool through_zero);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_LAW_H_
