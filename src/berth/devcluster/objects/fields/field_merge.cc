// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/field_merge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "berth/base/expected.h"
#include "berth/devcluster/objects/object.h"

namespace berth::objects {
namespace {

using Kind = FieldType::Kind;

std::string FieldElement(std::string_view name) { return "f:" + std::string(name); }

bool IsMapLike(Kind kind) { return kind == Kind::kStruct || kind == Kind::kMap || kind == Kind::kAny; }
bool IsList(Kind kind) { return kind == Kind::kKeyedList || kind == Kind::kSet; }

bool IsEmptyValue(const json::value& value) {
  if (const json::object* object = value.if_object()) return object->empty();
  const json::array* array = value.if_array();
  return value.is_null() || (array != nullptr && array->empty());
}

// --- Identities of elements ------------------------------------------------------------------------------------------

class Identities {
 public:
  explicit Identities(const FieldType& list) : is_set_(list.kind() == Kind::kSet), keys_(list.Keys()) {}

  // The path element of a list's element, or why it has none.
  Expected<std::string> Of(const json::value& element) const {
    if (is_set_) {
      if (element.is_object()) return InvalidError("associative list without keys has an element that's a map type");
      if (element.is_array()) return InvalidError("not supported: associative list with lists as elements");
      if (element.is_null())
        return InvalidError("associative list without keys has an element that's an explicit null");
      return "v:" + json::serialize(element);
    }
    const json::object* object = element.if_object();
    if (object == nullptr) return InvalidError("associative list with keys may not have non-map elements");
    json::object found;
    for (const ListKey& key : keys_) {
      if (const json::value* value = FindMember(*object, key.name)) {
        found[key.name] = *value;
      } else if (!key.otherwise.is_null()) {
        found[key.name] = key.otherwise;
      }
    }
    if (found.empty()) {
      std::string names;
      for (const ListKey& key : keys_) names += (names.empty() ? "\"" : " \"") + key.name + '"';
      return InvalidError("associative list with keys has an element that omits all key fields [" + names +
                          "] (and doesn't have default values for any key fields)");
    }
    return "k:" + json::serialize(found);
  }

  // The identities of all elements; empty for an element that has none.
  std::vector<std::string> OfAll(const json::array& list) const {
    std::vector<std::string> all;
    all.reserve(list.size());
    for (const json::value& element : list) {
      auto identity = Of(element);
      all.push_back(identity.ok() ? *std::move(identity) : std::string());
    }
    return all;
  }

 private:
  const bool is_set_;
  const std::vector<ListKey> keys_;
};

// --- Checking --------------------------------------------------------------------------------------------------------

class Checker {
 public:
  void Check(const FieldType& type, const json::value& value) {
    if (errors_.size() >= kFieldErrorsMax || value.is_null()) return;
    if (const std::string wrong = WrongType(type.Expects(), value); !wrong.empty()) {
      Add(wrong);
      return;
    }
    if (type.Expects() == "map" && type.kind() != Kind::kWhole) {
      CheckObject(type, value.get_object());
    } else if (IsList(type.kind())) {
      CheckList(type, value.get_array());
    }
  }

  void CheckObject(const FieldType& type, const json::object& object) {
    for (const auto& [key, member] : object) {
      const std::size_t before = path_.size();
      path_ += '.';
      path_ += key;
      if (type.IsClosed() && !type.Declares(key)) {
        Add("field not declared in schema");
      } else {
        Check(type.Member(key), member);
      }
      path_.resize(before);
    }
  }

  std::vector<std::string> Take() { return std::move(errors_); }

 private:
  void CheckList(const FieldType& type, const json::array& list) {
    const Identities identities(type);
    const FieldType element_type = type.kind() == Kind::kKeyedList ? type.Element() : FieldType();
    absl::flat_hash_set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto identity = identities.Of(list[i]);
      if (!identity.ok()) {
        Add("element " + std::to_string(i) + ": " + identity.error().message);
        continue;
      }
      const std::string text = ElementText(*identity);
      if (!seen.insert(*identity).second) Add("duplicate entries for key " + text);
      if (type.kind() == Kind::kSet) continue;
      const std::size_t before = path_.size();
      path_ += text;
      Check(element_type, list[i]);
      path_.resize(before);
    }
  }

