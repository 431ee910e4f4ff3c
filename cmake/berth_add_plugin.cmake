# SPDX-License-Identifier: Apache-2.0
# berth_add_plugin(name sources...): NAME.so, a shared object with plugins for `berth run --plugin-dir`. One of the sources
# has a line BERTH_PLUGIN("Name", Factory).
function(berth_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE berth::plugin)
  # All that it takes from berth is in the program that loads it. What it has of its own stays its own.
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    CXX_STANDARD 20
    CXX_STANDARD_REQUIRED ON
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()
