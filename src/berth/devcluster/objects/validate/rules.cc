// SPDX-License-Identifier: Apache-2.0
// The rules have the form of the schema tables (schema_tables.cc): "@short" opens a package, and a type has a paragraph
//
//   Type member<marks> member<marks> @Function ...
//
// A member may be one further below ("spec.scope"). Errors are reported in the order of the text. @Function is called
// with the object. A paragraph "Type.part" holds only where a function asks for it (Place::Walk). Marks are looked at
// from left to right; to stop means that the marks behind are not looked at:
//
//   <step>    errors call the member `step`; behind "$." stands the whole path; with <> they name the object around it
//   *         stop when the member is absent
//   ?         stop when the member is empty, as "", 0 and [] are
//   +         stop when an object is updated
//   !         the member must not be empty; stop when it is
//   =A|B      the text is empty or one of these, or each text of a list is one of these; errors name the list
//   ==A|B     the text is one of these
//   :syntax   the text, or each text of a list, keeps to a syntax of names (kSyntaxes)
//   >=0  >0  (1..9)  (..9)   the number is in this range, or a text has at most this many bytes
//   #9        the list has at most 9 elements; stop when it has more
//   /         the rules of its type hold for the member, or for each element
//   &         no other element of the list has the same text; stop when one has
//   &key      the elements' keys differ
//   ^         an update must not change the member
//   ~         the same, where the object that it is in was there before; errors do not show the value; stop on an error
//   @Function is called with the member
//
// ! and ranges may be followed by the error's detail in braces. |a|b in place of a member: the object has exactly one
// of them.
#include "berth/devcluster/objects/validate/rules.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "berth/api/names.h"
#include "berth/base/check.h"
#include "berth/base/text.h"
#include "berth/devcluster/objects/metadata_validation.h"
#include "berth/devcluster/objects/validate/cluster.h"
#include "berth/devcluster/objects/validate/device.h"
#include "berth/devcluster/objects/validate/pod.h"
#include "berth/devcluster/objects/validate/pod_group.h"
#include "berth/devcluster/objects/validate/pod_update.h"
#include "berth/devcluster/objects/validate/scheduling.h"
#include "berth/devcluster/objects/validate/storage.h"
#include "berth/devcluster/objects/validate/workload.h"

