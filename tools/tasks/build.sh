# Builds by presets, checks of the sources, and the embedding projects.  Sourced by tools/dev.
# shellcheck shell=bash

# Uses ccache if it is installed.  With precompiled headers ccache must ignore time stamps ("sloppiness").  Clones share
# the cache, because no object depends on the path of the tree.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
fi

configure() {
  local preset=$1 dir=$build/$1
  cmake --preset "$preset" --fresh -S "$root" && cksum <"$root/CMakePresets.json" >"$dir/.configured"
}

# Configures a preset unless it was configured here with the current presets.  Ninja does the rest.
ensure_configured() {
  local preset=$1 dir=$build/$1 made_for
  made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null)
  if [[ -n $made_for && $made_for != "$root" ]]; then rm -rf "$dir"; fi
  if [[ -f $dir/build.ninja && $(cat "$dir/.configured" 2>/dev/null) == "$(cksum <"$root/CMakePresets.json")" ]]; then
    return 0
  fi
  # Whether this step is needed depends on earlier runs, so it does not count as a passed check.
  if ! step "configure-$preset" "Configure $preset" configure "$preset"; then
    failed=$((failed + 1))
    if [[ $how == must ]]; then exit 1; fi
    return 1
  fi
}

# build_preset PRESET [TARGET...]
how=must
build_preset() {
  local preset=$1 targets=() note=''
  shift
  if (($# > 0)); then targets=(--target "$@"); fi
  case $preset in asan | tsan | clang) note="by Clang, with its analysis of locks" ;; esac
  ensure_configured "$preset" || return 1
  "$how" "build-$preset" "Build $preset${note:+, $note}" cmake --build "$build/$preset" "${targets[@]}"
}

test_preset() {
  local preset=$1
  shift
  (cd -- "$root" && ctest --preset "$preset" -j "$(nproc)" "$@")
}

# Every job must run.  A job that cannot run on this machine fails, unless the caller leaves it out.
jobs_left_out=()
if [[ -n ${TRELLIS_NO_PEERS:-} ]]; then jobs_left_out=(without differential) packages_to_compare=(); fi

# Runs the jobs that look for lost or misread data, then the seeded bugs that they must find: all of them, or those that
# the arguments name.
reliability() {
  local programs=$build/release/tests/reliability status=0
  "$programs/reliability" "${jobs_left_out[@]}" || status=1
  "$programs/seeded_bugs" "$@" || status=1
  return "$status"
}

# The next commit has the next third of the seeded bugs.  Without git it is always the first one.
third_of_bugs() { git -C "$root" rev-list --count HEAD 2>/dev/null || echo 0; }

# Prints the figures of each job.
reliability_figures() {
  grep -E '^([a-z-]+ +[0-9,]+ .* \([0-9.]+ s\)$|FOUND|NOT CAUGHT|[0-9]+ of [0-9]+ seeded)' "$step_log"
}

sources() { (cd -- "$root" && find bloom lsm tools tests bench -name '*.h' -o -name '*.cc' | LC_ALL=C sort); }

clang_format() {
  local tool
  tool=$(command -v clang-format-14 || command -v clang-format) || die 'no clang-format'
  (cd -- "$root" && sources | tr '\n' '\0' | xargs -0 -n 20 -P "$(nproc)" "$tool" "$@")
}

# Clang's analysis of locks over every source of the store, the filters and the tools.  Uses the build's commands with
# -fsyntax-only.
thread_safety() {
  local list=$build/clang/analyses
  awk -v root="$root/" '
    /^ *"command": / { sub(/^ *"command": "/, ""); sub(/",?$/, ""); command = $0 }
    /^ *"file": / {
      sub(/^ *"file": "/, ""); sub(/",?$/, "")
      if (index($0, root) == 1 && substr($0, length(root) + 1) ~ /^(bloom|lsm|tools)\//) print command
    }' "$build/clang/compile_commands.json" |
    sed 's/\\"/"/g; s/\\\\/\\/g; s/ -o .*\.o -c / -fsyntax-only /' >"$list"
  echo "$(wc -l <"$list") sources"
  [[ -s $list ]] || return 1
  cd -- "$build/clang" && tr '\n' '\0' <"$list" | xargs -0 -n 1 -P "$(nproc)" sh -c
}

# Runs the checks of .clang-tidy on every source, except those of tests.  Headers take most of the time, so up to 45
# sources are read as one.  If these do not compile (the same name twice), each half of them is read by itself.
clang_tidy() {
  cd -- "$root" && rm -rf "$build/lint" && mkdir -p "$build/lint" || return 1
  export -f clang_tidy_unit clang_tidy_sources
  export build
  find bloom lsm tools bench -name '*.cc' | LC_ALL=C sort | lint_units |
    xargs -P "$(nproc)" -I{} bash -c 'clang_tidy_unit {}' bash
}

# Prints the sources that are read as one on a line.  Those that have names in common with their neighbours, programs
# above all, are read by themselves, at the end.
lint_units() {
  awk -F/ '
    /\/examples\/|_bench[.]cc$|^bloom\/variants\/|\/no_[a-z_]*[.]cc$/ { alone = alone $0 "\n"; next }
    $1 != part || read == 45 { if (unit != "") print unit; unit = ""; part = $1; read = 0 }
    { unit = unit (unit == "" ? "" : " ") $0; ++read }
    END { print unit; printf "%s", alone }'
}

clang_tidy_unit() {  # SOURCE...
  local said half=$(($# / 2))
  if said=$(clang_tidy_sources "$@" 2>&1); then
    echo "$# sources, from $1 on"
  elif (($# > 1)) && grep -q 'clang-diagnostic-error' <<<"$said"; then
    clang_tidy_unit "${@:1:half}" && clang_tidy_unit "${@:half+1}"
  else
    echo "$said"
    return 1
  fi
}

clang_tidy_sources() {  # SOURCE...
  local tool source name=${1//\//+} main=0
  tool=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo 'no clang-tidy'; return 1; }
  for source; do
    case $source in
      */main.cc) printf '#define main main%d\n#include "%s"\n#undef main\n' $((++main)) "$source" ;;
      *) printf '#include "%s"\n' "$source" ;;
    esac
  done >"$build/lint/$#+$name"
  "$tool" --quiet --config-file=.clang-tidy --warnings-as-errors='*' --header-filter='^(\./|'"$PWD"'/)' \
    "$build/lint/$#+$name" -- -std=c++20 -I. -I"$build/release/generated"
}

# Installs a build, moves it, and looks for traces of the path where it was built.
stage() {
  local from=$1 to=$build/stage/$2
  rm -rf "$to" "$to.made" &&
    cmake --install "$from" --prefix "$to.made" &&
    mv "$to.made" "$to" || return 1
  if grep -rlF -- "$root/" "$to" | grep .; then
    echo 'the files above contain the path of the build'
    return 1
  fi
}

# embed PROJECT NAME CMAKE-OPTIONS...: configures and builds a project of tests/embed from scratch.  Its tests run for
# less time than they compile, so they are optimised little.
embed() {
  local project=$1 dir=$build/embed/$2
  shift 2
  rm -rf "$dir"
  cmake -G Ninja -S "$root/tests/embed/$project" -B "$dir" -DCMAKE_BUILD_TYPE=Release \
    '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG' "$@" &&
    cmake --build "$dir"
}
test_embedded() { (cd -- "$build/embed/$1" && ctest -j "$(nproc)" --no-tests=error --output-on-failure); }

check_embedding() {  # CMAKE-OPTION...
  if check stage 'Install the release build' stage "$build/release" static; then
    if check embed-find_package 'Embed by find_package' embed find_package static \
      -DCMAKE_PREFIX_PATH="$build/stage/static" "$@"; then
      check_tests run-find_package 'Run the project that found the package' test_embedded static
    fi
  fi
}

# Without optimisation, because this compiles the libraries once more.
check_two_versions() {
  local plugins="$build/embed/static/plugin.so;$build/embed/shared/plugin.so"
  if check embed-two-versions 'Embed two versions in one program' embed two_versions two_versions \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DSTAGE="$build/stage/static" -DPLUGINS="$plugins"; then
    check_tests run-two-versions 'Run the program with two versions' test_embedded two_versions
  fi
}

command_embed() {
  lock
  all_packages librados-dev
  how=check
  if configure_rados && build_preset release lsm/all bloom/all tools/all; then check_embedding -DWITH_RADOS=ON; fi
  if check embed-subdirectory 'Embed by add_subdirectory, shared libraries' embed subdirectory subdirectory \
    -DBUILD_SHARED_LIBS=ON -DTRELLIS_INSTALL=ON -DTRELLIS_PRECOMPILE=ON -DTRELLIS_BUILD_RADOS=ON; then
    check_tests run-subdirectory 'Run the project that contains the sources' test_embedded subdirectory
    if check stage-shared 'Install the shared libraries' stage "$build/embed/subdirectory" shared &&
      check embed-shared 'Embed by find_package, shared libraries' embed find_package shared \
        -DCMAKE_PREFIX_PATH="$build/stage/shared" -DHEADERS_ALONE=OFF -DWITH_RADOS=ON; then
      check_tests run-shared 'Run the project that found the shared libraries' test_embedded shared
      check_two_versions
    fi
  fi
  summary
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}

command_build() {
  lock
  all_packages
  case ${1:-release} in
    release | debug | asan | clang) build_preset "${1:-release}" ;;
    tsan) build_preset tsan concurrent_tests ;;
    *) misuse "there is no preset $1" ;;
  esac
}
