// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/known_plugins.h"

#include <cstddef>

namespace berth::config {

const KnownPlugin* FindPlugin(KnownPlugins plugins, std::string_view name) {
  for (const KnownPlugin& plugin : plugins) {
    if (plugin.name == name) return &plugin;
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash + 1 == name.size()) return nullptr;
  for (const KnownPlugin& plugin : plugins) {
    if (plugin.create_named && plugin.name == name.substr(0, slash)) return &plugin;
  }
  return nullptr;
}

}  // namespace berth::config
