#include "bench/filter_lab/config.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <set>

#include "bench/filter_lab/experiment.h"
#include "bench/filter_lab/variants.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench {
namespace {

constexpr char kFooter[] = R"(Examples:
  filter_lab --html lab.html --json lab.json
  filter_lab --only streaming --full
  filter_lab --only accuracy --variants blocked,standard
  filter_lab --family-rows --variants counting

bench/README.md explains the experiments and every member of the JSON.  Files are written at the end,
each whole or not at all.  Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.)";

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

void AddOptions(CLI::App* app, LabConfig* config) {
  app->add_option("--only", config->only, "Experiments to run; all if it is not given")
      ->check(CLI::IsMember(ExperimentNames()))
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  app->add_option("--variants", config->variants,
                  "Of --family-rows and of the experiment `accuracy`; all if it is not given")
      ->check(CLI::IsMember(VariantNames()))
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  auto* quick = app->add_flag_callback(
      "--quick", [config] { config->effort = Effort::kQuick; },
      "Seconds: to see that all of it works");
  auto* full = app->add_flag_callback(
      "--full", [config] { config->effort = Effort::kFull; },
      "Streams of 10^8 rows, more keys and questions: an hour");
  quick->excludes(full)->group("What is measured");
  full->group("What is measured");
  app->add_option("--sift", config->sift,
                  "Folder with siftsmall_base.fvecs, siftsmall_learn.fvecs and "
                  "siftsmall_query.fvecs; vectors like them are made up if it is not given")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR")
      ->group("What is measured");
  AddSeedOption(app, &config->seed, "Of keys, questions and filters")->group("What is measured");
  app->add_flag("--family-rows", config->family_rows,
                "Print the rows of the table in bloom/README.md, and nothing else")
      ->group("What is measured");

  app->add_option("--json", config->json, "File for all figures")
      ->type_name("FILE")
      ->take_last()
      ->group("Where to");
  app->add_option("--html", config->html, "File for the report with its plots")
      ->type_name("FILE")
      ->take_last()
      ->group("Where to");
  app->add_option("--chart-js", config->chart_js, "Chart.js to inline; empty: no plots")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Where to");
}

// A mistake, or an empty string: what would otherwise be found out after all has been measured.
std::string Resolve(const CLI::App& app, LabConfig* config) {
  const std::pair<const char*, const std::string*> files[] = {{"--json: ", &config->json},
                                                              {"--html: ", &config->html}};
  for (const auto& [option, file] : files) {
    const std::filesystem::path folder = std::filesystem::path(*file).parent_path();
    std::error_code error;
    if (!file->empty() && std::filesystem::is_directory(*file, error))
      return option + *file + " is a folder";
    // That there is no such file yet is as it should be.
    if (error && error != std::errc::no_such_file_or_directory)
      return option + *file + ": " + error.message();
    if (!folder.empty() && !std::filesystem::is_directory(folder, error))
      return option + ("no folder " + folder.string()) + " for " + *file;
  }
  std::error_code ignored;
  if (!config->json.empty() && !config->html.empty() &&
      std::filesystem::weakly_canonical(config->json, ignored) ==
          std::filesystem::weakly_canonical(config->html, ignored))
    return "--json and --html are one file";
  return ResolveChartJs("filter_lab", app.count("--chart-js") > 0, &config->chart_js);
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

ParsedLabCommandLine ParseLabCommandLine(int argc, char** argv) {
  ParsedLabCommandLine result;
  LabConfig& config = result.config;
  config.chart_js = SystemChartJs();
  for (int i = 0; i < argc; ++i) config.command += (i == 0 ? "" : " ") + std::string(argv[i]);

  CLI::App app("Measures the filters of Trellis against their theory.", "filter_lab");
  app.footer(kFooter);
  AddOptions(&app, &config);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    result.exit_code = app.exit(error) == 0 ? 0 : 2;
    return result;
  }
  const std::string mistake = Resolve(app, &config);
  if (!mistake.empty()) {
    std::fprintf(stderr, "filter_lab: %s\nRun with --help for more information.\n",
                 mistake.c_str());
    result.exit_code = 2;
  }
  return result;
}

}  // namespace bench
