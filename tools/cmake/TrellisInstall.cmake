# What `cmake --install` puts where: libraries, public headers, the package for find_package(Trellis), the
# pkg-config file, and sstdump.  Everything finds its neighbours relative to itself, so that the installed tree
# may be moved as a whole.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Trellis)

# trellis_install(NAME HEADERS a.h ...): the library, its headers under include/trellis, and its export file.
function(trellis_install name)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  set(target trellis_lib_${name})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} EXPORT Trellis_${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trellis)
  install(EXPORT Trellis_${name} NAMESPACE Trellis:: FILE Trellis_${name}.cmake DESTINATION ${package_dir})
endfunction()

# All of bloom/ is for direct use.
trellis_install(bloom HEADERS
  bloom/catalog.h
  bloom/core/bits.h
  bloom/core/concepts.h
  bloom/core/cpu.h
  bloom/core/filter_format.h
  bloom/core/hash.h
  bloom/core/probe.h
  bloom/core/shape.h
  bloom/core/sizing.h
  bloom/filter_policy.h
  bloom/inspect.h
  bloom/variants/blocked.h
  bloom/variants/empty.h
  bloom/variants/standard.h)

# Of lsm/ only the store's interface and the seam to the file system (tests/tidy_test.cc: closed under inclusion).
trellis_install(lsm HEADERS
  lsm/base/explanation.h
  lsm/base/internal_key.h
  lsm/base/iterator.h
  lsm/base/options.h
  lsm/base/pinned_value.h
  lsm/base/repair_report.h
  lsm/base/snapshot.h
  lsm/base/statistics.h
  lsm/base/write_batch.h
  lsm/bytes/coding.h
  lsm/db.h
  lsm/fs/environment.h
  lsm/fs/file_system.h
  lsm/fs/memory_file_system.h)

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/TrellisConfig.cmake.in TrellisConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# While the version begins with 0, a new minor version may break its users.
write_basic_package_version_file(TrellisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TrellisConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/TrellisConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/tools/cmake/FindLZ4.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/trellis.pc.in trellis.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trellis.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET sstdump)
  install(TARGETS sstdump RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
