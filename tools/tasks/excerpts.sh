# What programs print, put into the documents.  Sourced by tools/dev.
# shellcheck shell=bash

# What the README shows of the demo: the store's own columns where nothing is cached, the table of avoided I/O, and
# what the run says of the machine if the rounds differ.
excerpt_of() {
  awk '
    /^=== / { in_part = /^=== Block cache none/; if (in_part) print; next }
    /^Avoided I\/O, / { print ""; in_table = 1 }
    in_part && /^Keys: / { in_table = /^Keys: absent/; if (in_table) print "" }
    in_table && /^$/ { in_table = 0 }
    /^Mind: .*was the machine busy/ { print ""; print }
    in_table { print }' "$1"
}

# What the README shows of peers_bench: the tables of goals, of what the stores were like, of openings, of cold reads, of
# filters by level and of two threads, and what was run where.
excerpt_of_peers() {
  local title
  for title in 'Goals: ' 'The stores when they were looked into' 'Openings of a store of many' \
    'Data blocks read from files' 'Filters of the fresh stores' 'Operations a second of two threads'; do
    awk -v title="$title" '
      index($0, title) == 1 { in_table = 1 }
      in_table && /^$/ { if (++blank == 2) in_table = 0 }
      in_table { print }' "$1"
    echo
  done
  awk '
    /^Conditions$/ { in_conditions = 1 }
    in_conditions && /^(Date|CPU|Memory|Kernel|Build|Rounds|Trellis|LevelDB|RocksDB|Equal|Took) / { print }' "$1"
}

put_excerpt() {  # COMMAND FILE TEXT: between the marks of the command and the next end of an excerpt
  [[ -n $3 ]] || die "nothing to put into $2"
  awk -v begin="<!-- $1 -->" -v excerpt="$3" '
    $0 == begin { print; print excerpt; within = 1; next }
    /^<!-- end of excerpt -->$/ { within = 0 }
    !within { print }' "$root/$2" >"$build/excerpt.md" && cat "$build/excerpt.md" >"$root/$2" && rm "$build/excerpt.md"
}

# As it was printed.
put_figures() {  # COMMAND FILE TEXT
  [[ -n $3 ]] || die "no figures: $2 is as it was"
  put_excerpt "$1" "$2" $'\n```\n'"$3"$'\n```\n'
}

# Blank lines around a table, which is Markdown itself.  What fails leaves the file as it was.
put_printed() {  # COMMAND FILE PROGRAM [OPTIONS]
  local printed
  printed=$("${@:3}") && [[ -n $printed ]] || die "$3 printed no table: $2 is as it was"
  put_excerpt "$1" "$2" $'\n'"$printed"$'\n'
}

