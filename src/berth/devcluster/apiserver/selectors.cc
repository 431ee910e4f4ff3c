// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/selectors.h"

#include <algorithm>
#include <utility>

namespace berth::apiserver {
namespace {

// Reads up to an unescaped character of `stops`.
objects::Outcome<std::string> TakeUntil(std::string_view text, std::size_t& at, std::string_view stops) {
  std::string taken;
  for (; at < text.size() && stops.find(text[at]) == std::string_view::npos; ++at) {
    if (text[at] == '\\') {
      if (at + 1 == text.size() || std::string_view("\\,=").find(text[at + 1]) == std::string_view::npos) {
        return objects::BadRequest("invalid field selector: \\ escapes only \\ , and = in \"" + std::string(text) +
                                   '"');
      }
      ++at;
    }
    taken += text[at];
  }
  return taken;
}

}  // namespace

bool Selector::Matches(const objects::StoredObject& object) const {
  if (!namespace_name.empty() && object.namespace_name() != namespace_name) return false;
  for (const FieldRequirement& requirement : fields) {
    std::string_view value;
    switch (requirement.subject) {
      case FieldRequirement::Subject::kName: value = object.name(); break;
      case FieldRequirement::Subject::kNamespace: value = object.namespace_name(); break;
      case FieldRequirement::Subject::kField: value = object.fields[requirement.field]; break;
    }
    if ((value == requirement.value) == requirement.is_negated) return false;
  }
  return labels.requirements.empty() || labels.Matches(object.labels);
}

const std::string* Selector::SingleName() const {
  for (const FieldRequirement& requirement : fields) {
    if (requirement.subject == FieldRequirement::Subject::kName && !requirement.is_negated) return &requirement.value;
  }
  return nullptr;
}

objects::Outcome<std::vector<FieldRequirement>> ParseFieldSelector(std::string_view text,
                                                                   const objects::ResourceType& stored,
                                                                   std::string (*rename)(std::string_view)) {
  std::vector<FieldRequirement> requirements;
  std::size_t at = 0;
  while (at < text.size()) {
    BERTH_ASSIGN_OR_RETURN(std::string field, TakeUntil(text, at, "=!,"));
    FieldRequirement requirement;
    if (text.substr(at).starts_with("!=")) {
      requirement.is_negated = true;
      at += 2;
    } else if (text.substr(at).starts_with("==")) {
      at += 2;
    } else if (text.substr(at).starts_with("=")) {
      at += 1;
    } else {
      return objects::BadRequest("invalid selector: '" + std::string(text) + "'; can't understand '" + field +
                                 "': want field=value or field!=value");
    }
    BERTH_ASSIGN_OR_RETURN(requirement.value, TakeUntil(text, at, ",="));
    if (at < text.size() && text[at] == '=') {
      return objects::BadRequest("invalid selector: '" + std::string(text) + "': a second = in the value of " + field);
    }
    if (at < text.size()) ++at;  // the comma
    if (field == "metadata.name") {
      requirement.subject = FieldRequirement::Subject::kName;
    } else if (field == "metadata.namespace" && stored.namespaced) {
      requirement.subject = FieldRequirement::Subject::kNamespace;
    } else {
      requirement.subject = FieldRequirement::Subject::kField;
      const std::string wanted = rename == nullptr ? field : rename(field);
      const auto found = std::find(stored.selectable_fields.begin(), stored.selectable_fields.end(), wanted);
      if (found == stored.selectable_fields.end()) return objects::BadRequest("field label not supported: " + field);
      requirement.field = static_cast<std::size_t>(found - stored.selectable_fields.begin());
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

objects::Outcome<api::LabelSelector> ParseLabels(std::string_view text) {
  if (text.empty()) return api::LabelSelector();
  auto parsed = api::ParseLabelSelector(text);
  if (!parsed.ok()) return objects::BadRequest("unable to parse requirement: " + parsed.error().message);
  return std::move(parsed).value();
}

}  // namespace berth::apiserver
