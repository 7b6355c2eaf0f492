# The commands that test or check.  Sourced by tools/dev.
# shellcheck shell=bash

# Without --full, this runs what fits into 20 minutes on two slow cores, from nothing: the checks that a change to the
# store, the filters or sstdump is most likely to break.  With it, this runs what each change must pass: 80 minutes
# there.  Checks that take long and seldom fail are commands of their own: lint, sanitize and embed.
command_test() {
  local tests=test_product more_packages=()
  case "$#:${1:-}" in
    0:) ;;
    1:--full) tests=test_everything more_packages=("${packages_of_cluster[@]}") ;;
    *) misuse 'test [--full]' ;;
  esac
  lock
  all_packages "${more_packages[@]}"
  how=check
  check format 'Layout, by clang-format' clang_format --dry-run -Werror
  "$tests"
  summary
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}

test_product() {
  if build_preset release bloom/all lsm/all tools/all product_tests reliability; then
    check_tests test-release 'Test release' test_preset release -L product
    check reliability-minute 'Reliability programme, one minute' \
      "$build/release/tests/reliability/reliability" part 15 "${jobs_left_out[@]}"
    reliability_figures | sed 's/^/      /'
    check_embedding
  else
    left_out test-release build-release
    left_out reliability-minute build-release
    left_out embed-find_package build-release
  fi
}

test_everything() {
  if configure_rados && build_preset release; then
    check_tests test-release 'Test release' test_preset release
    check reliability 'Reliability programme and a third of the seeded bugs' reliability third "$(third_of_bugs)"
    reliability_figures | sed 's/^/      /'
    with_cluster 1 check_tests test-cluster 'Test with a Ceph cluster of one OSD' test_with_cluster
    check_embedding
  else
    left_out test-release build-release
    left_out reliability build-release
    left_out test-cluster build-release
    left_out embed-find_package build-release
  fi
  if build_preset asan memory_tests; then
    check_tests test-asan 'Test code that reads untrusted bytes or manages memory with AddressSanitizer' \
      test_preset asan -L memory
  else
    left_out test-asan build-asan
  fi
  test_concurrent
}

command_sanitize() {
  lock
  all_packages
  how=check
  if build_preset asan; then
    check_tests test-asan 'Test with AddressSanitizer and UndefinedBehaviorSanitizer' test_preset asan
    check reliability-asan 'Reliability programme with both sanitizers, briefly' \
      "$build/asan/tests/reliability/reliability" part 100 "${jobs_left_out[@]}"
  else
    left_out test-asan build-asan
    left_out reliability-asan build-asan
  fi
  test_concurrent
  if build_preset fuzz fuzz_loaders; then
    check fuzz 'Fuzz the readers of store files, 20 s each' fuzz_store 20
    show_lines fuzzed
  fi
  summary
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}

# The test preset `tsan` names the same file of suppressions.
reliability_tsan=(env "TSAN_OPTIONS=suppressions=$root/tests/tsan.supp" "$build/tsan/tests/reliability/reliability")

test_concurrent() {
  if build_preset tsan concurrent_tests reliability; then
    check_tests test-tsan 'Test concurrent code with ThreadSanitizer' test_preset tsan
    check histories-tsan 'Concurrent histories with ThreadSanitizer' \
      "${reliability_tsan[@]}" histories 1 2000
    reliability_figures | sed 's/^/      /'
  else
    left_out test-tsan build-tsan
    left_out histories-tsan build-tsan
  fi
}

