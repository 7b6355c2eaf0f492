# Installs the Debian packages beside this file in a minimal installation (a chroot), uses them as README.md says, and
# removes them.
set -eu
export DEBIAN_FRONTEND=noninteractive
cd /trellis
install() { apt-get install -y --no-install-recommends "$@"; }

install ./trellis-tools_*.deb man-db
sstdump --help
man -P cat sstdump | grep 'inspect\|sstdump - '
bash -c '. /usr/share/bash-completion/completions/sstdump && complete -p sstdump'
echo "== trellis-tools: $(sstdump --version)"

install ./libtrellis*.deb g++ pkg-config cmake make
docs=/usr/share/doc/libtrellis-dev
mkdir fruit && cp $docs/lsm/examples/fruit.cc fruit && cd fruit
command=$(sed -n '/^g++ /s/ *#.*//p' $docs/README.md)
eval "$command"
./a.out | tee answer
grep 'banana: not found' answer
sstdump verify fruit.store
echo "== libtrellis-dev: $command"
sed -n '/^```cmake/,/^```/{/^```/!p}' $docs/README.md >CMakeLists.txt
cmake -B built && cmake --build built && built/fruit | grep 'banana: not found'
echo '== libtrellis-dev: find_package(Trellis)'
g++ -std=c++20 fruit.cc -o linked -Wl,-Bstatic $(pkg-config --cflags --libs --static trellis) -Wl,-Bdynamic
./linked | grep 'banana: not found'
ldd linked | grep 'trellis\|absl' && exit 1
echo '== libtrellis-dev: the archives'

g++ -std=c++20 ../use_rados.cc -o rados $(pkg-config --cflags --libs trellis-rados)
./rados | grep 'without a cluster: .*missing/ceph.conf'
mkdir with_rados
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(rados LANGUAGES CXX)' \
  'find_package(Trellis 0.1 REQUIRED COMPONENTS rados)' 'add_executable(found ../../use_rados.cc)' \
  'target_link_libraries(found PRIVATE Trellis::rados)' >with_rados/CMakeLists.txt
cmake -S with_rados -B with_rados/built && cmake --build with_rados/built
with_rados/built/found | grep 'without a cluster: .*missing/ceph.conf'
echo '== libtrellis-rados-dev: pkg-config and find_package(Trellis COMPONENTS rados)'

apt-get purge -y libtrellis-dev
./a.out | grep 'banana: not found'
echo '== libtrellis: the program runs without the development files'

apt-get purge -y 'libtrellis*' trellis-tools
cd / && left=$(find / -xdev \( -path /trellis -o -path /proc -o -path /sys \) -prune -o -iname '*trellis*' -print)
test -z "$left" || { echo "left: $left"; exit 1; }
echo '== removed: nothing is left'
