# The programs that both embedders build.  An embedder's own warnings must not be set off by our headers.
enable_testing()

# embedded(NAME SOURCE STANDARD LIBRARY)
function(embedded name source standard library)
  add_executable(${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  set_target_properties(${name} PROPERTIES CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(${name} PRIVATE ${library})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

embedded(readme_example_20 readme_example.cc 20 Trellis::lsm)
embedded(readme_example_23 readme_example.cc 23 Trellis::lsm)
embedded(use_everything use_everything.cc 20 Trellis::lsm)
embedded(use_bloom use_bloom.cc 20 Trellis::bloom)

set_tests_properties(readme_example_20 readme_example_23 PROPERTIES
  PASS_REGULAR_EXPRESSION "banana: not there" RESOURCE_LOCK fruit.store)
