// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/schema.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "berth/api/quantity.h"
#include "berth/base/check.h"
#include "berth/base/time.h"
#include "berth/devcluster/objects/schema_tables.h"

namespace berth::objects {
namespace {

// Splits off the next piece of `text` before `separator`; an empty text has no more pieces.
std::string_view TakeUntil(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

struct Tables {
  std::vector<SchemaType> types;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> by_name;  // {"core", "PodSpec"}
};

const std::map<std::string_view, SchemaKind>& ScalarKinds() {
  static const std::map<std::string_view, SchemaKind> kKinds = {{"string", SchemaKind::kString},
                                                                {"int32", SchemaKind::kInt32},
                                                                {"int64", SchemaKind::kInt64},
                                                                {"number", SchemaKind::kNumber},
                                                                {"bool", SchemaKind::kBool},
                                                                {"bytes", SchemaKind::kBytes},
                                                                {"time", SchemaKind::kTime},
                                                                {"microtime", SchemaKind::kMicroTime},
                                                                {"quantity", SchemaKind::kQuantity},
                                                                {"intorstring", SchemaKind::kIntOrString},
                                                                {"any", SchemaKind::kAny}};
  return kKinds;
}

int ParseNumber(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  BERTH_CHECK(number > 0, digits);
  return number;
}

// "containers:[]Container/name!#2" of a type of package `package`.
SchemaField ParseField(std::string_view token, std::string_view package, const Tables& tables) {
  SchemaField field;
  const std::size_t colon = token.find(':');
  BERTH_CHECK(colon != std::string_view::npos, token);
  field.name = token.substr(0, colon);
  std::string_view rest = token.substr(colon + 1);
  if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos) {
    std::string_view number = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
    if (number.find('.') != std::string_view::npos) field.inline_number = ParseNumber(TakeUntil(number, "."));
    field.number = ParseNumber(number);
  }
  if (rest.ends_with('!')) {
    field.required = true;
    rest.remove_suffix(1);
  }
  if (rest.ends_with('~')) {
    field.retain_keys = true;
    rest.remove_suffix(1);
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    field.merge_key = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (rest.starts_with('*')) {
    field.is_pointer = true;
    rest.remove_prefix(1);
  }
  if (rest.starts_with("[]")) field.shape = SchemaShape::kList;
  if (rest.starts_with("{}")) field.shape = SchemaShape::kMap;
  if (field.shape != SchemaShape::kSingle) rest.remove_prefix(2);
  if (const auto scalar = ScalarKinds().find(rest); scalar != ScalarKinds().end()) {
    field.kind = scalar->second;
    return field;
  }
  field.kind = SchemaKind::kObject;
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos) {
    package = rest.substr(0, dot);
    rest = rest.substr(dot + 1);
  }
  const auto found = tables.by_name.find({package, rest});
  BERTH_CHECK(found != tables.by_name.end(), token);
  field.type = &tables.types[found->second];
  return field;
}

Tables ReadTables() {
  Tables tables;
  std::vector<SchemaParagraph> paragraphs;
  for (const std::string_view text : internal::SchemaTexts()) {
    for (SchemaParagraph& each : ReadParagraphs(text)) paragraphs.push_back(std::move(each));
  }
  for (const SchemaParagraph& each : paragraphs) {
    tables.by_name[{each.package, each.name}] = tables.types.size();
    tables.types.push_back(SchemaType{each.package_path, each.package, each.name, {}});
  }
  // Second pass: the addresses of all types are final.
  for (std::size_t i = 0; i < paragraphs.size(); ++i) {
    for (const std::string_view token : paragraphs[i].tokens) {
      tables.types[i].fields.push_back(ParseField(token, paragraphs[i].package, tables));
    }
    std::sort(tables.types[i].fields.begin(), tables.types[i].fields.end(),
              [](const SchemaField& a, const SchemaField& b) { return a.name < b.name; });
  }
  return tables;
}

// Sets has_quantities by going over all fields until nothing changes any more.
void MarkQuantities(Tables& tables) {
  const auto has_some = [](const SchemaType& type) {
    return std::any_of(type.fields.begin(), type.fields.end(),
                       [](const SchemaField& field) { return field.has_quantities; });
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (SchemaType& type : tables.types) {
      for (SchemaField& field : type.fields) {
        if (field.has_quantities) continue;
        field.has_quantities = field.kind == SchemaKind::kQuantity || (field.type != nullptr && has_some(*field.type));
        has_changed = has_changed || field.has_quantities;
      }
    }
  }
}

const Tables& AllTables() {
  static const Tables kTables = [] {
    Tables tables = ReadTables();
    MarkQuantities(tables);
    return tables;
  }();
  return kTables;
}

// "apps", "core", "rbac"; with the version behind it where it is not v1, "autoscalingv2".
std::string PackageOf(std::string_view group, std::string_view version) {
  std::string package(group.empty() ? "core" : group.substr(0, group.find('.')));
  if (version != "v1") package += version;
  return package;
}

std::string Join(const std::string& path, std::string_view field) {
  return path.empty() ? std::string(field) : path + "." + std::string(field);
}

// Calls visit(value, path) on each object below a field's value that is of an object type.
template <typename Value, typename Visit>
void ForEachObject(const SchemaField& field, Value& value, const std::string& path, const Visit& visit) {
  if (field.kind != SchemaKind::kObject || field.type == nullptr) return;
  if (field.shape == SchemaShape::kSingle) {
    if (value.is_object()) visit(value.get_object(), path);
  } else if (field.shape == SchemaShape::kList) {
    if (!value.is_array()) return;
    std::size_t index = 0;
    for (auto& element : value.get_array()) {
      if (element.is_object()) visit(element.get_object(), path + "[" + std::to_string(index) + "]");
      ++index;
    }
  } else {
    if (!value.is_object()) return;
    for (auto&& pair : value.get_object()) {
      if (pair.value().is_object()) visit(pair.value().get_object(), Join(path, pair.key()));
    }
  }
}

bool HasUnknown(const SchemaType& type, const json::object& object);

bool HasUnknownBelow(const SchemaField& field, const json::value& value, SchemaShape shape) {
  if (field.kind != SchemaKind::kObject || field.type == nullptr) return false;
  const auto is_unknown_in = [&](const json::value& element) {
    return HasUnknownBelow(field, element, SchemaShape::kSingle);
  };
  if (const json::array* list = value.if_array(); list != nullptr && shape == SchemaShape::kList) {
    return std::any_of(list->begin(), list->end(), is_unknown_in);
  }
  const json::object* object = value.if_object();
  if (object == nullptr || shape == SchemaShape::kList) return false;
  if (shape == SchemaShape::kSingle) return HasUnknown(*field.type, *object);
  return std::any_of(object->begin(), object->end(), [&](const auto& entry) { return is_unknown_in(entry.value()); });
}

// Whether CollectUnknown() would find something, at less cost: the usual document has no unknown field, and needs no
// paths.
bool HasUnknown(const SchemaType& type, const json::object& object) {
  return std::any_of(object.begin(), object.end(), [&](const auto& entry) {
    const SchemaField* field = type.Find(entry.key());
    return field == nullptr || HasUnknownBelow(*field, entry.value(), field->shape);
  });
}

void CollectUnknown(const SchemaType& type, const json::object& object, const std::string& path,
                    std::vector<std::string>& unknown) {
  for (const auto& [key, value] : object) {
    if (unknown.size() >= kUnknownFieldsMax) return;
    const SchemaField* field = type.Find(key);
    if (field == nullptr) {
      unknown.push_back("unknown field \"" + Join(path, key) + "\"");
      continue;
    }
    ForEachObject(*field, value, Join(path, key), [&](const json::object& below, const std::string& below_path) {
      CollectUnknown(*field->type, below, below_path, unknown);
    });
  }
}

// Takes the members out for which `is_gone`, in time that is linear: taking one out of an object and keeping the order
// of the others moves all that come after it.
template <typename IsGone>
void EraseMembers(json::object& object, const IsGone& is_gone) {
  if (std::none_of(object.begin(), object.end(), is_gone)) return;
  json::object kept(object.storage());
  for (auto& entry : object) {
    if (!is_gone(entry)) kept.emplace(entry.key(), std::move(entry.value()));
  }
  object = std::move(kept);
}

void DropUnknown(const SchemaType& type, json::object& object) {
  EraseMembers(object, [&](const auto& entry) { return type.Find(entry.key()) == nullptr; });
  for (auto& entry : object) {
    const SchemaField* field = type.Find(entry.key());
    ForEachObject(*field, entry.value(), std::string(),
                  [&](json::object& below, const std::string&) { DropUnknown(*field->type, below); });
  }
}

// --- Types of values -------------------------------------------------------------------------------------------------

// The Go type that an upstream server would have decoded the value into; it appears in its messages.
std::string GoType(const SchemaField& field, SchemaShape shape) {
  if (shape == SchemaShape::kMap) return "map[string]" + GoType(field, SchemaShape::kSingle);
  if (shape == SchemaShape::kList) return "[]" + GoType(field, SchemaShape::kSingle);
  switch (field.kind) {
    case SchemaKind::kString:
    case SchemaKind::kTime:
    case SchemaKind::kMicroTime: return "string";
    case SchemaKind::kInt32:
    case SchemaKind::kIntOrString: return "int32";
    case SchemaKind::kInt64: return "int64";
    case SchemaKind::kNumber: return "float64";
    case SchemaKind::kBool: return "bool";
    case SchemaKind::kBytes: return "[]uint8";
    case SchemaKind::kQuantity: return "resource.Quantity";
    case SchemaKind::kAny: return "map[string]interface {}";
    case SchemaKind::kObject: break;
  }
  return "v1." + std::string(field.type->name);
}

std::string JsonKind(const json::value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return "number";
}

bool FitsInteger(const json::value& value, bool is_int32) {
  if (value.is_uint64()) return false;  // above the range of int64, or Boost.JSON would have made it one
  if (!value.is_int64()) return false;
  return !is_int32 || (value.get_int64() >= std::numeric_limits<std::int32_t>::min() &&
                       value.get_int64() <= std::numeric_limits<std::int32_t>::max());
}

// Where base64 text stops being base64; nullopt when it is fine.
std::optional<std::size_t> BadBase64At(std::string_view text) {
  std::size_t i = 0;
  const auto is_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  while (i < text.size() && is_digit(text[i])) ++i;
  std::size_t padding = 0;
  while (i + padding < text.size() && text[i + padding] == '=' && padding < 2) ++padding;
  if (i + padding != text.size() || (i + padding) % 4 != 0) return i;
  return std::nullopt;
}

class TypeChecker {
 public:
  std::optional<std::string> Check(const SchemaType& type, const json::object& object) {
    for (const auto& [key, value] : object) {
      const SchemaField* field = type.Find(key);
      if (field == nullptr || value.is_null()) continue;
      const std::size_t size_before = path_.size();
      if (!path_.empty()) path_ += '.';
      path_.append(key.data(), key.size());
      if (auto wrong = CheckField(type, *field, value, path_)) return At(key, std::move(wrong));
      path_.resize(size_before);
    }
    return std::nullopt;
  }

