# Puts the output of programs into documents.  Sourced by tools/dev.
# shellcheck shell=bash

put_excerpt() {  # between the command's mark and the next end of an excerpt
  [[ -n $3 ]] || die "nothing to put into $2"
  grep -qxF -- "<!-- $1 -->" "$root/$2" || die "$2 has no line <!-- $1 -->"
  awk -v begin="<!-- $1 -->" -v excerpt="$3" '
    $0 == begin { print; print excerpt; within = 1; next }
    /^<!-- end of excerpt -->$/ { within = 0 }
    !within { print }' "$root/$2" >"$build/excerpt.md" && cat "$build/excerpt.md" >"$root/$2" && rm "$build/excerpt.md"
}

# Puts text as it was printed.
put_figures() {  # COMMAND FILE TEXT
  [[ -n $3 ]] || die "no figures: $2 is unchanged"
  put_excerpt "$1" "$2" $'\n```\n'"$3"$'\n```\n'
}

# Puts a Markdown table with blank lines around it.  On failure the file is unchanged.
put_printed() {  # COMMAND FILE PROGRAM [OPTIONS]
  local printed
  printed=$("${@:3}") && [[ -n $printed ]] || die "$3 printed no table: $2 is unchanged"
  put_excerpt "$1" "$2" $'\n'"$printed"$'\n'
}

