// SPDX-License-Identifier: Apache-2.0
// The cells and columns that the rows of many kinds share.
#include "berth/devcluster/objects/rows/cells.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::objects::internal {

const json::object& Spec(const json::object& object) { return Part(object, "spec"); }
const json::object& StatusOf(const json::object& object) { return Part(object, "status"); }
const json::object& Metadata(const json::object& object) { return Part(object, "metadata"); }
bool IsBeingDeleted(const json::object& object) { return !StringMember(Metadata(object), "deletionTimestamp").empty(); }

json::string Text(std::string_view text) { return json::string(text); }
std::string_view Or(std::string_view text, std::string_view otherwise) { return text.empty() ? otherwise : text; }
json::string Name(const json::object& object) { return Text(StringMember(Metadata(object), "name")); }

json::string Since(std::optional<std::int64_t> seconds, std::int64_t now_seconds) {
  return seconds ? json::string(HumanDuration(now_seconds - *seconds)) : Text(kUnknown);
}

json::string Age(const json::object& object, std::int64_t now_seconds) {
  return Since(SecondsOf(Metadata(object), "creationTimestamp"), now_seconds);
}

std::string Plain(const json::value* value) {
  if (value == nullptr) return {};
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

void Append(std::string& list, std::string_view piece) {
  if (!list.empty()) list += ',';
  list += piece;
}

std::string JoinStrings(const json::object& object, std::string_view member) {
  std::string joined;
  if (const json::array* list = ArrayMember(object, member)) {
    for (const json::value& each : *list) Append(joined, Plain(&each));
  }
  return joined;
}

std::string Pairs(const json::object& labels) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : labels) sorted[std::string(key)] = Plain(&value);
  std::string text;
  for (const auto& [key, value] : sorted) Append(text, key + "=" + value);
  return std::string(Or(text, kNone));
}

std::string SelectorText(const json::object& owner) {
  const json::object* selector = ObjectMember(owner, "selector");
  if (selector == nullptr) return std::string(kNone);
  std::multimap<std::string, std::string> pieces;
  for (const auto& [key, value] : Part(*selector, "matchLabels")) {
    pieces.emplace(key, std::string(key) + "=" + Plain(&value));
  }
  for (const json::object* each : ObjectsOf(*selector, "matchExpressions")) {
    const std::string key(StringMember(*each, "key"));
    const std::string_view op = StringMember(*each, "operator");
    std::string list;
    const std::vector<std::string_view> values = StringsOf(*each, "values");
    for (const std::string_view value : std::set(values.begin(), values.end())) Append(list, value);
    if (op == "In") pieces.emplace(key, key + " in (" + list + ")");
    if (op == "NotIn") pieces.emplace(key, key + " notin (" + list + ")");
    if (op == "Exists") pieces.emplace(key, key);
    if (op == "DoesNotExist") pieces.emplace(key, "!" + key);
  }
  std::string text;
  for (const auto& [key, piece] : pieces) Append(text, piece);
  return std::string(Or(text, kNone));
}

std::pair<std::string, std::string> ContainersOf(const json::object& owner) {
  std::string names;
  std::string images;
  const char* separator = "";
  for (const json::object* container : ObjectsOf(Part(Part(owner, "template"), "spec"), "containers")) {
    names.append(separator) += StringMember(*container, "name");
    images.append(separator) += StringMember(*container, "image");
    separator = ",";
  }
  return {names, images};
}

TableColumn Column(std::string name, std::string type, std::string description, int priority) {
  const bool is_name = name == "Name";
  return {std::move(name), std::move(type), is_name ? "name" : "", std::move(description), priority};
}

TableColumn NameColumn(int priority) {
  return Column("Name", "string", "The object's name, unique among its kind (in its namespace).", priority);
}
TableColumn AgeColumn() { return Column("Age", "string", "Time since the object was created."); }
TableColumn SelectorColumn() { return Column("Selector", "string", "Label selector of the pods.", 1); }
TableColumn ContainersColumn() { return Column("Containers", "string", "Names of the template's containers.", 1); }
TableColumn ImagesColumn() { return Column("Images", "string", "Images of the template's containers.", 1); }

}  // namespace berth::objects::internal
