# A Ceph cluster for tests and demonstrations: one monitor, and OSDs on sparse files.  It is on the loopback interface, or
# on a network of its own (cluster_network.sh).  All its files are in build/cluster.  Sourced by tools/dev.
# shellcheck shell=bash

unset CEPH_ARGS CEPH_KEYRING  # settings for another cluster
cluster_dir=$build/cluster
cluster_pool=trellis
cluster_wait=120  # seconds that a daemon may take to start or to end

# The file names its daemons, and programs reach the cluster by it: CEPH_CONF=build/cluster/ceph.conf.
cluster_conf=$cluster_dir/ceph.conf
cluster_keys=$cluster_dir/keyring  # of the daemons and of all users

# The user of stores has the rights that lsm/rados/README.md recommends, and no more.
cluster_user=trellis
cluster_user_pools=("$cluster_pool" trellis-tests)  # tests make the second one

# Prints "PID NAME" for each daemon of this tree's cluster; the names are mon.a, osd.0, osd.1, ...  The kernel's list of
# processes decides, so a stale file cannot name a foreign process, and deleting build/ loses no daemon.  Daemons of a
# container or chroot whose tree has the same path have another root directory.  A zombie has no command line.  A
# program that makes a daemon's files counts as the daemon.
cluster_daemons() {
  local file words pid
  for file in /proc/[0-9]*/cmdline; do
    mapfile -d '' -t words <"$file" || continue
    while [[ ${words[0]:-} =~ ^(setsid|nsenter|--.*)$ ]]; do words=("${words[@]:1}"); done  # becomes the daemon
    if ((${#words[@]} < 6)) || [[ ${words[3]} != "$cluster_conf" ]]; then continue; fi
    pid=${file//[^0-9]/}
    case ${words[0]} in
      ceph-mon | ceph-osd) if [[ /proc/$pid/root -ef / ]]; then echo "$pid ${words[0]#ceph-}.${words[5]}"; fi ;;
    esac
  done 2>/dev/null
}

cluster_pid() { cluster_daemons | sed -n "s/ $1\$//p"; }  # NAME: empty if it does not run

# Prints "ADDRESS:PORT" for each socket at which a process listens.
cluster_addresses() {  # PID
  local address port
  find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n' |
    awk 'FNR == NR { own[$1] = 1; next } $4 == "0A" && ($10 in own) { print $2 }' - /proc/"$1"/net/tcp{,6} |
    while IFS=: read -r address port; do
      if ((${#address} == 8)); then  # IPv4, in the order of the machine's bytes
        printf -v address '%d.%d.%d.%d' "0x${address:6:2}" "0x${address:4:2}" "0x${address:2:2}" "0x${address:0:2}"
      fi
      echo "$address:$((16#$port))"
    done | LC_ALL=C sort
}

# wait_until SECONDS COMMAND...: repeats the command until it succeeds.
wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS >= end)); then return 1; fi
    sleep 0.1
  done
}

# Settings that differ from the defaults for a reason:
#
# - Files: the defaults are outside of the tree.  `ceph tell osd.N` needs the OSD's administration socket.
# - A hung OSD: others report it after 4 s without an answer, not 20 s, and at once, not every 5 s.  Reports from the
#   same host count; two must agree, so that an OSD that wakes up cannot declare the others dead.  A client asks for a
#   new map after 3 s without an answer, not 10 s.  A put then takes 5 to 7 s if its primary OSD hangs.
# - Start: new maps are published after 0.1 s, not 1 s; classes are loaded when used, erasure coding never; a block
#   device closes in 25 ms, not 250 ms, which BlueStore does often.
# - Memory: an OSD caches at most 64 MiB.  BlueStore keeps its data when an OSD is killed, memstore does not.
write_cluster_conf() {  # PORT OSDS FSID
  cat >"$cluster_conf" <<END
[global]
fsid = $3
mon_host = [v2:$cluster_address:$1]
public_addr = $cluster_address
cluster_addr = $cluster_address
ms_bind_msgr1 = false
ms_bind_ipv6 = false
keyring = "$cluster_keys"
run_dir = "$cluster_dir"
crash_dir = "$cluster_dir/crash"

[client]
objecter_tick_interval = 1
objecter_timeout = 3

[mon]
mon_data = "$cluster_dir/data/mon.\$id"
log_file = "$cluster_dir/logs/mon.\$id.log"
mon_cluster_log_file = "$cluster_dir/logs/cluster.log"
admin_socket =
mon_allow_pool_size_one = true
ms_bind_retry_count = 1
mon_data_avail_crit = 0
mon_osd_adjust_heartbeat_grace = false
mon_osd_min_down_reporters = $(($2 > 2 ? 2 : 1))
mon_osd_reporter_subtree_level = osd
osd_crush_chooseleaf_type = 0
osd_heartbeat_grace = 4
osd_pool_default_min_size = $(($2 > 2 ? 2 : 1))
osd_pool_default_pg_autoscale_mode = off
osd_pool_default_size = $(($2 > 2 ? 3 : $2))
paxos_propose_interval = 0.1

[osd]
osd_data = "$cluster_dir/data/osd.\$id"
log_file = "$cluster_dir/logs/osd.\$id.log"
admin_socket = osd.\$id.asok
bdev_aio_poll_ms = 25
bluestore_block_size = $((16 << 30))
bluestore_cache_size = $((64 << 20))
crush_location = host=loopback root=default
osd_erasure_code_plugins =
osd_heartbeat_grace = 4
osd_heartbeat_interval = 1
osd_objectstore = bluestore
osd_mon_report_interval = 1
osd_open_classes_on_start = false
END
}

# Makes the keys of the monitor, of N OSDs, of the administrator and of the user of stores.  The monitor learns them when
# its files are made.
make_keys() {  # OSDS
  local n pool rights=''
  for pool in "${cluster_user_pools[@]}"; do rights+="${rights:+, }allow rwx pool=$pool"; done
  make_key mon. mon 'allow *' --create-keyring && make_key client.admin mon 'allow *' --cap osd 'allow *' &&
    make_key "client.$cluster_user" mon 'allow r' --cap osd "$rights" || return 1
  for ((n = 0; n < $1; ++n)); do make_key "osd.$n" mon 'allow profile osd' --cap osd 'allow *' || return 1; done
}
make_key() { ceph-authtool "$cluster_keys" --gen-key --name "$1" --cap "${@:2}" >/dev/null; }  # NAME CAP RIGHTS OPTION...

# Starts a daemon in a session of its own, so that Ctrl-C does not reach it.  It must not hold the lock of the tree.
start_daemon() {  # mon|osd ID
  # There, because the path of an administration socket has little room.
  (cd "$cluster_dir" && exec setsid "${at_cluster[@]}" "ceph-$1" -f -c "$cluster_conf" -i "$2") \
    >>"$cluster_dir/logs/$1.$2.out" 2>&1 </dev/null 9>&- &
  disown $!  # or bash reports a daemon that is killed
}

# Starts a monitor on a free port.  Only bind() shows that a port is free, so a monitor that cannot bind ends, and
# another port is tried.
start_monitor() {  # OSDS FSID
  local attempt port
  for attempt in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 10000))
    echo "monitor at port $port, attempt $attempt"
    rm -rf "$cluster_dir/data/mon.a" && mkdir -p "$cluster_dir/data/mon.a" &&
      write_cluster_conf "$port" "$1" "$2" &&
      monmaptool --create --clobber --fsid "$2" --addv a "[v2:$cluster_address:$port]" "$cluster_dir/monmap" &&
      ceph-mon --mkfs -c "$cluster_conf" -i a --monmap "$cluster_dir/monmap" --keyring "$cluster_keys" || return 1
    start_daemon mon a
    if wait_until "$cluster_wait" monitor_has_started $!; then
      if [[ -n $(cluster_pid mon.a) ]]; then return 0; fi
    fi
    tail -n 5 "$cluster_dir/logs/mon.a.out"
  done
  return 1
}

monitor_has_started() {  # PID: also succeeds if it has ended
  ! kill -0 "$1" 2>/dev/null || [[ -n $(cluster_addresses "$1") ]]
}

# Runs commands of the monitor, one a line of the standard input, in one process, because each takes a second to start.
# In the foreground, `timeout` makes no process group, so Ctrl-C reaches the program.
monitor_commands() { timeout --foreground "$cluster_wait" "${at_cluster[@]}" ceph -c "$cluster_conf" 2>&1; }

# Whether the map has an OSD as up.  After a restart the old entry, with the old process id, may still be there.
osd_is_up() {  # N
  local pid
  pid=$(cluster_pid "osd.$1")
  [[ -n $pid ]] && monitor_commands <<<'osd dump' |
    awk -v osd="osd.$1" -v process="/$pid " '$1 == osd && $2 == "up" && index($0, process) { up = 1 } END { exit !up }'
}

put_succeeds() {  # [SECONDS]
  timeout --foreground "${1:-20}" "${at_cluster[@]}" rados -c "$cluster_conf" --id "$cluster_user" \
    -p "$cluster_pool" put tools-dev-probe "$cluster_conf"
}

# Runs as a step.
start_cluster() {
  try_to_start_cluster "$1" || { tail -n 5 "$cluster_dir"/logs/*.out; return 1; }
}

try_to_start_cluster() {  # OSDS
  local n fsid uuid made=() commands="osd pool create $cluster_pool 16" status=0
  read -r fsid </proc/sys/kernel/random/uuid
  mkdir -p "$cluster_dir"/{data,logs,crash} && make_keys "$1" && start_monitor "$1" "$fsid" || return 1
  for ((n = 0; n < $1; ++n)); do
    read -r uuid </proc/sys/kernel/random/uuid
    commands+=$'\n'"osd new $uuid $n"
    mkdir -p "$cluster_dir/data/osd.$n" || return 1
    ceph-osd --mkfs -c "$cluster_conf" -i "$n" --osd-uuid "$uuid" --no-mon-config \
      >>"$cluster_dir/logs/osd.$n.out" 2>&1 &
    made+=($!)
  done
  monitor_commands <<<"$commands" || return 1
  for n in "${made[@]}"; do wait "$n" || status=1; done
  if ((status != 0)); then return 1; fi
  for ((n = 0; n < $1; ++n)); do start_daemon osd "$n"; done
  for ((n = 0; n < $1; ++n)); do wait_until "$cluster_wait" osd_is_up "$n" || return 1; done
  wait_until "$cluster_wait" put_succeeds || return 1
  check_addresses
}

# A daemon must not be reachable from another machine.
check_addresses() {
  local pid name
  while read -r pid name; do
    if cluster_addresses "$pid" | grep -v "^${cluster_address//./\\.}:"; then
      echo "$name listens at the addresses above, which other machines can reach"
      return 1
    fi
  done < <(cluster_daemons)
}

# Ends all daemons.  SIGTERM would be slower (an OSD waits 5 s for the monitor), would not end a paused daemon, and
# could only save data that are removed next.  A process that is about to become a daemon has no command line for a
# moment, so one look is not enough.
end_daemons() {
  local round
  for round in first second; do
    wait_until "$cluster_wait" kill_daemons || die "these daemons did not end: $(cluster_daemons | tr '\n' ' ')"
    if [[ $round == first ]]; then sleep 0.1; fi
  done
}

kill_daemons() {  # succeeds if none runs
  local pids
  read -ra pids -d '' < <(cluster_daemons | cut -d ' ' -f 1)
  ((${#pids[@]} == 0)) || { kill -KILL "${pids[@]}"; return 1; }
}
no_daemon_runs() { [[ -z $(cluster_daemons) ]]; }

# Looks for clients twice, because one that has just been started has another command line for a moment.
stop_cluster() {
  end_clients
  end_daemons
  end_clients
  remove_network
  rm -rf "$cluster_dir"
}

# Ends the cluster when tools/dev exits, which it also does after Ctrl-C.  Further signals must not interrupt that.
stop_cluster_at_exit() { trap 'trap "" INT TERM HUP; stop_cluster' EXIT; }

cluster_network=loopback  # or own

# For tools/dev itself, not within a step.  A cluster that does not start is ended, but its logs remain.
cluster_start() {  # OSDS
  setup "${packages_of_cluster[@]}"
  if ! no_daemon_runs; then
    die 'a cluster runs in this tree already: see tools/dev cluster status, or end it by tools/dev cluster down'
  fi
  rm -rf "$cluster_dir"
  stop_cluster_at_exit
  if [[ $cluster_network == own ]]; then
    make_network || echo '      This machine permits no network namespaces: the cluster runs on the loopback interface.'
  fi
  if ! step cluster-up "Start a Ceph cluster: 1 monitor, $1 OSD$([[ $1 == 1 ]] || echo s)" start_cluster "$1"; then
    trap - EXIT
    end_daemons
    remove_network
    echo "      The logs of its daemons: $cluster_dir/logs"
    failed=$((failed + 1))
    return 1
  fi
}

# The functions below are for commands that need a cluster.

# with_cluster OSDS COMMAND...: starts a cluster, runs the command with CEPH_CONF, and ends the cluster, also after a
# failure, `exit` or Ctrl-C.  Succeeds if the command does.  Must not be called within a step; the command may have
# steps.
with_cluster() {
  local osds=$1 status
  shift
  cluster_start "$osds" || return 1
  CEPH_CONF=$cluster_conf "$@"
  status=$?
  stop_cluster
  trap - EXIT
  return "$status"
}

# These fail if the OSD does not run.
cluster_signal_osd() {  # SIGNAL N
  local pid
  pid=$(cluster_pid "osd.$2")
  [[ -n $pid ]] && kill "-$1" "$pid"
}
cluster_pause_osd() { cluster_signal_osd STOP "$1"; }   # the OSD hangs; its connections stay open
cluster_resume_osd() { cluster_signal_osd CONT "$1"; }
cluster_kill_osd() { cluster_signal_osd KILL "$1" && wait_until "$cluster_wait" osd_has_ended "$1"; }  # keeps its data
osd_has_ended() { [[ -z $(cluster_pid "osd.$1") ]]; }

# Starts an OSD that was killed, with its data, and waits until it is up.
cluster_start_osd() {  # N
  if [[ ! -d $cluster_dir/data/osd.$1 ]] || ! osd_has_ended "$1"; then return 1; fi
  start_daemon osd "$1"
  wait_until "$cluster_wait" osd_is_up "$1"
}

show_cluster() {
  local pid name state
  while read -r pid name; do
    state=$(sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat")
    printf '  %s  pid %d  %s%s\n' "$name" "$pid" "$(cluster_addresses "$pid" | tr '\n' ' ')" \
      "$([[ $state != T ]] || echo '(paused)')"
  done < <(cluster_daemons | LC_ALL=C sort -k 2)
  if [[ -z $(cluster_pid mon.a) ]]; then return; fi
  monitor_commands <<<$'osd stat\nosd dump' | sed -n "s/ flags .*//; /^[0-9]* osds:/p; /^pool .* '$cluster_pool'/p" |
    sed 's/^/  /'
}

cluster_status() {
  local cluster_wait=10 from
  if no_daemon_runs; then
    echo 'No cluster runs in this tree.'
    return 1
  fi
  find_network
  show_cluster
  if [[ -z $(cluster_pid mon.a) ]]; then
    echo '  The monitor does not run: the cluster is not usable.'
    return 1
  fi
  from=$EPOCHREALTIME
  if ! put_succeeds 10; then
    echo '  A put fails or takes more than 10 s: the cluster is not usable.'
    return 1
  fi
  printf '  A put took %s s.\n' "$(seconds_since "$from")"
  printf '  export CEPH_CONF=%q\n' "$cluster_conf"
}

cluster_up() {  # [--osds N]
  local osds=3
  case "$#:${1:-}" in
    0:) ;;
    2:--osds) osds=$2 ;;
    *) misuse 'cluster up [--osds N]' ;;
  esac
  if [[ ! $osds =~ ^[1-9]$ ]]; then misuse 'a cluster has 1 to 9 OSDs'; fi
  lock
  cluster_start "$osds" || exit 1
  trap - EXIT
  echo '      Programs reach it with:'
  printf 'export CEPH_CONF=%q\n' "$cluster_conf"
}

cluster_down() {
  local count
  if (($# > 0)); then misuse 'cluster down'; fi
  lock
  count=$(cluster_daemons | wc -l)
  stop_cluster
  if ((count == 0)); then
    echo 'No cluster ran in this tree.'
  else
    echo "Daemons ended: $count.  Their data are gone."
  fi
}

command_cluster() {
  local verb=${1:-}
  shift $(($# > 0 ? 1 : 0))
  case $verb in
    up | down | status | demo | test | figures) "cluster_$verb" "$@" ;;
    *) misuse 'cluster up|down|status|demo|test|figures' ;;
  esac
}