namespace berth::objects::internal {

// One mark of a rule.
struct Mark {
  char kind = 0;  // the mark's first character; '(' for every range, 'k' for &key, 's' for ==
  std::string_view text;
  std::string detail;
  std::vector<std::string_view> values;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> (*syntax)(std::string_view) = nullptr;
  void (*function)(const Place&) = nullptr;
};

namespace {

struct Rule {
  std::string_view member;  // empty: the object itself
  std::string_view step;
  const SchemaField* field = nullptr;
  std::vector<Mark> marks;
};

using Reasons = std::vector<std::string>;

// RBAC's names may hold colons and capitals; they only must be one segment of a path.
Reasons NotPathSegment(std::string_view text) {
  if (text == "." || text == "..") return {"may not be '" + std::string(text) + "'"};
  Reasons why;
  for (const char* each : {"/", "%"}) {
    if (text.find(each) != std::string_view::npos) why.push_back("may not contain '" + std::string(each) + "'");
  }
  return why;
}

constexpr std::pair<std::string_view, Reasons (*)(std::string_view)> kSyntaxes[] = {
    {"label", api::NotDnsLabel},        {"subdomain", api::NotDnsSubdomain}, {"qualified", api::NotQualifiedName},
    {"labelvalue", api::NotLabelValue}, {"port", api::NotPortName},          {"env", api::NotEnvVarName},
    {"segment", NotPathSegment}};

// --- Reading the tables ----------------------------------------------------------------------------------------------

using RulesByType = std::map<std::pair<std::string_view, std::string_view>, std::vector<Rule>>;
using Functions = std::map<std::string_view, void (*)(const Place&)>;

constexpr std::string_view kMarks = "<*?+!=:>(#/&^~@{|";

// Takes the text before the next of `ends`, which has to come unless the text may end.
std::string_view Take(std::string_view& rest, std::string_view ends) {
  const std::string_view taken = rest.substr(0, rest.find_first_of(ends));
  rest.remove_prefix(taken.size());
  return taken;
}

std::string_view TakeEnclosed(std::string_view& rest, char end) {
  const std::size_t size = rest.find(end);
  BERTH_CHECK(size != std::string_view::npos, rest);
  const std::string_view taken = rest.substr(0, size);
  rest.remove_prefix(size + 1);
  return taken;
}

std::int64_t ParseBound(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  BERTH_CHECK(error == std::errc() && end == digits.data() + digits.size(), digits);
  return number;
}

// What stands between the parentheses of a range.
void ParseRange(std::string_view range, Mark& mark) {
  const std::size_t dots = range.find("..");
  BERTH_CHECK(dots != std::string_view::npos, range);
  if (dots > 0) mark.least = ParseBound(range.substr(0, dots));
  mark.most = ParseBound(range.substr(dots + 2));
  mark.detail =
      dots == 0 ? "must be less than or equal to " + std::to_string(mark.most)
                : "must be between " + std::to_string(mark.least) + " and " + std::to_string(mark.most) + ", inclusive";
}

Mark ParseMark(std::string_view& rest, const Functions& functions) {
  Mark mark;
  mark.kind = rest.front();
  rest.remove_prefix(1);
  switch (mark.kind) {
    case '=':
      if (rest.front() == '=') {
        mark.kind = 's';
        rest.remove_prefix(1);
      }
      mark.values = Split(Take(rest, "<*?+!=:>(#/&^~@{"), '|');
      break;
    case ':':
    case '@': {
      mark.text = Take(rest, kMarks);
      const auto syntax = std::find_if(std::begin(kSyntaxes), std::end(kSyntaxes),
                                       [&](const auto& each) { return each.first == mark.text; });
      if (mark.kind == ':' && syntax != std::end(kSyntaxes)) mark.syntax = syntax->second;
      const auto function = functions.find(mark.text);
      if (mark.kind == '@' && function != functions.end()) mark.function = function->second;
      BERTH_CHECK(mark.syntax != nullptr || mark.function != nullptr, mark.text);
      break;
    }
    case '>': {
      const bool is_equal = rest.front() == '=';
      if (is_equal) rest.remove_prefix(1);
      const std::string_view digits = Take(rest, kMarks);
      mark.kind = '(';
      mark.least = ParseBound(digits) + (is_equal ? 0 : 1);
      mark.detail = (is_equal ? "must be greater than or equal to " : "must be greater than ") + std::string(digits);
      break;
    }
    case '(': ParseRange(TakeEnclosed(rest, ')'), mark); break;
    case '#': mark.most = ParseBound(Take(rest, kMarks)); break;
    case '&':
      mark.text = Take(rest, kMarks);
      if (!mark.text.empty()) mark.kind = 'k';
      break;
    default: BERTH_CHECK(std::string_view("*?+!/^~").find(mark.kind) != std::string_view::npos, mark.kind, rest);
  }
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    mark.detail = TakeEnclosed(rest, '}');
  }
  return mark;
}

// The field that a member of objects of `type` is, at the end of its path.
const SchemaField* FindField(const SchemaType& type, std::string_view member) {
  const std::string_view name = member.substr(0, member.find('.'));
  const SchemaField* field = type.Find(name);
  if (field == nullptr || name.size() == member.size()) return field;
  return field->type == nullptr ? nullptr : FindField(*field->type, member.substr(name.size() + 1));
}

Rule ParseRule(std::string_view token, const SchemaType& type, const Functions& functions) {
  Rule rule;
  std::string_view rest = token;
  if (rest.starts_with('|')) {
    rule.marks.push_back(Mark{.kind = '|', .values = Split(rest.substr(1), '|')});
    return rule;
  }
  rule.member = rule.step = Take(rest, kMarks);
  if (!rule.member.empty()) {
    rule.field = FindField(type, rule.member);
    BERTH_CHECK(rule.field != nullptr, type.name, token);
  }
  if (rest.starts_with('<')) {
    rest.remove_prefix(1);
    rule.step = TakeEnclosed(rest, '>');
  }
  while (!rest.empty()) rule.marks.push_back(ParseMark(rest, functions));
  return rule;
}

const RulesByType& AllRules() {
  static const RulesByType kRules = [] {
    const RuleSet sets[] = {PodRules(),    PodUpdateRules(), SchedulingRules(), StorageRules(), WorkloadRules(),
                            DeviceRules(), PodGroupRules(),  ClusterRules(),    MetadataRules()};
    Functions functions;
    for (const RuleSet& set : sets) {
      for (const auto& [name, function] : set.functions) {
        BERTH_CHECK(functions.emplace(name, function).second, name);
      }
    }
    RulesByType rules;
    for (const RuleSet& set : sets) {
      for (const SchemaParagraph& paragraph : ReadParagraphs(set.text)) {
        const SchemaType* type = FindSchemaType(paragraph.package, paragraph.name.substr(0, paragraph.name.find('.')));
        BERTH_CHECK(type != nullptr, paragraph.package, paragraph.name);
        std::vector<Rule>& of_type = rules[{type->short_package, paragraph.name}];
        for (const std::string_view token : paragraph.tokens) of_type.push_back(ParseRule(token, *type, functions));
      }
    }
    return rules;
  }();
  return kRules;
}

std::string WithDetail(std::string message, std::string_view detail) {
  if (!detail.empty()) message += ": " + std::string(detail);
  return message;
}

bool IsListed(const std::vector<std::string_view>& values, std::string_view text) {
  return std::find(values.begin(), values.end(), text) != values.end();
}

// Exactly one of the members is there; an empty list counts as absent.
void CheckUnion(const Place& place, const std::vector<std::string_view>& members) {
  std::vector<std::string_view> set;
  for (const std::string_view member : members) {
    const json::value* value = FindMember(place.object(), member);
    if (value != nullptr && *value != json::value(json::array())) set.push_back(member);
  }
  if (set.empty()) place.Invalid("", "must specify one of: " + Joined(members));
  if (set.size() > 1) {
    place.Invalid(json::value("{" + Joined(set) + "}"), "must specify exactly one of: " + Joined(members));
  }
}

}  // namespace

