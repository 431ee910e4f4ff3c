# What most sources include, compiled once. The presets with sanitizers take it, and compile in two thirds of the time;
# what ships does without, and so still tells of an include that is missing.
option(BERTH_PCH "Use a precompiled header (needs the tests)" OFF)
if(BERTH_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/berth_pch.cc CONTENT "")
  add_library(berth_pch STATIC ${CMAKE_BINARY_DIR}/berth_pch.cc)
  target_link_libraries(berth_pch PRIVATE third_party_absl third_party_gtest third_party_json berth_flags)
  target_include_directories(berth_pch PRIVATE ${CMAKE_SOURCE_DIR}/src)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(berth_pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # for ccache
  endif()
  # Headers of berth by their whole paths: the file that CMake writes stands elsewhere.
  target_precompile_headers(berth_pch PRIVATE
    <algorithm> <chrono> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <variant> <vector>
    <absl/container/flat_hash_map.h> <gtest/gtest.h>
    ${CMAKE_SOURCE_DIR}/src/berth/codec/json.h ${CMAKE_SOURCE_DIR}/src/berth/framework/handle.h
    ${CMAKE_SOURCE_DIR}/src/berth/framework/plugin.h)
endif()

function(berth_use_pch target)
  if(BERTH_PCH)
    target_precompile_headers(${target} REUSE_FROM berth_pch)
  endif()
endfunction()

# berth_library(name SOURCES ... DEPS ...): the folder's library, berth::name. One a folder, sources and direct
# dependencies spelled out.
function(berth_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(berth_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(berth_${name} PUBLIC ${ARG_DEPS} PRIVATE berth_flags)
    target_include_directories(berth_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    berth_use_pch(berth_${name})
  else()
    add_library(berth_${name} INTERFACE)
    target_link_libraries(berth_${name} INTERFACE ${ARG_DEPS})
    target_include_directories(berth_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
  endif()
  add_library(berth::${name} ALIAS berth_${name})
endfunction()

# berth_test(name SOURCES ... DEPS ... [LABELS ...] [ARGS ...]): a GoogleTest program, one ctest entry.
function(berth_test name)
  if(NOT BERTH_TESTS OR BERTH_LEAVE_TESTS_OUT)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  # The main of all tests is compiled once.
  if(NOT TARGET berth_test_main)
    add_library(berth_test_main STATIC
      ${CMAKE_SOURCE_DIR}/src/berth/testing/main.cc ${CMAKE_SOURCE_DIR}/src/berth/testing/source_path.cc)
    target_include_directories(berth_test_main PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_compile_definitions(berth_test_main PRIVATE BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(berth_test_main PUBLIC third_party_gtest PRIVATE berth_flags)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE berth_test_main ${ARG_DEPS} third_party_gtest berth_flags)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  berth_use_pch(${name})
  # What is tested is compiled as it ships; the tests themselves take a third less time to compile so.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(BERTH_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# berth_fuzz(name SOURCE DEPS ...): NAME_fuzz.cc beside the parser defines LLVMFuzzerTestOneInput. With BERTH_FUZZ it is
# a libFuzzer program; with BERTH_TESTS its corpus (fuzz/corpus/NAME) is replayed as a test.
function(berth_fuzz name)
  cmake_parse_arguments(ARG "" "SOURCE" "DEPS" ${ARGN})
  if(BERTH_FUZZ)
    add_executable(${name}_fuzz ${ARG_SOURCE})
    target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPS} berth_flags)
    target_include_directories(${name}_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  elseif(BERTH_TESTS AND NOT BERTH_LEAVE_TESTS_OUT)
    add_executable(${name}_corpus ${ARG_SOURCE} ${CMAKE_SOURCE_DIR}/src/berth/testing/replay_corpus.cc)
    target_link_libraries(${name}_corpus PRIVATE ${ARG_DEPS} berth_flags)
    target_include_directories(${name}_corpus PRIVATE ${CMAKE_SOURCE_DIR}/src)
    add_test(NAME ${name}_corpus COMMAND ${name}_corpus ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(${name}_corpus PROPERTIES TIMEOUT 60)
  endif()
endfunction()
