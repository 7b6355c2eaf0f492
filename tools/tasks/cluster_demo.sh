# Demonstrates a store in Ceph: an OSD is killed, and a paused writer is replaced.  Sourced by tools/dev.
# shellcheck shell=bash

demo_program=$build/release/tests/lsm/rados/rados_demo
demo_dir=$build/cluster_demo
demo_store=rados://$cluster_pool/demo
demo_keys=200000
demo_lock_millis=3000
demo_grace_millis=2000  # a standby's first put is acknowledged at most this long after the lock has expired

build_rados_demo() {
  setup "${packages_to_build[@]}" "${packages_of_cluster[@]}"
  ensure_configured release
  must configure-rados 'Configure with Ceph' cmake -DTRELLIS_BUILD_RADOS=ON "$build/release"
  build_preset release rados_demo "$@"
}

# Prints the process ids of this tree's clients.  The kernel's list decides, as for daemons.
cluster_clients() {
  local file words
  for file in /proc/[0-9]*/cmdline; do
    mapfile -d '' -t words <"$file" || continue
    if [[ ${words[0]:-} == "$demo_program" && ${file%cmdline}root -ef / ]]; then echo "${file//[^0-9]/}"; fi
  done 2>/dev/null
}

# Also ends clients that are paused.  Succeeds if none runs.
kill_clients() {
  local pids
  read -ra pids -d '' < <(cluster_clients)
  ((${#pids[@]} == 0)) || { kill -KILL "${pids[@]}"; return 1; }
}
end_clients() { wait_until "$cluster_wait" kill_clients || die "these clients did not end: $(cluster_clients)"; }

run_demo_program() { "$demo_program" --lock-millis "$demo_lock_millis" "$@"; }

# start_writer NAME: in the background, for at most 5 minutes.  Sets `writer`, its process id.
start_writer() {
  "$demo_program" --lock-millis "$demo_lock_millis" write "$demo_store" "$1" 300 "$demo_dir/$1.keys" \
    >"$demo_dir/$1.log" 2>&1 </dev/null 9>&- &
  writer=$!
  disown "$writer"
}

micros() { echo "${EPOCHREALTIME/[^0-9]/}"; }

# Succeeds if the writer has acknowledged a key at or after that moment.
has_acknowledged() {  # NAME MICROS
  local last
  last=$(tail -n 1 "$demo_dir/$1.keys" 2>/dev/null)
  [[ -n $last && ${last%% *} -ge $2 ]]
}

# Prints the longest time without an acknowledgement after that moment, in seconds.
longest_pause() {  # NAME MICROS
  awk -v last="$2" '
    $1 < last { next }
    { if ($1 - last > most) most = $1 - last; last = $1 }
    END { printf "%.2f\n", most / 1e6 }' "$demo_dir/$1.keys"
}

is_waiting() { grep -qsx 'waiting for the lock' "$demo_dir/$1.log"; }
has_ended() { ! cluster_clients | grep -qx "$1"; }  # PID

kill_osd_while_writing() {
  local from
  wait_until "$cluster_wait" has_acknowledged W1 0 || return 1
  sleep 2
  from=$(micros)
  cluster_kill_osd 0 && sleep 5 && wait_until "$cluster_wait" has_acknowledged W1 "$(micros)" || return 1
  cluster_start_osd 0 && sleep 2 && wait_until "$cluster_wait" has_acknowledged W1 "$(micros)" || return 1
  longest_pause W1 "$from" >"$demo_dir/pause-osd"
}

# The standby must wait for the lock already.
pause_writer() {  # PID
  local from
  wait_until "$cluster_wait" is_waiting W2 && sleep 1 && [[ ! -s $demo_dir/W2.keys ]] || return 1
  from=$(micros)
  kill -STOP "$1" && wait_until "$cluster_wait" has_acknowledged W2 0 || return 1
  awk -v from="$from" 'NR == 1 { printf "%.2f\n", ($1 - from) / 1e6 }' "$demo_dir/W2.keys" >"$demo_dir/pause-takeover"
  sleep 2
}

# Its next put must be refused, and the standby must not be disturbed.
resume_writer() {  # PID STANDBY
  kill -CONT "$1" && wait_until "$cluster_wait" has_ended "$1" || return 1
  tail -n 1 "$demo_dir/W1.log"
  grep -q 'taken over by' "$demo_dir/W1.log" && sleep 1 && wait_until "$cluster_wait" has_acknowledged W2 "$(micros)" &&
    kill -TERM "$2" && wait_until "$cluster_wait" has_ended "$2" || return 1
  cat "$demo_dir/W2.log"
}

demo_row() { printf '%-34s %10s%s\n' "$@"; }

value_of() { sed -n "s/^$1 //p" "$demo_dir/$2"; }  # NAME FILE

# Succeeds if the standby was in time.
print_demo() {
  local most in_time=yes
  most=$(awk -v most="$((demo_lock_millis + demo_grace_millis))" 'BEGIN { printf "%.2f", most / 1000 }')
  awk -v was="$(cat "$demo_dir/pause-takeover")" -v most="$most" 'BEGIN { exit !(was <= most) }' || in_time=no
  {
    demo_row 'acknowledged' "$(value_of acknowledged check)" ' keys'
    demo_row 'found' "$(value_of found check)" ''
    demo_row 'lost' "$(value_of lost check)" ''
    demo_row 'longest pause: an OSD killed' "$(cat "$demo_dir/pause-osd")" ' s'
    demo_row 'longest pause: take-over' "$(cat "$demo_dir/pause-takeover")" \
      " s; allowed: $most s$([[ $in_time == yes ]] || echo ', TOO LATE')"
    demo_row 'network reads per absent key' "$(value_of absent reads)" \
      "; by the filters: $(value_of predicted reads)"
    demo_row 'network reads per present key' "$(value_of present reads)" ''
  } | tee "$demo_dir/result.txt"
  [[ $in_time == yes ]]
}

check_keys() { run_demo_program check "$demo_store" "$demo_dir"/*.keys | tee "$demo_dir/check"; }
count_reads() { run_demo_program reads "$demo_store" "$demo_keys" | tee "$demo_dir/reads"; }

# For with_cluster.
run_cluster_demo() {
  local writer first lost=no
  rm -rf "$demo_dir" && mkdir -p "$demo_dir" || return 1
  step demo-load "Load $demo_keys keys" run_demo_program load "$demo_store" "$demo_keys" "$demo_dir/load.keys" || return 1
  start_writer W1
  first=$writer
  step demo-osd 'Kill an OSD while W1 writes, and start it again' kill_osd_while_writing || return 1
  start_writer W2
  step demo-pause 'Pause W1; the standby W2 takes over' pause_writer "$first" || return 1
  step demo-resume 'Resume W1: its next put is refused' resume_writer "$first" "$writer" || return 1
  sed 's/^/      W1: /' "$demo_dir/W1.log" | tail -n 1
  step demo-check 'Look up every acknowledged key' check_keys || lost=yes
  if [[ -z $(value_of lost check) ]]; then return 1; fi
  step demo-reads 'Count reads from the network' count_reads || return 1
  echo
  print_demo && [[ $lost == no ]]
}

cluster_demo() {
  if (($# > 0)); then misuse 'cluster demo'; fi
  lock
  build_rados_demo
  with_cluster 3 run_cluster_demo
}
