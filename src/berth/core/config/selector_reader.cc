// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/selector_reader.h"

#include <algorithm>
#include <string>

namespace berth::config {

namespace json = codec::json;

void ReadRequirements(ObjectReader& reader, std::string_view key, std::vector<api::Requirement>& out) {
  reader.List(key, [&](const json::value& item, const std::string& path) {
    ObjectReader requirement(item, path, reader.errors());
    api::Requirement& slot = out.emplace_back();
    std::string op;
    requirement.Read("key", slot.key);
    requirement.Read("operator", op);
    requirement.Read("values", slot.values);
    slot.op = api::ParseSelectorOperator(op);
    if (slot.op == api::SelectorOperator::kUnknown) slot.unknown_op = op;
  });
}

void ReadLabelSelector(ObjectReader& reader, api::LabelSelector& out) {
  if (const json::value* labels = reader.Find("matchLabels")) {
    const json::object* const object = labels->if_object();
    if (object == nullptr) {
      reader.errors().Add(reader.PathOf("matchLabels"),
                          "must be a map of strings, not " + std::string(Describe(*labels)));
    } else {
      for (const auto& member : *object) {
        const std::string key(member.key());
        if (const json::string* value = member.value().if_string()) {
          out.requirements.push_back(
              {key, api::SelectorOperator::kIn, {std::string(value->data(), value->size())}, {}});
        } else {
          reader.errors().Add(reader.PathOf("matchLabels") + '[' + key.substr(0, 64) + ']',
                              "must be a string, not " + std::string(Describe(member.value())));
        }
      }
      std::ranges::sort(out.requirements, {}, &api::Requirement::key);
    }
  }
  ReadRequirements(reader, "matchExpressions", out.requirements);
}

}  // namespace berth::config