// --- Errors ----------------------------------------------------------------------------------------------------------

FieldError Required(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueRequired", WithDetail("Required value", detail)};
}

FieldError Invalid(std::string field, const json::value& value, std::string_view detail) {
  return {std::move(field), "FieldValueInvalid", WithDetail("Invalid value: " + json::serialize(value), detail)};
}

FieldError Forbidden(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueForbidden", WithDetail("Forbidden", detail)};
}

FieldError Duplicate(std::string field, const json::value& value) {
  return {std::move(field), "FieldValueDuplicate", "Duplicate value: " + json::serialize(value)};
}

FieldError NotSupported(std::string field, const json::value& value, const std::vector<std::string_view>& supported) {
  std::string list;
  for (const std::string_view each : supported) list += (list.empty() ? "\"" : ", \"") + std::string(each) + "\"";
  return {std::move(field), "FieldValueNotSupported",
          "Unsupported value: " + json::serialize(value) + ": supported values: " + list};
}

void Place::Required(std::string_view detail) const { Report(internal::Required(Path(), detail)); }

void Place::Invalid(const json::value& shown, std::string_view detail) const {
  Report(internal::Invalid(Path(), shown, detail));
}

void Place::AddInvalid(std::string_view shown, const std::vector<std::string>& reasons) const {
  for (const std::string& each : reasons) Invalid(json::value(shown), each);
}

void Place::Forbidden(std::string_view detail) const { Report(internal::Forbidden(Path(), detail)); }

void Place::Duplicate(const json::value& shown) const { Report(internal::Duplicate(Path(), shown)); }

void Place::NotFound(const json::value& shown, std::string_view detail) const {
  Report({Path(), "FieldValueNotFound", WithDetail("Not found: " + json::serialize(shown), detail)});
}

void Place::NotSupported(const json::value& shown, const std::vector<std::string_view>& supported) const {
  Report(internal::NotSupported(Path(), shown, supported));
}

void Place::TooMany(std::size_t count, std::size_t most) const {
  Report({Path(), "FieldValueTooMany",
          "Too many: " + std::to_string(count) + ": must have at most " + std::to_string(most) + " items"});
}

void Place::TooLong(std::size_t bytes_max) const {
  Report({Path(), "FieldValueTooLong", "Too long: may not be more than " + std::to_string(bytes_max) + " bytes"});
}

