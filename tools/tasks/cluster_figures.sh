# Measures stores in Ceph: the figures of lsm/rados/README.md.  Sourced by tools/dev.
# shellcheck shell=bash

figures_program=$build/release/tests/lsm/rados/rados_figures

# For with_cluster.
run_figures() {  # COMMAND...
  local command
  for command in "$@"; do
    step "figures-$command" "Measure $command" "$figures_program" "$command" || return 1
    sed 's/^/      /' "$step_log"
  done
}

cluster_figures() {  # [COMMAND...]
  local commands=("$@")
  if (($# == 0)); then commands=(puts stores calls idle follow); fi
  lock
  setup "${packages_to_build[@]}" "${packages_of_cluster[@]}"
  configure_rados
  build_preset release rados_figures
  with_cluster 3 run_figures "${commands[@]}"
}
