# SPDX-License-Identifier: Apache-2.0
# Compiler flags, sanitizers, ccache and linker: everything that holds for each target of ours.
option(BERTH_WERROR "Treat warnings as errors" OFF)
option(BERTH_UNITY "Compile the sources of a folder in groups (cmake/group_sources.py)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# mold 1.10 (Debian 12) knows nothing of clang 19's LTO, which we do not use; it saves most of the link time.
# A cross compiler looks for a linker of its own, which is GNU's.
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

# A path that BERTH_CHECK prints is one from the root, whatever folder the clone is in, and whether or not ccache has made it
# relative to the build folder (CCACHE_BASEDIR): two clones give the same bytes.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -fmacro-prefix-map=../../=)

# The same decisions as on amd64, where the tests run: there char is signed, and a product is rounded before it is added.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  add_compile_options(-fsigned-char -ffp-contract=off)
endif()

# Keep what BERTH_CHECK prints, and the layout of types, the same in all builds.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Line numbers are what a report needs; full debug information would double the time to compile and link.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

add_library(berth_flags INTERFACE)
target_compile_options(berth_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wold-style-cast
  -Wno-missing-field-initializers)
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside libstdc++ and Boost where nothing is wrong (GCC bugs 105329, 105562, 106199).
  target_compile_options(berth_flags INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
    -Wno-dangling-pointer)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND BERTH_UNITY)
  # It takes sources of a group for headers.
  target_compile_options(berth_flags INTERFACE -Wno-subobject-linkage)
  # It inlines less in large units, as groups are: without this the core takes 6 % more instructions a pod, and a group up
  # to a fifth less time to compile, which is better where no pod waits.
  target_compile_options(berth_flags INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:BERTH_INLINES_LESS>>>:--param=large-unit-insns=200000>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's own stable_sort calls the deprecated get_temporary_buffer, which clang reports at the caller's.
  target_compile_options(berth_flags INTERFACE -Wno-deprecated-declarations)
endif()
# A program holds the functions that it uses: without this a group of sources comes whole, and a fifth of the text with it.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(berth_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(berth_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:--gc-sections>)
endif()
# What ships is hardened; what each flag costs is in docs/adr/0010-hardening.md. The sanitizers' builds look for more.
option(BERTH_HARDEN "Bounds checks of the standard library, stack protector, PIE, full RELRO" ON)
if(BERTH_HARDEN AND NOT BERTH_SANITIZE)
  set(BERTH_IN_MODULE $<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>)
  target_compile_definitions(berth_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_compile_options(berth_flags INTERFACE
    -fstack-protector-strong $<$<NOT:${BERTH_IN_MODULE}>:-fPIE>
    # FORTIFY needs the optimiser. A toolchain that sets a level by itself warns of a second one.
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<OR:$<CONFIG:Debug>,$<BOOL:$<TARGET_PROPERTY:BERTH_UNOPTIMISED>>>>:-D_FORTIFY_SOURCE=3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(berth_flags INTERFACE -fcf-protection=full)
    # The linker marks a program for the shadow stack only where each object is marked, and the C library's start files are
    # not, though they do nothing that it forbids. For indirect branches they would have to begin otherwise (ADR 10).
    target_link_options(berth_flags INTERFACE LINKER:-z,shstk)
  endif()
  target_link_options(berth_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> LINKER:-z,relro LINKER:-z,now)
endif()
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  string(REPLACE "fuzzer-no-link," "" BERTH_SANITIZE_LINK "${BERTH_SANITIZE}")
  add_link_options(-fsanitize=${BERTH_SANITIZE_LINK})
  # The asan preset is without UBSan's checks of each pointer: they were half of what is compiled, and AddressSanitizer
  # finds null ones too. Nor does it count what a fuzzer covers, four tenths of the rest. The fuzz preset has both.
  if(BERTH_SANITIZE_NOT)
    add_compile_options(-fno-sanitize=${BERTH_SANITIZE_NOT})
  endif()
  # There are some 70 programs of up to 470 MB: without relocations, and with packed line numbers, they take a third less.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie> LINKER:--compress-debug-sections=zstd)
  # Archives that name their objects instead of copying them.
  set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qT <TARGET> <LINK_FLAGS> <OBJECTS>")
endif()
