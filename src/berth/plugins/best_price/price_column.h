// SPDX-License-Identifier: Apache-2.0
// What each node costs, kept by row and brought up to date with the node table's log of changes, and the events about
// prices that do not parse. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/node_table.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/best_price/best_price_args.h"

namespace berth::plugins {

struct NodePrice {
  std::optional<std::int64_t> micro;  // of the whole node; nullopt: it has none
  std::int64_t amount = 1;            // what it is divided by: 1, millicores or bytes; above 0 where there is a price
  std::uint32_t bad_keys = 0;         // bit i: the text of args.annotations[i] is no price
};

// A node without any of what prices are divided by has no price.
NodePrice PriceOf(const api::Node& node, const BestPriceArgs& args);

// Exact.
bool IsAbove(const NodePrice& price, PriceUnit per, std::int64_t ceiling_micro);

// The price as a raw score for Normalization::kLowestFirst: millionths per node, or billionths per core or GiB, rounded
// half up and always below kNoRawScore, which nodes without a price have.
std::int64_t RawScoreOf(const NodePrice& price, PriceUnit per);

// Prices that do not parse, of all profiles together. Each is reported once, by an event on its node, until it changes.
// Holds at most BestPriceArgs::kAnnotationsMax entries a node.
class InvalidPrices final : public framework::SharedState {
 public:
  // `handle` must outlive it.
  explicit InvalidPrices(framework::Handle& handle);
  // The one of this scheduler.
  static std::shared_ptr<InvalidPrices> Of(framework::Handle& handle);

  // `speaker`: the schedulerName of the profile that has found it.
  void Report(const api::Node& node, const std::string& key, std::string_view text, std::string_view speaker);
  // The annotation is gone or parses now, or the node is gone.
  void Clear(const std::string& node, const std::string& key);
  std::size_t size() const { return known_.size(); }

 private:
  framework::Handle& handle_;
  framework::Gauge& count_;
  std::map<std::pair<std::string, std::string>, std::size_t> known_;  // by node and key: a hash of the text
};

class PriceColumn {
 public:
  // `args` must outlive it.
  PriceColumn(const BestPriceArgs& args, std::shared_ptr<InvalidPrices> invalid)
      : args_(args), invalid_(std::move(invalid)) {}

  // Looks at the rows that have changed since the last call for this table; at all rows of another table.
  void Sync(const framework::NodeTable& nodes, std::string_view speaker);

  // After Sync(); for rows of that table.
  const NodePrice& price(framework::NodeIndex row) const { return rows_[row].price; }
  std::int64_t raw_score(framework::NodeIndex row) const { return rows_[row].raw; }
  // The raw score that all nodes have; nullopt: they differ, or there are none.
  std::optional<std::int64_t> RawScoreOfAll() const;

 private:
  struct Row {
    std::shared_ptr<const api::Node> node;  // as it was when this was found out; null: no node
    NodePrice price;
    std::int64_t raw = framework::kNoRawScore;
  };

  void Update(Row& row, const std::shared_ptr<const api::Node>& node, std::string_view speaker);

  const BestPriceArgs& args_;
  const std::shared_ptr<InvalidPrices> invalid_;
  const framework::NodeTable* table_ = nullptr;
  std::uint64_t version_ = 0;
  std::vector<Row> rows_;
  std::map<std::int64_t, std::size_t> raw_counts_;  // how many nodes have a raw score
};

}  // namespace berth::plugins
