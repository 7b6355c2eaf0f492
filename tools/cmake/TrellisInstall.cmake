# Install rules, in three components:
#
#   libraries    shared libraries
#   development  public headers, static libraries, the package for find_package(Trellis), the pkg-config files, the
#                pages that headers refer to, and the examples
#   tools        sstdump, its manual page, and its completion for bash
#
# The library Trellis::rados, with its page, has its own: rados_libraries and rados_development.
#
# All paths between installed files are relative, so the installed tree may be moved as a whole.
# TrellisPackages.cmake makes a Debian package of each component.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Trellis)
get_target_property(trellis_is_static trellis_lib_bloom TYPE)
string(COMPARE EQUAL ${trellis_is_static} STATIC_LIBRARY trellis_is_static)
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# trellis_install(NAME [PREFIX] HEADERS a.h ...): the library, its public headers under include/trellis, and its export
# file.  PREFIX comes before the names of the components.
function(trellis_install name)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  set(prefix "${ARG_UNPARSED_ARGUMENTS}")
  set(target trellis_lib_${name})
  set(headers ${ARG_HEADERS})
  list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} EXPORT Trellis_${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${prefix}development
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${prefix}libraries
                  NAMELINK_COMPONENT ${prefix}development
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trellis COMPONENT ${prefix}development)
  install(EXPORT Trellis_${name} NAMESPACE Trellis:: FILE Trellis_${name}.cmake DESTINATION ${package_dir}
          COMPONENT ${prefix}development)
endfunction()

# trellis_pkg_config(NAME DESCRIPTION text LIBRARY -lname REQUIRES packages [STATIC_REQUIRES packages]
#                    [STATIC_LIBS flags] [COMPONENT component])
# Installs NAME.pc, which has everything that a program needs to link the installed library.  So the dependencies of a
# static library are listed also without --static.  Debian's packages contain both kinds of libraries; there --static
# selects the static ones.
function(trellis_pkg_config pc_name)
  cmake_parse_arguments(ARG "" "DESCRIPTION;LIBRARY;COMPONENT" "REQUIRES;STATIC_REQUIRES;STATIC_LIBS" ${ARGN})
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT development)
  endif()
  set(pc_description "${ARG_DESCRIPTION}")
  set(pc_requires ${ARG_REQUIRES})
  set(pc_libs ${ARG_LIBRARY})
  if(trellis_is_static)
    list(APPEND pc_requires ${ARG_STATIC_REQUIRES})
    list(APPEND pc_libs ${ARG_STATIC_LIBS})
  endif()
  set(pc_static "")
  if(TRELLIS_PACKAGES)
    list(JOIN ARG_STATIC_REQUIRES ", " pc_static)
    list(JOIN ARG_STATIC_LIBS " " static_libs)
    set(pc_static "Requires.private: ${pc_static}\nLibs.private: ${static_libs}")
  endif()
  list(JOIN pc_requires ", " pc_requires)
  list(JOIN pc_libs " " pc_libs)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/trellis.pc.in ${pc_name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${ARG_COMPONENT})
endfunction()

# trellis_install_pages([PREFIX] PAGES a.md ...): pages keep their relative places, so that their links work.  PREFIX
# comes before the name of the component.
function(trellis_install_pages)
  cmake_parse_arguments(ARG "" "" "PAGES" ${ARGN})
  foreach(page IN LISTS ARG_PAGES)
    cmake_path(GET page PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder}
            COMPONENT ${ARG_UNPARSED_ARGUMENTS}development)
  endforeach()
endfunction()

# Programs of a folder, with the headers that they share.
function(trellis_install_examples folder)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder}
          COMPONENT development FILES_MATCHING PATTERN "*.cc" PATTERN "*.h")
endfunction()

# trellis_public_headers(VARIABLE FOLDER): FOLDER/*.h, which are public, and the private headers that they include.
function(trellis_public_headers variable folder)
  file(GLOB queue RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  set(headers "")
  while(queue)
    list(POP_FRONT queue header)
    if(header IN_LIST headers)
      continue()
    endif()
    list(APPEND headers ${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"${folder}/")
    list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND queue ${includes})
  endwhile()
  list(SORT headers)
  set(${variable} ${headers} PARENT_SCOPE)
endfunction()

trellis_public_headers(headers bloom)
trellis_install(bloom HEADERS ${headers})

trellis_pkg_config(trellis-bloom
  DESCRIPTION "Bloom filters sized from a target false-positive probability"
  LIBRARY -ltrellis_bloom
  REQUIRES absl_status absl_statusor)
trellis_install_pages(PAGES LICENSE README.md bloom/README.md bloom/USES.md)
trellis_install_examples(bloom/examples)
set(trellis_components bloom)

if(TRELLIS_BUILD_LSM)
  trellis_public_headers(headers lsm)
  list(REMOVE_ITEM headers lsm/rados.h)
  trellis_install(lsm HEADERS ${headers})
  install(FILES ${PROJECT_BINARY_DIR}/generated/lsm/release.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trellis/lsm COMPONENT development)
  set(liburing "")
  if(TARGET Liburing::uring)
    set(liburing liburing)
  endif()
  trellis_pkg_config(trellis
    DESCRIPTION "${PROJECT_DESCRIPTION}"
    LIBRARY -ltrellis_lsm
    REQUIRES "trellis-bloom = ${PROJECT_VERSION}" absl_status absl_statusor
    STATIC_REQUIRES absl_strings absl_time liblz4 ${liburing}
    STATIC_LIBS -pthread)
  file(GLOB decisions RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lsm/design/*.md)
  trellis_install_pages(PAGES lsm/README.md lsm/GUIDE.md lsm/FORMAT.md lsm/RELIABILITY.md ${decisions})
  trellis_install_examples(lsm/examples)
  list(APPEND trellis_components lsm)
  if(trellis_is_static)
    install(FILES ${PROJECT_SOURCE_DIR}/tools/cmake/FindLZ4.cmake ${PROJECT_SOURCE_DIR}/tools/cmake/FindLiburing.cmake
            DESTINATION ${package_dir} COMPONENT development)
  endif()
endif()
if(TRELLIS_BUILD_RADOS)
  trellis_install(rados rados_ HEADERS lsm/rados.h)
  trellis_install_pages(rados_ PAGES lsm/rados/README.md)
  trellis_pkg_config(trellis-rados
    DESCRIPTION "Trellis stores in Ceph RADOS"
    LIBRARY -ltrellis_rados
    REQUIRES "trellis = ${PROJECT_VERSION}"
    STATIC_LIBS -lrados -pthread
    COMPONENT rados_development)
  if(trellis_is_static)
    install(FILES ${PROJECT_SOURCE_DIR}/tools/cmake/FindRados.cmake DESTINATION ${package_dir}
            COMPONENT rados_development)
  endif()
endif()
if(TARGET sstdump)
  install(TARGETS sstdump RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(FILES ${PROJECT_BINARY_DIR}/generated/manual/sstdump.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT tools)
  install(FILES ${PROJECT_BINARY_DIR}/generated/manual/sstdump
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  trellis_install_pages(PAGES tools/README.md)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/TrellisConfig.cmake.in TrellisConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# While the version begins with 0, a new minor version may break its users.
write_basic_package_version_file(TrellisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TrellisConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/TrellisConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)
