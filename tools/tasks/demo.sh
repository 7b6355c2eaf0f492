# The demo.  Sourced by tools/dev.
# shellcheck shell=bash

utf8() {  # prints a file; treats text that is not UTF-8 as Latin-1
  iconv -f UTF-8 -t UTF-8 "$1" 2>/dev/null || iconv -f ISO-8859-1 -t UTF-8 "$1"
}

# Stored: the words of American English.  Absent: the words of eight other languages that are not among them and lie
# between the first and the last of them.  A key outside of that range would be rejected without a filter.
prepare_words() {
  local dir=$build/demo file
  export LC_ALL=C
  mkdir -p "$dir" && utf8 "$stored_words" | sort -u >"$dir/keys.txt.made" || return 1
  for file in "${other_words[@]}"; do utf8 "$file" || return 1; done | sort -u |
    comm -23 - "$dir/keys.txt.made" |
    awk -v first="$(head -n 1 "$dir/keys.txt.made")" -v last="$(tail -n 1 "$dir/keys.txt.made")" \
      '$0 "" > first "" && $0 "" < last ""' >"$dir/absent.txt.made" &&
    mv "$dir/absent.txt.made" "$dir/absent.txt" && mv "$dir/keys.txt.made" "$dir/keys.txt" &&
    wc -l "$dir/keys.txt" "$dir/absent.txt"
}

from_here() { realpath -m --relative-to="$PWD" -- "$1"; }

# Suggests commands to try, on the store of the usual filter if it exists, and with a key from the lookups.
suggest_sstdump() {  # KEY
  local dump store table
  dump=$(from_here "$build/release/tools/sstdump")
  table=$(find "$build/demo/stores" -name '*.table' | LC_ALL=C sort |
    awk '{ last = $0 } /\/blocked-0\.01\// { usual = $0 } END { print usual ? usual : last }')
  if [[ -z $table ]]; then return; fi
  store=$(dirname "$table") table=$(from_here "$table") store=$(from_here "$store")
  printf '\n%sInspect its stores:%s\n' "$bold" "$plain"
  printf '  %q %s %q\n' "$dump" levels "$store" "$dump" info "$table" "$dump" filter "$table" "$dump" verify "$store"
  printf '  %q dump %q --limit 5\n' "$dump" "$store"
  if [[ -n $1 ]]; then printf '  %q explain %q -- %q\n' "$dump" "$store" "$1"; fi
}

middle_line() { awk -v wanted="$(($(wc -l <"$1") / 2 + 1))" 'NR == wanted { print; exit }' "$1"; }

command_demo() {
  local keys=() options=() asked_for='' wanted=("${packages_to_build[@]}" "${packages_to_report[@]}") status
  while (($# > 0)); do
    case $1 in
      --keys | --absent-keys | --synthetic)
        if (($# < 2)); then misuse "$1 needs an argument"; fi
        if [[ $1 != --synthetic && ! -r $2 ]]; then misuse "cannot read $2"; fi
        if [[ $1 != --synthetic ]]; then asked_for=$2; fi
        keys+=("$1" "$2")
        shift 2 ;;
      --) shift; options=("$@"); break ;;
      *) misuse "demo has no option $1 (options of read_amp come after --)" ;;
    esac
  done
  if ((${#keys[@]} == 0)); then wanted+=("${packages_of_words[@]}"); fi
  lock
  setup "${wanted[@]}"
  build_preset release read_amp sstdump
  if ((${#keys[@]} == 0)); then
    if [[ ! $build/demo/keys.txt -nt ${BASH_SOURCE[0]} ]]; then must words 'Prepare the words' prepare_words; fi
    asked_for=$(from_here "$build/demo/absent.txt")
    keys=(--keys "$(from_here "$build/demo/keys.txt")" --absent-keys "$asked_for")
  fi
  rm -rf "$build/demo/stores"
  mkdir -p "$build/demo"
  echo
  "$build/release/bench/read_amp" --out "$(from_here "$build/demo")" "${keys[@]}" "${options[@]}" 9>&-
  status=$?
  if ((status != 0)); then exit "$status"; fi
  suggest_sstdump "${asked_for:+$(middle_line "$asked_for")}"
}
