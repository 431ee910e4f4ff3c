// SPDX-License-Identifier: Apache-2.0
// What a configuration says to ExternalHealth. Plain values; README.md in this folder says what they mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/args.h"
#include "berth/framework/outside_data.h"
#include "berth/plugins/external_health/health_report.h"

namespace berth::plugins {

struct ExternalHealthArgs {
  enum class Source : std::uint8_t { kNagios, kAlertmanager, kJson };
  // What becomes of a node of which nothing is known.
  enum class Fallback : std::uint8_t { kOpen, kClosed };

  Source source = Source::kJson;
  std::string source_name = "json";  // as messages call it
  framework::OutsideSource endpoint;
  AlertmanagerFormat alertmanager;
  JsonFormat json;
  // Where a node has the name that the source knows; both empty, or absent on the node: its own.
  std::string name_label, name_annotation;
  Duration stale_after = std::chrono::minutes(2);
  Fallback on_stale = Fallback::kOpen;
  Fallback on_unknown = Fallback::kOpen;
};

// An error names the field.
Expected<ExternalHealthArgs> ReadExternalHealthArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
