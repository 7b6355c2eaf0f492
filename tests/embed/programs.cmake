# The programs of the embedding projects.  Trellis's headers must not trigger an embedder's own warnings.
enable_testing()

# embedded(NAME SOURCE STANDARD LIBRARY)
function(embedded name source standard library)
  add_executable(${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  set_target_properties(${name} PROPERTIES CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(${name} PRIVATE ${library})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

embedded(use_bloom use_bloom.cc 20 Trellis::bloom)
embedded(filter_for_a_file ../../bloom/examples/filter_for_a_file.cc 20 Trellis::bloom)
embedded(filter_in_memory ../../bloom/examples/filter_in_memory.cc 20 Trellis::bloom)
set_tests_properties(filter_for_a_file filter_in_memory PROPERTIES PASS_REGULAR_EXPRESSION "banana: no\n")

if(TARGET Trellis::lsm)
  embedded(fruit_20 ../../lsm/examples/fruit.cc 20 Trellis::lsm)
  embedded(fruit_23 ../../lsm/examples/fruit.cc 23 Trellis::lsm)
  set_tests_properties(fruit_20 fruit_23 PROPERTIES
    PASS_REGULAR_EXPRESSION "banana: not found" RESOURCE_LOCK fruit.store)
  # The version in the package or project must equal that of the header and the library.
  embedded(use_everything use_everything.cc 20 Trellis::lsm)
  target_compile_definitions(use_everything PRIVATE EXPECTED_VERSION="${expected_version}")

  include(${CMAKE_CURRENT_LIST_DIR}/plugins.cmake)
  plugin(plugin)
  add_test(NAME plugin COMMAND load_plugins $<TARGET_FILE:plugin>)
endif()

if(TARGET Trellis::rados)
  embedded(use_rados use_rados.cc 20 Trellis::rados)
endif()

# in_a_project_of_its_own(NAME FOLDER OPTIONS...): configures, builds and tests another project of this folder.
function(in_a_project_of_its_own name folder)
  add_test(NAME ${name}
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${folder}
                   ${CMAKE_CURRENT_BINARY_DIR}/${name} --build-generator ${CMAKE_GENERATOR} --build-options
                   -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} ${ARGN}
                   --test-command ${CMAKE_CTEST_COMMAND} --no-tests=error --output-on-failure)
endfunction()
