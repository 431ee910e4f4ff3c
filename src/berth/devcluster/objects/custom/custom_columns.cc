// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/custom/custom_columns.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "berth/base/text.h"
#include "berth/base/time.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::objects {
namespace {

constexpr int kJsonPathStepsMax = 64;

// ".name" up to the next "." or "[", with "\" before characters that are meant; takes it off `path`.
std::string TakeName(std::string_view& path) {
  std::string name;
  while (!path.empty() && path.front() != '.' && path.front() != '[') {
    if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
    name += path.front();
    path.remove_prefix(1);
  }
  return name;
}

std::optional<std::string_view> WithoutQuotes(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front())
    return std::nullopt;
  return text.substr(1, text.size() - 2);
}

class PathReader {
 public:
  const json::value* Find(const json::value& value, std::string_view path) {
    if (path.empty()) return &value;
    if (++steps_ > kJsonPathStepsMax * 1024) return nullptr;
    if (path.front() == '.') {
      path.remove_prefix(1);
      if (path.empty()) return &value;
      if (path.front() != '[') {
        const std::string name = TakeName(path);
        const json::object* object = value.if_object();
        const json::value* member = object == nullptr ? nullptr : FindMember(*object, name);
        return member == nullptr ? nullptr : Find(*member, path);
      }
    }
    if (path.front() != '[') return nullptr;
    const std::size_t end = EndOfBracket(path);
    if (end == std::string_view::npos) return nullptr;
    const std::string_view inside = Trim(path.substr(1, end - 1));
    return FindInside(value, inside, path.substr(end + 1));
  }

 private:
  // The "]" that closes the bracket at the start; those in quotes do not count.
  static std::size_t EndOfBracket(std::string_view path) {
    char quote = 0;
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (quote != 0) {
        if (path[i] == quote) quote = 0;
      } else if (path[i] == '"' || path[i] == '\'') {
        quote = path[i];
      } else if (path[i] == ']') {
        return i;
      }
    }
    return std::string_view::npos;
  }

  const json::value* FindInside(const json::value& value, std::string_view inside, std::string_view rest) {
    if (const auto name = WithoutQuotes(inside)) {
      const json::object* object = value.if_object();
      const json::value* member = object == nullptr ? nullptr : FindMember(*object, *name);
      return member == nullptr ? nullptr : Find(*member, rest);
    }
    const json::array* array = value.if_array();
    if (array == nullptr) return nullptr;
    if (inside == "*") return FirstOf(*array, rest, {}, {});
    if (inside.starts_with("?(") && inside.ends_with(")")) {
      inside = inside.substr(2, inside.size() - 3);
      const std::size_t equals = inside.find("==");
      if (!inside.starts_with("@") || equals == std::string_view::npos) return nullptr;
      return FirstOf(*array, rest, Trim(inside.substr(1, equals - 1)), Trim(inside.substr(equals + 2)));
    }
    std::int64_t index = 0;
    const auto [end, failure] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
    if (failure != std::errc() || end != inside.data() + inside.size()) return nullptr;
    if (index < 0) index += static_cast<std::int64_t>(array->size());
    if (index < 0 || index >= static_cast<std::int64_t>(array->size())) return nullptr;
    return Find((*array)[static_cast<std::size_t>(index)], rest);
  }

  // The first value at `rest` in an element whose value at `filter` is `wanted`; without a filter in any element.
  const json::value* FirstOf(const json::array& array, std::string_view rest, std::string_view filter,
                             std::string_view wanted) {
    for (const json::value& each : array) {
      if (!filter.empty()) {
        const json::value* at = Find(each, filter);
        const auto text = WithoutQuotes(wanted);
        const bool fits = at != nullptr &&
                          (text ? at->is_string() && View(at->get_string()) == *text : json::serialize(*at) == wanted);
        if (!fits) continue;
      }
      if (const json::value* found = Find(each, rest)) return found;
    }
    return nullptr;
  }

  int steps_ = 0;
};

json::value Cell(const json::value* value, std::string_view type, std::int64_t now_seconds) {
  if (value == nullptr || value->is_null()) return nullptr;
  if (type == "integer") return value->is_number() ? *value : json::value(nullptr);
  if (type == "number") return value->is_number() ? *value : json::value(nullptr);
  if (type == "boolean") return value->is_bool() ? *value : json::value(nullptr);
  if (type == "date") {
    const auto time = value->is_string() ? ParseRfc3339(View(value->get_string())) : std::nullopt;
    if (!time) return "<unknown>";
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count();
    return json::string(HumanDuration(now_seconds - seconds));
  }
  return value->is_string() ? *value : json::value(json::string(json::serialize(*value)));
}

}  // namespace

const json::value* FindByJsonPath(const json::object& object, std::string_view path) {
  if (path.starts_with('{') && path.ends_with('}')) path = path.substr(1, path.size() - 2);
  if (path.starts_with('$')) path.remove_prefix(1);
  // The first step is the object's own.
  if (!path.starts_with('.')) return nullptr;
  path.remove_prefix(1);
  const std::string name = TakeName(path);
  const json::value* member = FindMember(object, name);
  return member == nullptr ? nullptr : PathReader().Find(*member, path);
}

CustomColumns ColumnsOf(const json::object& version) {
  CustomColumns made;
  made.columns.push_back({"Name", "string", "name",
                          "Name must be unique within a namespace. Is required when creating resources, although some "
                          "resources may allow a client to request the generation of an appropriate name "
                          "automatically.",
                          0});
  const json::array* columns = ArrayMember(version, "additionalPrinterColumns");
  if (columns == nullptr || columns->empty()) {
    made.columns.push_back({"Age", "date", "",
                            "CreationTimestamp is a timestamp representing the server time when this object was "
                            "created.",
                            0});
    made.paths.emplace_back(".metadata.creationTimestamp");
    return made;
  }
  for (const json::value& each : *columns) {
    const json::object* column = each.if_object();
    if (column == nullptr) continue;
    TableColumn made_column{std::string(StringMember(*column, "name")), std::string(StringMember(*column, "type")),
                            std::string(StringMember(*column, "format")),
                            std::string(StringMember(*column, "description")), 0};
    if (const json::value* priority = FindMember(*column, "priority"); priority != nullptr && priority->is_int64()) {
      made_column.priority = static_cast<int>(std::clamp<std::int64_t>(priority->get_int64(), 0, 1'000'000));
    }
    made.columns.push_back(std::move(made_column));
    made.paths.emplace_back(StringMember(*column, "jsonPath"));
  }
  return made;
}

json::array CustomColumns::Row(const json::object& object, std::int64_t now_seconds) const {
  json::array cells;
  const json::object* metadata = ObjectMember(object, "metadata");
  cells.push_back(json::string(metadata == nullptr ? std::string_view() : StringMember(*metadata, "name")));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    cells.push_back(Cell(FindByJsonPath(object, paths[i]), columns[i + 1].type, now_seconds));
  }
  return cells;
}

}  // namespace berth::objects