// --- Places ----------------------------------------------------------------------------------------------------------

Place::Place(const SchemaType& type, const json::object& object, const json::object* old, Findings& findings,
             std::string_view step)
    : findings_(&findings), step_(step), type_(&type), object_(&object), old_object_(old), is_update_(old != nullptr) {}

Place Place::Member(std::string_view member, std::string_view step) const {
  const std::string_view name = member.substr(0, member.find('.'));
  Place place = Field(name);
  if (name.size() < member.size()) place = place.Member(member.substr(name.size() + 1), step);
  place.up_ = this;
  place.step_ = step;
  return place;
}

Place Place::operator[](std::string_view member) const& { return Member(member, member); }

Place Place::Element(std::size_t index) const& {
  Place place;
  place.findings_ = findings_;
  place.up_ = this;
  place.index_ = index;
  place.value_ = &array()[index];
  place.object_ = place.value_->if_object();
  return place;
}

Place Place::Entry(std::string_view key) const& {
  Place place = Field(key);
  place.is_entry_ = true;
  return place;
}

Place Place::Field(std::string_view key) const& {
  Place place;
  place.findings_ = findings_;
  place.up_ = this;
  place.step_ = key;
  place.is_update_ = is_update_;
  place.value_ = FindMember(object(), key);
  place.old_ = FindMember(old_object(), key);
  place.object_ = place.value_ == nullptr ? nullptr : place.value_->if_object();
  place.old_object_ = place.old_ == nullptr ? nullptr : place.old_->if_object();
  return place;
}

Place Place::WithObject(const json::object& object) const {
  Place place = *this;
  place.object_ = &object;
  return place;
}

Place Place::WithOld(const json::object* old) const {
  Place place = *this;
  place.old_object_ = old;
  place.is_update_ = old != nullptr;
  return place;
}

const json::value& Place::value() const {
  static const json::value kNull;
  return value_ == nullptr ? kNull : *value_;
}

const json::value& Place::old() const {
  static const json::value kNull;
  return old_ == nullptr ? kNull : *old_;
}

const json::object& Place::object() const {
  static const json::object kEmpty;
  return object_ == nullptr ? kEmpty : *object_;
}

const json::object& Place::old_object() const {
  static const json::object kEmpty;
  return old_object_ == nullptr ? kEmpty : *old_object_;
}

const json::array& Place::array() const {
  static const json::array kEmpty;
  const json::array* array = value_ == nullptr ? nullptr : value_->if_array();
  return array == nullptr ? kEmpty : *array;
}

std::string_view Place::text() const {
  const json::string* text = value_ == nullptr ? nullptr : value_->if_string();
  return text == nullptr ? std::string_view() : View(*text);
}

std::int64_t Place::number() const {
  const std::int64_t* number = value_ == nullptr ? nullptr : value_->if_int64();
  return number == nullptr ? 0 : *number;
}

bool Place::DiffersBeyond(const std::set<std::string_view>& free_members) const {
  for (const json::object* side : {&object(), &old_object()}) {
    for (const auto& pair : *side) {
      if (!free_members.contains(pair.key()) && !Field(pair.key()).IsSame()) return true;
    }
  }
  return false;
}

std::string Place::Path() const {
  if (up_ == nullptr) return std::string(step_);
  if (step_.starts_with("$.")) return std::string(step_.substr(2));
  std::string path = up_->Path();
  if (index_) return path + '[' + std::to_string(*index_) + ']';
  if (is_entry_) return path + '[' + std::string(step_) + ']';
  if (!path.empty() && !step_.empty()) path += '.';
  return path + std::string(step_);
}

const Place* Place::Above(std::string_view type) const {
  const Place* at = up_;
  while (at != nullptr && (at->type_ == nullptr || at->type_->name != type)) at = at->up_;
  return at;
}

const SchemaType* Place::FindType() const {
  if (type_ != nullptr) return type_;
  const SchemaType* type = up_->FindType();
  if (index_ || is_entry_) return type;
  const SchemaField* field = type == nullptr ? nullptr : FindField(*type, step_);
  return field == nullptr ? nullptr : field->type;
}

// --- The walk --------------------------------------------------------------------------------------------------------

