# Benchmarks and their reports.  Sourced by tools/dev.
# shellcheck shell=bash

command_bench() {
  local program name filter=${1:-.}
  lock
  all_packages
  build_preset release
  mkdir -p "$build/bench"
  for program in "$build"/release/bench/*_bench; do
    name=${program##*/}
    if [[ -z $("$program" --benchmark_list_tests --benchmark_filter="$filter" 2>/dev/null | grep -v '^Failed') ]]; then
      continue
    fi
    printf '\n%s%s%s\n' "$bold" "$name" "$plain"
    "$program" --benchmark_filter="$filter" --benchmark_out_format=json --benchmark_out="$build/bench/$name.json.made" \
      9>&- && mv "$build/bench/$name.json.made" "$build/bench/$name.json" || exit 1
  done
}

# Other builds leave the peers out, whose packages may be missing.
configure_peers() {
  ensure_configured release
  must configure-peers 'Configure with LevelDB and RocksDB' cmake -DTRELLIS_BUILD_PEERS=ON "$build/release"
}

command_peers() {
  lock
  all_packages
  configure_peers
  build_preset release peers_bench
  "$build/release/bench/peers/peers_bench" --out "$(from_here "$build/peers")" "$@" 9>&-
}

build_level_filters() {
  if [[ -z ${TRELLIS_NO_PEERS:-} ]]; then configure_peers; fi
  build_preset release level_filters
}

command_level-filters() {
  lock
  all_packages "${packages_to_report[@]}"
  build_level_filters
  echo
  "$build/release/bench/level_filters" --out "$(from_here "$build/level_filters")" "$@" 9>&-
}

command_lab() {
  lock
  setup "${packages_to_build[@]}" "${packages_to_report[@]}"
  build_preset release filter_lab
  echo
  "$build/release/bench/filter_lab" --out "$(from_here "$build/lab")" "$@" 9>&-
}

command_styles() {
  lock
  setup "${packages_to_build[@]}" "${packages_to_report[@]}"
  build_preset release compaction_styles sstdump
  echo
  "$build/release/bench/compaction_styles" --out "$(from_here "$build/styles")" "$@" 9>&-
}

command_scale() {
  lock
  setup "${packages_to_build[@]}" "${packages_to_report[@]}"
  build_preset release scale
  echo
  "$build/release/bench/scale" --out "$(from_here "$build/scale")" "$@" 9>&-
}

command_keyspaces() {
  lock
  all_packages "${packages_to_report[@]}"
  if [[ -z ${TRELLIS_NO_PEERS:-} ]]; then configure_peers; fi
  build_preset release keyspaces_bench
  echo
  "$build/release/bench/keyspaces/keyspaces_bench" --out "$(from_here "$build/keyspaces")" "$@" 9>&-
}

command_expiry() {
  lock
  all_packages "${packages_to_report[@]}"
  if [[ -z ${TRELLIS_NO_PEERS:-} ]]; then configure_peers; fi
  build_preset release expiry_bench
  echo
  "$build/release/bench/expiry/expiry_bench" --out "$(from_here "$build/expiry")" "$@" 9>&-
}
