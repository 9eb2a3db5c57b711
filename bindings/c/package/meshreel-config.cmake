# Gives the targets whose libraries are there:
#   meshreel::meshreel   the shared library; the static one where there is no other
#   meshreel::static     the static library, with the system's libraries that it needs
if(TARGET meshreel::meshreel)
  return()
endif()
# Found from here, so that the folder can be anywhere.
get_filename_component(_meshreel_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(_meshreel_static "${_meshreel_prefix}/lib/@STATIC@")
set(_meshreel_shared "${_meshreel_prefix}/@SHARED@")

if(EXISTS "${_meshreel_static}")
  add_library(meshreel::static STATIC IMPORTED GLOBAL)
  set_target_properties(meshreel::static PROPERTIES
    IMPORTED_LOCATION "${_meshreel_static}"
    INTERFACE_INCLUDE_DIRECTORIES "${_meshreel_prefix}/include"
    INTERFACE_LINK_LIBRARIES "@SYSTEM_LIST@")
endif()

if(EXISTS "${_meshreel_shared}" AND NOT IS_DIRECTORY "${_meshreel_shared}")
  add_library(meshreel::meshreel SHARED IMPORTED GLOBAL)
  set_target_properties(meshreel::meshreel PROPERTIES
    IMPORTED_LOCATION "${_meshreel_shared}"
    IMPORTED_SONAME "@SONAME@"
    IMPORTED_IMPLIB "${_meshreel_prefix}/lib/@LINKED@.lib"
    INTERFACE_INCLUDE_DIRECTORIES "${_meshreel_prefix}/include")
else()
  add_library(meshreel::meshreel INTERFACE IMPORTED GLOBAL)
  set_target_properties(meshreel::meshreel PROPERTIES INTERFACE_LINK_LIBRARIES meshreel::static)
endif()
unset(_meshreel_prefix)
unset(_meshreel_static)
unset(_meshreel_shared)
