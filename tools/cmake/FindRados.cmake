# Rados::rados from the system's librados (Debian ships neither a pkg-config file nor a CMake package).
find_path(Rados_INCLUDE_DIR rados/librados.h)
find_library(Rados_LIBRARY rados)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Rados REQUIRED_VARS Rados_LIBRARY Rados_INCLUDE_DIR)
mark_as_advanced(Rados_INCLUDE_DIR Rados_LIBRARY)
if(Rados_FOUND AND NOT TARGET Rados::rados)
  add_library(Rados::rados UNKNOWN IMPORTED)
  set_target_properties(Rados::rados PROPERTIES IMPORTED_LOCATION "${Rados_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${Rados_INCLUDE_DIR}")
endif()
