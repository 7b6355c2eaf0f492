# Demonstrates a store in Ceph: while a follower reads, an OSD is killed, and a paused writer is replaced.  Sourced by
# tools/dev.
# shellcheck shell=bash

demo_dir=$build/cluster_demo
demo_store=rados://$cluster_pool/demo
demo_keys=200000
demo_quiet_seconds=5
demo_quiet_age=1.00  # seconds: the most that a follower's view may be old without a writer

kill_osd_while_writing() {  # PID of W1
  local from
  writer_acknowledges W1 "$1" && sleep 2 || return 1
  from=$(micros)
  cluster_kill_osd 0 && sleep 5 && writer_acknowledges W1 "$1" &&
    cluster_start_osd 0 && sleep 2 && writer_acknowledges W1 "$1" || return 1
  longest_pause W1 "$from" >"$demo_dir/pause-osd"
}

# The standby W2 must be waiting for the lock.
pause_writer() {  # PIDs of W1 and W2
  local from
  standby_waits W2 && sleep 1 && [[ ! -s $client_dir/W2.keys ]] || return 1
  from=$(micros)
  kill -STOP "$1" && writer_acknowledges W2 "$2" 0 || return 1
  first_acknowledgement W2 "$from" >"$demo_dir/pause-takeover"
  sleep 2
}

# The standby must not be disturbed.
resume_writer() {  # PIDs of W1 and W2
  resume_refused W1 "$1" && sleep 1 && writer_acknowledges W2 "$2" && stop_writer W2 "$2"
}

# It reads during all that follows.  Sets `follower`, its process id.
start_follower() {
  rm -f "$client_dir/follower.log"
  "${at_cluster[@]}" "$client_program" --lock-millis "$client_lock_millis" \
    follow "$demo_store" "$client_dir"/{load,W1,W2}.keys >"$client_dir/follower.log" 2>&1 </dev/null 9>&- &
  follower=$!
  disown "$follower"
}
follower_reads() { wait_until "$cluster_wait" grep -qsx following "$client_dir/follower.log"; }

# No process writes the store meanwhile.
follow_quiet_store() {
  follower_reads && sleep "$demo_quiet_seconds" && kill -USR1 "$follower" &&
    wait_until "$cluster_wait" grep -qs '^quiet ' "$client_dir/follower.log"
}

# Fails if it has read a wrong value.
stop_follower() {
  kill -TERM "$follower" && client_ends "$follower" || return 1
  cp "$client_dir/follower.log" "$demo_dir/follower" && cat "$demo_dir/follower"
  [[ $(value_of wrong follower) == 0 ]]
}

check_demo() { client check "$demo_store" "$client_dir"/*.keys | tee "$demo_dir/check"; }
count_reads() { client reads "$demo_store" "$demo_keys" | tee "$demo_dir/reads"; }

value_of() { sed -n "s/^$1 //p" "$demo_dir/$2"; }  # NAME FILE

print_demo() {  # whether the take-over was in time, and the view young
  local late='' old=''
  if [[ $1 == no ]]; then late=': TOO LATE'; fi
  if [[ $2 == no ]]; then old=': TOO OLD'; fi
  printf '%-14s %s\n' \
    acknowledged "$(value_of acknowledged check) keys" \
    found "$(value_of found check)" \
    lost "$(value_of lost check)" \
    'longest pause' "$(cat "$demo_dir/pause-osd") s when an OSD was killed; $(
      cat "$demo_dir/pause-takeover") s at the take-over, allowed $(takeover_most) s$late" \
    follower "$(value_of views follower) views, at most $(value_of oldest follower) s old, without a writer $(
      value_of quiet follower) s, allowed $demo_quiet_age s$old; $(
      value_of keys follower) keys read, $(value_of wrong follower) wrong" \
    'network reads' "$(value_of absent reads) per absent key, by the filters $(value_of predicted reads); $(
      value_of present reads) per present key"
}

# For with_cluster.
run_demo() {
  local writer first follower lost=no in_time=no young=no
  rm -rf "$demo_dir" "$client_dir" && mkdir -p "$demo_dir" "$client_dir" || return 1
  step demo-load "Load $demo_keys keys" client load "$demo_store" "$demo_keys" "$client_dir/load.keys" || return 1
  start_follower
  step demo-follow "Follow the store from here on; for $demo_quiet_seconds s no process writes it" \
    follow_quiet_store || return 1
  start_writer "$demo_store" W1
  first=$writer
  step demo-osd 'Kill an OSD while W1 writes, and start it again' kill_osd_while_writing "$first" || return 1
  start_writer "$demo_store" W2
  step demo-pause 'Pause W1; the standby W2 takes over' pause_writer "$first" "$writer" || return 1
  step demo-resume 'Resume W1: its next put is refused' resume_writer "$first" "$writer" || return 1
  sed -n '$s/^/      W1: /p' "$client_dir/W1.log"
  step demo-followed 'Stop the follower, after it has looked up every acknowledged key' stop_follower || lost=yes
  if [[ -z $(value_of wrong follower) ]]; then return 1; fi
  step demo-check 'Look up every acknowledged key' check_demo || lost=yes
  if [[ -z $(value_of lost check) ]]; then return 1; fi
  step demo-reads 'Count reads from the network' count_reads || return 1
  if is_at_most "$(cat "$demo_dir/pause-takeover")" "$(takeover_most)"; then in_time=yes; fi
  if is_at_most "$(value_of quiet follower)" "$demo_quiet_age"; then young=yes; fi
  echo
  print_demo "$in_time" "$young" | tee "$demo_dir/result.txt"
  [[ $lost == no && $in_time == yes && $young == yes ]]
}

cluster_demo() {
  case "$*" in '' | --try) ;; *) misuse 'cluster demo [--try]' ;; esac
  lock
  if [[ ${1:-} == --try ]]; then
    setup git mmdebstrap
    must copy-tree 'Copy the tree' copy_of_tree
    must try-demo 'tools/dev cluster demo in a chroot of Debian 12' in_chroot bookworm cluster_demo.sh "$build/roots/tree"
    show_lines ==
    return
  fi
  setup "${packages_to_build[@]}" "${packages_of_cluster[@]}"
  configure_rados
  build_preset release rados_demo
  with_cluster 3 run_demo
}