# Snippets of programs: what stands in FILE between `// snippet: NAME` and `// end` follows `<!-- FILE: NAME -->`.
excerpt_snippets() {
  local page
  for page in "$root"/*/*.md "$root"/*.md; do
    grep -q '^<!-- [a-z]*/.*\.cc: .* -->$' "$page" || continue
    awk -v root="$root" '
      /^<!-- [a-z]*\/.*\.cc: .* -->$/ {
        print
        file = $2; sub(/:$/, "", file)
        name = $0; sub(/^[^:]*: /, "", name); sub(/ -->$/, "", name)
        print "```cpp"
        within = 0
        while ((getline line <(root "/" file)) > 0) {
          if (line ~ /^ *\/\/ end$/) within = 0
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

excerpt_demo() {
  local printed=$build/demo/printed.txt
  mkdir -p "$build/demo"
  "$root/tools/dev" demo | tee "$printed" || exit 1
  [[ -n $(excerpt_of "$printed") ]] || die "no table in $printed"
  put_excerpt 'tools/dev excerpt demo' README.md '```text'$'\n'"$(excerpt_of "$printed")"$'\n''```'
}

excerpt_kinds() {
  must build-layout_bench 'Build layout_bench' cmake --build --preset release --target layout_bench
  put_printed 'tools/dev excerpt kinds' bloom/README.md "$build/release/bench/layout_bench" --table
}

excerpt_family() {
  must build-filter_lab 'Build filter_lab' cmake --build --preset release --target filter_lab
  put_printed 'tools/dev excerpt family' bloom/README.md "$build/release/bench/filter_lab" --family-rows
}

# Of those compiled for a newer CPU, if this is one, only what differs there, and its neighbours in the table.
print_speed() {
  "$build/release/bench/filter_bench" --table --benchmark_min_time=0.2 || return
  [[ -z $newer ]] && return
  echo && "$newer" --table --benchmark_min_time=0.2 --benchmark_filter='/(floor|inlined|blocked|split-block|boost)'
}

excerpt_speed() {
  local newer=''
  must build-filter_bench 'Build filter_bench' cmake --build --preset release --target filter_bench
  if grep -q '^TRELLIS_RUNS_X86_64_V3:INTERNAL=1$' "$build/release/CMakeCache.txt"; then
    newer=$build/release/bench/filter_bench_v3
    must build-filter_bench_v3 'Build filter_bench_v3' cmake --build --preset release --target filter_bench_v3
  fi
  put_printed 'tools/dev excerpt speed' bench/README.md print_speed
}

# Puts the lab's streams in full, about ten minutes of processor time, into $build/streams.txt.
run_streams() {
  "$build/release/bench/filter_lab" --only streaming --full >"$build/streams.txt"
}

# The CPU, and the tables of that file whose titles match a pattern.
print_stream_tables() {  # PATTERN
  echo '```text'
  sed -n 's/^CPU  *//p' "$build/streams.txt"
  awk -v titles="$1" '/^[^ ].*[a-z ]$/ && previous == "" && !/  / { wanted = $0 ~ titles; if (wanted) gaps = "\n" }
    { previous = $0 }
    !wanted { next }
    /^$/ { gaps = gaps "\n"; next }
    { printf "%s%s\n", gaps, $0; gaps = "" }' "$build/streams.txt"
  echo '```'
}

# Rates and total times of all streams.
print_streams() {
  run_streams && print_stream_tables '^Rows answered wrongly$|^Processor time of all rows'
}

# The uniform stream, of which the source's program was timed: on the reference machine, so only there are they comparable.
print_stream_times() {
  run_streams && print_stream_tables '^Processor time of a row'
}

excerpt_streams() {
  must build-filter_lab 'Build filter_lab' cmake --build --preset release --target filter_lab
  put_printed 'tools/dev excerpt streams' bench/README.md print_streams
}

excerpt_stream-times() {
  must build-filter_lab 'Build filter_lab' cmake --build --preset release --target filter_lab
  put_printed 'tools/dev excerpt stream-times' bench/README.md print_stream_times
}

build_level_filters() {
  if [[ -z ${TRELLIS_NO_PEERS:-} ]]; then
    must configure-peers 'Configure with RocksDB' cmake -DTRELLIS_BUILD_PEERS=ON "$build/release"
  fi
  build_preset release level_filters
}

# Under which conditions, then the table; twice, up to the tables for people.
print_levels() {
  "$build/release/bench/level_filters" --out "$build/level_filters" >"$build/levels.txt" || return
  awk '/^store / { exit } /^$/ { gap = 1; next } gap { print ""; gap = 0 } { print }' "$build/levels.txt"
}

excerpt_levels() {
  build_level_filters
  put_printed 'tools/dev excerpt levels' bench/README.md print_levels
}

# What each style costs, of trees of three and of four levels.
print_styles() {
  local options
  echo '```text'
  for options in '' ' --keys 2000000 --flushes 1024'; do
    # shellcheck disable=SC2086  # several options
    "$build/release/bench/compaction_styles" --out "$build/styles" $options >"$build/styles.txt" || return
    [[ -z $options ]] || echo
    echo "\$ tools/dev styles$options"
    awk '/^style .* write / { in_table = 1 } in_table && /^$/ { exit } in_table' "$build/styles.txt"
  done
  echo '```'
}

excerpt_styles() {
  build_preset release compaction_styles
  put_printed 'tools/dev excerpt styles' bench/README.md print_styles
}

print_partitions() {
  # shellcheck disable=SC2016  # no command substitution
  echo '```text' && echo '$ build/release/bench/partition_bench' && "$build/release/bench/partition_bench" && echo '```'
}

excerpt_partitions() {
  build_preset release partition_bench
  put_printed 'tools/dev excerpt partitions' bench/README.md print_partitions
}

excerpt_reliability() {
  build_preset release reliability seeded_bugs
  must reliability 'Look for lost and misread data, and for seeded bugs' reliability
  put_figures 'tools/dev excerpt reliability' lsm/RELIABILITY.md "$(reliability_figures)"
}

excerpt_coverage() {
  measure_coverage must
  put_figures 'tools/dev excerpt coverage' lsm/RELIABILITY.md "$(cat "$step_log")"
}

# What the last soak did in all.
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
    die 'no soak has come to its end here: tools/dev soak --hours 1'
  put_figures 'tools/dev excerpt soak' lsm/RELIABILITY.md "$(soak_figures)"
}

# As of the last run here, which takes long: under which conditions, then all figures.
excerpt_scale() {
  local printed=$build/scale/printed.txt
  [[ -s $printed ]] && grep -q '^Measured by the law' "$printed" || die 'no run of scale has come to its end here: tools/dev scale'
  put_excerpt 'tools/dev excerpt scale' bench/README.md '```text'$'\n'"$(awk '
    /^(CPU|Memory|Load average before|Note|Options|Of the laws|Took) / { sub(/ +$/, ""); print }
    /^The laws$/ { print ""; in_figures = 1 }
    in_figures && /^From .* keys, / { exit }
    in_figures' "$printed")"$'\n''```'
}

excerpt_peers() {
  local printed=$build/peers/printed.txt
  [[ -s $printed ]] && grep -q '^Goals: ' "$printed" || die 'no comparison has come to its end here: tools/dev peers'
  put_excerpt 'tools/dev excerpt peers' README.md '```text'$'\n'"$(excerpt_of_peers "$printed")"$'\n''```'
}

command_excerpt() {
  local part
  for part in "${@:-demo}"; do
    case $part in
      demo) excerpt_demo ;;
      snippets) excerpt_snippets ;;
      coverage) lock && all_packages && excerpt_coverage ;;
      soak | peers | scale) "excerpt_$part" ;;
      kinds | family | speed | streams | stream-times | levels | partitions | styles | reliability)
        lock && all_packages && ensure_configured release && "excerpt_$part"
        ;;
      *) misuse "there is no excerpt $part" ;;
    esac
  done
}
