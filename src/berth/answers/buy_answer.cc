// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/buy_answer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"
#include "berth/base/text.h"
#include "berth/plugins/best_price/price.h"

namespace berth::answers {
namespace {

using buy::NewNode, buy::NodeCatalogue, buy::PurchasePlan;
using plugins::FormatPrice;
namespace json = codec::json;

// What one node is for, in the table that is not wide.
constexpr std::size_t kWorkloadsShownMax = 3;

std::string WorkloadText(const whatif::Workload& workload) {
  return workload.kind + ' ' + workload.namespace_name + '/' + workload.name;
}

std::string PercentText(std::int64_t part, std::int64_t of) {
  return of <= 0 ? "-" : std::to_string((part * 100 + of / 2) / of) + '%';
}

// In tenths of a percent, of the price; nullopt: there is no bound, or nothing to pay.
std::optional<std::int64_t> GapPerMille(const PurchasePlan& plan) {
  if (!plan.bound_micro || plan.price_micro <= 0) return std::nullopt;
  return std::max<std::int64_t>((plan.price_micro - *plan.bound_micro) * 1000 / plan.price_micro, 0);
}

std::string ForText(const NewNode& node, bool is_wide) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [workload, count] : node.pods) {
    if (!is_wide && shown == kWorkloadsShownMax) break;
    ++shown;
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(WorkloadText(workload));
  }
  if (shown < node.pods.size()) text += " and " + std::to_string(node.pods.size() - shown) + " more";
  return text.empty() ? "-" : text;
}

std::string CapacityOf(const NodeCatalogue& catalogue, const NewNode& node) {
  return catalogue.shapes[node.shape].is_spot ? "spot" : "";
}

void AddLeft(const PurchasePlan& plan, Page& page) {
  for (const buy::LeftPods& left : plan.left) {
    const bool is_one = left.count == 1 && left.workload.kind == "Pod";
    const std::string who =
        is_one ? "Pod " + left.first : Counted(left.count, "pod", "pods") + " of " + WorkloadText(left.workload);
    page.Text(who + (left.count == 1 ? " stays pending: " : " stay pending: ") + left.why);
  }
  if (!plan.left.empty()) page.Gap();
}

void AddRefused(const PurchasePlan& plan, Page& page) {
  for (const whatif::RefusedPods& refused : plan.refused) {
    const bool is_one = refused.count == 1 && refused.workload.kind == "Pod";
    const std::string who = is_one ? "Pod " + refused.first
                                   : Counted(refused.count, "pod", "pods") + " of " + WorkloadText(refused.workload);
    page.Text(who + (refused.count == 1 ? " is" : " are") + " refused by the API server: " + refused.why);
  }
  if (!plan.refused.empty()) page.Gap();
}

std::string Summary(const PurchasePlan& plan) {
  std::string text;
  if (plan.nodes.empty()) {
    text = plan.pods.empty() && plan.replaced.empty() ? "No pods were asked about" : "No node has to be bought";
  } else {
    text = "Buy " + Counted(plan.nodes.size(), "node", "nodes") + " for " + FormatPrice(plan.price_micro) + " an hour";
    if (const auto gap = GapPerMille(plan)) {
      text += "; no plan costs less than " + FormatPrice(*plan.bound_micro) + " (" + std::to_string(*gap / 10) + '.' +
              std::to_string(*gap % 10) + " % less)";
    }
  }
  text += ". ";
  text += Counted(plan.pods_on_new, "pod goes", "pods go") + " to new nodes, " + std::to_string(plan.pods_on_existing) +
          " to nodes that are there";
  if (const std::size_t left = plan.LeftCount(); left > 0) text += ", " + std::to_string(left) + " to none";
  return text + '.';
}