  // The field that was wrong: "spec.containers[0].resources.requests[cpu]", which is more than upstream's messages say.
  const std::string& field() const { return field_; }
  // What is wrong with it when it is a quantity: upstream's message does not say which text it is.
  const std::optional<std::string>& quantity_message() const { return quantity_message_; }

 private:
  // Puts one more step in front of the path to what is wrong.
  std::optional<std::string> At(std::string_view step, std::optional<std::string> wrong) {
    if (!field_.empty() && field_.front() != '[') field_.insert(0, ".");
    field_.insert(0, step);
    return wrong;
  }

  std::optional<std::string> CheckField(const SchemaType& owner, const SchemaField& field, const json::value& value,
                                        const std::string& path) {
    if (field.shape == SchemaShape::kList) {
      if (!value.is_array()) return Wrong(owner, field, SchemaShape::kList, value, path);
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        if (auto wrong = CheckOne(owner, field, value.get_array()[i], path))
          return At('[' + std::to_string(i) + ']', std::move(wrong));
      }
      return std::nullopt;
    }
    if (field.shape == SchemaShape::kMap) {
      if (!value.is_object()) return Wrong(owner, field, SchemaShape::kMap, value, path);
      for (const auto& pair : value.get_object()) {
        if (auto wrong = CheckOne(owner, field, pair.value(), path))
          return At('[' + std::string(pair.key()) + ']', std::move(wrong));
      }
      return std::nullopt;
    }
    return CheckOne(owner, field, value, path);
  }

