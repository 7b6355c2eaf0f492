// The option --seed of the benchmarks.
#ifndef TRELLIS_BENCH_SEED_OPTION_H_
#define TRELLIS_BENCH_SEED_OPTION_H_

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace bench {

// CLI11 itself takes -1, and 2^64 and more, for 2^64 - 1.
inline CLI::Option* AddSeedOption(CLI::App* app, uint64_t* seed, const std::string& what) {
  return app->add_option("--seed", *seed, what)
      ->check([](const std::string& text) {
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        return is_number ? "" : "is no number from 0 to 2^64 - 1: " + text;
      })
      ->capture_default_str();
}

}  // namespace bench

#endif  // TRELLIS_BENCH_SEED_OPTION_H_
