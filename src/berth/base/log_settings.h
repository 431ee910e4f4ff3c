// SPDX-License-Identifier: Apache-2.0
// The form of log lines and which of them are written: kube-scheduler's --logging-format, --v and --vmodule. Set once.
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
  int verbosity = 0;  // --v; from 4 on Level::kDebug is enabled
  // --vmodule: shell patterns of source names or areas, each with its verbosity.
  std::vector<std::pair<std::string, int>> modules;
  bool splits_streams = false;  // information goes to standard output instead of standard error
};

// Must be called before other threads log. A SetLevel() above kInfo stays in effect.
void Configure(Settings settings);
// Thread-safe after Configure(), whose verbosity it has.
const Settings& CurrentSettings();

// Changes --v. Thread-safe.
void SetVerbosity(int verbosity);
// Whether upstream's V(verbosity) is enabled. Thread-safe.
bool IsVerbose(int verbosity);
// The same for a line with several names, for which --vmodule may set a higher verbosity; the first pattern that
// matches any of the names applies.
bool IsVerboseIn(std::span<const std::string_view> names, int verbosity);

}  // namespace berth::log
