// SPDX-License-Identifier: Apache-2.0
// How log.h's lines are written and which of them: kube-scheduler's --logging-format, --v and --vmodule. Set once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::log {

enum class Format : std::uint8_t {
  kText,  // as klog: I1121 14:03:05.123456    4711 scheduler] "Bound pod" pod="default/web-1" node="n1"
  kJson,  // as component-base: {"ts":1763733785123.456,"logger":"scheduler","msg":"Bound
          // pod","v":0,"pod":"default/web-1"}
};

struct Settings {
  Format format = Format::kText;
  int verbosity = 0;  // --v; from 4 on there is Level::kDebug, too
  // --vmodule: patterns of areas, as in a shell, and the verbosity there.
  std::vector<std::pair<std::string, int>> modules;
};

// Before other threads log. Does not undo a SetLevel() above kInfo.
void Configure(Settings settings);
// Any thread, after Configure().
const Settings& CurrentSettings();

// Whether upstream's V(verbosity) is on. Any thread.
bool IsVerbose(int verbosity);
// The same for one area, for which --vmodule may say more; the first pattern that matches counts.
bool IsVerboseIn(std::string_view area, int verbosity);

}  // namespace berth::log
