#include "bench/filter_lab/config.h"

#include <set>

#include "bench/experiment/command_line.h"
#include "bench/filter_lab/experiment.h"
#include "bench/filter_lab/variants.h"

namespace bench {
namespace {

constexpr char kExamples[] = R"(Examples:
  filter_lab --out /tmp/lab
  filter_lab --only streaming --full
  filter_lab --only accuracy --variants blocked,standard
  filter_lab --family-rows --variants counting)";

std::set<std::string> ExperimentNames() {
  std::set<std::string> names;
  for (const LabExperiment& experiment : LabExperiments())
    names.insert(std::string(experiment.name));
  return names;
}

std::set<std::string> VariantNames() {
  std::set<std::string> names;
  for (const Variant& variant : Variants()) names.insert(variant.name);
  return names;
}

}  // namespace

const char* NameOf(Effort effort) {
  switch (effort) {
    case Effort::kQuick:
      return "quick";
    case Effort::kNormal:
      return "normal";
    case Effort::kFull:
      return "full";
  }
  return "?";
}

Parsed<LabConfig> ParseLabCommandLine(int argc, char** argv) {
  LabConfig config;
  bool quick = false, full = false;
  CommandLine line("filter_lab", "Measures Trellis's filters and compares them with theory.",
                   kExamples, &config);
  line.Group("Measurements");
  line.AddList("--only", &config.only, "Experiments to run; default: all")
      ->check(CLI::IsMember(ExperimentNames()));
  line.AddList("--variants", &config.variants,
               "Filters of the experiment `accuracy` and of --family-rows; default: all")
      ->check(CLI::IsMember(VariantNames()));
  line.AddFlag("--full", &full, "Takes an hour: streams of 10^8 rows, more keys and queries")
      ->excludes(
          line.AddFlag("--quick", &quick, "Takes seconds: only checks that everything works"));
  line.Add("--sift", &config.sift,
           "Directory with siftsmall_base.fvecs, siftsmall_learn.fvecs and siftsmall_query.fvecs; "
           "default: similar vectors are generated")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  line.AddFlag("--family-rows", &config.family_rows,
               "Only prints the rows of the table in bloom/README.md");
  line.AddRunOptions("keys, queries and filters (the streams have a fixed seed)");
  const std::optional<int> exit_code = line.Parse(argc, argv, [&] {
    if (quick) config.effort = Effort::kQuick;
    if (full) config.effort = Effort::kFull;
    return std::string();
  });
  return {config, exit_code};
}

}  // namespace bench
