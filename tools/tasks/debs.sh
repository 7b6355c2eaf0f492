# Debian packages of Trellis, and minimal installations of Debian (chroots), in which nothing is installed by chance.
# Sourced by tools/dev.
# shellcheck shell=bash

# in_chroot SUITE SCRIPT FILE...: makes a chroot that has only apt and its dependencies, copies the files to /trellis
# in it, runs tools/tasks/roots/SCRIPT there, and removes the chroot.
in_chroot() {
  local suite=$1 script=$2 files=$build/roots/$1
  shift 2
  rm -rf "$files" && mkdir -p "$files" && cp -r "$@" "$root/tools/tasks/roots/$script" "$files" &&
    mmdebstrap --variant=apt --customize-hook='mkdir "$1/trellis"' --customize-hook="sync-in '$files' /trellis" \
      --customize-hook="env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot \"\$1\" sh /trellis/$script" \
      "$suite" /dev/null
  local status=$?
  rm -rf "$files"
  return $status
}

# Tags of lintian that are left out, because:
#
# - the packager sets the maintainer and uploads;
# - cpack calls ldconfig in addition to the trigger;
# - the two libraries always have the same version, so they share a package;
# - the licence names no year.
lintian_leaves='bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact,initial-upload-closes-no-bugs'
lintian_leaves+=',maintscript-calls-ldconfig,package-name-doesnt-match-sonames,copyright-without-copyright-notice'

make_debs() {
  rm -f "$build"/packages/*.deb
  (cd -- "$root" && cpack --preset packages) || return 1
  lintian --fail-on error,warning --suppress-tags "$lintian_leaves" "$build"/packages/*.deb
}

command_debs() {
  case "$*" in '' | --try) ;; *) misuse 'debs [--try]' ;; esac
  lock
  setup "${packages_to_build[@]}" librados-dev dpkg-dev file lintian ${1:+mmdebstrap}
  build_preset release bloom/all lsm/all  # the archives
  build_preset packages
  must make-debs 'Make Debian packages' make_debs
  ls "$build"/packages/*.deb
  if [[ ${1:-} == --try ]]; then
    must try-debs 'Install them in a chroot of Debian 12, use and remove them' \
      in_chroot bookworm try_debs.sh "$build"/packages/*.deb "$root/tests/embed/use_rados.cc"
    show_lines ==
  fi
}

# Copies the files of a clone, with changes that are not committed.
copy_of_tree() {
  local to=$build/roots/tree
  rm -rf "$to" && mkdir -p "$to" &&
    (cd -- "$root" && git ls-files -z | xargs -0 cp --parents -t "$to")
}

command_platforms() {
  local suite suites=("$@")
  if (($# == 0)); then suites=(bookworm trixie); fi
  lock
  setup git mmdebstrap
  must copy-tree 'Copy the tree' copy_of_tree
  for suite in "${suites[@]}"; do
    check "platform-$suite" "tools/dev quick in a chroot of $suite" \
      in_chroot "$suite" quick.sh "$build/roots/tree"
    show_lines ==
  done
  summary
  ((failed == 0))
}
