# The instructions and times of this tree beside those of another commit.  Sourced by tools/dev.
# shellcheck shell=bash

# A store without deletes, keyspaces and limits.  With each run a new store is filled.
against_options=(--stores trellis --sizes 2M:100 --states "filling,fresh,compacted" --caches all --threads 1
  --workloads 'fillseq;fillrandom;get absent;get present;seek + 10 next;scan forward')

# Prints `SIDE|WORKLOAD, STATE|TIME` for each row of a run's tables.
against_times() {  # SIDE FILE
  awk -v side="$1" '
    /, cache [a-z]+$/ { state = $0; sub(/^[^,]*, /, "", state); sub(/, cache .*/, "", state); next }
    /^us\/op / { within = 1; next }
    /^$/ { within = 0 }
    within {
      split($0, part, /  +/)
      if (part[1] != "" && part[2] ~ /^[0-9.]+$/) print side "|" part[1] ", " state "|" part[2]
    }' "$2"
}

# Reads what against_times prints.  Runs of one build differ, so it prints their range, and the ratio of the medians and
# of the fastest runs: if these two disagree, the runs are too few.
against_table() {
  awk -F '|' '
    function sort(list, count,    i, j, value) {
      for (i = 2; i <= count; ++i) {
        value = list[i]
        for (j = i - 1; j > 0 && list[j] > value; --j) list[j + 1] = list[j]
        list[j + 1] = value
      }
    }
    # Sets median, least and most.
    function measure(side, what,    i, count, list) {
      count = runs[side, what]
      for (i = 1; i <= count; ++i) list[i] = times[side, what, i]
      sort(list, count)
      median = (list[int((count + 1) / 2)] + list[int(count / 2) + 1]) / 2
      least = list[1]
      most = list[count]
    }
    !($2 in known) { known[$2] = 1; order[++rows] = $2 }
    { times[$1, $2, ++runs[$1, $2]] = $3 + 0 }
    END {
      print "| workload, state | before, us | now, us | ratio | of the fastest |"
      print "|---|---|---|---|---|"
      for (row = 1; row <= rows; ++row) {
        what = order[row]
        if (runs["before", what] == 0 || runs["now", what] == 0) continue
        measure("before", what)
        old = median; old_least = least; old_most = most
        measure("now", what)
        printf "| %s | %.3g (%.3g to %.3g) | %.3g (%.3g to %.3g) | %.2f | %.2f |\n", what, old, old_least, old_most,
          median, least, most, median / old, least / old_least
      }
    }'
}

# Fills and reads with both builds in turn.
against_times_of_runs() {  # COMMIT RUNS BEFORE OUT
  local commit=$1 runs=$2 before=$3 out=$4 run side tree
  : >"$out/times.txt"
  for ((run = 1; run <= runs; ++run)); do
    for side in before now; do
      tree=$root
      if [[ $side == before ]]; then tree=$before; fi
      must "against-$side-$run" "Run $run of $runs, $side" "$tree/build/release/bench/peers/peers_bench" \
        --out "$out/$side" "${against_options[@]}"
      against_times "$side" "$step_log" >>"$out/times.txt"
    done
  done
  {
    printf 'Medians of %d runs of each build, in turn. Before: commit %s. 2 million keys, values of 100 bytes, all in\n' \
      "$runs" "${commit:0:8}"
    printf 'cache; %s.\n\n' "$(sed -n 's/^CPU  *//p' "$step_log")"
    against_table <"$out/times.txt"
  } >"$out/excerpt-against.md.made" && mv "$out/excerpt-against.md.made" "$out/excerpt-against.md" || exit 1
  echo
  cat "$out/excerpt-against.md"
}

# Each operation runs N times, and 2N times.  Preparations differ between two runs by about 60,000 instructions, so N is
# large where an operation takes few.  bench/operations.cc has the names, and at most 20,000 keys for a fill.
against_count() {
  case $1 in fill*) echo 10000 ;; *) echo 50000 ;; esac
}
against_operations=('get absent' 'get present' 'get absent, fresh' 'get present, fresh' 'seek' 'seek, fresh'
  'new iterator + seek' 'scan, an entry' 'scan, an entry, fresh' 'fill in order' 'fill at random')

