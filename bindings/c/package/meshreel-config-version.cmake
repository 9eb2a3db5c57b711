# As `mr_check_version`: this version or an earlier one, below 1.0 of the same minor version, else of the same
# major version.
set(PACKAGE_VERSION "@VERSION@")
string(FIND "${PACKAGE_FIND_VERSION}." "@ABI@." start)
if(start EQUAL 0 AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
# Programs for another width of pointers cannot link it.
if(CMAKE_SIZEOF_VOID_P AND NOT CMAKE_SIZEOF_VOID_P EQUAL @POINTER_BYTES@)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
