# The functions by which each folder declares its sources and dependencies.

# Flags of Trellis's own targets; an embedder's flags stay untouched.  Installed code contains file names relative to
# the source tree, so it does not reveal where it was built.  Debuggers and sanitizers' traces need the full path.
add_library(trellis_flags INTERFACE)
target_compile_features(trellis_flags INTERFACE cxx_std_20)
# Trellis catches std::bad_alloc, so it needs exceptions even if the surrounding project compiles without them.
target_compile_options(trellis_flags INTERFACE -fexceptions -Wall -Wextra -Wshadow $<$<BOOL:${TRELLIS_WERROR}>:-Werror>
                       $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
                       # GCC 12 warns of impossible overlaps in "a" + std::string() (GCC bug 105329)
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       # GCC guesses that an inner iterator is of the one class that it sees, and inlines that class's
                       # calls into themselves.  Without the guesses a scan takes 3 % fewer instructions.
                       $<$<CXX_COMPILER_ID:GNU>:-fno-devirtualize-speculatively>
                       $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(TRELLIS_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With precompiled headers of the standard library GCC also warns of impossible lengths.  Other presets and Clang keep
  # these checks.
  target_compile_options(trellis_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
target_include_directories(trellis_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
if(TRELLIS_SANITIZE)
  target_compile_definitions(trellis_flags INTERFACE TRELLIS_SANITIZED)  # Clang 14 has no macro for it
  target_compile_options(trellis_flags INTERFACE -fsanitize=${TRELLIS_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  # The check of vtable pointers opens a pipe.  Without file descriptors that fails, and the check reports a bad object.
  target_compile_options(trellis_flags INTERFACE -fno-sanitize=vptr)
  target_link_options(trellis_flags INTERFACE -fsanitize=${TRELLIS_SANITIZE})
endif()

# trellis_compile_as_library(TARGET): compiles position-independent code and hides all symbols, except those marked with
# TRELLIS_API (bloom/core/abi.h).
function(trellis_compile_as_library target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${BUILD_SHARED_LIBS}>:TRELLIS_EXPORTS>)
endfunction()

# trellis_component(NAME SRCS a.cc ... DEPS other_component absl::status ...)
# One folder of sources, as an object library.  Installed libraries are made of components, and a tool links only the
# components that it uses (sstdump leaves the engine out).
function(trellis_component name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(trellis_${name} OBJECT ${ARG_SRCS})
  trellis_compile_as_library(trellis_${name})
  target_link_libraries(trellis_${name} PUBLIC trellis_flags ${ARG_DEPS})
  trellis_precompile(trellis_${name})
  # Sources that share headers compile faster together.  A folder that needs another choice sets these properties
  # itself.
  if(TRELLIS_PRECOMPILE)
    set_target_properties(trellis_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# trellis_precompile(TARGET): headers of the standard library and Abseil are half of the compile time of a source.  The
# first target that calls this compiles them for all later ones.  Presets without it, and embedders, check that each
# file includes what it needs.
function(trellis_precompile target)
  if(NOT TRELLIS_PRECOMPILE OR NOT TRELLIS_BUILD_LSM OR target MATCHES "^trellis_bloom")
    return()
  endif()
  trellis_compile_as_library(${target})  # targets can share precompiled headers only if their flags are the same
  trellis_precompile_together(${target} TRELLIS_PRECOMPILED <algorithm> <functional> <map> <memory> <optional> <set>
                              <string> <vector> <absl/status/statusor.h> <condition_variable>)
endfunction()

# trellis_precompile_together(TARGET PROPERTY <header> ...): the first target with that property compiles the headers
# for all others, which must have the same compile options.
function(trellis_precompile_together target property)
  get_property(owner GLOBAL PROPERTY ${property})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY ${property} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# trellis_reads_command_line(a.cc): for sources that include CLI11.  It consists of headers only, and with full
# optimisation such a file takes as long as ten others.  GCC 14 refuses headers that were precompiled at another
# optimisation level, so these sources skip them.
function(trellis_reads_command_line source)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>
                              SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# trellis_library(NAME COMPONENTS a b ... PUBLIC deps PRIVATE deps)
# An installed library with all objects of the components, alias Trellis::NAME.
function(trellis_library name)
  cmake_parse_arguments(ARG "" "" "COMPONENTS;PUBLIC;PRIVATE" ${ARGN})
  set(objects "")
  foreach(component IN LISTS ARG_COMPONENTS)
    list(APPEND objects $<TARGET_OBJECTS:trellis_${component}>)
  endforeach()
  add_library(trellis_lib_${name} ${objects})
  add_library(Trellis::${name} ALIAS trellis_lib_${name})
  # The version of the binary interface, as in TRELLIS_ABI (bloom/core/abi.h).
  string(REGEX MATCH "^(0\\.)?[0-9]+" soversion ${PROJECT_VERSION})
  set_target_properties(trellis_lib_${name} PROPERTIES OUTPUT_NAME trellis_${name} EXPORT_NAME ${name}
                        LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
  target_compile_features(trellis_lib_${name} PUBLIC cxx_std_20)
  target_include_directories(trellis_lib_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trellis>)
  target_link_libraries(trellis_lib_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  if(TRELLIS_SANITIZE)
    target_link_options(trellis_lib_${name} PUBLIC -fsanitize=${TRELLIS_SANITIZE})
  endif()
  if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL Linux)
    set(exports ${PROJECT_SOURCE_DIR}/tools/cmake/exports.map)
    target_link_options(trellis_lib_${name} PRIVATE LINKER:--version-script=${exports})
    set_target_properties(trellis_lib_${name} PROPERTIES LINK_DEPENDS ${exports})
  endif()

  # trellis_whole_NAME also contains the private symbols, which tests and benchmarks need.  A shared library exports
  # only the public ones.
  if(BUILD_SHARED_LIBS AND (TRELLIS_BUILD_TESTS OR TRELLIS_BUILD_BENCH))
    add_library(trellis_whole_${name} STATIC ${objects})
    list(TRANSFORM ARG_PUBLIC REPLACE "^Trellis::" "trellis_whole_")
    target_link_libraries(trellis_whole_${name} PUBLIC trellis_flags ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    target_include_directories(trellis_whole_${name}
                               PUBLIC $<TARGET_PROPERTY:trellis_lib_${name},INTERFACE_INCLUDE_DIRECTORIES>)
  else()
    add_library(trellis_whole_${name} ALIAS trellis_lib_${name})
  endif()
endfunction()

# trellis_link_objects(TARGET a b ...): links the objects of the components and of everything that they depend on.
# (CMake does not pass objects on through object libraries, so this function walks the closure.)
function(trellis_link_objects target)
  set(pending ${ARGN})
  set(done "")
  while(pending)
    list(POP_FRONT pending component)
    if(component IN_LIST done)
      continue()
    endif()
    list(APPEND done ${component})
    target_link_libraries(${target} PRIVATE ${component})
    get_target_property(deps ${component} LINK_LIBRARIES)
    foreach(dep IN LISTS deps)
      if(TARGET ${dep} AND dep MATCHES "^trellis_" AND NOT dep STREQUAL "trellis_flags")
        list(APPEND pending ${dep})
      endif()
    endforeach()
  endwhile()
endfunction()

# trellis_test(NAME SRCS a_test.cc ... DEPS targets [LABELS concurrent memory slow ...] [CALCULATES] [TOGETHER])
# One program of GoogleTest tests.  Labels choose it for a part of `tools/dev test`:
#   concurrent   ThreadSanitizer runs it
#   memory       AddressSanitizer runs it, because it reads untrusted bytes or manages memory
#   slow         `tools/dev quick` leaves it out; all others get the label quick
#   bench        it tests a benchmark; all others get the label product
#   cluster      it needs a Ceph cluster, which one test uses at a time; the test presets leave it out
# CALCULATES: the test runs longer than it compiles, so it is optimised.  Other tests are not optimised, because they
# mostly instantiate templates that run once.
# TOGETHER: the tests share something that takes long to make, so they run in one process.
function(trellis_test name)
  cmake_parse_arguments(ARG "CALCULATES;TOGETHER" "" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE trellis_test_flags ${ARG_DEPS} trellis_test_place GTest::gtest_main)
  if(ARG_CALCULATES)
    target_precompile_headers(${name} REUSE_FROM trellis_test_support)
  else()
    set_target_properties(${name} PROPERTIES TRELLIS_UNOPTIMISED ON)
    get_target_property(headers trellis_test_support PRECOMPILE_HEADERS)
    trellis_precompile_together(${name} TRELLIS_PRECOMPILED_UNOPTIMISED ${headers})
  endif()
  # GoogleMock's templates take most of a test's compile time, so the sources of a program compile together.
  if(TRELLIS_PRECOMPILE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
  endif()
  if(NOT "bench" IN_LIST ARG_LABELS)
    list(APPEND ARG_LABELS product)
    if(NOT "slow" IN_LIST ARG_LABELS)
      list(APPEND ARG_LABELS quick)
    endif()
  endif()
  # Each label's programs have a target of their own: concurrent_tests and so on.
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${name})
  endforeach()
  list(JOIN ARG_LABELS "-" labels)  # one label, because gtest_discover_tests does not pass lists on
  set(lock "")
  if("cluster" IN_LIST ARG_LABELS)
    set(lock RESOURCE_LOCK cluster)
  endif()
  if(ARG_TOGETHER)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS ${labels} ${lock})
  else()
    gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 600 LABELS ${labels} ${lock})
  endif()
endfunction()

# trellis_example(SOURCE LIBRARY): a program to copy from, in build/PRESET/examples.
function(trellis_example source library)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(${name} PRIVATE trellis_flags ${library})
endfunction()

# trellis_bench(NAME SRCS a_bench.cc ... DEPS targets): a program of micro benchmarks.
function(trellis_bench name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE trellis_flags ${ARG_DEPS} benchmark::benchmark_main)
endfunction()

# trellis_compile_for_v3(TARGET): compiles for CPUs with AVX2.  This inlines code from the library's headers that the
# library otherwise selects at run time.  REQUIRES: TRELLIS_RUNS_X86_64_V3.
if((TRELLIS_BUILD_TESTS OR TRELLIS_BUILD_BENCH) AND NOT CMAKE_CROSSCOMPILING)
  include(CheckCXXSourceRuns)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_FLAGS -march=x86-64-v3)
  check_cxx_source_runs("int main() { return !(__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"bmi2\") &&
                                                __builtin_cpu_supports(\"fma\")); }"
                        TRELLIS_RUNS_X86_64_V3)
  cmake_pop_check_state()
endif()
function(trellis_compile_for_v3 target)
  target_compile_options(${target} PRIVATE -march=x86-64-v3)
  # The precompiled headers are compiled for the default CPU.
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()
