// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/best_price_args.h"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "berth/plugins/best_price/price.h"
#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

namespace json = codec::json;

// The text of a price that may be written as a number or, to be exact, as a string; nullopt: it is neither.
std::optional<std::string> PriceText(const json::value& value) {
  if (const json::string* text = value.if_string()) return std::string(text->data(), text->size());
  if (value.is_int64()) return std::to_string(value.get_int64());
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  if (!value.is_double()) return std::nullopt;
  std::array<char, 512> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value.get_double(), std::chars_format::fixed);
  return error == std::errc() ? std::string(digits.data(), end) : std::string("?");
}

std::optional<std::int64_t> ReadPrice(const json::value& value, const std::string& path, config::FieldErrors& errors) {
  const auto text = PriceText(value);
  if (!text) {
    errors.Add(path, "must be a price, not " + std::string(config::Describe(value)));
    return std::nullopt;
  }
  const auto price = ParsePrice(*text);
  if (!price) errors.Add(path, NotAPrice(*text));
  return price;
}

void ReadLabels(const json::value& value, const std::string& path, config::FieldErrors& errors,
                api::LabelSelector& selector) {
  const json::object* labels = value.if_object();
  if (labels == nullptr) return errors.Add(path, "must be an object, not " + std::string(config::Describe(value)));
  for (const auto& label : *labels) {
    const std::string key(label.key().data(), label.key().size());
    const json::string* text = label.value().if_string();
    if (text == nullptr) {
      errors.Add(path + '.' + key, "must be a string, not " + std::string(config::Describe(label.value())));
      continue;
    }
    api::Requirement requirement;
    requirement.key = key;
    requirement.values.emplace_back(text->data(), text->size());
    if (const auto valid = requirement.Validate(); !valid.ok()) errors.Add(path + '.' + key, valid.error().message);
    selector.requirements.push_back(std::move(requirement));
  }
}

PriceRow ReadRow(const json::value& value, const std::string& path, config::FieldErrors& errors) {
  PriceRow row;
  config::ObjectReader reader(value, path, errors);
  if (const json::value* labels = reader.Find("labels"))
    ReadLabels(*labels, reader.PathOf("labels"), errors, row.selector);
  std::string text;
  reader.Read("selector", text);
  if (!text.empty()) {
    auto parsed = api::ParseLabelSelector(text);
    if (parsed.ok()) {
      auto& all = row.selector.requirements;
      all.insert(all.end(), parsed->requirements.begin(), parsed->requirements.end());
    } else {
      errors.Invalid(reader.PathOf("selector"), text, parsed.error().message);
    }
  }
  const bool has_selector = reader.Find("labels") != nullptr || !text.empty();
  if (!has_selector) errors.Required(reader.PathOf("labels"), "labels or selector say which nodes have this price");
  if (const json::value* price = reader.Find("price")) {
    row.price_micro = ReadPrice(*price, reader.PathOf("price"), errors).value_or(0);
  } else {
    errors.Required(reader.PathOf("price"));
  }
  return row;
}

void ReadAnnotations(config::ObjectReader& reader, BestPriceArgs& args) {
  std::vector<std::string> keys;
  reader.Read("annotations", keys);
  if (reader.Find("annotations") != nullptr) args.annotations = std::move(keys);
  const std::string path = reader.PathOf("annotations");
  if (args.annotations.size() > BestPriceArgs::kAnnotationsMax) {
    reader.errors().Add(path, "at most " + std::to_string(BestPriceArgs::kAnnotationsMax) + " keys");
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < args.annotations.size(); ++i) {
    const std::string& key = args.annotations[i];
    const std::string at = path + '[' + std::to_string(i) + ']';
    if (!api::IsQualifiedName(key)) reader.errors().Invalid(at, key, "want the key of an annotation");
    if (!seen.insert(key).second) reader.errors().Duplicate(at, key);
  }
}

void ReadPer(config::ObjectReader& reader, BestPriceArgs& args) {
  std::string per = "node";
  reader.Read("per", per);
  if (per == "node") {
    args.per = PriceUnit::kNode;
  } else if (per == "core") {
    args.per = PriceUnit::kCore;
  } else if (per == "GiB") {
    args.per = PriceUnit::kGib;
  } else {
    reader.errors().NotSupported(reader.PathOf("per"), per, {"node", "core", "GiB"});
  }
}

void ReadUnpriced(config::ObjectReader& reader, BestPriceArgs& args) {
  const json::value* value = reader.Find("unpricedNodes");
  if (value == nullptr) return;
  const auto text = PriceText(*value);
  if (text == "last") {
    args.unpriced = Unpriced::kLast;
  } else if (text == "refused") {
    args.unpriced = Unpriced::kRefused;
  } else if (const auto price = text ? ParsePrice(*text) : std::nullopt) {
    args.unpriced = Unpriced::kGivenPrice;
    args.unpriced_micro = *price;
  } else {
    reader.errors().Add(reader.PathOf("unpricedNodes"),
                        "should be \"last\", \"refused\" or a price" + (text ? "; " + NotAPrice(*text) : ""));
  }
}

}  // namespace

Expected<BestPriceArgs> ReadBestPriceArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<BestPriceArgs>(names::kBestPrice, args, [](config::ObjectReader& reader, BestPriceArgs& out) {
    ReadAnnotations(reader, out);
    reader.List("table", [&](const json::value& item, const std::string& path) {
      if (out.table.size() < BestPriceArgs::kTableRowsMax) {
        out.table.push_back(ReadRow(item, path, reader.errors()));
      } else {
        reader.errors().Add(reader.PathOf("table"),
                            "at most " + std::to_string(BestPriceArgs::kTableRowsMax) + " rows");
      }
    });
    if (out.annotations.empty() && out.table.empty())
      reader.errors().Required(reader.PathOf("annotations"), "without annotations a table has to have the prices");
    ReadPer(reader, out);
    ReadUnpriced(reader, out);
  });
}

}  // namespace berth::plugins