void AddNodes(const PurchasePlan& plan, const NodeCatalogue& catalogue, bool is_wide, Page& page) {
  if (plan.nodes.empty()) return;
  cli::Table table({{"NODE"}, {"ZONE"}, {"TYPE"}, {"PRICE", true}, {"CPU", true}, {"MEMORY", true}, {"FOR"}});
  for (const NewNode& node : plan.nodes) {
    table.AddRow({node.name, node.zone.empty() ? "-" : node.zone, CapacityOf(catalogue, node),
                  FormatPrice(node.price_micro), PercentText(node.cpu_milli, node.cpu_milli_of),
                  PercentText(node.memory_bytes, node.memory_bytes_of), ForText(node, is_wide)});
  }
  page.Gap();
  page.Rows(table);
}

void AddReplaced(const PurchasePlan& plan, bool is_wide, Page& page) {
  if (plan.replaced.empty()) return;
  page.Gap();
  page.Text(Counted(plan.replaced.size(), "node", "nodes") + " can go, which saves " +
            FormatPrice(plan.replaced_price_micro) + " an hour; with the new ones " +
            FormatPrice(std::abs(plan.replaced_price_micro - plan.price_micro)) + " an hour " +
            (plan.replaced_price_micro >= plan.price_micro ? "less" : "more") + " than now.");
  cli::Table table({{"NODE THAT GOES"}, {"PRICE", true}, {"PODS THAT MOVE", true}, {"TO"}});
  for (const buy::ReplacedNode& node : plan.replaced) {
    std::map<std::string, std::size_t> counts;
    for (const auto& [pod, to] : node.moves) ++counts[to];
    std::vector<std::string> targets;
    for (const auto& [to, count] : counts) targets.push_back(to + " (" + std::to_string(count) + ')');
    constexpr std::size_t kTargetsMax = 3;
    table.AddRow({node.name, FormatPrice(node.price_micro), std::to_string(node.moves.size()),
                  targets.empty() ? "-" : NamesText(targets, is_wide ? targets.size() : kTargetsMax)});
  }
  page.Rows(table);
}

void AddPods(const PurchasePlan& plan, Page& page) {
  if (plan.pods.empty()) return;
  cli::Table table({{"POD"}, {"NODE"}});
  for (const buy::PlannedPod& pod : plan.pods) table.AddRow({pod.key, pod.node.empty() ? "-" : pod.node});
  page.Gap();
  page.Rows(table);
}

json::object WorkloadJson(const whatif::Workload& workload) {
  return {{"kind", workload.kind}, {"namespace", workload.namespace_name}, {"name", workload.name}};
}

json::value OtherJson(const std::optional<buy::OtherPlan>& plan) {
  if (!plan) return nullptr;
  return json::object{{"shapes", plan->shapes}, {"price", FormatPrice(plan->price_micro)}};
}

json::array TaintsJson(const api::Node& node) {
  json::array taints;
  for (const api::Taint& taint : node.taints) {
    const char* effect = taint.effect == api::TaintEffect::kNoExecute          ? "NoExecute"
                         : taint.effect == api::TaintEffect::kPreferNoSchedule ? "PreferNoSchedule"
                                                                               : "NoSchedule";
    taints.push_back(json::object{{"key", taint.key}, {"value", taint.value}, {"effect", effect}});
  }
  return taints;
}

json::object In(std::string_view key, const std::string& value) {
  return {{"key", key}, {"operator", "In"}, {"values", json::array{value}}};
}

}  // namespace