  static std::string GoKind(const json::value& value) {
    if (value.is_string()) return "string";
    if (value.is_bool()) return "bool";
    if (value.is_object()) return "map[string]interface {}";
    if (value.is_array()) return "[]interface {}";
    return value.is_double() ? "float64" : "int64";
  }

  static std::string WrongType(std::string_view expected, const json::value& value) {
    const std::string text = json::serialize(value).substr(0, 100);
    if (expected == "numeric" && !value.is_number()) return "expected numeric (int or float), got " + GoKind(value);
    if (expected == "string" && !value.is_string()) {
      return "expected string, got &value.valueUnstructured{Value:" + text + '}';
    }
    if (expected == "boolean" && !value.is_bool()) return "expected boolean, got " + text;
    if (expected == "scalar" && (value.is_object() || value.is_array())) return "expected any scalar, got " + text;
    if (expected == "map" && !value.is_object()) return "expected map, got &{" + text + '}';
    if (expected == "list" && !value.is_array()) return "expected list, got &{" + text + '}';
    return {};
  }

  void Add(const std::string& what) {
    if (errors_.size() < kFieldErrorsMax) errors_.push_back(path_ + ": " + what);
  }

  std::string path_;
  std::vector<std::string> errors_;
};

// --- Merging ---------------------------------------------------------------------------------------------------------

void MergeInto(const FieldType& type, json::value& live, const json::value& applied);

void MergeObjects(const FieldType& type, json::object& live, const json::object& applied) {
  for (const auto& [key, value] : applied) {
    json::value* mine = live.if_contains(key);
    if (mine == nullptr) {
      live.emplace(key, value);
    } else {
      MergeInto(type.Member(key), *mine, value);
    }
  }
}

json::array MergeLists(const FieldType& type, const json::array& live, const json::array& applied) {
  const Identities identities(type);
  const std::vector<std::string> live_ids = identities.OfAll(live);
  const std::vector<std::string> applied_ids = identities.OfAll(applied);
  absl::flat_hash_map<std::string_view, std::size_t> in_live;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (!live_ids[i].empty()) in_live.try_emplace(live_ids[i], i);
  }
  const absl::flat_hash_set<std::string_view> in_applied(applied_ids.begin(), applied_ids.end());
  std::vector<std::string_view> shared;  // in the order in which they come out
  for (const std::string& id : applied_ids) {
    if (in_live.contains(id)) shared.push_back(id);
  }
  const FieldType element_type = type.kind() == Kind::kKeyedList ? type.Element() : FieldType();
  json::array merged;
  std::size_t at = 0;
  std::size_t next_shared = 0;
  // Puts the live list's own elements out up to where the next shared one stands.
  const auto advance = [&] {
    for (; at < live.size(); ++at) {
      if (next_shared < shared.size() && live_ids[at] == shared[next_shared]) return;
      if (!in_applied.contains(live_ids[at])) merged.push_back(live[at]);
    }
  };
  for (std::size_t i = 0; i < applied.size(); ++i) {
    advance();
    const auto mine = in_live.find(applied_ids[i]);
    if (mine == in_live.end()) {
      merged.push_back(applied[i]);
      continue;
    }
    merged.push_back(live[mine->second]);
    MergeInto(element_type, merged.back(), applied[i]);
    ++next_shared;
    if (at == mine->second) ++at;
  }
  advance();
  return merged;
}

void MergeInto(const FieldType& type, json::value& live, const json::value& applied) {
  if (IsMapLike(type.kind()) && live.is_object() && applied.is_object()) {
    MergeObjects(type, live.get_object(), applied.get_object());
  } else if (IsList(type.kind()) && live.is_array() && applied.is_array()) {
    live = MergeLists(type, live.get_array(), applied.get_array());
  } else {
    live = applied;
  }
}

// --- Fields ----------------------------------------------------------------------------------------------------------

FieldSet FieldsOfValue(const FieldType& type, const json::value& value);

