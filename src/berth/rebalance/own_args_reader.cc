// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/own_args_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "berth/plugins/best_price/price.h"
#include "berth/rebalance/args_reading.h"

namespace berth::rebalance {
namespace {

namespace json = codec::json;
using config::ObjectReader;

constexpr std::size_t kWordsMax = 16;
constexpr std::size_t kQueryBytesMax = 16 << 10;
constexpr Duration kLongest = std::chrono::hours(24 * 365);

// Reads a number from `min` to `max`. For another one it adds an error with the path and the range.
void ReadNumber(ObjectReader& reader, std::string_view key, std::int64_t min, std::int64_t max, std::int64_t& out) {
  reader.Read(key, out);
  if (out < min || out > max) {
    reader.errors().Invalid(reader.PathOf(key), out,
                            "must be from " + std::to_string(min) + " to " + std::to_string(max));
  }
}
void ReadNumber(ObjectReader& reader, std::string_view key, std::int64_t min, std::int64_t max, std::size_t& out) {
  auto value = static_cast<std::int64_t>(out);
  ReadNumber(reader, key, min, max, value);
  out = static_cast<std::size_t>(std::max<std::int64_t>(value, 0));
}

void ReadDuration(ObjectReader& reader, std::string_view key, Duration min, Duration& out) {
  reader.Read(key, out);
  if (out < min || out > kLongest) {
    reader.errors().Add(reader.PathOf(key), FormatGoDuration(out) + " is not from " + FormatGoDuration(min) + " to " +
                                                FormatGoDuration(kLongest));
  }
}

// Reads a list of words, none of which may be empty.
void ReadWords(ObjectReader& reader, std::string_view key, std::vector<std::string>& out) {
  reader.Read(key, out);
  if (out.size() > kWordsMax)
    reader.errors().Add(reader.PathOf(key), "has more than " + std::to_string(kWordsMax) + " items");
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty()) reader.errors().Required(reader.PathOf(key) + '[' + std::to_string(i) + ']');
  }
}

void ReadName(ObjectReader& reader, std::string_view key, std::string& out) {
  reader.Read(key, out);
  if (out.empty()) reader.errors().Required(reader.PathOf(key));
}

void ReadPair(ObjectReader& reader, CustomMetricPair& out) {
  ReadName(reader, "label", out.label);
  ReadName(reader, "topologyKey", out.topology_key);
  ReadSelector(reader, "active", out.active);
}

}  // namespace

void ReadArgs(ObjectReader& reader, BackToSpotArgs& out) {
  ReadSelection(reader, out.pods);
  reader.List("spotLabels", [&](const json::value& item, const std::string& path) {
    ObjectReader label(item, path, reader.errors());
    BackToSpotArgs::Label& slot = out.spot_labels.emplace_back();
    ReadName(label, "key", slot.key);
    label.Read("value", slot.value);
  });
  if (out.spot_labels.size() > kWordsMax)
    reader.errors().Add(reader.PathOf("spotLabels"), "has more than " + std::to_string(kWordsMax) + " items");
  std::string wish = "preferred";
  reader.Read("default", wish);
  if (wish != "preferred" && wish != "never")
    AddUnknown(reader.errors(), reader.PathOf("default"), wish, "default here", {"preferred", "never"});
  out.is_wanted = wish == "preferred";
  ReadWords(reader, "reclaimTaints", out.reclaim_taints);
  ReadDuration(reader, "reclaimWithin", Duration{0}, out.reclaim_within);
}

void ReadArgs(ObjectReader& reader, CheaperNodeArgs& out) {
  ReadSelection(reader, out.pods);
  ReadWords(reader, "annotations", out.annotations);
  ReadDuration(reader, "horizon", std::chrono::minutes(1), out.horizon);
  std::string cost = plugins::FormatPrice(out.restart_cost_micro);
  reader.Read("restartCost", cost);
  if (const auto micro = plugins::ParsePrice(cost)) {
    out.restart_cost_micro = *micro;
  } else {
    reader.errors().Add(reader.PathOf("restartCost"), plugins::NotAPrice(cost));
  }
  reader.Read("minSavingPercent", out.min_saving_percent);
  if (!(out.min_saving_percent >= 0 && out.min_saving_percent <= 100))
    reader.errors().Add(reader.PathOf("minSavingPercent"), "is not in the range from 0 to 100");
  ReadDuration(reader, "minStay", Duration{0}, out.min_stay);
}

void ReadArgs(ObjectReader& reader, BetterScoreArgs& out) {
  ReadSelection(reader, out.pods);
  ReadNumber(reader, "minGain", 1, 1'000'000'000, out.min_gain);
  ReadNumber(reader, "podsPerRound", 1, BetterScoreArgs::kPodsPerRoundMax, out.pods_per_round);
  ReadDuration(reader, "minStay", Duration{0}, out.min_stay);
}

void ReadArgs(ObjectReader& reader, ConsolidateArgs& out) {
  ReadNodeSelector(reader, "nodeSelector", out.node_selector);
  ReadThresholds(reader, "thresholds", out.thresholds, false);
  ReadNumber(reader, "nodesPerRound", 1, 1'000'000, out.nodes_per_round);
  ReadNumber(reader, "keepNodes", 1, 1'000'000, out.keep_nodes);
}

void ReadArgs(ObjectReader& reader, CustomMetricArgs& out) {
  ReadSelection(reader, out.pods);
  ReadName(reader, "query", out.query);
  if (out.query.size() > kQueryBytesMax)
    reader.errors().Add(reader.PathOf("query"), "is longer than " + std::to_string(kQueryBytesMax) + " bytes");
  std::string of = "pod";
  reader.Read("of", of);
  if (of != "pod" && of != "node")
    AddUnknown(reader.errors(), reader.PathOf("of"), of, "subject of a rule", {"pod", "node"});
  out.of = of == "node" ? CustomMetricArgs::Of::kNode : CustomMetricArgs::Of::kPod;
  ReadName(reader, "podLabel", out.pod_label);
  ReadName(reader, "namespaceLabel", out.namespace_label);
  ReadName(reader, "nodeLabel", out.node_label);
  reader.Read("above", out.above);
  reader.Read("below", out.below);
  if (out.above.has_value() == out.below.has_value())
    reader.errors().Required(reader.PathOf("above"), "one of above and below, and not both");
  ReadDuration(reader, "for", Duration{0}, out.lasts);
  ReadNumber(reader, "movesPerNode", 1, 1000, out.moves_per_node);
  reader.Object("pair", [&out](ObjectReader& fields) { ReadPair(fields, out.pair.emplace()); });
}

void ReadArgs(ObjectReader& reader, ZoneRepairArgs& out) {
  ReadSelection(reader, out.pods);
  ReadName(reader, "topologyKey", out.topology_key);
  ReadNumber(reader, "maxSkew", 1, 1'000'000, out.max_skew);
}

}  // namespace berth::rebalance
