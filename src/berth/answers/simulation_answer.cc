// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/simulation_answer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"
#include "berth/plugins/best_price/price.h"

namespace berth::answers {
namespace {

namespace json = codec::json;
using cli::Cell;
using cli::Color;
using cli::Table;
using whatif::ClusterUse, whatif::LostPod, whatif::NodeUse, whatif::PodOrigin, whatif::Simulation, whatif::Workload;
using whatif::SimulatedComposite, whatif::SimulatedEviction, whatif::SimulatedGroup, whatif::SimulatedPod;

constexpr std::size_t kNodesNamedMax = 3;  // more of them are counted
constexpr std::size_t kRowsMax = 50;       // of evictions and the like, unless wide
constexpr std::size_t kWrapWidthMin = 40;

using PodsOf = std::pair<PodOrigin, Workload>;
using NodeCounts = std::map<std::string, std::size_t>;  // "": stays pending

std::string NameOf(const Workload& workload) {
  return workload.kind + ' ' + workload.namespace_name + '/' + workload.name;
}

std::string NameOf(const SimulatedPod& pod) { return pod.workload.namespace_name + '/' + pod.name; }

std::map<PodsOf, NodeCounts> Grouped(const Simulation& simulation) {
  std::map<PodsOf, NodeCounts> groups;
  for (const SimulatedPod& pod : simulation.pods) ++groups[{pod.origin, pod.workload}][pod.node];
  return groups;
}

std::size_t PendingOf(const NodeCounts& counts) {
  const auto at = counts.find("");
  return at == counts.end() ? 0 : at->second;
}

std::size_t CountOf(const NodeCounts& counts) {
  std::size_t sum = 0;
  for (const auto& [node, count] : counts) sum += count;
  return sum;
}

// "n1, n2 (2)", or "12 nodes, 83 or 84 each".
std::string Where(NodeCounts counts) {
  counts.erase("");
  if (counts.empty()) return "<none>";
  if (counts.size() <= kNodesNamedMax) {
    std::string text;
    for (const auto& [node, count] : counts)
      text += (text.empty() ? "" : ", ") + node + (count == 1 ? "" : " (" + std::to_string(count) + ')');
    return text;
  }
  const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::size_t least = std::min_element(counts.begin(), counts.end(), by_count)->second;
  const std::size_t most = std::max_element(counts.begin(), counts.end(), by_count)->second;
  std::string each = std::to_string(least);
  if (most > least) each += (most == least + 1 ? " or " : " to ") + std::to_string(most);
  return std::to_string(counts.size()) + " nodes, " + each + " each";
}

std::string Percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const auto tenths = static_cast<std::int64_t>(static_cast<double>(part) * 1000 / static_cast<double>(whole) + 0.5);
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
}

std::string Price(const ClusterUse& use) {
  return use.priced_nodes == 0 ? "-" : plugins::FormatPrice(use.used_price_micro);
}

// How many nodes the simulated pods are on.
std::size_t NodesOf(const Simulation& simulation) {
  NodeCounts counts;
  for (const SimulatedPod& pod : simulation.pods) ++counts[pod.node];
  return counts.size() - counts.count("");
}

class ReportPage : public Page {
 public:
  explicit ReportPage(const ReportStyle& style)
      : Page({style.has_color, style.width},
             style.width == 0 ? std::numeric_limits<std::size_t>::max() : std::max(style.width, kWrapWidthMin)),
        is_wide_(style.is_wide) {}

  // Adds the table below a gap, unless it has no row.
  void Section(const Table& table) {
    if (table.row_count() == 0) return;
    Gap();
    Rows(table);
  }
  // Whether a table that may be cut has room for one more row.
  bool HasRoom(const Table& table) const { return is_wide_ || table.row_count() < kRowsMax; }
  // Adds a table that was filled while it had room, and says how many of `all` rows are missing.
  void CutSection(const Table& table, std::size_t all) {
    Section(table);
    if (table.row_count() < all) Line("and " + std::to_string(all - table.row_count()) + " more (-o wide lists all)");
  }
  void Reason(const std::string& why) {
    if (!why.empty()) Text(why, 2, 0);
  }

