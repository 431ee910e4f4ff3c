// SPDX-License-Identifier: Apache-2.0
// Validation by rules: tables say what each field of a type must be, in the order in which errors are reported, and
// name functions for what a table cannot say. The format stands in rules.cc. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects::internal {

using Errors = std::vector<FieldError>;

// Errors in upstream's words.
FieldError Required(std::string field, std::string_view detail = "");
FieldError Invalid(std::string field, const json::value& value, std::string_view detail);
FieldError Forbidden(std::string field, std::string_view detail);
FieldError Duplicate(std::string field, const json::value& value);
FieldError NotSupported(std::string field, const json::value& value, const std::vector<std::string_view>& supported);

// The errors of one validation, and the values that must not come twice in an object, by a name for what they are.
struct Findings {
  Errors errors;
  std::map<std::pair<const json::object*, std::string_view>, std::set<std::string>> seen;
};

// A value of the document that is validated, present or not, and where it stands. Places refer to those above them,
// which must outlive them.
class Place {
 public:
  // The whole object; `old` is null on create. Errors name it as `step`.
  Place(const SchemaType& type, const json::object& object, const json::object* old, Findings& findings,
        std::string_view step = {});

  // The member, or one further below ("spec.names.plural").
  Place operator[](std::string_view member) const&;
  Place operator[](std::string_view member) const&& = delete;
  Place Element(std::size_t index) const&;
  // The entry of a map, which errors show in brackets, or as if it were a field.
  Place Entry(std::string_view key) const&;
  Place Field(std::string_view key) const&;
  // The same place with another object than the document has, and with another one before the update (null: none).
  Place WithObject(const json::object& object) const;
  Place WithOld(const json::object* old) const;

  // --- What stands here ---
  bool is_set() const { return value_ != nullptr; }
  const json::value& value() const;    // null when it is absent
  const json::object& object() const;  // empty for anything else
  const json::array& array() const;
  std::string_view text() const;
  std::int64_t number() const;
  bool flag() const { return value_ != nullptr && *value_ == json::value(true); }
  bool Has(std::string_view member) const { return FindMember(object(), member) != nullptr; }

  // --- What stood here before an update ---
  bool is_update() const { return is_update_; }
  const json::value& old() const;
  const json::object& old_object() const;
  bool IsSame() const { return value() == old(); }
  // Whether other members of the object than these differ; an absent one is as good as null.
  bool DiffersBeyond(const std::set<std::string_view>& free_members) const;

  // --- Where it is ---
  std::string Path() const;
  std::string_view step() const { return step_; }
  const Place& up() const { return *up_; }
  // The nearest object of this type that the place is in; null when it is in none.
  const Place* Above(std::string_view type) const;
  const Place& root() const { return up_ == nullptr ? *this : up_->root(); }

  // --- Errors about it ---
  void Required(std::string_view detail = "") const;
  void Invalid(const json::value& shown, std::string_view detail) const;
  void Invalid(std::string_view detail) const { Invalid(value(), detail); }
  // One for each reason.
  void AddInvalid(std::string_view shown, const std::vector<std::string>& reasons) const;
  void Forbidden(std::string_view detail) const;
  void Duplicate(const json::value& shown) const;
  void NotFound(const json::value& shown, std::string_view detail = "") const;
  void NotSupported(const json::value& shown, const std::vector<std::string_view>& supported) const;
  void TooMany(std::size_t count, std::size_t most) const;
  void TooLong(std::size_t bytes_max) const;
  Errors& errors() const { return findings_->errors; }

  // --- Checks ---
  // What the rules say of the object: those of its type, or those of that name in the type's package.
  void Walk(std::string_view rules = {}) const;
  // False when the value came before in this object, under the same name for what it is.
  bool IsFirst(std::string_view what, std::string value) const;
  // False, with an error, when a member's text is that of the same member of an element before, in this list or in
  // another list of the same type in the same object.
  bool CheckUnique() const;
  // The elements' texts of this member differ, but for empty ones.
  void CheckKeys(std::string_view key) const;

  template <typename Check>
  void ForEach(const Check& check) const {
    for (std::size_t i = 0; i < array().size(); ++i) check(Element(i));
  }
  // Checks each of the strings, of which there are at most `most` and no two alike.
  template <typename Check>
  void ForEachUnique(std::size_t most, const Check& check) const {
    if (array().size() > most) return TooMany(array().size(), most);
    std::set<std::string_view> seen;
    ForEach([&](const Place& each) {
      check(each);
      if (!seen.insert(each.text()).second) each.Duplicate(json::value(each.text()));
    });
  }

 private:
  Place() = default;
  // The place of `member`, which errors call `step`.
  Place Member(std::string_view member, std::string_view step) const;
  const SchemaType* FindType() const;
  bool IsEmpty(const SchemaField& field) const;
  // False when the place's other marks are not to be looked at.
  bool Keeps(const struct Mark& mark, const SchemaField& field) const;
  void CheckNumber(const Mark& mark, const SchemaField& field) const;
  void Report(FieldError error) const { findings_->errors.push_back(std::move(error)); }

  Findings* findings_ = nullptr;
  const Place* up_ = nullptr;
  std::string_view step_;             // the member's name in errors; empty: errors name what it is in
  std::optional<std::size_t> index_;  // of an element
  bool is_entry_ = false;
  const SchemaType* type_ = nullptr;      // set while the rules of the type are walked
  const json::object* object_ = nullptr;  // the value as an object; of the whole document it is all there is
  const json::value* value_ = nullptr;    // null: absent
  const json::value* old_ = nullptr;
  const json::object* old_object_ = nullptr;
  bool is_update_ = false;
};

// The rules of some types, and the functions that they name with @.
struct RuleSet {
  std::string_view text;
  std::vector<std::pair<std::string_view, void (*)(const Place&)>> functions;
};

// What the rules say of an object of the type; `old` is null on create. No rules, no errors.
Errors Validate(const SchemaType& type, const json::object& object, const json::object* old);

}  // namespace berth::objects::internal
