// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/args_reading.h"

#include "berth/base/edit_distance.h"
#include "berth/core/config/selector_reader.h"
#include "berth/plugins/helper/label_selector.h"

namespace berth::rebalance {

namespace json = codec::json;
using config::FieldErrors;
using config::ObjectReader;

void AddUnknown(FieldErrors& errors, const std::string& path, std::string_view name, std::string_view what,
                const std::vector<std::string_view>& known) {
  std::string text = '"' + std::string(name.substr(0, 100)) + '"' + " is no " + std::string(what);
  const std::string_view nearest = SimilarName(name, known);
  if (!nearest.empty()) text.append("; the nearest is ").append(nearest);
  text += "; there are ";
  for (std::size_t i = 0; i < known.size(); ++i) text.append(i == 0 ? "" : ", ").append(known[i]);
  errors.Add(path, text);
}

void ReadIncludeExclude(ObjectReader& reader, std::string_view key, std::vector<std::string>& include,
                        std::vector<std::string>& exclude) {
  reader.Object(key, [&](ObjectReader& fields) {
    fields.Read("include", include);
    fields.Read("exclude", exclude);
    if (!include.empty() && !exclude.empty())
      reader.errors().Add(reader.PathOf(key), "only one of include and exclude can be set");
  });
}

void ReadSelector(ObjectReader& reader, std::string_view key, std::optional<api::LabelSelector>& out) {
  reader.Object(key, [&](ObjectReader& fields) {
    config::ReadLabelSelector(fields, out.emplace());
    const std::string error = plugins::LabelSelectorError(*out);
    if (!error.empty()) reader.errors().Add(reader.PathOf(key), error);
  });
}

void ReadSelection(ObjectReader& reader, PodSelection& out, bool has_labels) {
  ReadIncludeExclude(reader, "namespaces", out.namespaces.include, out.namespaces.exclude);
  if (has_labels) ReadSelector(reader, "labelSelector", out.labels);
}

void ReadThresholds(ObjectReader& reader, std::string_view key, Thresholds& out, bool is_required) {
  const json::value* value = reader.Find(key);
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  if (value != nullptr && object == nullptr) {
    reader.errors().Add(reader.PathOf(key),
                        "must be a map of resources to percents, not " + std::string(config::Describe(*value)));
    return;
  }
  if (object == nullptr || object->empty()) {
    if (!is_required) return;
    reader.errors().Required(reader.PathOf(key), "no resource threshold is configured");
    return;
  }
  for (const auto& member : *object) {
    const std::string name(member.key());
    const std::string path = reader.PathOf(key) + '[' + name.substr(0, 64) + ']';
    if (!member.value().is_number()) {
      reader.errors().Add(path, "must be a percentage, not " + std::string(config::Describe(member.value())));
      continue;
    }
    const double percent = member.value().to_number<double>();
    if (!(percent >= 0 && percent <= 100))
      reader.errors().Add(path, json::serialize(member.value()) + " is not in the range from 0 to 100");
    out[name] = percent;
  }
}

void ReadNodeSelector(ObjectReader& reader, std::string_view key, std::string& out) {
  reader.Read(key, out);
  const auto selector = api::ParseLabelSelector(out);
  if (!selector.ok()) reader.errors().Invalid(reader.PathOf(key), out, selector.error().message);
}

}  // namespace berth::rebalance