std::vector<std::string> BuyLines(const PurchasePlan& plan, const NodeCatalogue& catalogue, bool is_wide,
                                  const cli::Table::Style& style) {
  Page page(style);
  AddRefused(plan, page);
  AddLeft(plan, page);
  page.Text(Summary(plan), 0, 0);
  AddNodes(plan, catalogue, is_wide, page);
  AddReplaced(plan, is_wide, page);
  bool has_gap = false;
  const auto add = [&](const std::string& text) {
    if (!std::exchange(has_gap, true)) page.Gap();
    page.Text(text);
  };
  if (plan.second && plan.second->shapes.empty()) {
    add("The second-best plan buys nothing.");
  } else if (plan.second) {
    add("The second-best plan costs " + FormatPrice(plan.second->price_micro) + " an hour: " + plan.second->shapes +
        '.');
  }
  if (plan.nominated) {
    add("With pods that are told their nodes (--placement nominated), " + FormatPrice(plan.nominated->price_micro) +
        " an hour would do: " + plan.nominated->shapes + '.');
  }
  if (plan.ignored_pending > 0) {
    add(Counted(plan.ignored_pending, "pod of the cluster is", "pods of the cluster are") +
        " pending and took no room in this; --pending buys for them, too.");
  }
  for (const std::string& note : plan.notes) add(note + '.');
  if (plan.is_interrupted) add("Interrupted: there may be a cheaper plan.");
  if (plan.is_cut_short) add("The search has reached its bound, --effort: there may be a cheaper plan.");
  if (is_wide) AddPods(plan, page);
  return std::move(page).Take();
}

json::object BuyJson(const PurchasePlan& plan, const NodeCatalogue& catalogue) {
  json::array nodes;
  for (const NewNode& node : plan.nodes) {
    const buy::CatalogueShape& shape = catalogue.shapes[node.shape];
    json::array pods;
    for (const auto& [workload, count] : node.pods) {
      json::object of = WorkloadJson(workload);
      of["pods"] = count;
      pods.push_back(std::move(of));
    }
    nodes.push_back(json::object{
        {"name", node.name},
        {"shape", shape.name},
        {"zone", node.zone},
        {"spot", shape.is_spot},
        {"price", FormatPrice(node.price_micro)},
        {"workloads", std::move(pods)},
        {"daemonSetPods", node.daemon_pods},
        {"cpu", json::object{{"requestedMilli", node.cpu_milli}, {"allocatableMilli", node.cpu_milli_of}}},
        {"memory", json::object{{"requestedBytes", node.memory_bytes}, {"allocatableBytes", node.memory_bytes_of}}}});
  }
  json::array pods;
  for (const buy::PlannedPod& pod : plan.pods) {
    json::object of = KeyJson(pod.key);
    of["workload"] = WorkloadJson(pod.workload);
    of["origin"] = pod.is_pending ? "pending" : "new";
    of["node"] = pod.node.empty() ? json::value() : json::value(pod.node);
    of["onNewNode"] = pod.is_on_new_node;
    pods.push_back(std::move(of));
  }
  json::array left;
  for (const buy::LeftPods& each : plan.left) {
    left.push_back(json::object{{"workload", WorkloadJson(each.workload)},
                                {"first", KeyJson(each.first)},
                                {"pods", each.count},
                                {"reason", each.why},
                                {"fitsNoShape", each.fits_no_shape}});
  }
  json::array refused;
  for (const whatif::RefusedPods& each : plan.refused) {
    refused.push_back(json::object{{"workload", WorkloadJson(each.workload)},
                                   {"first", KeyJson(each.first)},
                                   {"pods", each.count},
                                   {"reason", each.why}});
  }
  json::array replaced;
  for (const buy::ReplacedNode& node : plan.replaced) {
    json::array moves;
    for (const auto& [key, to] : node.moves) {
      json::object move = KeyJson(key);
      move["to"] = to;
      moves.push_back(std::move(move));
    }
    replaced.push_back(
        json::object{{"name", node.name}, {"price", FormatPrice(node.price_micro)}, {"moves", std::move(moves)}});
  }
  json::array notes;
  for (const std::string& note : plan.notes) notes.emplace_back(note);
  return {{"kind", "Purchase"},
          {"price", FormatPrice(plan.price_micro)},
          {"lowerBound", plan.bound_micro ? json::value(FormatPrice(*plan.bound_micro)) : json::value()},
          {"nodes", std::move(nodes)},
          {"pods", std::move(pods)},
          {"podsOnNewNodes", plan.pods_on_new},
          {"podsOnExistingNodes", plan.pods_on_existing},
          {"refused", std::move(refused)},
          {"refusedPods", plan.RefusedCount()},
          {"left", std::move(left)},
          {"leftPods", plan.LeftCount()},
          {"secondBest", OtherJson(plan.second)},
          {"nominated", OtherJson(plan.nominated)},
          {"replaced", std::move(replaced)},
          {"replacedPrice", FormatPrice(plan.replaced_price_micro)},
          {"ignoredPendingPods", plan.ignored_pending},
          {"notes", std::move(notes)},
          {"interrupted", plan.is_interrupted},
          {"cutShort", plan.is_cut_short}};
}

