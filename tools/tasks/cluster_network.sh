# A network of its own for a cluster: two network namespaces and a cable between them.  Daemons and clients run in the
# first one.  A client in the second one is cut off when the cable is unplugged: its packets vanish, and its connections
# stay open.  Nothing else reaches the network, or is reached from it.  Sourced by tools/dev.
# shellcheck shell=bash

# On the loopback interface, commands run as they are.
cluster_address=127.0.0.1
at_cluster=()  # commands that reach the cluster begin with these words
at_cable=()    # and with these at the other end of the cable
network_holders=()  # processes that keep the namespaces; they end by themselves if this one is killed

# Sets the variables above.  Fails if the machine does not permit network namespaces; then nothing has changed.
make_network() {
  local new=(unshare --net) enter=(nsenter --net) near far
  if ((EUID != 0)); then  # as the administrator of a user namespace
    new=(unshare --map-root-user --net) enter=(nsenter --user --preserve-credentials --net)
  fi
  hold_namespace "${new[@]}" && near=$! &&
    at_cluster=("${enter[@]}" "--target=$near") &&
    hold_namespace "${at_cluster[@]}" unshare --net && far=$! &&
    at_cable=("${enter[@]}" "--target=$far") &&
    # These addresses are reserved for documentation (RFC 5737), so they are no machine's.
    "${at_cluster[@]}" ip link set lo up &&
    "${at_cluster[@]}" ip link add cluster type veth peer name client netns "$far" &&
    "${at_cluster[@]}" ip address add 192.0.2.1/30 dev cluster &&
    "${at_cluster[@]}" ip link set cluster up &&
    "${at_cable[@]}" ip address add 192.0.2.2/30 dev client &&
    plug_cable && cluster_address=192.0.2.1 && return 0
  remove_network
  return 1
}

# Starts a process in a new namespace, and waits until it is there.
hold_namespace() {  # COMMAND...
  setsid "$@" sleep 1h >/dev/null 2>&1 </dev/null 9>&- &
  network_holders+=($!)
  disown $!
  wait_until 10 holder_sleeps_or_ended "$!" && ! has_ended "$!"
}
holder_sleeps_or_ended() { [[ $(cat "/proc/$1/comm" 2>/dev/null) == sleep ]] || has_ended "$1"; }  # PID

remove_network() {
  if ((${#network_holders[@]} > 0)); then kill -KILL "${network_holders[@]}" 2>/dev/null; fi
  cluster_address=127.0.0.1 at_cluster=() at_cable=() network_holders=()
}

plug_cable() { "${at_cable[@]}" ip link set client up; }
unplug_cable() { "${at_cable[@]}" ip link set client down; }

# For commands that find a cluster running: it may be in a namespace.
find_network() {
  local pid
  pid=$(cluster_pid mon.a)
  if [[ -n $pid && ! /proc/$pid/ns/net -ef /proc/self/ns/net ]]; then at_cluster=(nsenter --net "--target=$pid"); fi
}
