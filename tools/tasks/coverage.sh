# Branch coverage of the tests.  Sourced by tools/dev.
# shellcheck shell=bash

# The least branch coverage of lsm/ and of bloom/, in per cent.
branches_least=90

# Runs each test program of lsm/ and bloom/ once, on all cores.  Programs that tests start count too.
run_counting() {
  local dir=$build/coverage
  rm -rf "$dir/profiles" && mkdir -p "$dir/profiles" || return 1
  export LLVM_PROFILE_FILE=$dir/profiles/%p-%m.profraw
  {
    find "$dir"/tests/{bloom,lsm,fuzz} -type f -executable -name '*_test' | LC_ALL=C sort | sed 's/$/ --gtest_brief=1/'
    echo "$dir/tests/reliability/reliability part 20 ${jobs_left_out[*]}"
  } | xargs -P "$(nproc)" -I{} sh -c '{} || { echo "FAILED: {}"; exit 1; }'
}

# Prints lines and branches by folder and in total; fails if the branch coverage of lsm/ or bloom/ is too low.
report_coverage() {
  local dir=$build/coverage programs=()
  mapfile -t programs < <(find "$dir"/tests/{bloom,lsm,fuzz,reliability} -type f -executable)
  find "$dir/profiles" -name '*.profraw' >"$dir/profiles.list" &&
    llvm-profdata merge -sparse -o "$dir/merged.profdata" -f "$dir/profiles.list" || return 1
  llvm-cov report -instr-profile="$dir/merged.profdata" --show-branch-summary "${programs[@]/#/-object=}" \
    "${programs[0]}" 2>"$dir/report.err" >"$dir/report.txt" || { cat "$dir/report.err"; return 1; }
  awk -v least="$branches_least" '
    function add(folder) {
      lines[folder] += $(NF - 5); lines_missed[folder] += $(NF - 4)
      branches[folder] += $(NF - 2); branches_missed[folder] += $(NF - 1)
      if (!(folder in seen)) { seen[folder] = 1; folders[++count] = folder }
    }
    function share(all, missed) { return all == 0 ? 100 : 100 * (all - missed) / all }
    { sub(/^(\.\.\/)+/, "", $1) }  # a compiler cache may have made paths relative to the build tree
    $1 ~ /^(bloom|lsm)\/.*\.(h|cc)$/ {
      folder = $1; sub(/\/[^\/]*$/, "", folder)
      library = folder; sub(/\/.*$/, "", library)
      add(library)
      if (folder != library) add(folder)
    }
    END {
      printf "%-16s %7s %9s %9s %9s\n", "folder", "lines", "covered", "branches", "covered"
      for (i = 1; i <= count; ++i) {
        folder = folders[i]
        printf "%-16s %7d %8.1f%% %9d %8.1f%%\n", folder, lines[folder],
          share(lines[folder], lines_missed[folder]), branches[folder], share(branches[folder], branches_missed[folder])
        if (folder !~ /\// && share(branches[folder], branches_missed[folder]) < least) {
          printf "%s/: fewer than %d %% of the branches\n", folder, least; bad = 1
        }
      }
      exit bad || count == 0
    }' "$dir/report.txt"
}

measure_coverage() {
  export LLVM_PROFILE_FILE=$build/logs/others.profraw  # for programs that CMake runs
  ensure_configured coverage
  must build-coverage 'Build with counters, by Clang' cmake --build "$build/coverage" \
    --target tests/bloom/all tests/lsm/all corpus_test reliability
  "$1" run-coverage 'Run the tests of lsm and bloom' run_counting
  "$1" coverage "At least $branches_least % of the branches" report_coverage
}

command_coverage() {
  lock
  all_packages
  measure_coverage check
  if [[ -f $step_log ]]; then sed 's/^/      /' "$step_log"; fi
  summary
  ((failed == 0))
}
