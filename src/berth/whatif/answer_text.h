// SPDX-License-Identifier: Apache-2.0
// How answers about capacity, drains and headroom are written: amounts, refusals, lists of names, and lines that fit.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"
#include "berth/framework/resource.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {

// Columns of a table that is not told how wide the terminal is.
inline constexpr std::size_t kAnswerColumns = 100;
// Columns of the lines around a table of this style.
inline std::size_t TextColumns(const cli::Table::Style& style) {
  return style.width == 0 ? kAnswerColumns : style.width;
}

// As a manifest would have it: {"cpu": "500m", "memory": "1Gi"}; what is 0 is left out.
codec::json::object AmountsJson(const framework::Resource& amounts);
// "cpu 500m, memory 1Gi"; "nothing".
std::string AmountsText(const framework::Resource& amounts);

// {"message", "reasons": [{"reason", "plugin", "nodes"}], "preemption": {"node", "victims"}}, the last only if there is
// one.
codec::json::object RefusalJson(const PlacementRefusal& refusal);
// "4000 Insufficient cpu, 900 node(s) had untolerated taint(s)"; the message where no node gave a reason.
std::string ReasonsText(const PlacementRefusal& refusal);

// "a, b and 12 more".
std::string NamesText(const std::vector<std::string>& names, std::size_t names_max);
// "1 pod", "2 pods".
std::string Counted(std::size_t count, std::string_view one, std::string_view many);

codec::json::array NamesJson(const std::vector<std::string>& names);
// {"namespace", "name"} of "namespace/name".
codec::json::object KeyJson(const std::string& key);

// Adds `text` to `lines`, made printable and broken between words so that each line has at most `width` columns; all
// but the first begin with two blanks more than `indent`.
void AddWrapped(std::vector<std::string>& lines, std::string_view text, std::size_t width, std::size_t indent = 0);

// Adds the table's lines.
void AddTable(std::vector<std::string>& lines, const cli::Table& table, const cli::Table::Style& style);

}  // namespace berth::whatif
