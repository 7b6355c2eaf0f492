# Liburing::uring from the system's liburing (Debian ships a pkg-config file and no CMake package).
find_path(Liburing_INCLUDE_DIR liburing.h)
find_library(Liburing_LIBRARY uring)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS Liburing_LIBRARY Liburing_INCLUDE_DIR)
mark_as_advanced(Liburing_INCLUDE_DIR Liburing_LIBRARY)
if(Liburing_FOUND AND NOT TARGET Liburing::uring)
  add_library(Liburing::uring UNKNOWN IMPORTED)
  set_target_properties(Liburing::uring PROPERTIES IMPORTED_LOCATION "${Liburing_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${Liburing_INCLUDE_DIR}")
endif()
