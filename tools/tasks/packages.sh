# Debian packages: which commands need which, and their installation.  Sourced by tools/dev.
# shellcheck shell=bash

packages_to_build=(g++ cmake ninja-build pkg-config libabsl-dev liblz4-dev libxxhash-dev liburing-dev
                   libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev nlohmann-json3-dev)
packages_to_test=(clang clang-format libclang-rt-14-dev llvm)  # libclang-rt and llvm: for sanitizers and coverage
packages_to_lint=(clang-tidy librados-dev)  # librados-dev: lsm/rados/ includes its header
packages_to_compare=(librocksdb-dev libleveldb-dev libsnappy-dev)  # for comparing answers and speed
packages_to_report=(libjs-chart.js)  # the plots
packages_of_cluster=(ceph-mon ceph-osd ceph-common librados-dev iproute2)  # iproute2: ip, for a network of its own
packages_of_words=(wamerican-huge wngerman wfrench wspanish witalian wdutch wportuguese wswedish wdanish)

stored_words=/usr/share/dict/american-english-huge
other_words=(/usr/share/dict/{ngerman,french,spanish,italian,dutch,portuguese,swedish,danish})

missing_packages() {  # the arguments that are not installed
  local installed package
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p')
  for package in "$@"; do
    grep -qxF -- "$package" <<<"$installed" || echo "$package"
  done
}

install_packages() {  # as_root is empty or sudo
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  if [[ -n $(dpkg --audit) ]]; then $as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a; fi
  $as_root "${apt[@]}" update || echo 'apt-get update failed; trying with the existing package lists'
  $as_root "${apt[@]}" install --no-install-recommends "$@"
}

setup() {
  local missing
  if [[ -n ${TRELLIS_NO_SETUP:-} ]]; then return; fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is not Debian: install the equivalents of these packages, then set TRELLIS_NO_SETUP=1: $*"
  fi
  read -ra missing -d '' <<<"$(missing_packages "$@")"
  if ((${#missing[@]} == 0)); then return; fi
  as_root=''
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      die "these packages are missing, and installing them needs root or sudo: apt-get install ${missing[*]}"
    fi
    # Asks for the password now, because a step has no terminal.
    sudo -v || die "these packages are missing, and sudo was refused: apt-get install ${missing[*]}"
    as_root=sudo
  fi
  echo "      Missing packages: ${missing[*]}"
  must setup "Install ${#missing[@]} packages and what they need" install_packages "${missing[@]}"
  rm -f "$build"/*/.configured  # a build may have been configured without a package that is new
}

all_packages() { setup "${packages_to_build[@]}" "${packages_to_test[@]}" "${packages_to_compare[@]}" "$@"; }

command_setup() {
  lock
  all_packages "${packages_to_lint[@]}" "${packages_to_report[@]}" "${packages_of_words[@]}"
  echo 'All packages are installed.'
}
