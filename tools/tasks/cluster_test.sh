# Tests stores in Ceph: the tests that need a cluster, and writers, candidates and OSDs that are killed or paused while
# a store is written.  After each of these, every acknowledged key must be found.  Sourced by tools/dev.
# shellcheck shell=bash

test_store=rados://$cluster_pool/test
takeovers=100
takeover_seconds=1800  # then the step fails, instead of going on for hours
candidate_calls_max=200  # more than an opening makes

test_with_cluster() {
  "${at_cluster[@]}" ctest --test-dir "$build/release" -L cluster --no-tests=error --output-on-failure --timeout 600
}

# Looks up the keys of these writers, whose processes have ended.
find_keys() {  # FILE...
  client check "$test_store" "$@" >"$client_dir/check" 2>&1 && return 0
  cat "$client_dir/check"
  return 1
}

random_sleep() { sleep "$(awk -v r=$RANDOM -v most="$1" 'BEGIN { print r / 32768 * most }')"; }  # SECONDS-MAX

# A writer is killed or paused at a random moment, and a standby takes over.  Names of writers are used once, because
# keys contain them.
take_over() {  # ROUND
  local old=old$1 new=new$1 old_pid from took is_paused=$((RANDOM % 2))
  start_writer "$test_store" "$old"
  old_pid=$writer
  writer_acknowledges "$old" "$old_pid" 0 || return 1
  start_writer "$test_store" "$new"
  standby_waits "$new" && random_sleep 0.5 || return 1
  from=$(micros)
  if ((is_paused)); then kill -STOP "$old_pid"; else kill -KILL "$old_pid"; fi
  writer_acknowledges "$new" "$writer" 0 || return 1
  took=$(first_acknowledgement "$new" "$from")
  echo "$took" >>"$client_dir/took"
  if ((is_paused)); then resume_refused "$old" "$old_pid" || return 1; fi
  stop_writer "$new" "$writer" && find_keys "$client_dir"/{"$old","$new"}.keys || return 1
  if ! is_at_most "$took" "$(takeover_most)"; then
    echo "take-over $1 took $took s, more than $(takeover_most) s"
    return 1
  fi
}

