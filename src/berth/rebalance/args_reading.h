// SPDX-License-Identifier: Apache-2.0
// What the readers of strategies' arguments share. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/core/config/reader.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

// `"PodLifeTimes" is no plugin for deschedule; the nearest is PodLifeTime; there are ...`.
void AddUnknown(config::FieldErrors& errors, const std::string& path, std::string_view name, std::string_view what,
                const std::vector<std::string_view>& known);

// The fields `namespaces` and `labelSelector`.
void ReadSelection(config::ObjectReader& reader, PodSelection& out, bool has_labels = true);
// The field of that name, with `include` and `exclude`, of which one may be set.
void ReadIncludeExclude(config::ObjectReader& reader, std::string_view key, std::vector<std::string>& include,
                        std::vector<std::string>& exclude);
void ReadSelector(config::ObjectReader& reader, std::string_view key, std::optional<api::LabelSelector>& out);
// Percents by resource; `is_required`: one at least.
void ReadThresholds(config::ObjectReader& reader, std::string_view key, Thresholds& out, bool is_required = true);
// A label selector as text: "pool=one".
void ReadNodeSelector(config::ObjectReader& reader, std::string_view key, std::string& out);

}  // namespace berth::rebalance
