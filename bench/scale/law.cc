#include "bench/scale/law.h"

#include <algorithm>
#include <cmath>

namespace bench::scale {
namespace {

// For a random line among this many bytes.
double MissShare(const Design& design, double bytes) {
  return bytes <= design.cpu_cache_bytes ? 0 : 1 - design.cpu_cache_bytes / bytes;
}

double Level0Tables(const Design& design, double keys) {
  const double flushes = std::ceil(keys * design.key_bytes / design.flush_bytes);
  return flushes < design.level0_tables ? flushes : (design.level0_tables - 1) / 2;
}

double LevelBytesMax(const Design& design, size_t level) {
  return design.level1_bytes * std::pow(design.level_ratio, static_cast<double>(level) - 1);
}

// The law's d_i.
double Density(const Design& design, size_t level) {
  const double together = design.level0_tables * design.flush_bytes;
  if (level == 1) return together;
  return 2 * LevelBytesMax(design, level - 1) + (level == 2 ? together : 0);
}

// For each level, the number of runs that a lookup asks.
std::vector<double> RunsAsked(const Design& design, double keys) {
  const std::vector<double> levels = LevelBytes(design, keys);
  std::vector<double> asked(levels.size(), 1);
  asked[0] = Level0Tables(design, keys);
  if (levels.size() > 2) {
    asked[1] = 2 * design.level1_bytes / Density(design, 2);
    asked.back() = std::min(1.0, levels.back() / Density(design, levels.size() - 1));
  }
  return asked;
}

double BlockWaits(const Design& design, double keys, double cached_share) {
  const double resident = FilterBytes(design, keys) + IndexBytes(design, keys) +
                          cached_share * keys * design.user_key_bytes;
  return kLinesOfABlock * MissShare(design, resident) + (1 - cached_share) * kWaitsOfARead;
}

double SumOfSquares(const std::vector<std::pair<double, double>>& points, const Line& line) {
  double sum = 0;
  for (const auto& [x, y] : points) {
    const double error = (line.a + line.b * x) / y - 1;
    sum += error * error;
  }
  return sum;
}

}  // namespace

std::vector<double> LevelBytes(const Design& design, double keys) {
  double left = keys * design.key_bytes;
  const double level0_tables = Level0Tables(design, keys);
  std::vector<double> bytes = {std::min(left, level0_tables * design.flush_bytes)};
  if (left < design.level0_tables * design.flush_bytes) return bytes;
  while (left > 0) {
    bytes.push_back(std::min(left, LevelBytesMax(design, bytes.size())));
    left -= bytes.back();
  }
  return bytes;
}

double Runs(const Design& design, double keys) {
  double runs = 0;
  for (const double asked : RunsAsked(design, keys)) runs += asked;
  return runs;
}

double Tables(const Design& design, double keys) {
  const std::vector<double> levels = LevelBytes(design, keys);
  double tables = Level0Tables(design, keys);
  for (size_t i = 1; i < levels.size(); ++i)
    tables += std::max(1.0, levels[i] / design.table_bytes);
  return tables;
}

double WriteAmplification(const Design& design, double keys) {
  const double all = keys * design.key_bytes;
  const std::vector<double> levels = LevelBytes(design, keys);
  double written = all, came = all;
  for (size_t i = 1; i < levels.size(); ++i) {
    const double density = Density(design, i);
    const double moved = i == 1 ? 0 : density;
    const auto cost = [density](double bytes) { return bytes + bytes * bytes / (2 * density); };
    written += std::max(0.0, cost(levels[i]) - cost(moved));
    written += (came - levels[i]) * (1 + LevelBytesMax(design, i) / density);
    came -= levels[i];
  }
  return written / (keys * design.user_key_bytes);
}

double FilterBytes(const Design& design, double keys) {
  const std::vector<double> levels = LevelBytes(design, keys);
  double upper = levels.size() == 1 ? keys * design.key_bytes : levels[1];
  // Every other level is full, so the bytes in level 0 are missing from the deepest level.
  if (levels.size() > 2) upper += levels[0];
  const double upper_keys = std::min(keys, upper / design.key_bytes);
  return (upper_keys * design.upper_bits + (keys - upper_keys) * design.lower_bits) / 8;
}

double FilterBitsPerKey(const Design& design, double keys) {
  return 8 * FilterBytes(design, keys) / keys;
}

double IndexBytes(const Design& design, double keys) { return keys * design.index_bits / 8; }

double WastedReads(const Design& design, double keys) {
  const std::vector<double> asked = RunsAsked(design, keys);
  double reads = 0;
  for (size_t i = 0; i < asked.size(); ++i)
    reads += asked[i] * (i < 2 ? design.upper_fpp : design.lower_fpp);
  return reads;
}

double AbsentWaits(const Design& design, double keys, double cached_share) {
  return MissShare(design, FilterBytes(design, keys)) + kWaitsOfARun * Runs(design, keys) +
         WastedReads(design, keys) * BlockWaits(design, keys, cached_share);
}

double PresentWaits(const Design& design, double keys, double cached_share) {
  return AbsentWaits(design, keys, cached_share) + BlockWaits(design, keys, cached_share);
}

Line FitLine(const std::vector<std::pair<double, double>>& points, bool through_zero) {
  // With weights 1 / y^2: sum w (a + b x - y)^2.
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  if (points.empty()) return {};
  const Line proportional{0, wxx > 0 ? wxy / wxx : 0};
  if (through_zero) return proportional;
  const Line constant{wy / w, 0};
  const double determinant = w * wxx - wx * wx;
  if (determinant > 1e-12 * w * wxx) {
    const Line both{(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
    if (both.a >= 0 && both.b >= 0) return both;
  } else {
    return constant;
  }
  return SumOfSquares(points, proportional) < SumOfSquares(points, constant) ? proportional
                                                                             : constant;
}

}  // namespace bench::scale
