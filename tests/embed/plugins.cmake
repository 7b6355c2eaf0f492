# Plugins, and the program that loads them.

# sees_tests(TARGET): it includes headers by their paths in this tree, but finds those of Trellis where its own project
# has them.
function(sees_tests target)
  target_compile_options(${target} PRIVATE "SHELL:-idirafter ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../..")
endfunction()

add_executable(load_plugins ${CMAKE_CURRENT_LIST_DIR}/load_plugins.cc)
target_compile_features(load_plugins PRIVATE cxx_std_20)
target_link_libraries(load_plugins PRIVATE ${CMAKE_DL_LIBS})
sees_tests(load_plugins)

# plugin(NAME): NAME.so, with hidden symbols.  NAME_exports tests that it exports none of Trellis.
function(plugin name)
  add_library(${name} MODULE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.cc)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden)
  target_link_libraries(${name} PRIVATE Trellis::lsm)
  sees_tests(${name})
  exports(${name}_exports ${name})
endfunction()

# exports(NAME TARGET OPTIONS...): tests which symbols a library exports (exports.cmake).
function(exports name target)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:${target}> ${ARGN}
           -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exports.cmake)
endfunction()
