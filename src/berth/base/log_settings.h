// SPDX-License-Identifier: Apache-2.0
// How log.h's lines are written and which of them: kube-scheduler's --logging-format, --v and --vmodule. Set once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::log {

enum class Format : std::uint8_t {
  kText,  // as klog: I1121 14:03:05.123456    4711 status_writer.cc:162] "Bound pod" pod="default/web-1" node="n1"
  kJson,  // as component-base: {"ts":1763733785123.456,"logger":"scheduler","caller":"runner/status_writer.cc:162",
          // "msg":"Bound pod","v":0,"pod":"default/web-1"}
};

struct Settings {
  Format format = Format::kText;
  int verbosity = 0;  // --v; from 4 on there is Level::kDebug, too
  // --vmodule: patterns of sources or areas, as in a shell, and the verbosity there.
  std::vector<std::pair<std::string, int>> modules;
  bool splits_streams = false;  // information to standard output; else all goes to standard error
};

// Before other threads log. Does not undo a SetLevel() above kInfo.
void Configure(Settings settings);
// Any thread, after Configure(). Its verbosity is that of Configure().
const Settings& CurrentSettings();

// Another --v. Any thread.
void SetVerbosity(int verbosity);
// Whether upstream's V(verbosity) is on. Any thread.
bool IsVerbose(int verbosity);
// The same for a line that goes by several names, for which --vmodule may say more; the first pattern that matches one
// of them counts.
bool IsVerboseIn(std::span<const std::string_view> names, int verbosity);

}  // namespace berth::log