# A failed round does not end the others.
take_overs() {
  local round slowest bad=0 end=$((SECONDS + takeover_seconds))
  rm -f "$client_dir"/*
  client load "$test_store" 10000 "$client_dir/load.keys" || return 1
  for ((round = 1; round <= takeovers && SECONDS < end; ++round)); do
    echo "take-over $round"
    take_over "$round" || { bad=$((bad + 1)); end_clients; }
  done
  find_keys "$client_dir"/{load,old*,new*}.keys || bad=$((bad + 1))
  slowest=$(LC_ALL=C sort -n "$client_dir/took" | tail -n 1)
  echo "FIGURES $((round - 1)) of $takeovers take-overs, $bad bad; the slowest took $slowest s ($(takeover_most) s" \
    "allowed); $(sed -n 's/^found //p' "$client_dir/check") acknowledged keys found"
  if ((round <= takeovers)); then echo "fewer than $takeovers take-overs in $takeover_seconds s"; fi
  ((bad == 0 && round > takeovers))
}

# A paused writer's lock expires, a candidate dies before its Nth call on the pool, and the writer goes on.  If the
# candidate had not yet sealed the writer's log, the writer may acknowledge more keys, which must be found, too.
kill_candidate() {  # N
  local old=paused$1 candidate=candidate$1 old_pid
  start_writer "$test_store" "$old"
  old_pid=$writer
  writer_acknowledges "$old" "$old_pid" 0 && kill -STOP "$old_pid" || return 1
  sleep "$(awk -v lock="$client_lock_millis" 'BEGIN { print lock / 1000 + 0.2 }')"
  start_writer "$test_store" "$candidate" --calls-max "$1"
  client_ends "$writer" && kill -CONT "$old_pid" && sleep 0.5 || return 1
  if [[ -s $client_dir/$candidate.keys ]]; then after_put=$((after_put + 1)); fi
  if ! has_ended "$old_pid"; then
    went_on=$((went_on + 1))
    kill -KILL "$old_pid" && client_ends "$old_pid" || return 1
  elif grep -q 'taken over by' "$client_dir/$old.log"; then
    refused=$((refused + 1))
  else
    cat "$client_dir/$old.log"
    return 1
  fi
  echo "candidate $1; the writer: $(tail -n 1 "$client_dir/$old.log")"
  # It must not have failed otherwise.
  if grep -vx 'waiting for the lock\|writing' "$client_dir/$candidate.log"; then return 1; fi
  find_keys "$client_dir"/{"$old","$candidate"}.keys
}

# Until a candidate lives long enough to put a key.  The fence is within the first 30 calls.
kill_candidates() {
  local call died=0 bad=0 went_on=0 refused=0 after_put=0
  for ((call = 1; after_put == 0 && call <= candidate_calls_max; call += call < 30 ? 1 : 5)); do
    died=$((died + 1))
    kill_candidate "$call" || { bad=$((bad + 1)); end_clients; }
  done
  echo "FIGURES $died candidates died, $bad bad; the paused writer went on: $went_on; it was refused: $refused"
  ((bad == 0 && after_put > 0))
}

# Each OSD hangs once while a store is written.
hang_osds() {
  local osd from
  start_writer "$test_store" steady
  writer_acknowledges steady "$writer" 0 || return 1
  from=$(micros)
  for osd in 0 1 2; do
    cluster_pause_osd "$osd" && sleep 8 && writer_acknowledges steady "$writer" &&
      cluster_resume_osd "$osd" && wait_until "$cluster_wait" osd_is_up "$osd" &&
      writer_acknowledges steady "$writer" || return 1
  done
  stop_writer steady "$writer" && find_keys "$client_dir/steady.keys" || return 1
  echo "FIGURES 3 OSDs hung; the longest pause took $(longest_pause steady "$from") s"
}

# Prints how many keys the writer acknowledged after the first acknowledgement of its successor.
late_acknowledgements() {  # NAME SUCCESSOR
  awk 'FNR == NR { if (FNR == 1) first = $1; next }
    $1 >= first { ++late }
    END { print late + 0 }' "$client_dir/$2.keys" "$client_dir/$1.keys"
}

# The writer is cut off until a standby has taken over.  If it waits for the cluster, it hears later of the puts that the
# cluster had applied before, whose answers were lost: one of each of its 4 threads, at most.  If it gives its calls up,
# it acknowledges none.
replace_cut_off_writer() {  # ROUND WRITER-OPTION...
  local old=cut$1 new=connected$1 old_pid from took late_most=4 late
  client_place=at_cable start_writer "$test_store" "$old" "${@:2}"
  old_pid=$writer
  writer_acknowledges "$old" "$old_pid" 0 || return 1
  start_writer "$test_store" "$new"
  standby_waits "$new" && random_sleep 0.5 || return 1
  from=$(micros)
  unplug_cable && writer_acknowledges "$new" "$writer" 0 || return 1
  took=$(first_acknowledgement "$new" "$from")
  echo "$took" >>"$client_dir/took"
  if (($# > 1)); then  # it gives its calls up
    late_most=0
    client_ends "$old_pid" && grep 'no answer within' "$client_dir/$old.log" && plug_cable || return 1
  else
    sleep 2
    plug_cable && client_ends "$old_pid" && grep 'taken over by' "$client_dir/$old.log" || return 1
  fi
  late=$(late_acknowledgements "$old" "$new")
  echo "$old acknowledged $late keys after $new had begun"
  if ((late > late_most)); then return 1; fi
  writer_acknowledges "$new" "$writer" && stop_writer "$new" "$writer" &&
    find_keys "$client_dir"/{"$old","$new"}.keys || return 1
  is_at_most "$took" "$(takeover_most)" || { echo "took $took s, more than $(takeover_most) s"; return 1; }
}

# The writer is cut off for a shorter time than its lock lasts, and goes on.
reconnect_writer() {
  local client_lock_millis=8000 old_pid
  client_place=at_cable start_writer "$test_store" blink
  old_pid=$writer
  writer_acknowledges blink "$old_pid" 0 || return 1
  start_writer "$test_store" waiting
  standby_waits waiting && unplug_cable && sleep 2 && plug_cable && writer_acknowledges blink "$old_pid" &&
    stop_writer blink "$old_pid" || return 1
  writer_acknowledges waiting "$writer" 0 && stop_writer waiting "$writer" || return 1
  if (($(late_acknowledgements blink waiting) > 0)); then return 1; fi
  find_keys "$client_dir"/{blink,waiting}.keys
}

cut_writers_off() {
  local round bad=0
  rm -f "$client_dir/took"
  for round in 1 2 3 4 5; do
    replace_cut_off_writer "$round" || { bad=$((bad + 1)); plug_cable; end_clients; }
    replace_cut_off_writer "bounded$round" --give-up-millis 2000 || { bad=$((bad + 1)); plug_cable; end_clients; }
  done
  reconnect_writer || { bad=$((bad + 1)); plug_cable; end_clients; }
  echo "FIGURES 10 writers were cut off and replaced, 1 was cut off for a moment, $bad bad; the slowest take-over took" \
    "$(LC_ALL=C sort -n "$client_dir/took" | tail -n 1) s ($(takeover_most) s allowed)"
  ((bad == 0))
}

show_figures() { sed -n 's/^FIGURES /      /p' "$step_log"; }

# For with_cluster.
run_cluster_checks() {
  local client_lock_millis=1000 writer
  check_tests test-cluster 'Tests that need a Ceph cluster' test_with_cluster
  mkdir -p "$client_dir" || return 1
  check take-overs "$takeovers take-overs from killed and paused writers" take_overs
  show_figures
  check candidates 'Kill candidates between the calls of their opening' kill_candidates
  show_figures
  check hung-osds 'Pause each OSD while a store is written' hang_osds
  show_figures
  if ((${#at_cable[@]} > 0)); then
    check partition 'Cut writers off from the cluster' cut_writers_off
    show_figures
  else
    record partition 'left out' 0 'this machine does not permit network namespaces'
  fi
}

cluster_test() {
  if (($# > 0)); then misuse 'cluster test'; fi
  lock
  setup "${packages_to_build[@]}" "${packages_of_cluster[@]}"
  configure_rados
  build_preset release rados_cluster_test sstdump_rados_test on_ceph rados_demo
  cluster_network=own with_cluster 3 run_cluster_checks
  summary
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}
