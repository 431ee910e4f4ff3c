# SPDX-License-Identifier: Apache-2.0
# What others build against: berth::berth, all of berth for a scheduler with plugins of one's own; berth::plugin, the
# headers alone, for plugins in shared objects; berth::testing for tests of them. Here (testing as berth::small_cluster),
# and installed as the CMake package `berth`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Puts the objects of `target` and of the libraries below it into the list `objects`, and what they need of others into
# `others`.
function(berth_collect target objects others)
  get_target_property(name ${target} ALIASED_TARGET)
  if(NOT name)
    set(name ${target})
  endif()
  get_property(seen GLOBAL PROPERTY BERTH_COLLECTED)
  if(name IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY BERTH_COLLECTED ${name})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set(${objects} ${${objects}} $<TARGET_OBJECTS:${name}>)
  endif()
  get_target_property(needed ${name} INTERFACE_LINK_LIBRARIES)
  if(NOT needed)
    set(needed "")
  endif()
  foreach(library ${needed})
    if(library MATCHES "^(berth::|third_party_)")
      berth_collect(${library} ${objects} ${others})
    elseif(NOT library MATCHES "berth_flags|^Boost::headers$")
      set(${others} ${${others}} ${library})
    endif()
  endforeach()
  set(${objects} ${${objects}} PARENT_SCOPE)
  set(${others} ${${others}} PARENT_SCOPE)
endfunction()

set(BERTH_OBJECTS "")
set(BERTH_NEEDED "")
berth_collect(berth::app BERTH_OBJECTS BERTH_NEEDED)
list(REMOVE_DUPLICATES BERTH_NEEDED)

# All libraries in one. It is linked as a whole, so that a shared object finds what it takes from the headers.
add_library(berth_archive STATIC EXCLUDE_FROM_ALL ${BERTH_OBJECTS})
set_target_properties(berth_archive PROPERTIES OUTPUT_NAME berth LINKER_LANGUAGE CXX)
target_link_libraries(berth_archive INTERFACE ${BERTH_NEEDED})

add_library(berth_plugin INTERFACE)
add_library(berth::plugin ALIAS berth_plugin)
target_include_directories(berth_plugin INTERFACE ${CMAKE_SOURCE_DIR}/src)

add_library(berth_berth INTERFACE)
add_library(berth::berth ALIAS berth_berth)
target_link_libraries(berth_berth INTERFACE berth::plugin "$<LINK_LIBRARY:WHOLE_ARCHIVE,berth_archive>")
target_link_options(berth_berth INTERFACE "LINKER:--dynamic-list=${CMAKE_SOURCE_DIR}/cmake/berth_exports.txt")

# The header and those of berth that it includes, by their paths below src.
function(berth_header_closure header result)
  if(header IN_LIST ${result})
    return()
  endif()
  list(APPEND ${result} ${header})
  file(STRINGS ${CMAKE_SOURCE_DIR}/src/${header} lines REGEX "^#include \"berth/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" included "${line}")
    berth_header_closure(${included} ${result})
  endforeach()
  set(${result} ${${result}} PARENT_SCOPE)
endfunction()

if(BERTH_APPS)
  # The kit for tests in one.
  add_library(berth_testing_archive STATIC $<TARGET_OBJECTS:berth_testing> $<TARGET_OBJECTS:berth_small_cluster>)
  set_target_properties(berth_testing_archive PROPERTIES OUTPUT_NAME berth_testing LINKER_LANGUAGE CXX)
  berth_header_closure(berth/plugin.h BERTH_HEADERS)
  berth_header_closure(berth/testing/small_cluster.h BERTH_HEADERS)
  foreach(header ${BERTH_HEADERS})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${header})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${CMAKE_SOURCE_DIR}/src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
  set(BERTH_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/berthConfig.cmake.in
    ${CMAKE_BINARY_DIR}/package/berthConfig.cmake
    INSTALL_DESTINATION ${BERTH_PACKAGE_DIR}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES
    ${CMAKE_BINARY_DIR}/package/berthConfig.cmake
    ${CMAKE_BINARY_DIR}/package/berthConfigVersion.cmake
    ${CMAKE_SOURCE_DIR}/cmake/berth_add_plugin.cmake
    ${CMAKE_SOURCE_DIR}/cmake/berth_exports.txt
    DESTINATION ${BERTH_PACKAGE_DIR})
  install(FILES $<TARGET_FILE:berth_archive> $<TARGET_FILE:berth_testing_archive> DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/deploy/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/berth)
endif()
