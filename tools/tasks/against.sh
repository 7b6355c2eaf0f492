# The times of this tree beside those of another commit.  Sourced by tools/dev.
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

command_against() {  # COMMIT [RUNS]
  local commit=${1:-} runs=${2:-5} out=$build/against before side run
  [[ -n $commit && $runs =~ ^[1-9][0-9]*$ ]] || misuse 'against needs a commit, and may have a number of runs'
  commit=$(git -C "$root" rev-parse -q --verify "$commit^{commit}" 2>/dev/null) || die "there is no commit $1 here"
  before=$out/$commit
  lock
  all_packages
  configure_peers
  build_preset release peers_bench || exit 1
  if [[ ! -d $before ]]; then
    rm -rf "$out" && mkdir -p "$before.made" && git -C "$root" archive "$commit" | tar -x -C "$before.made" &&
      mv "$before.made" "$before" || die "cannot unpack commit $1"
  fi
  must against-build "Build commit ${commit:0:8}" "$before/tools/dev" peers --help
  : >"$out/times.txt"
  for ((run = 1; run <= runs; ++run)); do
    for side in before now; do
      local tree=$root
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
