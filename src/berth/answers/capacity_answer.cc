// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/capacity_answer.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"

namespace berth::answers {
namespace {

using whatif::Capacity, whatif::ShapeCapacity;

bool IsAtLimit(const Capacity& capacity, const ShapeCapacity& shape) {
  return !shape.refusal && !shape.daemon_nodes && shape.fits == capacity.options.pods_max;
}

// The shape whose next pod did not fit, when one of each was placed in turn; null: the limit came first.
const ShapeCapacity* StoppedAll(const Capacity& capacity) {
  const auto at = std::ranges::find_if(
      capacity.shapes, [](const auto& shape) { return shape.refusal.has_value() && !shape.daemon_nodes; });
  return at == capacity.shapes.end() ? nullptr : &*at;
}

std::string PerNode(const ShapeCapacity& shape) {
  if (shape.nodes.empty()) return "-";
  const std::size_t most = shape.nodes.front().second;
  const std::size_t least = shape.nodes.back().second;
  return least == most ? std::to_string(most) : std::to_string(least) + "-" + std::to_string(most);
}

std::string StoppedBy(const Capacity& capacity, const ShapeCapacity& shape) {
  if (shape.refusal) return ReasonsText(*shape.refusal);
  if (shape.daemon_nodes) return "one a node is all that a DaemonSet has";
  if (capacity.is_interrupted) return "an interruption";
  if (IsAtLimit(capacity, shape)) return "the limit, --max " + std::to_string(capacity.options.pods_max);
  const ShapeCapacity* const stopped = StoppedAll(capacity);
  return stopped == nullptr ? "" : stopped->name + " fits no more";
}

void AddNodes(const Capacity& capacity, Page& page) {
  std::map<std::string, std::vector<std::size_t>> by_node;
  for (std::size_t i = 0; i < capacity.shapes.size(); ++i) {
    for (const auto& [node, count] : capacity.shapes[i].nodes) {
      std::vector<std::size_t>& counts = by_node[node];
      counts.resize(capacity.shapes.size());
      counts[i] = count;
    }
  }
  if (by_node.empty()) return;
  std::vector<cli::Column> columns = {{"NODE"}};
  for (const ShapeCapacity& shape : capacity.shapes) columns.push_back({shape.name, true});
  cli::Table table(std::move(columns));
  for (const auto& [node, counts] : by_node) {
    std::vector<cli::Cell> cells = {node};
    for (const std::size_t count : counts) cells.emplace_back(std::to_string(count));
    table.AddRow(std::move(cells));
  }
  page.Gap();
  page.Rows(table);
}

}  // namespace

std::vector<std::string> CapacityLines(const Capacity& capacity, bool is_wide, const cli::Table::Style& style) {
  std::vector<cli::Column> columns = {{"SHAPE"}, {"FITS", true}, {"NODES", true}, {"PER NODE", true}, {"STOPPED BY"}};
  if (is_wide) columns.insert(columns.begin() + 1, {"REQUESTS"});
  cli::Table table(std::move(columns));
  for (const ShapeCapacity& shape : capacity.shapes) {
    const std::string more = IsAtLimit(capacity, shape) ? "+" : "";
    std::vector<cli::Cell> cells = {
        shape.name,
        {std::to_string(shape.fits) + more, shape.fits == 0 ? cli::Color::kRed : cli::Color::kNone},
        std::to_string(shape.nodes.size()),
        PerNode(shape),
        StoppedBy(capacity, shape)};
    if (is_wide) cells.insert(cells.begin() + 1, AmountsText(shape.requests));
    table.AddRow(std::move(cells));
  }
  Page page(style);
  page.Rows(table);
  bool has_gap = false;
  const auto add = [&](const std::string& text) {
    if (!std::exchange(has_gap, true)) page.Gap();
    page.Text(text);
  };
  for (const ShapeCapacity& shape : capacity.shapes) {
    if (!shape.refusal) continue;
    add((shape.daemon_nodes ? "" : "The next ") + shape.name + ": " + shape.refusal->message);
    if (!shape.refusal->preemption_node.empty()) {
      add("It would evict " + NamesText(shape.refusal->preemption_victims, 3) + " from " +
          shape.refusal->preemption_node + ".");
    }
  }
  if (capacity.pending_count > 0) {
    add(Counted(capacity.pending_count, "pod of the cluster is", "pods of the cluster are") +
        " pending and took no room in this.");
  }
  if (is_wide) AddNodes(capacity, page);
  return std::move(page).Take();
}

codec::json::object CapacityJson(const Capacity& capacity) {
  codec::json::array shapes;
  for (const ShapeCapacity& shape : capacity.shapes) {
    codec::json::array nodes;
    for (const auto& [node, count] : shape.nodes) nodes.push_back(codec::json::object{{"name", node}, {"pods", count}});
    codec::json::object object{{"name", shape.name},
                               {"from", shape.origin},
                               {"requests", AmountsJson(shape.requests)},
                               {"fits", shape.fits},
                               {"isAtLimit", IsAtLimit(capacity, shape)},
                               {"nodeCount", shape.nodes.size()},
                               {"nodes", std::move(nodes)}};
    if (shape.daemon_nodes) object["daemonSetNodes"] = *shape.daemon_nodes;
    object["stoppedBy"] = shape.refusal ? codec::json::value(RefusalJson(*shape.refusal)) : codec::json::value();
    shapes.push_back(std::move(object));
  }
  return {{"kind", "Capacity"},
          {"nodes", capacity.node_count},
          {"pods", capacity.pod_count},
          {"pendingPods", capacity.pending_count},
          {"interrupted", capacity.is_interrupted},
          {"max", capacity.options.pods_max},
          {"together", capacity.options.is_together},
          {"shapes", std::move(shapes)}};
}

}  // namespace berth::answers