# Compiles bench/operations.cc of this tree for a build of any commit.
against_compile() {  # TREE PROGRAM
  local lib=$1/build/release libs
  cmake --build "$lib" --target trellis_lib_lsm trellis_lib_bloom || return 1
  read -ra libs -d '' <<<"$(sed -n 's/^Requires: trellis-bloom[^,]*,//p' "$lib/trellis.pc" | tr -d , |
    xargs pkg-config --libs)"
  c++ -O2 -std=c++20 "-I$1" "-I$lib/generated" "$root/bench/operations.cc" "$lib/lsm/libtrellis_lsm.a" \
    "$lib/bloom/libtrellis_bloom.a" "${libs[@]}" -pthread -o "$2"
}

# Prints `SIDE|OPERATION|COUNT|INSTRUCTIONS`.  Leaves the output of callgrind, which callgrind_annotate shows by
# function.  With one arena, malloc's work depends less on which threads run.
against_instructions() {  # OUT SIDE OPERATION COUNT
  local made=$1/counts/$2-${3//[^a-z]/_}-$4
  MALLOC_ARENA_MAX=1 valgrind --tool=callgrind --callgrind-out-file="$made.callgrind" "$1/$2-operations" \
    "$made.store" "$3" "$4" >"$made.log" 2>&1 || { cat "$made.log"; return 1; }
  rm -rf "$made.store"
  sed -n "s/.* Collected : /$2|$3|$4|/p" "$made.log"
}

# Nothing here depends on the load of the machine, so all processors work.
against_all_instructions() {  # OUT
  local side operation count
  rm -rf "$1/counts" && mkdir -p "$1/counts" || return 1
  export -f against_instructions
  for operation in "${against_operations[@]}"; do
    count=$(against_count "$operation")
    for side in before now; do
      printf '%s\0' "$side" "$operation" "$count" "$side" "$operation" $((2 * count))
    done
  done | xargs -0 -n 3 -P "$(nproc)" bash -c 'against_instructions "$@" || exit 255' bash "$1" >"$1/counts/all.made" &&
    mv "$1/counts/all.made" "$1/counts/all.txt" || { cat "$1/counts/all.made"; return 1; }
}

# Prints the instructions of one operation: what 2N of them take beyond N.
against_instructions_table() {  # OUT
  local operation
  echo '| operation | before | now | ratio |'
  echo '|---|---|---|---|'
  for operation in "${against_operations[@]}"; do
    awk -F '|' -v name="$operation" -v count="$(against_count "$operation")" '
      $2 == name { sum[$1] += $3 == count ? -$4 : $4 }
      END {
        printf "| %s | %.0f | %.0f | %.3f |\n", name, sum["before"] / count, sum["now"] / count,
          sum["now"] / sum["before"]
      }' "$1/counts/all.txt"
  done
}

command_against() {  # COMMIT [RUNS]
  local commit=${1:-} runs=${2:-5} out=$build/against before
  [[ -n $commit && $runs =~ ^[0-9]+$ ]] || misuse 'against needs a commit, and may have a number of runs'
  commit=$(git -C "$root" rev-parse -q --verify "$commit^{commit}" 2>/dev/null) || die "there is no commit $1 here"
  before=$out/$commit
  lock
  all_packages valgrind
  command -v valgrind >/dev/null || die 'there is no valgrind: install the package valgrind'
  configure_peers
  build_preset release peers_bench || exit 1
  if [[ ! -d $before ]]; then
    rm -rf "$out" && mkdir -p "$before.made" && git -C "$root" archive "$commit" | tar -x -C "$before.made" &&
      mv "$before.made" "$before" || die "cannot unpack commit $1"
  fi
  must against-build "Build commit ${commit:0:8}" "$before/tools/dev" peers --help
  must against-compile-before 'Compile the operations, before' against_compile "$before" "$out/before-operations"
  must against-compile-now 'Compile the operations, now' against_compile "$root" "$out/now-operations"
  must against-count 'Count instructions' against_all_instructions "$out"
  {
    printf 'Instructions of one operation, counted by callgrind. Before: commit %s. 20,000 keys, values of 100 bytes,\n' \
      "${commit:0:8}"
    printf 'all in cache and compacted. "Fresh": 1,250 of the keys are in the memtable, too. Fills include a flush.\n\n'
    against_instructions_table "$out"
  } >"$out/excerpt-instructions.md.made" && mv "$out/excerpt-instructions.md.made" "$out/excerpt-instructions.md" ||
    exit 1
  echo
  cat "$out/excerpt-instructions.md"
  rm -f "$out/excerpt-against.md"
  if ((runs > 0)); then against_times_of_runs "$commit" "$runs" "$before" "$out"; fi
}
