// SPDX-License-Identifier: Apache-2.0
// PluginCrash: while it lives, a fatal signal, or a plugin that ends the process, is reported in one line that names
// the shared object and the case. The exit status is then that of a failed test. One at a time, on the main thread.
#pragma once

#include <string>

namespace berth::app {

class PluginCrash {
 public:
  // Covers the plugins that are loaded when it is created. Handlers that are already set, for example by a sanitizer,
  // stay.
  PluginCrash();
  ~PluginCrash();
  PluginCrash(const PluginCrash&) = delete;
  PluginCrash& operator=(const PluginCrash&) = delete;

  // Names the case that runs from now on.
  static void SetCase(const std::string& file, const std::string& test);
};

}  // namespace berth::app
