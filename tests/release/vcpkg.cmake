# Runs the port of vcpkg as vcpkg does, with stand-ins for vcpkg's own functions that take archives from a
# folder:
#   cmake -D PORT=… -D ARCHIVES=… -D OUT=… -D CPU=x64 -D LINKAGE=static -P vcpkg.cmake
# OUT is the installed package.
cmake_minimum_required(VERSION 3.19)
file(READ "${PORT}/vcpkg.json" manifest)
string(JSON VERSION GET "${manifest}" version-semver)
string(JSON PORT_NAME GET "${manifest}" name)
set(CURRENT_PACKAGES_DIR "${OUT}")
set(VCPKG_TARGET_ARCHITECTURE "${CPU}")
set(VCPKG_LIBRARY_LINKAGE "${LINKAGE}")

function(vcpkg_download_distfile out)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "URLS;FILENAME;SHA512" "")
  set(released "https://github.com/meshreel/meshreel/releases/download/v${VERSION}")
  string(REPLACE "${released}" "${ARCHIVES}" file "${of_URLS}")
  file(SHA512 "${file}" found)
  if(NOT found STREQUAL of_SHA512)
    message(FATAL_ERROR "${file}: ${found} instead of ${of_SHA512}")
  endif()
  set(${out} "${file}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT "${of_ARCHIVE}" DESTINATION "${OUT}/unpacked")
  get_filename_component(name "${of_ARCHIVE}" NAME)
  string(REPLACE ".tar.gz" "" name "${name}")
  set(${out} "${OUT}/unpacked/${name}" PARENT_SCOPE)
endfunction()

function(vcpkg_replace_string file old new)
  file(READ "${file}" text)
  string(REPLACE "${old}" "${new}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file} has no ${old}")
  endif()
  file(WRITE "${file}" "${changed}")
endfunction()

function(vcpkg_check_linkage)
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 of "" "" "FILE_LIST")
  file(INSTALL ${of_FILE_LIST} DESTINATION "${OUT}/share/${PORT_NAME}")
endfunction()

set(port_folder "${PORT}")
set(PORT "${PORT_NAME}")
include("${port_folder}/portfile.cmake")
file(REMOVE_RECURSE "${OUT}/unpacked")