bool Place::IsEmpty(const SchemaField& field) const {
  if (field.shape == SchemaShape::kList) return array().empty();
  if (field.shape == SchemaShape::kMap) return object().empty();
  switch (field.kind) {
    case SchemaKind::kInt32:
    case SchemaKind::kInt64: return number() == 0;
    case SchemaKind::kString:
    case SchemaKind::kTime:
    case SchemaKind::kMicroTime: return text().empty();
    default: return !is_set();
  }
}

void Place::CheckNumber(const Mark& mark, const SchemaField& field) const {
  if (field.kind == SchemaKind::kString) {
    if (text().size() > static_cast<std::size_t>(mark.most)) TooLong(static_cast<std::size_t>(mark.most));
  } else if (number() < mark.least || number() > mark.most) {
    Invalid(number(), mark.detail);
  }
}

bool Place::Keeps(const Mark& mark, const SchemaField& field) const {
  const bool is_list = field.shape == SchemaShape::kList;
  switch (mark.kind) {
    case '*': return is_set();
    case '?': return !IsEmpty(field);
    case '+': return !is_update();
    case '!':
      if (!IsEmpty(field)) return true;
      Required(mark.detail);
      return false;
    case '=':
      if (is_list) {
        ForEach([&](const Place& each) {
          if (!IsListed(mark.values, each.text())) NotSupported(json::value(each.text()), mark.values);
        });
        return true;
      }
      if (!text().empty() && !IsListed(mark.values, text())) NotSupported(json::value(text()), mark.values);
      return true;
    case 's':
      if (!IsListed(mark.values, text())) NotSupported(json::value(text()), mark.values);
      return true;
    case ':':
      if (is_list) {
        ForEach([&](const Place& each) { each.AddInvalid(each.text(), mark.syntax(each.text())); });
      } else {
        AddInvalid(text(), mark.syntax(text()));
      }
      return true;
    case '(': CheckNumber(mark, field); return true;
    case '#':
      if (array().size() <= static_cast<std::size_t>(mark.most)) return true;
      TooMany(array().size(), static_cast<std::size_t>(mark.most));
      return false;
    case '/':
      if (is_list) {
        ForEach([](const Place& each) { each.Walk(); });
      } else {
        Walk();
      }
      return true;
    case '&': return CheckUnique();
    case 'k': CheckKeys(mark.text); return true;
    case '^':
      if (is_update() && !IsSame()) Invalid("field is immutable");
      return true;
    case '~':
      if (up_->old_object_ == nullptr || IsSame()) return true;
      Invalid(nullptr, "field is immutable");
      return false;
    default: mark.function(*this); return true;
  }
}

void Place::Walk(std::string_view rules) const {
  Place typed = *this;
  typed.type_ = FindType();
  if (typed.type_ == nullptr) return;
  const auto found = AllRules().find({typed.type_->short_package, rules.empty() ? typed.type_->name : rules});
  if (found == AllRules().end()) return;
  for (const Rule& rule : found->second) {
    if (rule.field == nullptr) {
      for (const Mark& mark : rule.marks) mark.kind == '|' ? CheckUnion(typed, mark.values) : mark.function(typed);
      continue;
    }
    Place place = typed.Member(rule.member, rule.step);
    place.type_ = rule.field->type;
    for (const Mark& mark : rule.marks) {
      if (!place.Keeps(mark, *rule.field)) break;
    }
  }
}

bool Place::IsFirst(std::string_view what, std::string value) const {
  return findings_->seen[{&object(), what}].insert(std::move(value)).second;
}

bool Place::CheckUnique() const {
  const Place& element = up();
  const Place& owner = element.up().up();
  if (owner.IsFirst(element.type_->name, std::string(text()))) return true;
  Duplicate(json::value(text()));
  return false;
}

void Place::CheckKeys(std::string_view key) const {
  std::set<std::string_view> seen;
  ForEach([&](const Place& each) {
    const std::string_view own = each[key].text();
    if (!own.empty() && !seen.insert(own).second) each.Duplicate(json::value(own));
  });
}

Errors Validate(const SchemaType& type, const json::object& object, const json::object* old) {
  Findings findings;
  Place(type, object, old, findings).Walk();
  return std::move(findings.errors);
}

}  // namespace berth::objects::internal
