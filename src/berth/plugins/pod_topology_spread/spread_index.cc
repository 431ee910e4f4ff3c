// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/spread_index.h"

#include <utility>

#include "berth/plugins/pod_topology_spread/spread_counts.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::NodeTable;

// Counts grow by what is placed: so often is soon enough to look at bounds.
constexpr std::size_t kSyncsPerLook = 4096;

}  // namespace

void SpreadIndex::BeginEpoch() {
  epoch_ = ++numbers_;
  classes_.clear();
  class_bytes_ = 0;
}

void SpreadIndex::Sync(const NodeTable& nodes) {
  // As in PodIndex: a table that seems to have got older is another one.
  const bool is_same_table = nodes_ == &nodes && version_ <= nodes.version() && nodes_version_ <= nodes.nodes_version();
  const bool is_same_numbering = is_same_table && values_version_ == nodes.values_version();
  if (is_same_numbering && version_ == nodes.version()) return;
  if (!is_same_table) pods_.Forget();
  if (!is_same_numbering || topology_.IsOvergrown()) {
    topology_.Reset(nodes);
    for (auto& [text, selector] : selectors_) selector.counts->ForgetLayouts();
    BeginEpoch();
    numbering_ = epoch_;
  } else if (nodes_version_ != nodes.nodes_version()) {
    // Domains first: what is counted below is counted where rows are now.
    const auto is_used = [this](NodeIndex row) { return pods_.IsRowUsed(row); };
    const auto changed = nodes.ChangedSince(version_);
    std::vector<NodeIndex> all;
    if (!changed) {
      for (NodeIndex row = 0; row < nodes.row_count(); ++row) all.push_back(row);
    }
    topology_.Update(nodes, changed ? *changed : all, is_used);
  }
  nodes_ = &nodes;
  version_ = nodes.version();
  nodes_version_ = nodes.nodes_version();
  values_version_ = nodes.values_version();
  topology_.Grow(nodes);
  pods_.Sync(nodes);
  if (pods_.epoch() != pods_epoch_) {
    pods_epoch_ = pods_.epoch();
    selectors_.clear();
    selector_bytes_ = 0;
    BeginEpoch();
  }
  if (++syncs_ < kSyncsPerLook) return;
  syncs_ = 0;
  BoundSelectors();
}

// Keeps those that were asked for in this epoch, unless these are too many.
void SpreadIndex::BoundSelectors() {
  const auto is_beyond = [this] {
    selector_bytes_ = 0;
    for (const auto& [text, selector] : selectors_) selector_bytes_ += text.capacity() + selector.counts->Bytes();
    return selector_bytes_ > kSelectorBytesMax || selectors_.size() >= kSelectorsMax;
  };
  if (!is_beyond()) return;
  absl::erase_if(selectors_, [this](const auto& entry) { return entry.second.epoch != epoch_; });
  if (is_beyond()) {
    selectors_.clear();
    selector_bytes_ = 0;
  }
  BeginEpoch();
}

std::shared_ptr<SelectorCounts> SpreadIndex::SelectorFor(const std::string& namespace_name,
                                                         const std::optional<api::LabelSelector>& selector,
                                                         bool counts_by_empty) {
  std::string text;
  AppendText(text, namespace_name);
  // No selector is another one than an empty one.
  text += selector ? '+' : '-';
  if (selector) AppendText(text, selector->requirements);
  if (selectors_.size() >= kSelectorsMax || selector_bytes_ > kSelectorBytesMax) BoundSelectors();
  Selector& kept = selectors_[text];
  kept.epoch = epoch_;
  const bool is_new = kept.counts == nullptr;
  if (is_new) kept.counts = std::make_shared<SelectorCounts>(namespace_name, selector, counts_by_empty);
  Update(*kept.counts);
  if (is_new) selector_bytes_ += text.capacity() + kept.counts->Bytes();
  return kept.counts;
}

void SpreadIndex::Keep(std::shared_ptr<SpreadCounts> counts) {
  if (classes_.size() >= kClassesMax || class_bytes_ > kClassBytesMax) BeginEpoch();
  class_bytes_ += counts->Bytes();
  classes_.push_back(std::move(counts));
}

std::size_t SpreadIndex::Bytes() const {
  std::size_t bytes = sizeof(*this) + pods_.Bytes() + topology_.Bytes() + class_bytes_;
  for (const auto& [text, selector] : selectors_) bytes += text.capacity() + selector.counts->Bytes();
  return bytes;
}

}  // namespace berth::plugins
