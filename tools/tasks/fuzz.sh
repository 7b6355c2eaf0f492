# Fuzzing.  Sourced by tools/dev.
# shellcheck shell=bash

fuzzer=$build/fuzz/tests/fuzz/fuzz_loaders

# A loader's kept corpus and its seeds as files; a fuzzer then starts from them.
unpack_corpus() {  # NAME DIRECTORY
  rm -rf "$2" && mkdir -p "$2" "$2.crashes" &&
    "$fuzzer" --loader="$1" --unpack="$root/tests/testdata/fuzz/$1.corpus" "$2"
}

# What a small file may cost is little, so that those that read stores are held to it; some filters promise less.
run_fuzzer() {  # NAME SECONDS DIRECTORY
  local limits=(-rss_limit_mb=2048 -malloc_limit_mb=512)
  if grep -qx -- "$1" <<<"$("$fuzzer" --list=store)"; then
    # To weigh each input again (entropic) takes longer than to open a store.
    limits=(-rss_limit_mb=512 -malloc_limit_mb=64 -entropic=0)
  fi
  # What was freed and is still kept counts too.
  ASAN_OPTIONS=quarantine_size_mb=64 "$fuzzer" --loader="$1" -max_total_time="$2" -max_len=8192 "${limits[@]}" \
    -timeout=10 -print_final_stats=1 -artifact_prefix="$3.crashes/" "$3"
}

# Fuzzes one loader, then keeps the fewest inputs that cover as much.
fuzz_loader() {  # NAME SECONDS
  local kept=$root/tests/testdata/fuzz/$1.corpus dir=$build/fuzz/corpora/$1
  unpack_corpus "$1" "$dir" && rm -rf "$dir.least" && mkdir -p "$dir.least" "${kept%/*}" &&
    run_fuzzer "$1" "$2" "$dir" &&
    "$fuzzer" --loader="$1" -merge=1 -max_len=8192 "$dir.least" "$dir" &&
    "$fuzzer" --loader="$1" --pack="$kept.made" "$dir.least" && mv "$kept.made" "$kept"
}

command_fuzz() {
  local seconds=60 loader
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then seconds=$1; shift; fi
  lock
  all_packages
  build_preset fuzz fuzz_loaders
  how=check
  for loader in $("$fuzzer" --list); do
    if [[ ! $loader =~ ${1:-.} ]]; then continue; fi
    check "fuzz-$loader" "Fuzz $loader for $seconds s" fuzz_loader "$loader" "$seconds"
    step_notes[-1]=$(sed -n 's/^stat::number_of_executed_units: */inputs run: /p' "$step_log")
  done
  summary
  ((failed == 0 && passed > 0))
}

# For `test`: what reads a store's files, each for so many seconds, one on each core.  Keeps nothing.
fuzz_store() {  # SECONDS
  export fuzzer root build
  export -f fuzz_briefly unpack_corpus run_fuzzer
  "$fuzzer" --list=store | xargs -P "$(nproc)" -I{} bash -c 'fuzz_briefly "$@"' fuzz_briefly {} "$1"
}

# One of them: a line of what it did, and all that it said if it failed.
fuzz_briefly() {  # NAME SECONDS
  local dir=$build/fuzz/brief/$1
  if unpack_corpus "$1" "$dir" && run_fuzzer "$1" "$2" "$dir" >"$dir.log" 2>&1; then
    awk -v name="$1" '/^#[0-9]+\t/ { for (i = 1; i < NF; ++i) if ($i == "cov:") covered = $(i + 1) }
      /^stat::number_of_executed_units:/ { runs = $2 }
      END { printf "fuzzed  %-14s %9d inputs, %6d edges covered\n", name, runs, covered }' "$dir.log"
  else
    tail -n 60 "$dir.log"
    echo "FOUND   $1: $(find "$dir.crashes" -type f | head -n 1)"
    return 1
  fi
}
