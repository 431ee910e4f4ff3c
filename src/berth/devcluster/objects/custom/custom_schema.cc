// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/custom/custom_schema.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <re2/re2.h>

#include "berth/base/time.h"
#include "berth/base/utf8.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects {
namespace {

bool IsSet(const json::object& schema, std::string_view name) {
  const json::value* value = FindMember(schema, name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::object* Below(const json::object* schema, std::string_view map, std::string_view name) {
  const json::object* members = schema == nullptr ? nullptr : ObjectMember(*schema, map);
  return members == nullptr ? nullptr : ObjectMember(*members, name);
}

bool KeepsUnknown(const json::object& schema) {
  return IsSet(schema, "x-kubernetes-preserve-unknown-fields") || IsSet(schema, "additionalProperties");
}

// The schema of a member; null: it has none.
const json::object* MemberSchema(const json::object& schema, std::string_view name) {
  if (const json::object* property = Below(&schema, "properties", name)) return property;
  return ObjectMember(schema, "additionalProperties");
}

// The members that every object of the API has.
bool IsTypeMeta(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

std::string Join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + '.' + std::string(name);
}

RE2::Options PatternOptions() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

// Calls visit(schema, field) on a schema and all below it, in the form in which errors name them.
template <typename Visit>
void ForEachSchema(const json::object& schema, const std::string& field, const Visit& visit) {
  visit(schema, field);
  if (const json::object* properties = ObjectMember(schema, "properties")) {
    for (const auto& [key, value] : *properties) {
      if (const json::object* each = value.if_object())
        ForEachSchema(*each, field + ".properties[" + std::string(key) + ']', visit);
    }
  }
  for (const char* name : {"items", "additionalProperties"}) {
    if (const json::object* each = ObjectMember(schema, name)) ForEachSchema(*each, field + '.' + name, visit);
  }
}

void PruneObject(const json::object& schema, bool is_root, json::object& object, const std::string& path,
                 std::vector<std::string>& unknown);

void PruneValue(const json::object& schema, json::value& value, const std::string& path,
                std::vector<std::string>& unknown) {
  if (json::object* object = value.if_object()) {
    PruneObject(schema, IsSet(schema, "x-kubernetes-embedded-resource"), *object, path, unknown);
  } else if (json::array* array = value.if_array()) {
    const json::object* items = ObjectMember(schema, "items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < array->size(); ++i) {
      PruneValue(*items, (*array)[i], path + '[' + std::to_string(i) + ']', unknown);
    }
  }
}

void PruneObject(const json::object& schema, bool is_root, json::object& object, const std::string& path,
                 std::vector<std::string>& unknown) {
  json::object kept(object.storage());
  bool has_dropped = false;
  for (auto& entry : object) {
    const bool is_meta = is_root && IsTypeMeta(entry.key());
    const json::object* member = is_meta ? nullptr : MemberSchema(schema, entry.key());
    if (!is_meta && member == nullptr && !KeepsUnknown(schema)) {
      has_dropped = true;
      if (unknown.size() < kCustomErrorsMax) unknown.push_back("unknown field \"" + Join(path, entry.key()) + '"');
      continue;
    }
    if (member != nullptr) {
      // A null that may not be stands for what is filled in.
      if (entry.value().is_null() && !IsSet(*member, "nullable") && member->contains("default")) {
        has_dropped = true;
        continue;
      }
      PruneValue(*member, entry.value(), Join(path, entry.key()), unknown);
    }
    kept.emplace(entry.key(), std::move(entry.value()));
  }
  if (has_dropped || kept.size() != object.size()) {
    object = std::move(kept);
    return;
  }
  object.swap(kept);
}

std::size_t Bytes(const json::value& value) { return json::serialize(value).size(); }

void FillInValue(const json::object& schema, json::value& value, std::size_t& room) {
  if (json::array* array = value.if_array()) {
    const json::object* items = ObjectMember(schema, "items");
    if (items == nullptr) return;
    for (json::value& each : *array) FillInValue(*items, each, room);
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return;
  if (const json::object* properties = ObjectMember(schema, "properties")) {
    for (const auto& [key, property] : *properties) {
      const json::object* member = property.if_object();
      const json::value* otherwise = member == nullptr ? nullptr : FindMember(*member, "default");
      if (otherwise == nullptr || object->contains(key)) continue;
      const std::size_t bytes = Bytes(*otherwise);
      if (bytes > room) return;  // the object gets too large to be stored
      room -= bytes;
      object->emplace(key, *otherwise);
    }
  }
  for (auto& entry : *object) {
    if (const json::object* member = MemberSchema(schema, entry.key())) FillInValue(*member, entry.value(), room);
  }
}

std::string KindOf(const json::value& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.is_double() ? "number" : "integer";
}

bool IsOfType(const json::value& value, std::string_view type) {
  const std::string kind = KindOf(value);
  if (kind == type || (type == "number" && kind == "integer")) return true;
  return type == "integer" && value.is_double() && std::trunc(value.get_double()) == value.get_double();
}

std::optional<double> Number(const json::object& schema, std::string_view name) {
  const json::value* value = FindMember(schema, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

}  // namespace

class CustomSchema::Validator {
 public:
  explicit Validator(const CustomSchema& schema) : schema_(schema) {}

  void Check(const json::object& schema, const json::value& value, const std::string& path, bool is_root = false) {
    if (errors_.size() >= kCustomErrorsMax) return;
    if (value.is_null() && IsSet(schema, "nullable")) return;
    const bool is_int_or_string = IsSet(schema, "x-kubernetes-int-or-string");
    const std::string_view type = StringMember(schema, "type");
    if (is_int_or_string ? !IsOfType(value, "integer") && !value.is_string()
                         : !type.empty() && !IsOfType(value, type)) {
      const std::string want = is_int_or_string ? "integer,string" : std::string(type);
      Invalid(path, json::string(KindOf(value)),
              path + " in body must be of type " + want + ": \"" + KindOf(value) + '"');
      return;
    }
    if (const json::array* allowed = ArrayMember(schema, "enum"); allowed != nullptr && !Has(*allowed, value)) {
      std::vector<std::string> texts;
      for (const json::value& each : *allowed) {
        texts.push_back(each.is_string() ? std::string(View(each.get_string())) : json::serialize(each));
      }
      errors_.push_back(internal::NotSupported(path, value, {texts.begin(), texts.end()}));
    }
    if (value.is_string()) CheckString(schema, View(value.get_string()), path);
    if (value.is_number()) CheckNumber(schema, value, path);
    if (value.is_array()) CheckArray(schema, value.get_array(), path);
    if (value.is_object()) CheckObject(schema, value.get_object(), path, is_root);
    CheckCombined(schema, value, path);
  }

  std::vector<FieldError> Take() { return std::move(errors_); }

 private:
  static bool Has(const json::array& list, const json::value& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }

  void Invalid(const std::string& path, const json::value& value, const std::string& why) {
    errors_.push_back(internal::Invalid(path.empty() ? "<nil>" : path, value, why));
  }

  void CheckString(const json::object& schema, std::string_view text, const std::string& path) {
    const json::value shown = json::string(text);
    const std::size_t length = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (const auto least = Number(schema, "minLength"); least && static_cast<double>(length) < *least) {
      Invalid(path, shown, path + " in body should be at least " + Whole(*least) + " chars long");
    }
    if (const auto most = Number(schema, "maxLength"); most && static_cast<double>(length) > *most) {
      errors_.push_back({path, "FieldValueTooLong", "Too long: may not be more than " + Whole(*most) + " bytes"});
    }
    if (const std::string_view pattern = StringMember(schema, "pattern"); !pattern.empty()) {
      const auto found = schema_.patterns_.find(std::string(pattern));
      if (found != schema_.patterns_.end() && !RE2::PartialMatch({text.data(), text.size()}, *found->second)) {
        Invalid(path, shown, path + " in body should match '" + std::string(pattern) + '\'');
      }
    }
    if (StringMember(schema, "format") == "date-time" && !ParseRfc3339(text)) {
      Invalid(path, shown, path + " in body must be of type date-time: " + json::serialize(shown));
    }
  }

  void CheckNumber(const json::object& schema, const json::value& value, const std::string& path) {
    const double number = value.to_number<double>();
    if (const auto least = Number(schema, "minimum")) {
      const bool is_exclusive = IsSet(schema, "exclusiveMinimum");
      if (number < *least || (is_exclusive && number == *least)) {
        Invalid(path, value,
                path + " in body should be greater than " + (is_exclusive ? "" : "or equal to ") + Whole(*least));
      }
    }
    if (const auto most = Number(schema, "maximum")) {
      const bool is_exclusive = IsSet(schema, "exclusiveMaximum");
      if (number > *most || (is_exclusive && number == *most)) {
        Invalid(path, value,
                path + " in body should be less than " + (is_exclusive ? "" : "or equal to ") + Whole(*most));
      }
    }
    if (const auto step = Number(schema, "multipleOf"); step && *step > 0 && std::fmod(number, *step) != 0) {
      Invalid(path, value, path + " in body should be a multiple of " + Whole(*step));
    }
  }

  void CheckArray(const json::object& schema, const json::array& array, const std::string& path) {
    if (const auto least = Number(schema, "minItems"); least && static_cast<double>(array.size()) < *least) {
      Invalid(path, static_cast<std::int64_t>(array.size()),
              path + " in body should have at least " + Whole(*least) + " items");
    }
    if (const auto most = Number(schema, "maxItems"); most && static_cast<double>(array.size()) > *most) {
      errors_.push_back(
          {path, "FieldValueTooMany",
           "Too many: " + std::to_string(array.size()) + ": must have at most " + Whole(*most) + " items"});
      return;
    }
    const std::string_view list = StringMember(schema, "x-kubernetes-list-type");
    if (list == "set" || list == "map") CheckUnique(schema, array, path);
    if (const json::object* items = ObjectMember(schema, "items")) {
      for (std::size_t i = 0; i < array.size(); ++i) Check(*items, array[i], path + '[' + std::to_string(i) + ']');
    }
  }

  void CheckUnique(const json::object& schema, const json::array& array, const std::string& path) {
    const json::array* keys = ArrayMember(schema, "x-kubernetes-list-map-keys");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      json::value identity = array[i];
      if (keys != nullptr && array[i].is_object()) {
        json::object found;
        for (const json::value& key : *keys) {
          if (!key.is_string()) continue;
          if (const json::value* value = FindMember(array[i].get_object(), View(key.get_string())))
            found[key.get_string()] = *value;
        }
        identity = std::move(found);
      }
      if (!seen.insert(json::serialize(identity)).second) {
        errors_.push_back(internal::Duplicate(path + '[' + std::to_string(i) + ']', identity));
      }
    }
  }

  void CheckObject(const json::object& schema, const json::object& object, const std::string& path, bool is_root) {
    if (const json::array* required = ArrayMember(schema, "required")) {
      for (const json::value& name : *required) {
        if (name.is_string() && !object.contains(name.get_string())) {
          errors_.push_back(internal::Required(Join(path, View(name.get_string()))));
        }
      }
    }
    const double size = static_cast<double>(object.size());
    if (const auto least = Number(schema, "minProperties"); least && size < *least) {
      Invalid(path, object, path + " in body should have at least " + Whole(*least) + " properties");
    }
    if (const auto most = Number(schema, "maxProperties"); most && size > *most) {
      errors_.push_back(
          {path, "FieldValueTooMany",
           "Too many: " + std::to_string(object.size()) + ": must have at most " + Whole(*most) + " items"});
    }
    for (const auto& [key, value] : object) {
      if (is_root && IsTypeMeta(key)) continue;
      if (const json::object* member = MemberSchema(schema, key)) Check(*member, value, Join(path, key));
    }
  }

  // How many schemas of a list the value fits.
  std::size_t CountFits(const json::array& schemas, const json::value& value) {
    std::size_t fits = 0;
    for (const json::value& each : schemas) {
      if (each.is_object() && Fits(each.get_object(), value)) ++fits;
    }
    return fits;
  }

  bool Fits(const json::object& schema, const json::value& value) {
    Validator inner(schema_);
    inner.Check(schema, value, "");
    return inner.errors_.empty();
  }

  void CheckCombined(const json::object& schema, const json::value& value, const std::string& path) {
    const json::array* all = ArrayMember(schema, "allOf");
    const json::array* any = ArrayMember(schema, "anyOf");
    const json::array* one = ArrayMember(schema, "oneOf");
    const json::object* none = ObjectMember(schema, "not");
    const std::string where = path.empty() ? "\"\"" : '"' + path + '"';
    if (all != nullptr) {
      for (const json::value& each : *all) {
        if (each.is_object()) Check(each.get_object(), value, path);
      }
    }
    if (any != nullptr && CountFits(*any, value) == 0) {
      Invalid(path, value, where + " must validate at least one schema (anyOf)");
    }
    if (one != nullptr && CountFits(*one, value) != 1) {
      Invalid(path, value,
              where + " must validate one and only one schema (oneOf). Found " +
                  (CountFits(*one, value) == 0 ? "none" : "more than one") + " valid");
    }
    if (none != nullptr && Fits(*none, value)) Invalid(path, value, where + " must not validate the schema (not)");
  }

  static std::string Whole(double number) {
    return std::trunc(number) == number && std::abs(number) < 1e15 ? std::to_string(static_cast<std::int64_t>(number))
                                                                   : json::serialize(json::value(number));
  }

  const CustomSchema& schema_;
  std::vector<FieldError> errors_;
};

CustomSchema::CustomSchema(json::object schema) : schema_(std::move(schema)) {
  const auto add = [&](const json::object& each, const std::string&) {
    const std::string pattern(StringMember(each, "pattern"));
    if (pattern.empty() || patterns_.contains(pattern)) return;
    auto compiled = std::make_unique<RE2>(pattern, PatternOptions());
    if (compiled->ok()) patterns_.emplace(pattern, std::move(compiled));
  };
  ForEachSchema(schema_, "", add);
}

CustomSchema::~CustomSchema() = default;

std::vector<std::string> CustomSchema::Prune(json::object& object) const {
  std::vector<std::string> unknown;
  PruneObject(schema_, true, object, "", unknown);
  return unknown;
}

void CustomSchema::FillIn(json::object& object) const {
  std::size_t room = kDefaultedBytesMax;
  json::value value(std::move(object));
  FillInValue(schema_, value, room);
  object = std::move(value.get_object());
}

std::vector<FieldError> CustomSchema::Validate(const json::object& object) const {
  Validator validator(*this);
  validator.Check(schema_, json::value(object), "", true);
  return validator.Take();
}

std::vector<FieldError> CheckStructural(const json::object& schema, const std::string& field) {
  std::vector<FieldError> errors;
  const auto check = [&](const json::object& each, const std::string& at) {
    if (errors.size() >= kCustomErrorsMax) return;
    const bool is_root = at == field;
    const bool may_be_any =
        IsSet(each, "x-kubernetes-int-or-string") || IsSet(each, "x-kubernetes-preserve-unknown-fields");
    if (StringMember(each, "type").empty() && (is_root || !may_be_any)) {
      errors.push_back(internal::Required(
          at + ".type", is_root ? "must not be empty at the root" : "must not be empty for specified object fields"));
    } else if (is_root && StringMember(each, "type") != "object") {
      errors.push_back(
          internal::Invalid(at + ".type", json::string(StringMember(each, "type")), "must be object at the root"));
    }
    if (StringMember(each, "type") == "array" && ObjectMember(each, "items") == nullptr) {
      errors.push_back(internal::Required(at + ".items", "must be specified"));
    }
    if (const std::string pattern(StringMember(each, "pattern")); !pattern.empty()) {
      if (const RE2 compiled(pattern, PatternOptions()); !compiled.ok()) {
        errors.push_back(internal::Invalid(at + ".pattern", json::string(pattern),
                                           "must be a valid regular expression, but isn't: " + compiled.error()));
      }
    }
  };
  ForEachSchema(schema, field, check);
  return errors;
}

std::string UncheckedParts(const json::object& schema) {
  bool has_rules = false;
  std::set<std::string> formats;
  ForEachSchema(schema, "", [&](const json::object& each, const std::string&) {
    has_rules = has_rules || each.contains("x-kubernetes-validations");
    const std::string_view format = StringMember(each, "format");
    if (!format.empty() && format != "date-time" && format != "int32" && format != "int64" && format != "double" &&
        format != "float" && formats.size() < kCustomErrorsMax) {
      formats.emplace(format);
    }
  });
  std::string text = has_rules ? "x-kubernetes-validations" : "";
  if (!formats.empty()) text += text.empty() ? "the format" : " and the format";
  if (formats.size() > 1) text += 's';
  bool is_first = true;
  for (const std::string& format : formats) {
    text += (is_first ? " " : ", ") + format;
    is_first = false;
  }
  return text;
}

}  // namespace berth::objects
