# Debian packages, by `cpack --preset packages`:
#
#   libtrellis0.1    the shared libraries; the name has their version, so that two versions can be installed
#   libtrellis-dev   headers, archives, the package for find_package(Trellis), the pkg-config files, pages, examples
#   trellis-tools    sstdump, its manual page, and its completion for bash
#
# and, with TRELLIS_BUILD_RADOS, libtrellis-rados0.1 and libtrellis-rados-dev for Trellis::rados.  The latter has no
# archive, because librados has none.
#
# `tools/dev debs` makes them, and `tools/dev debs --try` uses them in a minimal installation of Debian (a chroot).  The
# packages contain the archives of the preset `release`, which `tools/dev debs` builds first.  A packager sets
# CPACK_PACKAGE_CONTACT.
if(NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "TRELLIS_PACKAGES needs BUILD_SHARED_LIBS; the preset `packages` sets all that packages need")
endif()

get_target_property(soversion trellis_lib_bloom SOVERSION)
set(library_package libtrellis${soversion})
set(release 1)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The maintainers of Trellis <root@localhost>")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trellis)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_COMPONENTS_ALL libraries development tools)
if(TRELLIS_BUILD_RADOS)
  list(APPEND CPACK_COMPONENTS_ALL rados_libraries rados_development)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/bloom ${PROJECT_BINARY_DIR}/lsm
    ${PROJECT_BINARY_DIR}/lsm/rados)

set(changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${changelog} "trellis (${PROJECT_VERSION}-${release}) unstable; urgency=medium\n\n"
     "  * Release ${PROJECT_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)

# trellis_package(COMPONENT PACKAGE SECTION "summary" "what this one has")
function(trellis_package component package section summary has)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${COMPONENT}_DESCRIPTION "${summary}\n\
Trellis is an embedded log-structured merge tree. Its tables carry filters,\n\
each sized for a target false-positive probability, so that lookups skip\n\
tables.\n.\n${has}" PARENT_SCOPE)
  set(docs ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${docs} RENAME copyright COMPONENT ${component})
  install(FILES ${changelog}.gz DESTINATION ${docs} COMPONENT ${component})
endfunction()

trellis_package(libraries ${library_package} libs "embedded key-value store with filters (shared libraries)"
                "This package has the shared libraries.")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/triggers)

trellis_package(development libtrellis-dev libdevel "embedded key-value store with filters (development files)"
                "This package has headers, archives, files for CMake and pkg-config,\ndocuments and examples.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
# The libraries need the symbols of the release of Abseil that they were built with; each release has its own.
math(EXPR next_absl "${absl_VERSION} + 1")
set(depends "${library_package} (= ${PROJECT_VERSION}-${release})" "libabsl-dev (>= ${absl_VERSION})"
    "libabsl-dev (<< ${next_absl})" liblz4-dev)
if(TARGET Liburing::uring)
  list(APPEND depends liburing-dev)
endif()
list(JOIN depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
# The archives come from the preset `release`.  The objects of the shared libraries export the public interface, so they
# must not go into archives.
set(archives ${PROJECT_SOURCE_DIR}/build/release)
install(FILES ${archives}/bloom/libtrellis_bloom.a ${archives}/lsm/libtrellis_lsm.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

if(TRELLIS_BUILD_RADOS)
  set(rados_package libtrellis-rados${soversion})
  trellis_package(rados_libraries ${rados_package} libs "embedded key-value store in Ceph RADOS (shared library)"
                  "This package has the adapter for Ceph RADOS.")
  set(CPACK_DEBIAN_RADOS_LIBRARIES_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/triggers)
  trellis_package(rados_development libtrellis-rados-dev libdevel
                  "embedded key-value store in Ceph RADOS (development files)"
                  "This package has the header of the adapter for Ceph RADOS, its page, and\nfiles for CMake and pkg-config.")
  set(CPACK_DEBIAN_RADOS_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_RADOS_DEVELOPMENT_PACKAGE_DEPENDS
      "${rados_package} (= ${PROJECT_VERSION}-${release}), libtrellis-dev (= ${PROJECT_VERSION}-${release})")
endif()

trellis_package(tools trellis-tools database "inspector of the files of Trellis stores"
                "sstdump shows and verifies tables, logs, manifests and whole stores.")
install(CODE "execute_process(COMMAND gzip -9nf \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/sstdump.1)"
        COMPONENT tools)

include(CPack)
