// SPDX-License-Identifier: Apache-2.0
#include "berth/prices/price_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/base/random.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"
#include "berth/plugins/best_price/price.h"

namespace berth::prices {
namespace {

constexpr std::array<std::string_view, 6> kRandomPrices = {"0.05", "0.10", "0.20", "0.40", "0.80", "1.60"};
constexpr std::string_view kTypeColumn = "instance_type";
constexpr std::string_view kPriceColumn = "price";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kFieldsMax = 1000;  // in a line

std::optional<std::string> PriceText(const PricedNode& node, std::string_view key) {
  const std::string* text = node.annotations.Find(key);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

// The nodes in the order of their names.
std::vector<const PricedNode*> ByName(const std::vector<PricedNode>& nodes) {
  std::vector<const PricedNode*> sorted;
  for (const PricedNode& node : nodes) sorted.push_back(&node);
  std::ranges::sort(sorted, {}, [](const PricedNode* node) -> const std::string& { return node->name; });
  return sorted;
}

Error AtLine(std::size_t line, std::string_view what) {
  return InvalidError("line " + std::to_string(line) + ": " + std::string(what));
}

// The fields of one line (RFC 4180): a quoted one may hold commas, and quotes that are doubled.
Expected<std::vector<std::string>> Fields(std::string_view text, std::size_t line) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (;;) {
    if (fields.size() == kFieldsMax) return AtLine(line, "more than " + std::to_string(kFieldsMax) + " fields");
    std::string field;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at == text.size()) return AtLine(line, "a quoted field does not end");
        if (text[at] != '"') {
          field += text[at];
        } else if (at + 1 < text.size() && text[at + 1] == '"') {
          field += text[at++];
        } else {
          break;
        }
      }
      if (++at < text.size() && text[at] != ',') return AtLine(line, "after a quoted field comes a comma or nothing");
    } else {
      const std::size_t end = std::min(text.find(',', at), text.size());
      field = text.substr(at, end - at);
      at = end;
    }
    fields.push_back(std::move(field));
    if (at == text.size()) return fields;
    ++at;  // the comma
  }
}

// "Instance Type" and "instance-type" are "instancetype", and so is instance_type.
std::string ColumnName(std::string_view title) {
  std::string name;
  for (const char c : title) {
    if (c == ' ' || c == '_' || c == '-') continue;
    name += LowerCase(c);
  }
  return name;
}

// Where the two columns are.
struct Header {
  std::size_t field_count = 0;
  std::size_t type = 0;
  std::size_t price = 0;
};

Expected<Header> ParseHeader(std::string_view text, std::size_t line) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> titles, Fields(text, line));
  Header header;
  header.field_count = titles.size();
  for (const auto& [wanted, place] : {std::pair(kTypeColumn, &header.type), std::pair(kPriceColumn, &header.price)}) {
    const auto is_wanted = [name = ColumnName(wanted)](const std::string& title) { return ColumnName(title) == name; };
    const auto found = std::ranges::find_if(titles, is_wanted);
    if (found == titles.end()) {
      return AtLine(line, "no column " + std::string(wanted) +
                              ": the first line should name the columns, among them instance_type and price");
    }
    if (std::any_of(found + 1, titles.end(), is_wanted))
      return AtLine(line, "the column " + std::string(wanted) + " is there twice");
    *place = static_cast<std::size_t>(found - titles.begin());
  }
  return header;
}

// Calls visit(text, number) for each line that is not empty, until it fails.
template <typename Visit>
Expected<void> ForEachLine(std::string_view text, Visit visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) BERTH_RETURN_IF_ERROR(visit(line, number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

std::vector<PriceChange> RandomPrices(const std::vector<PricedNode>& nodes, std::string_view key, std::uint64_t seed) {
  Random random(seed);
  std::vector<PriceChange> changes;
  for (const PricedNode* node : ByName(nodes))
    changes.push_back(
        {node->name, PriceText(*node, key), std::string(kRandomPrices[random.Below(kRandomPrices.size())])});
  return changes;
}

Expected<TypePrices> ParseTypePrices(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::optional<Header> header;
  TypePrices prices;
  std::map<std::string, std::size_t> line_of;
  const auto read = ForEachLine(text, [&](std::string_view line, std::size_t number) -> Expected<void> {
    if (!header) {
      BERTH_ASSIGN_OR_RETURN(header, ParseHeader(line, number));
      return {};
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> fields, Fields(line, number));
    if (fields.size() != header->field_count) {
      return AtLine(number, "the header has " + std::to_string(header->field_count) + " columns, this line " +
                                std::to_string(fields.size()));
    }
    const std::string& type = fields[header->type];
    const std::string& price = fields[header->price];
    if (type.empty() || !api::IsLabelValue(type))
      return AtLine(number, "instance_type: " + Quoted(type) + " cannot be a node's label");
    if (!plugins::ParsePrice(price)) return AtLine(number, "price: " + plugins::NotAPrice(price));
    if (const auto [first, is_new] = line_of.try_emplace(type, number); !is_new)
      return AtLine(number, type + " has a price on line " + std::to_string(first->second));
    prices[type] = price;
    return {};
  });
  if (!read.ok()) return read.error();
  if (!header)
    return InvalidError("it is empty: the first line should name the columns, among them instance_type and price");
  if (prices.empty()) return InvalidError("no line follows the header");
  return prices;
}

ImportPlan ImportPrices(const std::vector<PricedNode>& nodes, std::string_view key, const TypePrices& prices) {
  ImportPlan plan;
  for (const PricedNode* node : ByName(nodes)) {
    if (node->instance_type.empty()) {
      ++plan.nodes_without_type;
    } else if (const auto found = prices.find(node->instance_type); found != prices.end()) {
      plan.changes.push_back({node->name, PriceText(*node, key), found->second});
    } else {
      ++plan.unknown_types[node->instance_type];
    }
  }
  return plan;
}

std::vector<PriceChange> ClearPrices(const std::vector<PricedNode>& nodes, std::string_view key) {
  std::vector<PriceChange> changes;
  for (const PricedNode* node : ByName(nodes)) {
    if (auto text = PriceText(*node, key)) changes.push_back({node->name, std::move(text), std::nullopt});
  }
  return changes;
}

std::string ChangePatch(const PriceChange& change, std::string_view key) {
  using codec::json::object;
  codec::json::value text;
  if (change.after) text = codec::json::value(*change.after);
  return codec::WriteJson(
      object{{"metadata", object{{"annotations", object{{codec::json::string_view(key.data(), key.size()), text}}}}}});
}

}  // namespace berth::prices