# Snippets of programs: the lines of FILE between `// snippet: NAME` and `// end` are put after `<!-- FILE: NAME -->`.
# `<!-- FILE -->` stands before a whole program, which follows without the comment at its head.
excerpt_snippets() {
  local page
  for page in "$root"/lsm/*/*.md "$root"/*/*.md "$root"/*.md; do
    grep -Eq '^<!-- [a-z]*/[^ ]*\.cc(: .*)? -->$' "$page" || continue
    awk -v root="$root" '
      /^<!-- [a-z]*\/[^ ]*\.cc(: .*)? -->$/ {
        print
        file = $2; sub(/:$/, "", file)
        name = $0; if (!sub(/^[^:]*: /, "", name)) name = ""
        sub(/ -->$/, "", name)
        print "```cpp"
        is_head = within = name == ""
        indent = 0
        while ((getline line <(root "/" file)) > 0) {
          if (is_head && line ~ /^\/\//) continue
          is_head = 0
          if (name != "" && line ~ /^ *\/\/ end$/) within = 0
          if (within) { if (substr(line, 1, indent) ~ /^ *$/) line = substr(line, indent + 1); print line }
          text = line; sub(/^ */, "", text)
          if (text == "// snippet: " name) { within = 1; indent = length(line) - length(text) }
        }
        close(root "/" file)
        skipping = 1
        next
      }
      skipping && /^```$/ { skipping = 0 }
      !skipping { print }' "$page" >"$build/snippets.md" && cat "$build/snippets.md" >"$page" && rm "$build/snippets.md"
  done
}

# Puts the goals of the last comparison into both pages.  Does not run a comparison, which takes long.
excerpt_peers() {
  put_written peers "$build/peers"
  put_excerpt 'tools/dev excerpt peers' README.md "$(cat "$build/peers/excerpt-goals.md")"
}

# Puts the result of the last demonstration.
excerpt_cluster() {
  [[ -s $demo_dir/result.txt ]] || die "no $demo_dir/result.txt: run tools/dev cluster demo to its end first"
  put_excerpt 'tools/dev excerpt cluster' README.md $'```text\n'"$(cat "$demo_dir/result.txt")"$'\n```'
}

# Puts the excerpt that an experiment wrote next to its report into a page.
put_written() {  # NAME FOLDER [FILE]
  [[ -s $2/excerpt-$1.md ]] || die "no $2/excerpt-$1.md: run tools/dev ${2##*/} to its end first"
  put_excerpt "tools/dev excerpt $1" "${3:-bench/README.md}" "$(cat "$2/excerpt-$1.md")"
}

# Runs an experiment and puts its excerpt.
put_experiment() {  # NAME FOLDER PROGRAM [OPTIONS]
  "${@:3}" --out "$2" >"$logs/excerpt-$1.log" || die "$3 failed: $logs/excerpt-$1.log"
  put_written "$1" "$2"
}

excerpt_demo() {
  "$root/tools/dev" demo || exit 1
  put_written demo "$build/demo"
}

excerpt_kinds() {
  build_preset release layout_bench
  put_printed 'tools/dev excerpt kinds' bloom/README.md "$build/release/bench/layout_bench" --table
}

excerpt_family() {
  build_preset release filter_lab
  put_printed 'tools/dev excerpt family' bloom/README.md "$build/release/bench/filter_lab" --family-rows
}

excerpt_speed() {
  build_preset release filter_bench
  put_printed 'tools/dev excerpt speed' bench/README.md "$build/release/bench/filter_bench" --table \
    --benchmark_min_time=0.2 \
    --benchmark_filter='/(floor|inlined|blocked/9400|split-block/9400|fuse4|ribbon).*:10000000'
}

# The full streams: about ten minutes of processor time.
excerpt_streams() {  # [NAME]
  build_preset release filter_lab
  put_experiment "${1:-streams}" "$build/streams" "$build/release/bench/filter_lab" --only streaming --full
}

# Only on the reference machine can the times be compared with those of the source's program.
excerpt_stream-times() { excerpt_streams stream-times; }

excerpt_levels() {
  build_level_filters
  put_experiment levels "$build/level_filters" "$build/release/bench/level_filters"
}

# Makes a tree of four levels.
excerpt_styles() {
  build_preset release compaction_styles
  put_experiment styles "$build/styles" "$build/release/bench/compaction_styles" --keys 2000000 --flushes 1024
}

excerpt_partitions() {
  build_preset release partition_bench
  put_printed 'tools/dev excerpt partitions' bench/README.md "$build/release/bench/partition_bench" --excerpt
}

excerpt_reliability() {
  build_preset release reliability seeded_bugs
  must reliability 'Reliability programme and seeded bugs' reliability
  put_figures 'tools/dev excerpt reliability' lsm/RELIABILITY.md "$(reliability_figures)"
}

excerpt_coverage() {
  measure_coverage must
  put_figures 'tools/dev excerpt coverage' lsm/RELIABILITY.md "$(cat "$step_log")"
}

# The totals of the last soak.
soak_figures() {
  cat "$logs/soak.command" && grep '^in all' "$logs/soak.log" && awk '
    /^scripts/ { split($0, parts, " distinct"); count = split(parts[1], words, " "); gsub(",", "", words[count])
      images += words[count] }
    END { printf "in all       %d crash images of these scripts\n", images }' "$logs/soak.log"
  sed -n 's/^\(in all.*\) by histories$/\1 under ThreadSanitizer/p' "$logs/soak-tsan.log"
  grep '^fuzzed' "$logs/soak-fuzz.log"
  awk '/^fuzzed/ { inputs += $3 } END { printf "in all       %d inputs fuzzed\n", inputs }' "$logs/soak-fuzz.log"
}

excerpt_soak() {
  grep -qs '^in all' "$logs/soak.log" && grep -qs '^fuzzed' "$logs/soak-fuzz.log" ||
    die 'no soak has finished here: run tools/dev soak --hours 1'
  put_figures 'tools/dev excerpt soak' lsm/RELIABILITY.md "$(soak_figures)"
}

command_excerpt() {
  local part
  for part in "${@:-demo}"; do
    case $part in
      demo) excerpt_demo ;;
      snippets) excerpt_snippets ;;
      coverage) lock && all_packages && excerpt_coverage ;;
      soak) excerpt_soak ;;
      cluster) excerpt_cluster ;;
      peers) excerpt_peers ;;
      # These take the last run here, because a run takes long.
      scale | keyspaces | expiry) put_written "$part" "$build/$part" ;;
      deletes) put_written deletes "$build/peers" lsm/design/tombstones.md ;;
      against | instructions) put_written "$part" "$build/against" lsm/design/tombstones.md ;;
      kinds | family | speed | streams | stream-times | levels | partitions | styles | reliability)
        lock && all_packages && "excerpt_$part"
        ;;
      *) misuse "there is no excerpt $part" ;;
    esac
  done
}
