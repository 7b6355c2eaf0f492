# Processes that use a store in the cluster: rados_demo, for `cluster demo` and `cluster test`.  Sourced by tools/dev.
# shellcheck shell=bash

client_program=$build/release/tests/lsm/rados/rados_demo
client_dir=$build/cluster_clients  # files of acknowledged keys, and what the processes print
client_lock_millis=3000
# When a writer has ended or hangs, a standby's first put is acknowledged at most this long after the lock has expired.
client_grace_millis=2000

# Other builds leave Ceph out, whose packages may be missing.
configure_rados() {
  ensure_configured release || return 1
  if ! step configure-rados 'Configure with Ceph' cmake -DTRELLIS_BUILD_RADOS=ON "$build/release"; then
    failed=$((failed + 1))
    if [[ $how == must ]]; then exit 1; fi
    return 1
  fi
}

# Whether the process is a client of this tree.  The kernel's list decides, as for daemons.
is_client() {  # PID
  local words
  mapfile -d '' -t words <"/proc/$1/cmdline" && [[ ${words[0]:-} == "$client_program" && /proc/$1/root -ef / ]]
} 2>/dev/null

cluster_clients() {  # prints their process ids
  local file
  for file in /proc/[0-9]*/cmdline; do
    if is_client "${file//[^0-9]/}"; then echo "${file//[^0-9]/}"; fi
  done
}

# Also ends clients that are paused.  Succeeds if none runs.
kill_clients() {
  local pids
  read -ra pids -d '' < <(cluster_clients)
  ((${#pids[@]} == 0)) || { kill -KILL "${pids[@]}"; return 1; }
}
end_clients() { wait_until "$cluster_wait" kill_clients || die "these clients did not end: $(cluster_clients)"; }

client() { "${at_cluster[@]}" "$client_program" --lock-millis "$client_lock_millis" "$@"; }

# start_writer STORE NAME [OPTION...]: in the background, for at most 5 minutes.  Sets `writer`, its process id.
client_place=at_cluster  # or at_cable
start_writer() {
  local -n place=$client_place
  # The files are new, so nothing reads those of an earlier writer.
  rm -f "$client_dir/$2".{keys,log}
  "${place[@]}" "$client_program" --lock-millis "$client_lock_millis" "${@:3}" \
    write "$1" "$2" 300 "$client_dir/$2.keys" >"$client_dir/$2.log" 2>&1 </dev/null 9>&- &
  writer=$!
  disown "$writer"  # or bash reports a process that is killed
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }  # PID
client_ends() { wait_until "$cluster_wait" has_ended "$1"; }

is_waiting() { grep -qsx 'waiting for the lock' "$client_dir/$1.log"; }  # NAME
standby_waits() { wait_until "$cluster_wait" is_waiting "$1"; }

micros() { echo "${EPOCHREALTIME/[^0-9]/}"; }

# Whether the writer has acknowledged a key at or after that moment.
has_acknowledged() {  # NAME MICROS
  local last
  last=$(tail -n 1 "$client_dir/$1.keys" 2>/dev/null)
  [[ -n $last && ${last%% *} -ge $2 ]]
}
has_acknowledged_or_ended() { has_acknowledged "$1" "$3" || has_ended "$2"; }

# Waits until the writer acknowledges a key from now on, or with MICROS from then on.  Fails if it ends instead.
writer_acknowledges() {  # NAME PID [MICROS]
  local from=${3:-$(micros)}
  wait_until "$cluster_wait" has_acknowledged_or_ended "$1" "$2" "$from"
  has_acknowledged "$1" "$from" || { echo "$1 acknowledges nothing:"; cat "$client_dir/$1.log"; return 1; }
}

# Prints the seconds from that moment to the writer's first acknowledgement.
first_acknowledgement() {  # NAME MICROS
  awk -v from="$2" 'NR == 1 { printf "%.2f\n", ($1 - from) / 1e6 }' "$client_dir/$1.keys"
}

# Prints the longest time without an acknowledgement after that moment, in seconds.
longest_pause() {  # NAME MICROS
  awk -v last="$2" '
    $1 < last { next }
    { if ($1 - last > most) most = $1 - last; last = $1 }
    END { printf "%.2f\n", most / 1e6 }' "$client_dir/$1.keys"
}

# The most seconds that a take-over may last.
takeover_most() { awk -v most="$((client_lock_millis + client_grace_millis))" 'BEGIN { printf "%.2f", most / 1000 }'; }
is_at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }

# Resumes a paused writer that was taken over.  Its next put must be refused.
resume_refused() {  # NAME PID
  kill -CONT "$2" && client_ends "$2" && grep -q 'taken over by' "$client_dir/$1.log" ||
    { echo "$1 was not refused:"; cat "$client_dir/$1.log"; return 1; }
}

# Ends a writer in an orderly way, which hands its lock over.
stop_writer() {  # NAME PID
  kill -TERM "$2" && client_ends "$2" && grep -q '^acknowledged' "$client_dir/$1.log" ||
    { echo "$1 did not stop:"; cat "$client_dir/$1.log"; return 1; }
}
