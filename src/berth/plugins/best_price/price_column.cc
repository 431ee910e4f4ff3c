// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/price_column.h"

#include <algorithm>
#include <functional>

#include "berth/plugins/best_price/price.h"

namespace berth::plugins {
namespace {

__extension__ using Wide = __int128;

constexpr std::string_view kSharedName = "BestPrice: prices that do not parse";
constexpr std::int64_t kNanoPerMicro = 1000;

// How many of NodePrice::amount make the unit.
std::int64_t AmountPerUnit(PriceUnit per) {
  switch (per) {
    case PriceUnit::kNode: return 1;
    case PriceUnit::kCore: return 1000;
    case PriceUnit::kGib: break;
  }
  return std::int64_t{1} << 30;
}

std::int64_t AmountOf(const api::Node& node, PriceUnit per) {
  if (per == PriceUnit::kNode) return 1;
  const bool is_core = per == PriceUnit::kCore;
  const api::Quantity* has = api::FindResource(node.allocatable, is_core ? "cpu" : "memory");
  if (has == nullptr) return 0;
  return is_core ? has->MilliValue() : has->Value();
}

}  // namespace

NodePrice PriceOf(const api::Node& node, const BestPriceArgs& args) {
  NodePrice price;
  for (std::size_t i = 0; i < args.annotations.size() && !price.micro; ++i) {
    const std::string* text = node.metadata.annotations.Find(args.annotations[i]);
    if (text == nullptr) continue;
    price.micro = ParsePrice(*text);
    if (!price.micro) price.bad_keys |= std::uint32_t{1} << i;
  }
  if (!price.micro) {
    const auto row = std::find_if(args.table.begin(), args.table.end(), [&node](const PriceRow& candidate) {
      return candidate.selector.Matches(node.metadata.labels);
    });
    if (row != args.table.end()) price.micro = row->price_micro;
  }
  if (!price.micro && args.unpriced == Unpriced::kGivenPrice) price.micro = args.unpriced_micro;
  price.amount = AmountOf(node, args.per);
  if (price.amount <= 0) price.micro.reset();
  return price;
}

bool IsAbove(const NodePrice& price, PriceUnit per, std::int64_t ceiling_micro) {
  return static_cast<Wide>(*price.micro) * AmountPerUnit(per) > static_cast<Wide>(ceiling_micro) * price.amount;
}

std::int64_t RawScoreOf(const NodePrice& price, PriceUnit per) {
  if (!price.micro) return framework::kNoRawScore;
  if (per == PriceUnit::kNode) return *price.micro;
  const Wide nano =
      (static_cast<Wide>(*price.micro) * kNanoPerMicro * AmountPerUnit(per) + price.amount / 2) / price.amount;
  return static_cast<std::int64_t>(std::min<Wide>(nano, framework::kNoRawScore - 1));
}

InvalidPrices::InvalidPrices(framework::Handle& handle)
    : handle_(handle),
      count_(handle.metrics().GetGauge("berth_invalid_prices", "Price annotations of nodes that are no price.", {})) {}

std::shared_ptr<InvalidPrices> InvalidPrices::Of(framework::Handle& handle) {
  return handle.Shared<InvalidPrices>(kSharedName, [&handle] { return std::make_shared<InvalidPrices>(handle); });
}

void InvalidPrices::Report(const api::Node& node, const std::string& key, std::string_view text,
                           std::string_view speaker) {
  const std::size_t hash = std::hash<std::string_view>()(text);
  const auto [it, is_new] = known_.try_emplace({node.metadata.name, key}, hash);
  if (!is_new && it->second == hash) return;
  it->second = hash;
  count_.Set(static_cast<double>(known_.size()));
  framework::PodEvent event;
  event.kind = "Node";
  event.regarding.name = node.metadata.name;
  event.regarding.uid = node.metadata.uid;  // kubectl describe node looks for it
  event.reporting_controller = speaker;
  event.is_warning = true;
  event.reason = "InvalidPrice";
  event.action = "Scheduling";
  event.note = "annotation " + key + ": " + NotAPrice(text) + "; it counts as none";
  handle_.Emit(std::move(event));
}

void InvalidPrices::Clear(const std::string& node, const std::string& key) {
  known_.erase({node, key});
  count_.Set(static_cast<double>(known_.size()));
}

void PriceColumn::Sync(const framework::NodeTable& nodes, std::string_view speaker) {
  if (table_ == &nodes && version_ == nodes.version()) return;
  const auto changed = table_ == &nodes ? nodes.ChangedSince(version_) : std::nullopt;
  table_ = &nodes;
  version_ = nodes.version();
  rows_.resize(std::max(rows_.size(), nodes.row_count()));
  static const std::shared_ptr<const api::Node> kNone;
  const auto node_of = [&nodes](std::size_t row) -> const std::shared_ptr<const api::Node>& {
    return row < nodes.row_count() ? nodes.Info(static_cast<framework::NodeIndex>(row)).node_ptr() : kNone;
  };
  if (changed) {
    for (const framework::NodeIndex row : *changed) {
      if (row < rows_.size()) Update(rows_[row], node_of(row), speaker);
    }
  } else {
    for (std::size_t row = 0; row < rows_.size(); ++row) Update(rows_[row], node_of(row), speaker);
  }
}

void PriceColumn::Update(Row& row, const std::shared_ptr<const api::Node>& node, std::string_view speaker) {
  if (row.node == node) return;
  const std::shared_ptr<const api::Node> before = std::exchange(row.node, node);
  const NodePrice price = node == nullptr ? NodePrice() : PriceOf(*node, args_);
  if (before != nullptr) {
    if (--raw_counts_[row.raw] == 0) raw_counts_.erase(row.raw);
    const bool is_same_node = node != nullptr && node->metadata.name == before->metadata.name;
    for (std::size_t i = 0; row.price.bad_keys >> i != 0; ++i) {
      const bool was_bad = (row.price.bad_keys >> i & 1) != 0;
      const bool is_bad = is_same_node && (price.bad_keys >> i & 1) != 0;
      if (was_bad && !is_bad) invalid_->Clear(before->metadata.name, args_.annotations[i]);
    }
  }
  row.price = price;
  row.raw = RawScoreOf(price, args_.per);
  if (node == nullptr) return;
  ++raw_counts_[row.raw];
  for (std::size_t i = 0; price.bad_keys >> i != 0; ++i) {
    if ((price.bad_keys >> i & 1) == 0) continue;
    const std::string& key = args_.annotations[i];
    invalid_->Report(*node, key, *node->metadata.annotations.Find(key), speaker);
  }
}

std::optional<std::int64_t> PriceColumn::RawScoreOfAll() const {
  return raw_counts_.size() == 1 ? std::optional(raw_counts_.begin()->first) : std::nullopt;
}

}  // namespace berth::plugins