FieldSet FieldsOfObject(const FieldType& type, const json::object& object) {
  FieldSet set;
  for (const auto& [key, value] : object) {
    FieldSet below = FieldsOfValue(type.Member(key), value);
    const json::object* members = value.if_object();
    if (!type.Declares(key) || (members != nullptr && members->empty())) below.is_member = true;
    set.Add(FieldElement(key), std::move(below));
  }
  return set;
}

FieldSet FieldsOfValue(const FieldType& type, const json::value& value) {
  FieldSet set;
  if (IsMapLike(type.kind()) && value.is_object()) return FieldsOfObject(type, value.get_object());
  if (IsList(type.kind()) && value.is_array()) {
    const std::vector<std::string> ids = Identities(type).OfAll(value.get_array());
    const FieldType element_type = type.kind() == Kind::kKeyedList ? type.Element() : FieldType();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].empty()) continue;
      FieldSet below;
      // An identity that several have belongs to whoever owns the element as a whole.
      if (type.kind() == Kind::kKeyedList && set.Find(ids[i]) == nullptr) {
        below = FieldsOfValue(element_type, value.get_array()[i]);
      }
      below.is_member = true;
      set.Add(ids[i], std::move(below));
    }
    return set;
  }
  set.is_member = true;
  return set;
}

// --- Comparing -------------------------------------------------------------------------------------------------------

FieldChanges Compare(const FieldType& type, const json::value* before, const json::value* after);

void Add(FieldChanges& changes, const std::string& element, FieldChanges below) {
  changes.added.Add(element, std::move(below.added));
  changes.modified.Add(element, std::move(below.modified));
  changes.removed.Add(element, std::move(below.removed));
}

FieldChanges CompareObjects(const FieldType& type, const json::object* before, const json::object* after) {
  FieldChanges changes;
  if (before != nullptr) {
    for (const auto& [key, value] : *before) {
      const json::value* now = after == nullptr ? nullptr : after->if_contains(key);
      Add(changes, FieldElement(key), Compare(type.Member(key), &value, now));
    }
  }
  if (after != nullptr) {
    for (const auto& [key, value] : *after) {
      if (before != nullptr && before->contains(key)) continue;
      Add(changes, FieldElement(key), Compare(type.Member(key), nullptr, &value));
    }
  }
  return changes;
}

FieldChanges CompareLists(const FieldType& type, const json::array* before, const json::array* after) {
  const Identities identities(type);
  const FieldType element_type = type.kind() == Kind::kKeyedList ? type.Element() : FieldType();
  const json::array none;
  const json::array& old_list = before == nullptr ? none : *before;
  const json::array& new_list = after == nullptr ? none : *after;
  const std::vector<std::string> old_ids = identities.OfAll(old_list);
  const std::vector<std::string> new_ids = identities.OfAll(new_list);
  absl::flat_hash_map<std::string_view, std::size_t> in_new;
  absl::flat_hash_set<std::string_view> in_old;
  for (std::size_t i = 0; i < new_ids.size(); ++i) in_new.try_emplace(new_ids[i], i);
  FieldChanges changes;
  for (std::size_t i = 0; i < old_ids.size(); ++i) {
    if (old_ids[i].empty() || !in_old.insert(old_ids[i]).second) continue;
    const auto now = in_new.find(old_ids[i]);
    Add(changes, old_ids[i],
        Compare(element_type, &old_list[i], now == in_new.end() ? nullptr : &new_list[now->second]));
  }
  for (const auto& [id, index] : in_new) {
    if (id.empty() || in_old.contains(id)) continue;
    Add(changes, std::string(id), Compare(element_type, nullptr, &new_list[index]));
  }
  return changes;
}

FieldChanges Compare(const FieldType& type, const json::value* before, const json::value* after) {
  const bool has_old = before != nullptr && !IsEmptyValue(*before);
  const bool has_new = after != nullptr && !IsEmptyValue(*after);
  const auto fits = [&](const json::value* value, bool is_list) {
    return value == nullptr || (is_list ? value->is_array() : value->is_object()) || value->is_null();
  };
  const bool as_list = IsList(type.kind()) && fits(before, true) && fits(after, true);
  const bool as_object = IsMapLike(type.kind()) && fits(before, false) && fits(after, false);
  FieldChanges changes;
  if ((as_list || as_object) && (has_old || has_new)) {
    changes = as_list ? CompareLists(type, before == nullptr ? nullptr : before->if_array(),
                                     after == nullptr ? nullptr : after->if_array())
                      : CompareObjects(type, before == nullptr ? nullptr : before->if_object(),
                                       after == nullptr ? nullptr : after->if_object());
    if (before == nullptr) changes.added.is_member = true;
    if (after == nullptr) changes.removed.is_member = true;
    return changes;
  }
  if (before == nullptr) {
    changes.added.is_member = true;
  } else if (after == nullptr) {
    changes.removed.is_member = true;
  } else if (*before != *after) {
    changes.modified.is_member = true;
  }
  return changes;
}