command_quick() {
  local tests=(quick_tests) choice=(-L quick)
  if (($# > 0)); then tests=(product_tests) choice=(-L product -R "$1"); fi
  lock
  setup "${packages_to_build[@]}"
  build_preset release "${tests[@]}"
  check_tests test-release 'Test release' test_preset release "${choice[@]}"
  summary
  ((failed == 0))
}

# Rewrites the files that tests compare with: tables of text and golden files.
command_rewrite() {
  lock
  all_packages
  build_preset release product_tests
  TRELLIS_REWRITE=1 must rewrite 'Rewrite expectations' test_preset release -R 'MatchesTheTable|Golden'
  (cd -- "$root" && git --no-pager diff --stat -- tests)
}

command_soak() {
  local hours seed minutes programme tsan fuzz_seconds
  if (($# != 2)) || [[ $1 != --hours || ! $2 =~ ^[0-9]+(\.[0-9]+)?$ ]]; then misuse 'soak --hours N'; fi
  hours=$2
  lock
  all_packages
  build_preset release
  build_preset tsan reliability
  build_preset fuzz fuzz_loaders
  seed=$(($(date +%s) / 60))
  mkdir -p "$logs" && rm -f "$logs"/soak*.log && echo "tools/dev soak --hours $hours" >"$logs/soak.command"
  minutes=$(awk -v hours="$hours" 'BEGIN { printf "%d", hours * 60 }')
  # The approximate shares that a day's goals need (lsm/RELIABILITY.md).
  programme=$((minutes * 38 / 100)) tsan=$((minutes * 6 / 100))
  # One loader per core at a time.
  fuzz_seconds=$((minutes * 60 * 56 / 100 * $(nproc) / $("$fuzzer" --list=store | wc -l)))
  check soak "Soak for $programme minutes" \
    "$build/release/tests/reliability/reliability" soak "$programme" "$seed" "${jobs_left_out[@]}"
  show_lines 'in all'
  check soak-tsan "Concurrent histories under ThreadSanitizer for $tsan minutes" \
    "${reliability_tsan[@]}" soak "$tsan" "$seed" histories
  show_lines 'in all'
  check soak-fuzz "Fuzz the readers of store files, $fuzz_seconds s each" fuzz_store "$fuzz_seconds"
  show_lines fuzzed
  summary
  ((failed == 0))
}

# Leaves out tests that
#
# - exhaust memory on purpose, or wait for threads, which Valgrind runs one at a time;
# - only calculate;
# - exhaust file descriptors, of which Valgrind needs some;
# - measure their own process, which contains Valgrind.
#
# AddressSanitizer looks for leaks; unlike Valgrind, it does not report a forked child's threads as lost.
run_under_valgrind() {
  find "$build"/valgrind/tests/{bloom,lsm} -type f -executable -name '*_test' |
    grep -vE '/(bloom_memory|bloom_inlined|symbols|[a-z_]*concurrent|store_damage|store_memory|bloom_rates)_test$' |
    LC_ALL=C sort | xargs -P "$(nproc)" -I{} sh -c \
    'valgrind -q --error-exitcode=9 --suppressions="$1" {} --gtest_brief=1 \
      --gtest_filter=-*NamesTheLimitWhenDescriptorsRunOut:*WritesContinueWithoutDescriptors:*SolvingTakes* &&
      echo "sound: {}" || { echo "FAILED: {}"; exit 1; }' sh "$root/tests/valgrind.supp"
}

command_valgrind() {
  lock
  all_packages valgrind
  build_preset valgrind
  check valgrind 'Tests of lsm and bloom under Valgrind' run_under_valgrind
  summary
  ((failed == 0))
}

command_format() {
  lock
  all_packages
  must format 'Lay out the sources' clang_format -i
}

command_lint() {
  lock
  all_packages "${packages_to_lint[@]}"
  how=check
  check format 'Layout, by clang-format' clang_format --dry-run -Werror
  if ensure_configured clang; then
    check thread-safety "Locks, by clang's thread-safety analysis" thread_safety
  else
    left_out thread-safety configure-clang
  fi
  if build_preset release tidy_test; then
    check clang-tidy 'Common errors, by clang-tidy' clang_tidy
    check tidy 'Shape of the tree' "$build/release/tests/tidy_test" --gtest_brief=1
  else
    left_out clang-tidy build-release
    left_out tidy build-release
  fi
  summary
  ((failed == 0))
}
