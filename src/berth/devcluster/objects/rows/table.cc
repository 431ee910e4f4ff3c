// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/rows/table.h"

#include <string>
#include <utility>
#include <vector>

#include "berth/base/text.h"
#include "berth/devcluster/objects/object.h"

namespace berth::objects {
namespace {

std::string Two(std::int64_t big, const char* big_unit, std::int64_t small, const char* small_unit) {
  std::string text = std::to_string(big) + big_unit;
  if (small != 0) text += std::to_string(small) + small_unit;
  return text;
}

}  // namespace

IncludeObject ParseIncludeObject(std::string_view text) {
  if (text == "None") return IncludeObject::kNone;
  if (text == "Object") return IncludeObject::kObject;
  return IncludeObject::kMetadata;
}

Representation NegotiateRepresentation(std::string_view accept) {
  if (Trim(accept).empty()) return Representation::kPlain;
  for (const std::string_view media : Split(accept, ',')) {
    std::vector<std::string_view> pieces = Split(media, ';');
    for (std::string_view& piece : pieces) piece = Trim(piece);
    // YAML is another spelling of the same (FormatAnswer in apiserver/rest.cc).
    if (pieces.front() != "application/json" && pieces.front() != "application/yaml" &&
        pieces.front() != "application/*" && pieces.front() != "*/*") {
      continue;
    }
    std::string_view as;
    bool is_v1 = true;
    bool is_meta = true;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const std::size_t equals = pieces[i].find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view key = Trim(pieces[i].substr(0, equals));
      const std::string_view value = Trim(pieces[i].substr(equals + 1));
      if (key == "as") as = value;
      if (key == "v") is_v1 = value == "v1";
      if (key == "g") is_meta = value == "meta.k8s.io";
    }
    if (as.empty()) return Representation::kPlain;
    if (!is_v1 || !is_meta) continue;
    if (as == "Table") return Representation::kTable;
    if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList")
      return Representation::kPartialObjectMetadata;
  }
  return Representation::kNone;
}

std::string HumanDuration(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  constexpr std::int64_t kYear = 365 * kDay;
  // A second's skew between clocks is no news.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 10 * kMinute) return Two(seconds / kMinute, "m", seconds % kMinute, "s");
  if (seconds < 3 * kHour) return std::to_string(seconds / kMinute) + "m";
  if (seconds < 8 * kHour) return Two(seconds / kHour, "h", seconds % kHour / kMinute, "m");
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + "h";
  if (seconds < 8 * kDay) return Two(seconds / kDay, "d", seconds % kDay / kHour, "h");
  if (seconds < 2 * kYear) return std::to_string(seconds / kDay) + "d";
  if (seconds < 8 * kYear) return Two(seconds / kYear, "y", seconds % kYear / kDay, "d");
  return std::to_string(seconds / kYear) + "y";
}

json::object PartialObjectMetadata(const json::object& object) {
  json::object partial;
  partial["kind"] = "PartialObjectMetadata";
  partial["apiVersion"] = "meta.k8s.io/v1";
  const json::object* metadata = ObjectMember(object, "metadata");
  partial["metadata"] = metadata == nullptr ? json::object() : *metadata;
  return partial;
}

json::object MakeTable(const ResourceType& type, std::span<const json::object* const> items, json::object list_metadata,
                       IncludeObject include, std::int64_t now_seconds, bool with_column_definitions) {
  json::object table;
  table["kind"] = "Table";
  table["apiVersion"] = "meta.k8s.io/v1";
  table["metadata"] = std::move(list_metadata);
  json::array definitions;
  if (with_column_definitions) {
    for (const TableColumn& column : type.columns) {
      json::object definition;
      definition["name"] = column.name;
      definition["type"] = column.type;
      definition["format"] = column.format;
      definition["description"] = column.description;
      definition["priority"] = column.priority;
      definitions.push_back(std::move(definition));
    }
  }
  table["columnDefinitions"] = std::move(definitions);
  json::array rows;
  rows.reserve(items.size());
  for (const json::object* item : items) {
    json::object row;
    row["cells"] = type.row(*item, now_seconds);
    switch (include) {
      case IncludeObject::kNone: row["object"] = nullptr; break;
      case IncludeObject::kMetadata: row["object"] = PartialObjectMetadata(*item); break;
      case IncludeObject::kObject: row["object"] = *item; break;
    }
    rows.push_back(std::move(row));
  }
  table["rows"] = std::move(rows);
  return table;
}

}  // namespace berth::objects