  std::optional<std::string> CheckOne(const SchemaType& owner, const SchemaField& field, const json::value& value,
                                      const std::string& path) {
    if (value.is_null()) return std::nullopt;
    bool fits = true;
    switch (field.kind) {
      case SchemaKind::kString: fits = value.is_string(); break;
      case SchemaKind::kBool: fits = value.is_bool(); break;
      case SchemaKind::kNumber: fits = value.is_number(); break;
      case SchemaKind::kInt32: fits = FitsInteger(value, true); break;
      case SchemaKind::kInt64: fits = FitsInteger(value, false); break;
      case SchemaKind::kIntOrString: fits = value.is_string() || FitsInteger(value, true); break;
      case SchemaKind::kAny: break;
      case SchemaKind::kBytes:
        fits = value.is_string();
        if (!fits) break;
        if (const auto at = BadBase64At(value.get_string())) {
          return "illegal base64 data at input byte " + std::to_string(*at);
        }
        break;
      case SchemaKind::kTime:
      case SchemaKind::kMicroTime:
        fits = value.is_string();
        if (fits && !value.get_string().empty() && !ParseRfc3339(value.get_string())) {
          const std::string text(value.get_string());
          return "parsing time \"" + text + "\" as \"" +
                 (field.kind == SchemaKind::kTime ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00") +
                 "\": cannot parse \"" + text + "\" as \"2006\"";
        }
        break;
      case SchemaKind::kQuantity: return CheckQuantity(value);
      case SchemaKind::kObject:
        fits = value.is_object();
        if (fits) return Check(*field.type, value.get_object());
        break;
    }
    return fits ? std::nullopt : Wrong(owner, field, SchemaShape::kSingle, value, path);
  }

  std::optional<std::string> CheckQuantity(const json::value& value) {
    const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
    const auto quantity = api::Quantity::Parse(text);
    if (quantity.ok()) return std::nullopt;
    quantity_message_ = quantity.error().message;
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  }

  static std::optional<std::string> Wrong(const SchemaType& owner, const SchemaField& field, SchemaShape shape,
                                          const json::value& value, const std::string& path) {
    std::string what = JsonKind(value);
    // A number of the right kind but with a fraction or out of range is named itself.
    const bool wants_integer =
        shape == SchemaShape::kSingle && (field.kind == SchemaKind::kInt32 || field.kind == SchemaKind::kInt64 ||
                                          field.kind == SchemaKind::kIntOrString);
    if (value.is_number() && wants_integer) what += " " + json::serialize(value);
    return "json: cannot unmarshal " + what + " into Go struct field " + std::string(owner.name) + "." + path +
           " of type " + GoType(field, shape);
  }

  std::string path_;  // of the value at hand, as upstream has it
  std::string field_;
  std::optional<std::string> quantity_message_;
};

void DropNullsIn(json::value& value) {
  if (value.is_object()) DropNulls(value.get_object());
  if (!value.is_array()) return;
  json::array& array = value.get_array();
  array.erase(std::remove_if(array.begin(), array.end(), [](const json::value& element) { return element.is_null(); }),
              array.end());
  for (json::value& element : array) DropNullsIn(element);
}

}  // namespace

const SchemaField* SchemaType::Find(std::string_view field) const {
  const auto found = std::lower_bound(fields.begin(), fields.end(), field,
                                      [](const SchemaField& a, std::string_view b) { return a.name < b; });
  return found != fields.end() && found->name == field ? &*found : nullptr;
}

const std::vector<SchemaType>& SchemaTypes() { return AllTables().types; }

const SchemaType* FindSchemaType(std::string_view short_package, std::string_view name) {
  const Tables& tables = AllTables();
  const auto found = tables.by_name.find({short_package, name});
  return found == tables.by_name.end() ? nullptr : &tables.types[found->second];
}

const SchemaType* FindSchema(std::string_view group, std::string_view version, std::string_view kind) {
  return FindSchemaType(PackageOf(group, version), kind);
}

const SchemaType* FindMetaSchema(std::string_view name) { return FindSchemaType("meta", name); }

std::vector<SchemaParagraph> ReadParagraphs(std::string_view text) {
  std::vector<SchemaParagraph> paragraphs;
  std::string_view package;
  std::string_view package_path;
  while (!text.empty()) {
    std::string_view line = TakeUntil(text, "\n");
    if (line.empty()) continue;
    if (line.front() == '@') {
      line.remove_prefix(1);
      package = TakeUntil(line, " ");
      package_path = line;
      continue;
    }
    if (line.front() != ' ') paragraphs.push_back({package_path, package, TakeUntil(line, " "), {}});
    while (!line.empty()) {
      // Spaces in braces are part of a token.
      std::size_t end = line.find(' ');
      if (const std::size_t brace = line.find('{'); brace < end) end = line.find(' ', line.find('}', brace));
      const std::string_view token = line.substr(0, end);
      if (!token.empty()) paragraphs.back().tokens.push_back(token);
      line.remove_prefix(std::min(token.size() + 1, line.size()));
    }
  }
  return paragraphs;
}

std::vector<std::string> UnknownFields(const ResourceType& type, const json::object& object) {
  std::vector<std::string> unknown;
  if (const SchemaType* schema = FindSchema(type.group, type.version, type.kind);
      schema != nullptr && HasUnknown(*schema, object)) {
    CollectUnknown(*schema, object, std::string(), unknown);
  }
  return unknown;
}

void DropUnknownFields(const ResourceType& type, json::object& object) {
  if (const SchemaType* schema = FindSchema(type.group, type.version, type.kind)) DropUnknown(*schema, object);
}

std::optional<std::string> WrongType(const ResourceType& type, const json::object& object) {
  const SchemaType* schema = FindSchema(type.group, type.version, type.kind);
  if (schema == nullptr) return std::nullopt;
  return TypeChecker().Check(*schema, object);
}

std::optional<WrongField> FindWrongField(const ResourceType& type, const json::object& object) {
  const SchemaType* schema = FindSchema(type.group, type.version, type.kind);
  if (schema == nullptr) return std::nullopt;
  TypeChecker checker;
  auto wrong = checker.Check(*schema, object);
  if (!wrong) return std::nullopt;
  return WrongField{checker.field(), checker.quantity_message().value_or(*std::move(wrong))};
}

std::string WrongTypeMessage(const ResourceType& type, std::string_view error) {
  return type.kind + " in version \"" + type.version + "\" cannot be handled as a " + type.kind + ": " +
         std::string(error);
}

void DropNulls(json::object& object) {
  EraseMembers(object, [](const auto& entry) { return entry.value().is_null(); });
  for (auto& entry : object) DropNullsIn(entry.value());
}

std::string_view PatchMergeKey(std::string_view kind, std::string_view path) {
  const SchemaType* type = nullptr;
  for (const SchemaType& candidate : SchemaTypes()) {
    // Kinds are unique but for Event, whose two forms have no merged lists but those of the metadata.
    if (candidate.name == kind && candidate.Find("kind") != nullptr) {
      type = &candidate;
      break;
    }
  }
  const SchemaField* field = nullptr;
  while (type != nullptr && !path.empty()) {
    field = type->Find(TakeUntil(path, "."));
    if (field == nullptr) return {};
    // The key of a map is a path element of its own, except where the map itself is asked for.
    if (field->shape == SchemaShape::kMap && !path.empty()) TakeUntil(path, ".");
    type = field->type;
  }
  return field != nullptr && path.empty() ? field->merge_key : std::string_view();
}

}  // namespace berth::objects
