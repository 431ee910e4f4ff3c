// SPDX-License-Identifier: Apache-2.0
// The templates of `berth plugin new`, in the program. Any thread.
#pragma once

#include <span>
#include <string_view>

namespace berth::authoring {

// A file of a template. In its path and text {{Name}}, {{snake}} and {{kebab}} stand for the plugin's name: ZoneSpread,
// zone_spread, zone-spread.
struct TemplateFile {
  std::string_view path;  // "LANGUAGE/cases/basics.yaml"
  std::string_view text;
};

// All files in templates/, by path. Made by CMake.
std::span<const TemplateFile> TemplateFiles();

}  // namespace berth::authoring