 private:
  const bool is_wide_;
};

void AddPods(const Simulation& simulation, const ReportStyle& style, ReportPage& page) {
  if (style.is_wide) {
    Table table({{"POD"}, {"ORIGIN"}, {"NODE"}, {"ZONE"}, {"WAS ON"}});
    for (const SimulatedPod& pod : simulation.pods) {
      table.AddRow({NameOf(pod), std::string(ToString(pod.origin)),
                    pod.node.empty() ? Cell("<none>", Color::kRed) : Cell(pod.node), pod.zone, pod.was_on});
    }
    return page.Section(table);
  }
  Table table({{"WORKLOAD"}, {"ORIGIN"}, {"PODS", true}, {"PENDING", true}, {"NODES"}});
  for (const auto& [group, counts] : Grouped(simulation)) {
    const std::size_t pending = PendingOf(counts);
    table.AddRow({NameOf(group.second), std::string(ToString(group.first)), std::to_string(CountOf(counts)),
                  Cell(std::to_string(pending), pending == 0 ? Color::kNone : Color::kRed), Where(counts)});
  }
  page.Section(table);
}

std::string NameOf(const SimulatedGroup& group) { return group.namespace_name + '/' + group.name; }

void AddGroups(const Simulation& simulation, ReportPage& page) {
  const auto red_above_zero = [](std::size_t count) {
    return Cell(std::to_string(count), count == 0 ? Color::kNone : Color::kRed);
  };
  const auto minimum = [](const std::optional<std::int32_t>& count) { return count ? std::to_string(*count) : "-"; };
  std::vector<cli::Column> columns = {
      {"POD GROUP"}, {"MIN COUNT", true}, {"SCHEDULED", true}, {"PENDING", true}, {"REASON"}};
  if (!simulation.composites.empty()) columns.push_back({"IN"});
  Table table(std::move(columns));
  for (const SimulatedGroup& group : simulation.groups) {
    if (!page.HasRoom(table)) break;
    table.AddRow({NameOf(group), minimum(group.min_count), std::to_string(group.scheduled),
                  red_above_zero(group.pending), group.reason, group.parent.empty() ? "<none>" : group.parent});
  }
  page.CutSection(table, simulation.groups.size());
  Table composites({{"COMPOSITE POD GROUP"}, {"MIN GROUPS", true}, {"PLACED", true}, {"WAITING", true}, {"IN"}});
  for (const SimulatedComposite& group : simulation.composites) {
    if (!page.HasRoom(composites)) break;
    composites.AddRow({group.namespace_name + '/' + group.name, minimum(group.min_group_count),
                       std::to_string(group.placed), red_above_zero(group.waiting),
                       group.parent.empty() ? "<none>" : group.parent});
  }
  page.CutSection(composites, simulation.composites.size());
}

// The groups that say why their pods stay pending, by "namespace/name".
std::map<std::string, const SimulatedGroup*> GroupsWithReason(const Simulation& simulation) {
  std::map<std::string, const SimulatedGroup*> groups;
  for (const SimulatedGroup& group : simulation.groups) {
    if (group.pending > 0 && !group.message.empty()) groups[NameOf(group)] = &group;
  }
  return groups;
}

// A pod of the group that has a reason of its own, other than the group's; null: there is none.
const SimulatedPod* PodThatTellsMore(const Simulation& simulation, const SimulatedGroup& group) {
  const auto found = std::ranges::find_if(simulation.pods, [&](const SimulatedPod& pod) {
    return pod.node.empty() && pod.group == group.name && pod.workload.namespace_name == group.namespace_name &&
           !group.message.starts_with(pod.why) && !pod.why.ends_with(group.message);
  });
  return found == simulation.pods.end() ? nullptr : &*found;
}

void AddGroupReasons(const Simulation& simulation, ReportPage& page) {
  std::size_t shown = 0;
  for (const auto& [name, group] : GroupsWithReason(simulation)) {
    if (shown++ == kRowsMax) break;
    page.Gap();
    page.Line(Counted(group->pending, "pod", "pods") + " of PodGroup " + name +
                  (group->pending == 1 ? " stays" : " stay") + " pending:",
              Color::kRed);
    page.Reason(group->message);
    if (const SimulatedPod* const pod = PodThatTellsMore(simulation, *group))
      page.Reason("pod " + pod->name + ": " + pod->why);
  }
}

void AddReasons(const Simulation& simulation, ReportPage& page) {
  AddGroupReasons(simulation, page);
  const auto groups = GroupsWithReason(simulation);
  std::map<std::tuple<PodOrigin, Workload, std::string>, std::size_t> reasons;
  for (const SimulatedPod& pod : simulation.pods) {
    const bool is_shown = !pod.group.empty() && groups.contains(pod.workload.namespace_name + '/' + pod.group);
    if (pod.node.empty() && !is_shown) ++reasons[{pod.origin, pod.workload, pod.why}];
  }
  std::size_t shown = 0;
  for (const auto& [reason, count] : reasons) {
    if (shown++ == kRowsMax) {
      page.Line("and " + Counted(reasons.size() - kRowsMax, "reason", "reasons") + " more (-o json has all)");
      break;
    }
    if (shown == 1) page.Gap();
    const auto& [origin, workload, why] = reason;
    page.Line(
        Counted(count, "pod", "pods") + " of " + NameOf(workload) + (count == 1 ? " stays" : " stay") + " pending:",
        Color::kRed);
    page.Reason(why);
  }
}

void AddLosses(const Simulation& simulation, ReportPage& page) {
  Table evicted({{"EVICTED"}, {"FROM"}, {"FOR"}});
  for (const SimulatedEviction& each : simulation.evictions) {
    if (page.HasRoom(evicted))
      evicted.AddRow({each.workload.namespace_name + '/' + each.name, each.node,
                      each.group_kind + (each.group_kind.empty() ? "" : " ") + each.preemptor});
  }
  page.CutSection(evicted, simulation.evictions.size());
  Table lost({{"LOST"}, {"WAS ON"}, {"WHY"}});
  for (const LostPod& each : simulation.lost) {
    if (page.HasRoom(lost)) lost.AddRow({each.workload.namespace_name + '/' + each.name, each.node, each.why});
  }
  page.CutSection(lost, simulation.lost.size());
}

// Nodes whose pods change, or that come or go.
std::vector<std::tuple<std::string, const NodeUse*, const NodeUse*>> ChangedNodes(const Simulation& simulation) {
  std::vector<std::tuple<std::string, const NodeUse*, const NodeUse*>> changed;
  for (const auto& [name, before] : simulation.nodes_before) {
    const auto after = simulation.nodes_after.find(name);
    const NodeUse* now = after == simulation.nodes_after.end() ? nullptr : &after->second;
    if (now == nullptr || *now != before) changed.emplace_back(name, &before, now);
  }
  for (const auto& [name, after] : simulation.nodes_after) {
    if (!simulation.nodes_before.contains(name)) changed.emplace_back(name, nullptr, &after);
  }
  std::sort(changed.begin(), changed.end(),
            [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  return changed;
}

std::string BeforeAndAfter(const std::string& before, const std::string& after) {
  return before == after ? after : before + " -> " + after;
}

void AddNodes(const Simulation& simulation, ReportPage& page) {
  Table table({{"NODE"}, {"ZONE"}, {"PODS"}, {"CPU"}, {"MEMORY"}});
  for (const auto& [name, before, after] : ChangedNodes(simulation)) {
    const auto of = [](const NodeUse* node, auto say) { return node == nullptr ? std::string("-") : say(*node); };
    const auto both = [&, b = before, a = after](auto say) { return BeforeAndAfter(of(b, say), of(a, say)); };
    table.AddRow({name, (after == nullptr ? before : after)->zone,
                  both([](const NodeUse& node) { return std::to_string(node.pods); }),
                  both([](const NodeUse& node) { return Percent(node.cpu_milli, node.cpu_milli_of); }),
                  both([](const NodeUse& node) { return Percent(node.memory_bytes, node.memory_bytes_of); })});
  }
  page.Section(table);
}

// "a 3, b 2".
std::string Zones(const std::map<std::string, std::size_t>& zones) {
  std::string text;
  for (const auto& [zone, count] : zones)
    text += (text.empty() ? "" : ", ") + (zone.empty() ? "no zone" : zone) + ' ' + std::to_string(count);
  return text.empty() ? "-" : text;
}

void AddSums(const Simulation& simulation, ReportPage& page) {
  const ClusterUse& before = simulation.use_before;
  const ClusterUse& after = simulation.use_after;
  Table table({{"CLUSTER"}, {"BEFORE", true}, {"AFTER", true}});
  const auto row = [&](const char* what, auto say) { table.AddRow({what, say(before), say(after)}); };
  row("nodes", [](const ClusterUse& use) { return std::to_string(use.nodes); });
  row("nodes in use", [](const ClusterUse& use) { return std::to_string(use.used_nodes); });
  row("pods on nodes", [](const ClusterUse& use) { return std::to_string(use.pods); });
  row("CPU requested", [](const ClusterUse& use) { return Percent(use.cpu_milli, use.cpu_milli_of); });
  row("memory requested", [](const ClusterUse& use) { return Percent(use.memory_bytes, use.memory_bytes_of); });
  if (before.priced_nodes + after.priced_nodes > 0) row("price of nodes in use", Price);
  page.Section(table);
}

void AddNotes(const std::vector<std::string>& notes, ReportPage& page) {
  if (!notes.empty()) page.Gap();
  for (const std::string& note : notes) page.Line("note: " + note, Color::kDim);
}

json::value TextOrNull(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

json::object ToJson(const Workload& workload) {
  return {{"kind", workload.kind}, {"namespace", workload.namespace_name}, {"name", workload.name}};
}

json::value PriceOrNull(const std::optional<std::int64_t>& micro) {
  return micro ? json::value(plugins::FormatPrice(*micro)) : json::value();
}

json::value ToJson(const NodeUse* node) {
  if (node == nullptr) return {};
  return json::object{{"pods", node->pods},
                      {"inUse", node->is_used},
                      {"cpuMilli", node->cpu_milli},
                      {"memoryBytes", node->memory_bytes},
                      {"cpuMilliAllocatable", node->cpu_milli_of},
                      {"memoryBytesAllocatable", node->memory_bytes_of},
                      {"price", PriceOrNull(node->price_micro)}};
}

json::object ToJson(const ClusterUse& use) {
  const bool has_price = use.priced_nodes > 0;
  return {{"nodes", use.nodes},
          {"nodesInUse", use.used_nodes},
          {"pods", use.pods},
          {"cpuMilli", use.cpu_milli},
          {"cpuMilliAllocatable", use.cpu_milli_of},
          {"memoryBytes", use.memory_bytes},
          {"memoryBytesAllocatable", use.memory_bytes_of},
          {"price", PriceOrNull(has_price ? std::optional(use.price_micro) : std::nullopt)},
          {"priceInUse", PriceOrNull(has_price ? std::optional(use.used_price_micro) : std::nullopt)}};
}

// By workload, how many pods each node has in one of two simulations.
std::map<Workload, NodeCounts> ByWorkload(const Simulation& simulation) {
  std::map<Workload, NodeCounts> counts;
  for (const SimulatedPod& pod : simulation.pods) ++counts[pod.workload][pod.node];
  return counts;
}

struct Difference {
  std::size_t pods = 0;  // of the workload in the first
  std::size_t elsewhere = 0;
  NodeCounts a, b;
};

std::map<Workload, Difference> Differences(const Simulation& a, const Simulation& b) {
  std::map<Workload, Difference> all;
  for (auto& [workload, counts] : ByWorkload(a)) all[workload].a = counts;
  for (auto& [workload, counts] : ByWorkload(b)) all[workload].b = counts;
  for (auto& [workload, difference] : all) {
    std::size_t same = 0;
    for (const auto& [node, count] : difference.a) {
      const auto other = difference.b.find(node);
      if (other != difference.b.end()) same += std::min(count, other->second);
    }
    difference.pods = std::max(CountOf(difference.a), CountOf(difference.b));
    difference.elsewhere = difference.pods - same;
  }
  return all;
}

std::string Ended(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

std::size_t PlacedOf(const Simulation& simulation) {
  return static_cast<std::size_t>(std::count_if(simulation.pods.begin(), simulation.pods.end(),
                                                [](const SimulatedPod& pod) { return !pod.node.empty(); }));
}

}  // namespace

std::size_t CountElsewhere(const Simulation& a, const Simulation& b) {
  std::size_t count = 0;
  for (const auto& [workload, difference] : Differences(a, b)) count += difference.elsewhere;
  return count;
}

std::string SimulationText(const Simulation& simulation, const ReportStyle& style) {
  ReportPage page(style);
  AddPods(simulation, style, page);
  AddGroups(simulation, page);
  AddReasons(simulation, page);
  AddLosses(simulation, page);
  if (style.is_wide) AddNodes(simulation, page);
  AddSums(simulation, page);
  if (simulation.zones.size() > 1 || (simulation.zones.size() == 1 && !simulation.zones.begin()->first.empty())) {
    page.Gap();
    page.Reason("zones: " + Zones(simulation.zones));
  }
  AddNotes(simulation.notes, page);
  return Ended(std::move(page).Take());
}

std::string ComparisonText(const Compared& a, const Compared& b, const ReportStyle& style) {
  ReportPage page(style);
  Table sums({{"OF THE PODS"}, {a.name, true}, {b.name, true}});
  const auto row = [&](const std::string& what, auto say) {
    sums.AddRow({what, say(a.simulation), say(b.simulation)});
  };
  row("placed", [](const Simulation& each) { return std::to_string(PlacedOf(each)); });
  row("pending", [](const Simulation& each) { return std::to_string(each.pods.size() - PlacedOf(each)); });
  if (!a.simulation.groups.empty()) {
    row("pod groups placed", [](const Simulation& each) {
      return std::to_string(std::ranges::count_if(each.groups, &SimulatedGroup::IsPlaced));
    });
  }
  row("evictions", [](const Simulation& each) { return std::to_string(each.evictions.size()); });
  row("their nodes", [](const Simulation& each) { return std::to_string(NodesOf(each)); });
  std::map<std::string, std::size_t> zones = a.simulation.zones;
  zones.insert(b.simulation.zones.begin(), b.simulation.zones.end());
  if (zones.size() > 1 || (zones.size() == 1 && !zones.begin()->first.empty())) {
    for (const auto& zone : zones) {
      row("in " + (zone.first.empty() ? std::string("no zone") : zone.first), [&](const Simulation& each) {
        const auto at = each.zones.find(zone.first);
        return std::to_string(at == each.zones.end() ? 0 : at->second);
      });
    }
  }
  page.Section(sums);

  const ClusterUse& use_a = a.simulation.use_after;
  const ClusterUse& use_b = b.simulation.use_after;
  Table cluster({{"CLUSTER"}, {a.name, true}, {b.name, true}});
  const auto use = [&](const char* what, auto say) { cluster.AddRow({what, say(use_a), say(use_b)}); };
  use("nodes in use", [](const ClusterUse& each) { return std::to_string(each.used_nodes); });
  use("CPU requested", [](const ClusterUse& each) { return Percent(each.cpu_milli, each.cpu_milli_of); });
  use("memory requested", [](const ClusterUse& each) { return Percent(each.memory_bytes, each.memory_bytes_of); });
  if (use_a.priced_nodes > 0) use("price of nodes in use", Price);
  page.Section(cluster);

  const std::size_t elsewhere = CountElsewhere(a.simulation, b.simulation);
  if (elsewhere == 0) {
    page.Gap();
    page.Line("No placement differs.");
  } else if (style.is_wide) {
    Table pods({{"POD"}, {a.name}, {b.name}});
    std::map<std::string, std::string> other;
    for (const SimulatedPod& pod : b.simulation.pods) other[NameOf(pod)] = pod.node;
    for (const SimulatedPod& pod : a.simulation.pods) {
      const std::string& node = other[NameOf(pod)];
      if (node != pod.node)
        pods.AddRow({NameOf(pod), pod.node.empty() ? "<none>" : pod.node, node.empty() ? "<none>" : node});
    }
    page.Section(pods);
  } else {
    Table workloads({{"WORKLOAD"}, {"PODS", true}, {"ELSEWHERE", true}, {a.name}, {b.name}});
    for (const auto& [workload, difference] : Differences(a.simulation, b.simulation)) {
      if (difference.elsewhere == 0) continue;
      workloads.AddRow({NameOf(workload), std::to_string(difference.pods), std::to_string(difference.elsewhere),
                        Where(difference.a), Where(difference.b)});
    }
    page.Section(workloads);
  }
  for (const Compared* each : {&a, &b}) {
    ReportPage reasons(style);
    AddReasons(each->simulation, reasons);
    std::vector<std::string> shown = std::move(reasons).Take();
    if (shown.empty()) continue;
    page.Gap();
    page.Line(each->name + ':', Color::kBold);
    page.Append(std::move(shown));
  }
  AddNotes(a.simulation.notes, page);
  return Ended(std::move(page).Take());
}

json::object SimulationJson(const Simulation& simulation, const std::vector<std::string>& left_out) {
  json::array pods;
  for (const SimulatedPod& pod : simulation.pods) {
    json::object item{{"namespace", pod.workload.namespace_name},
                      {"name", pod.name},
                      {"workload", ToJson(pod.workload)},
                      {"origin", ToString(pod.origin)},
                      {"node", TextOrNull(pod.node)}};
    if (!pod.zone.empty()) item["zone"] = pod.zone;
    if (!pod.was_on.empty()) item["previousNode"] = pod.was_on;
    if (!pod.group.empty()) item["podGroup"] = pod.group;
    if (pod.node.empty()) item["reason"] = pod.why;
    pods.push_back(std::move(item));
  }
  json::array groups;
  for (const SimulatedGroup& each : simulation.groups) {
    groups.push_back(json::object{{"namespace", each.namespace_name},
                                  {"name", each.name},
                                  {"compositePodGroup", TextOrNull(each.parent)},
                                  {"minCount", each.min_count ? json::value(*each.min_count) : json::value()},
                                  {"scheduled", each.scheduled},
                                  {"pending", each.pending},
                                  {"reason", TextOrNull(each.reason)},
                                  {"message", TextOrNull(each.message)}});
  }
  json::array composites;
  for (const SimulatedComposite& each : simulation.composites) {
    composites.push_back(
        json::object{{"namespace", each.namespace_name},
                     {"name", each.name},
                     {"compositePodGroup", TextOrNull(each.parent)},
                     {"minGroupCount", each.min_group_count ? json::value(*each.min_group_count) : json::value()},
                     {"placed", each.placed},
                     {"waiting", each.waiting}});
  }
  json::array evictions;
  for (const SimulatedEviction& each : simulation.evictions) {
    json::object item{{"namespace", each.workload.namespace_name},
                      {"name", each.name},
                      {"workload", ToJson(each.workload)},
                      {"node", each.node},
                      {"preemptor", TextOrNull(each.preemptor)}};
    if (!each.group_kind.empty()) item["preemptorKind"] = each.group_kind;
    evictions.push_back(std::move(item));
  }
  json::array lost;
  for (const LostPod& each : simulation.lost) {
    lost.push_back(json::object{
        {"namespace", each.workload.namespace_name}, {"name", each.name}, {"node", each.node}, {"reason", each.why}});
  }
  json::array nodes;
  for (const auto& [name, before, after] : ChangedNodes(simulation)) {
    nodes.push_back(json::object{{"name", name},
                                 {"zone", TextOrNull((after == nullptr ? before : after)->zone)},
                                 {"before", ToJson(before)},
                                 {"after", ToJson(after)}});
  }
  json::object zones;
  for (const auto& [zone, count] : simulation.zones) zones[zone] = count;
  return {{"pods", std::move(pods)},
          {"pending", simulation.PendingCount()},
          {"podGroups", std::move(groups)},
          {"compositePodGroups", std::move(composites)},
          {"evictions", std::move(evictions)},
          {"lost", std::move(lost)},
          {"nodes", std::move(nodes)},
          {"zones", std::move(zones)},
          {"before", ToJson(simulation.use_before)},
          {"after", ToJson(simulation.use_after)},
          {"notes", NamesJson(simulation.notes)},
          {"notSimulated", NamesJson(left_out)}};
}

json::object ComparisonJson(const Compared& a, const Compared& b, const std::vector<std::string>& left_out) {
  json::array differences;
  for (const auto& [workload, difference] : Differences(a.simulation, b.simulation)) {
    if (difference.elsewhere == 0) continue;
    const auto counts = [](const NodeCounts& of) {
      json::object nodes;
      for (const auto& [node, count] : of) nodes[node] = count;
      return nodes;
    };
    differences.push_back(json::object{{"workload", ToJson(workload)},
                                       {"pods", difference.pods},
                                       {"elsewhere", difference.elsewhere},
                                       {"nodes", json::array{counts(difference.a), counts(difference.b)}}});
  }
  const auto one = [&](const Compared& each) {
    json::object out{{"name", each.name}};
    for (auto& [key, value] : SimulationJson(each.simulation, left_out)) out[key] = std::move(value);
    return out;
  };
  return {{"elsewhere", CountElsewhere(a.simulation, b.simulation)},
          {"differences", std::move(differences)},
          {"simulations", json::array{one(a), one(b)}}};
}

}  // namespace berth::answers
