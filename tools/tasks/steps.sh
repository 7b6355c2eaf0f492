# Messages, and steps: commands with a name, a log and a result.  Sourced by tools/dev.
# shellcheck shell=bash

terminal=no
if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then terminal=yes; fi
bold='' red='' green='' dim='' plain=''
if [[ $terminal == yes && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
fi

die() { printf '%stools/dev: %s%s\n' "$red" "$*" "$plain" >&2; exit 1; }
misuse() { printf 'tools/dev: %s\nTry `tools/dev help`.\n' "$*" >&2; exit 2; }

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

human() {  # 75.3 -> 1 min 15 s
  awk -v s="$1" 'BEGIN { if (s < 60) printf "%.1f s", s; else printf "%d min %02d s", s / 60, s % 60 }'
}

# A step is one command with a name.  Its output goes to build/logs/NAME.log, and to the terminal only if it fails.  The
# command runs in its own process group, so that Ctrl-C ends all of it.

passed=0 failed=0
child='' ticker=''
step_names=() step_results=() step_durations=() step_notes=()

end_children() {
  if [[ -n $ticker ]]; then kill "$ticker" 2>/dev/null; fi
  if [[ -n $child ]]; then kill -TERM -- "-$child" 2>/dev/null && wait "$child" 2>/dev/null; fi
  if [[ $terminal == yes ]]; then printf '\r\e[K'; fi
}
trap 'end_children; echo "tools/dev: interrupted" >&2; exit 130' INT TERM HUP

# While a step runs, shows its duration and the last line of its log on a terminal.
tick() {
  local title=$1 log=$2 width=${COLUMNS:-$(tput cols 2>/dev/null || echo 80)} from=$SECONDS line
  while sleep 1; do
    line=$(tail -c 300 "$log" | tr -d '\r' | tail -n 1)
    printf -v line '      %s  %d s  %s' "$title" $((SECONDS - from)) "$line"
    printf '\r\e[K%s' "${line:0:width-1}"
  done
}

record() {  # NAME RESULT SECONDS NOTE
  step_names+=("$1") step_results+=("$2") step_durations+=("$3") step_notes+=("$4")
}

# Shows the relevant part of a failed step's log: ctest's failed tests and their output; otherwise the last lines.
explain_failure() {
  if ! grep -q '^The following tests FAILED:' "$1"; then
    tail -n 40 "$1"
    return
  fi
  awk '/^ *Start +[0-9]+: / || /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / || /^[0-9]+% tests passed/ { shown = /\*\*\*/ } shown' "$1" |
    sed 's/\.\.\.\.*/.../' | head -n 100
  sed -n '/^The following tests FAILED:/,$p' "$1"
}

# step NAME TITLE COMMAND...: succeeds if the command does.  Sets `step_log`.
step() {
  local name=$1 title=$2 from=$EPOCHREALTIME status took
  shift 2
  mkdir -p "$logs"
  step_log=$logs/$name.log
  if [[ $terminal == no ]]; then printf '      %s ...\n' "$title"; fi
  set -m
  "$@" >"$step_log" 2>&1 </dev/null 9>&- &
  child=$!
  set +m
  if [[ $terminal == yes ]]; then tick "$title" "$step_log" 9>&- & ticker=$!; fi
  wait "$child"
  status=$?
  child=''
  if [[ -n $ticker ]]; then
    kill "$ticker"; wait "$ticker" 2>/dev/null
    ticker=''
    printf '\r\e[K'
  fi
  took=$(seconds_since "$from")
  if ((status == 0)); then
    record "$name" ok "$took" ''
    printf '%sok%s    %s  %s%s%s\n' "$green" "$plain" "$title" "$dim" "$(human "$took")" "$plain"
  else
    record "$name" FAILED "$took" "build/logs/$name.log"
    printf '%sFAILED%s %s  %s%s%s\n' "$red" "$plain" "$title" "$dim" "$(human "$took")" "$plain"
    explain_failure "$step_log" | sed 's/^/      | /'
    printf '      The whole log: %s\n' "$step_log"
  fi
  return "$status"
}

# Prints the lines of the last step's log that begin with the argument, and its findings.
show_lines() { grep -E "^($1|FOUND) " "$step_log" | sed 's/^/      /'; }

# A step that counts as a check of `test`.
check() {
  if step "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); return 1; fi
}

# Records a check that cannot run because an earlier one failed.
left_out() {
  failed=$((failed + 1))
  record "$1" 'not run' 0 "because $2 failed"
  printf '%snot run%s %s, because %s failed\n' "$red" "$plain" "$1" "$2"
}

# check_tests NAME TITLE CTEST-COMMAND...: counts each test.  Fails if no test ran.
check_tests() {
  local status=0 line count bad=0
  step "$@" || status=1
  line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$step_log" | tail -n 1)
  if [[ $line =~ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
    bad=${BASH_REMATCH[1]} count=${BASH_REMATCH[2]}
  else
    count=0
  fi
  if ((count == 0 || (status != 0 && bad == 0))); then bad=$((bad + 1)) count=$((count + 1)); fi
  passed=$((passed + count - bad)) failed=$((failed + bad))
  step_notes[-1]="$((count - bad)) tests passed, $bad failed"
  if ((bad > 0)); then
    step_results[-1]=FAILED
    return 1
  fi
}

summary() {
  local i
  printf '\n%s%-20s %-8s %14s  %s%s\n' "$bold" step result time '' "$plain"
  for i in "${!step_names[@]}"; do
    printf '%-20s %-8s %14s  %s\n' "${step_names[i]}" "${step_results[i]}" "$(human "${step_durations[i]}")" \
      "${step_notes[i]}"
  done
  printf 'Total: %s.\n' "$(human "$(seconds_since "$started")")"
}

# For commands that end at the first failed step.
must() { step "$@" || exit 1; }

# Only one tools/dev works in this tree at a time: two would undo each other's work in one build directory.
lock() {
  mkdir -p "$build" && { exec 9>"$build/.lock"; } 2>/dev/null || die "cannot write in $build"
  if ! flock -n 9; then
    echo 'Waiting for another tools/dev in this tree ...'
    flock 9
  fi
}
