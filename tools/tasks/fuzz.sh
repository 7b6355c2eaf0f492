# Fuzzing.  Sourced by tools/dev.
# shellcheck shell=bash

fuzzer=$build/fuzz/tests/fuzz/fuzz_loaders

# Prints the path of a loader's stored corpus.
corpus_of() {  # NAME
  local folder=$root/tests/testdata/fuzz
  if grep -qx -- "$1" <<<"$("$fuzzer" --list=store)"; then folder+=/store; fi
  echo "$folder/$1.corpus"
}

# Unpacks a loader's stored corpus and seeds into files, with which a fuzzer starts.
unpack_corpus() {  # NAME DIRECTORY
  rm -rf "$2" && mkdir -p "$2" "$2.crashes" &&
    "$fuzzer" --loader="$1" --unpack="$(corpus_of "$1")" "$2"
}

# A small file of a store must not cost much, so loaders of the store's library get limits.  Some filters promise less.
run_fuzzer() {  # NAME SECONDS DIRECTORY
  local limits=(-rss_limit_mb=2048 -malloc_limit_mb=512)
  if grep -qx -- "$1" <<<"$("$fuzzer" --list=store)"; then
    # Weighing each input again (entropic) takes longer than opening a store.
    limits=(-rss_limit_mb=512 -malloc_limit_mb=64 -entropic=0)
  fi
  # Freed memory in quarantine counts too.
  ASAN_OPTIONS=quarantine_size_mb=64 "$fuzzer" --loader="$1" -max_total_time="$2" -max_len=8192 "${limits[@]}" \
    -timeout=10 -print_final_stats=1 -artifact_prefix="$3.crashes/" "$3"
}

# Fuzzes one loader, then keeps the fewest inputs with the same coverage.
fuzz_loader() {  # NAME SECONDS
  local kept dir=$build/fuzz/corpora/$1
  kept=$(corpus_of "$1")
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

# For `sanitize` and `soak`: fuzzes each loader of a store's files for that many seconds, one per core.  Keeps nothing.
fuzz_store() {  # SECONDS
  export fuzzer root build
  export -f fuzz_briefly corpus_of unpack_corpus run_fuzzer
  "$fuzzer" --list=store | xargs -P "$(nproc)" -I{} bash -c 'fuzz_briefly "$@"' fuzz_briefly {} "$1"
}

# Fuzzes one loader; prints one line, and its whole output if it failed.
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