// --- Removing --------------------------------------------------------------------------------------------------------

// Nullopt when nothing is left.
std::optional<json::value> Without(const FieldType& type, const json::value& value, const FieldSet& fields) {
  if (fields.children.empty()) return value;
  if (IsMapLike(type.kind()) && value.is_object()) {
    json::object kept;
    for (const auto& [key, member] : value.get_object()) {
      const FieldSet* gone = fields.Find(FieldElement(key));
      if (gone == nullptr) {
        kept.emplace(key, member);
      } else if (!gone->is_member) {
        if (auto left = Without(type.Member(key), member, *gone)) kept.emplace(key, *std::move(left));
      }
    }
    if (kept.empty()) return std::nullopt;
    return json::value(std::move(kept));
  }
  if (IsList(type.kind()) && value.is_array()) {
    const std::vector<std::string> ids = Identities(type).OfAll(value.get_array());
    const FieldType element_type = type.kind() == Kind::kKeyedList ? type.Element() : FieldType();
    json::array kept;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const json::value& element = value.get_array()[i];
      const FieldSet* gone = fields.Find(ids[i]);
      if (gone == nullptr) {
        kept.push_back(element);
      } else if (!gone->is_member) {
        if (auto left = Without(element_type, element, *gone)) kept.push_back(*std::move(left));
      }
    }
    if (kept.empty()) return std::nullopt;
    return json::value(std::move(kept));
  }
  return value;
}

}  // namespace

std::vector<std::string> CheckConfiguration(const FieldType& type, const json::object& configuration) {
  Checker checker;
  checker.CheckObject(type, configuration);
  return checker.Take();
}

json::object MergeConfiguration(const FieldType& type, const json::object& live, const json::object& applied) {
  json::object merged = live;
  MergeObjects(type, merged, applied);
  return merged;
}

FieldSet FieldsOf(const FieldType& type, const json::object& document) { return FieldsOfObject(type, document); }

FieldChanges CompareFields(const FieldType& type, const json::object& before, const json::object& after) {
  return CompareObjects(type, &before, &after);
}

json::object WithoutFields(const FieldType& type, const json::object& document, const FieldSet& fields) {
  auto left = Without(type, json::value(document), fields);
  return left ? std::move(left->get_object()) : json::object();
}

FieldSet WithDeclaredMembers(const FieldType& type, FieldSet set) {
  for (auto& [element, child] : set.children) {
    const bool is_name = element.front() == 'f';
    const std::string_view name = std::string_view(element).substr(2);
    if (is_name && type.Declares(name)) child.is_member = true;
    FieldType below;
    if (is_name) {
      below = type.Member(name);
    } else if (type.kind() == Kind::kKeyedList) {
      below = type.Element();
    }
    child = WithDeclaredMembers(below, std::move(child));
  }
  return set;
}

json::object BareObject(const FieldType& type) {
  constexpr std::array<std::string_view, 7> kAlways = {"metadata", "spec",           "status",     "template",
                                                       "strategy", "updateStrategy", "jobTemplate"};
  json::object bare;
  for (const std::string_view name : kAlways) {
    const FieldType member = type.Member(name);
    if (type.Declares(name) && member.kind() == Kind::kStruct) bare[name] = BareObject(member);
  }
  if (type.table() == nullptr) return bare;
  // Lists that have to be there are written as null where they are not.
  for (const SchemaField& field : type.table()->fields) {
    if (field.required && field.shape == SchemaShape::kList) bare[field.name] = nullptr;
  }
  return bare;
}

}  // namespace berth::objects