Expected<json::array> NodeClaims(const PurchasePlan& plan, const NodeCatalogue& catalogue) {
  json::array claims;
  for (const NewNode& node : plan.nodes) {
    const buy::CatalogueShape& shape = catalogue.shapes[node.shape];
    if (shape.node_class.empty() || shape.node_class_kind.empty() || shape.node_class_group.empty()) {
      return InvalidError(shape.where +
                          ".nodeClassRef: a NodeClaim needs it; want group, kind and name, as a NodePool "
                          "has them");
    }
    const api::Node& model = *shape.node;
    json::array requirements;
    const std::string* type = model.metadata.labels.Find(buy::kInstanceTypeLabel);
    requirements.push_back(In(buy::kInstanceTypeLabel, type == nullptr ? shape.name : *type));
    if (!node.zone.empty()) requirements.push_back(In(buy::kZoneLabel, node.zone));
    if (const std::string* capacity = model.metadata.labels.Find(buy::kCapacityTypeLabel))
      requirements.push_back(In(buy::kCapacityTypeLabel, *capacity));
    json::object labels;
    for (const auto& [key, value] : model.metadata.labels) {
      if (key != buy::kInstanceTypeLabel && key != buy::kCapacityTypeLabel) labels[key] = value;
    }
    json::object spec{
        {"nodeClassRef",
         json::object{{"group", shape.node_class_group}, {"kind", shape.node_class_kind}, {"name", shape.node_class}}},
        {"requirements", std::move(requirements)},
        {"resources", json::object{{"requests", json::object{{"cpu", std::to_string(node.cpu_milli) + "m"},
                                                             {"memory", std::to_string(node.memory_bytes)}}}}}};
    if (json::array taints = TaintsJson(model); !taints.empty()) spec["taints"] = std::move(taints);
    claims.push_back(json::object{{"apiVersion", "karpenter.sh/v1"},
                                  {"kind", "NodeClaim"},
                                  {"metadata", json::object{{"name", node.name}, {"labels", std::move(labels)}}},
                                  {"spec", std::move(spec)}});
  }
  return claims;
}

json::array MachineDeployments(const PurchasePlan& plan, const NodeCatalogue& catalogue) {
  struct Scaled {
    std::int64_t before = 0;
    std::int64_t added = 0;
  };
  std::map<std::pair<std::string, std::string>, Scaled> scaled;  // by namespace and name
  for (const NewNode& node : plan.nodes) {
    const buy::CatalogueShape& shape = catalogue.shapes[node.shape];
    Scaled& deployment =
        scaled[{shape.machine_deployment_namespace.empty() ? "default" : shape.machine_deployment_namespace,
                shape.machine_deployment.empty() ? shape.name : shape.machine_deployment}];
    deployment.before = std::max(deployment.before, shape.machine_deployment_replicas);
    ++deployment.added;
  }
  json::array deployments;
  for (const auto& [key, deployment] : scaled) {
    deployments.push_back(json::object{{"apiVersion", "cluster.x-k8s.io/v1beta1"},
                                       {"kind", "MachineDeployment"},
                                       {"metadata", json::object{{"namespace", key.first}, {"name", key.second}}},
                                       {"spec", json::object{{"replicas", deployment.before + deployment.added}}}});
  }
  return deployments;
}

}  // namespace berth::answers
