// SPDX-License-Identifier: Apache-2.0
// PluginCrash: while it lives, a fatal signal, or a plugin that ends the process, is told in one line that names the
// shared object and the case, and the exit status is that of a failed test. One at a time, on the main thread.
#pragma once

#include <string>

namespace berth::app {

class PluginCrash {
 public:
  // Knows the plugins that are loaded by now. Handlers that somebody else has set, a sanitizer for one, stay.
  PluginCrash();
  ~PluginCrash();
  PluginCrash(const PluginCrash&) = delete;
  PluginCrash& operator=(const PluginCrash&) = delete;

  // What runs from now on.
  static void SetCase(const std::string& file, const std::string& test);
};

}  // namespace berth::app
