// SPDX-License-Identifier: Apache-2.0
// The columns and cells that kubectl get shows for each kind, as kube-apiserver prints them: the kinds that stand
// alone, and the list of all.
#include "berth/devcluster/objects/rows/rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/base/text.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/cells.h"
#include "berth/devcluster/objects/rows/cluster.h"
#include "berth/devcluster/objects/rows/policy.h"
#include "berth/devcluster/objects/rows/storage.h"
#include "berth/devcluster/objects/rows/workload.h"

namespace berth::objects::internal {
namespace {

// --- Nodes -----------------------------------------------------------------------------------------------------------

std::string_view Address(const json::object& node, std::string_view type) {
  for (const json::object* address : ObjectsOf(StatusOf(node), "addresses")) {
    if (StringMember(*address, "type") == type) return StringMember(*address, "address");
  }
  return kNone;
}

json::array NodeRow(const json::object& node, std::int64_t now_seconds) {
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::string status = "Unknown";
  for (const json::object* condition : ObjectsOf(StatusOf(node), "conditions")) {
    if (StringMember(*condition, "type") == "Ready") {
      status = StringMember(*condition, "status") == "True" ? "Ready" : "NotReady";
    }
  }
  if (BoolMember(Spec(node), "unschedulable")) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  for (const auto& [key, value] : Part(Metadata(node), "labels")) {
    const std::string_view label = key;
    if (label.starts_with(kRolePrefix) && label.size() > kRolePrefix.size()) {
      roles.insert(std::string(label.substr(kRolePrefix.size())));
    } else if (label == "kubernetes.io/role" && !Plain(&value).empty()) {
      roles.insert(Plain(&value));
    }
  }
  std::string role_list;
  for (const std::string& role : roles) Append(role_list, role);
  const json::object& info = Part(StatusOf(node), "nodeInfo");
  std::string kernel(Or(StringMember(info, "kernelVersion"), kUnknown));
  if (const std::string_view architecture = StringMember(info, "architecture"); !architecture.empty()) {
    kernel += " (" + std::string(architecture) + ")";
  }
  return {Name(node),
          Text(status),
          Text(Or(role_list, kNone)),
          Age(node, now_seconds),
          Text(StringMember(info, "kubeletVersion")),
          Text(Address(node, "InternalIP")),
          Text(Address(node, "ExternalIP")),
          Text(Or(StringMember(info, "osImage"), kUnknown)),
          Text(kernel),
          Text(Or(StringMember(info, "containerRuntimeVersion"), kUnknown))};
}

// --- Events ----------------------------------------------------------------------------------------------------------

// Both spellings of an event: core's and events.k8s.io's.
json::array EventRow(const json::object& event, std::int64_t now_seconds) {
  const auto pick = [&](std::string_view core, std::string_view newer) -> std::string_view {
    return FindMember(event, core) != nullptr ? core : newer;
  };
  const auto time_of = [&](std::string_view member) { return SecondsOf(event, member); };
  const std::optional<std::int64_t> event_time = time_of("eventTime");
  std::optional<std::int64_t> first = time_of(pick("firstTimestamp", "deprecatedFirstTimestamp"));
  if (!first) first = event_time;
  std::optional<std::int64_t> last = time_of(pick("lastTimestamp", "deprecatedLastTimestamp"));
  if (!last) last = first;
  std::int64_t count = IntMember(event, pick("count", "deprecatedCount"));
  if (const json::object* series = ObjectMember(event, "series")) {
    last = SecondsOf(*series, "lastObservedTime");
    count = IntMember(*series, "count");
  } else if (count == 0) {
    count = 1;
  }
  const json::object& about = Part(event, pick("involvedObject", "regarding"));
  std::string target = LowerCase(StringMember(about, "kind"));
  if (const std::string_view name = StringMember(about, "name"); !name.empty()) target += "/" + std::string(name);
  const json::object& source = Part(event, pick("source", "deprecatedSource"));
  std::string from(
      Or(StringMember(source, "component"), StringMember(event, pick("reportingComponent", "reportingController"))));
  if (const std::string_view host = Or(StringMember(source, "host"), StringMember(event, "reportingInstance"));
      !host.empty()) {
    from += ", " + std::string(host);
  }
  std::string_view message = StringMember(event, pick("message", "note"));
  constexpr std::string_view kSpace = " \t\r\n";
  message.remove_prefix(std::min(message.find_first_not_of(kSpace), message.size()));
  if (!message.empty()) message = message.substr(0, message.find_last_not_of(kSpace) + 1);
  return {Since(last, now_seconds),
          Text(StringMember(event, "type")),
          Text(StringMember(event, "reason")),
          Text(target),
          Text(StringMember(about, "fieldPath")),
          Text(from),
          Text(message),
          Since(first, now_seconds),
          count,
          Name(event)};
}

// --- Services --------------------------------------------------------------------------------------------------------

std::string ExternalAddresses(const json::object& service) {
  const json::object& spec = Spec(service);
  const std::string_view type = StringMember(spec, "type");
  const std::string listed = JoinStrings(spec, "externalIPs");
  if (type == "ExternalName") return std::string(StringMember(spec, "externalName"));
  if (type != "LoadBalancer") return listed.empty() ? std::string(kNone) : listed;
  std::set<std::string> balanced;
  for (const json::object* ingress : ObjectsOf(Part(StatusOf(service), "loadBalancer"), "ingress")) {
    const std::string address(Or(StringMember(*ingress, "ip"), StringMember(*ingress, "hostname")));
    if (!address.empty()) balanced.insert(address);
  }
  std::string text;
  for (const std::string& each : balanced) Append(text, each);
  if (!listed.empty()) Append(text, listed);
  return text.empty() ? "<pending>" : text;
}

json::array ServiceRow(const json::object& service, std::int64_t now_seconds) {
  const json::object& spec = Spec(service);
  const json::array* addresses = ArrayMember(spec, "clusterIPs");
  const std::string address = addresses == nullptr || addresses->empty() ? std::string(StringMember(spec, "clusterIP"))
                                                                         : Plain(&addresses->front());
  std::string ports;
  for (const json::object* port : ObjectsOf(spec, "ports")) {
    Append(ports, std::to_string(IntMember(*port, "port")));
    if (IntMember(*port, "nodePort") > 0) ports += ":" + std::to_string(IntMember(*port, "nodePort"));
    ports += "/" + std::string(StringMember(*port, "protocol"));
  }
  return {Name(service),
          Text(StringMember(spec, "type")),
          Text(Or(address, kNone)),
          Text(ExternalAddresses(service)),
          Text(Or(ports, kNone)),
          Age(service, now_seconds),
          Text(Pairs(Part(spec, "selector")))};
}

json::array EndpointsRow(const json::object& object, std::int64_t now_seconds) {
  constexpr std::size_t kShownMax = 3;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](std::string_view address) {
    if (++count <= kShownMax) Append(text, address);
  };
  for (const json::object* subset : ObjectsOf(object, "subsets")) {
    const auto addresses = ObjectsOf(*subset, "addresses");
    const auto ports = ObjectsOf(*subset, "ports");
    if (ports.empty()) {
      for (const json::object* address : addresses) add(StringMember(*address, "ip"));
    }
    for (const json::object* port : ports) {
      for (const json::object* address : addresses) {
        const std::string ip(StringMember(*address, "ip"));
        const bool is_v6 = ip.find(':') != std::string::npos;
        add((is_v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(IntMember(*port, "port")));
      }
    }
  }
  if (count > kShownMax) text += " + " + std::to_string(count - kShownMax) + " more...";
  return {Name(object), Text(Or(text, kNone)), Age(object, now_seconds)};
}

std::int64_t SizeOf(const json::object& object, std::string_view member) {
  return static_cast<std::int64_t>(Part(object, member).size());
}

// --- The list --------------------------------------------------------------------------------------------------------

// --- Pod groups ------------------------------------------------------------------------------------------------------

std::string_view GroupPolicy(const json::object& group) {
  return FindMember(Part(Spec(group), "schedulingPolicy"), "gang") != nullptr ? "Gang" : "Basic";
}

std::string_view GroupWorkload(const json::object& group) {
  return Or(StringMember(Part(Spec(group), "workloadRef"), "workloadName"), kNone);
}

json::array PodGroupRow(const json::object& group, std::int64_t now_seconds) {
  std::string_view status = "Pending";
  std::string_view disruption;
  for (const json::object* condition : ObjectsOf(StatusOf(group), "conditions")) {
    const std::string_view type = StringMember(*condition, "type");
    if (type == "PodGroupInitiallyScheduled")
      status = StringMember(*condition, "status") == "True" ? "Scheduled" : "Unschedulable";
    if (type == "DisruptionTarget") disruption = StringMember(*condition, "reason");
  }
  return {Name(group), Text(GroupPolicy(group)), Text(GroupWorkload(group)), Text(Or(disruption, status)),
          Age(group, now_seconds)};
}

std::vector<KindPrinting> OtherPrintings() {
  return {
      {"Node",
       {{NameColumn(), Column("Status", "string", "Whether the node is ready and schedulable."),
         Column("Roles", "string", "Roles from the node's labels."), AgeColumn(),
         Column("Version", "string", "The kubelet's version."),
         Column("Internal-IP", "string", "Address inside the cluster.", 1),
         Column("External-IP", "string", "Address outside the cluster.", 1),
         Column("OS-Image", "string", "Operating system.", 1),
         Column("Kernel-Version", "string", "Kernel and architecture.", 1),
         Column("Container-Runtime", "string", "Container runtime.", 1)},
        NodeRow}},
      {"Event",
       {{Column("Last Seen", "string", "Time since it was last seen."), Column("Type", "string", "Normal or Warning."),
         Column("Reason", "string", "A short word for machines."), Column("Object", "string", "What it is about."),
         Column("Subobject", "string", "The part of the object.", 1), Column("Source", "string", "Who says so.", 1),
         Column("Message", "string", "A sentence for people."),
         Column("First Seen", "string", "Time since it was first seen.", 1),
         Column("Count", "string", "How often it was seen.", 1), NameColumn(1)},
        EventRow}},
      {"Namespace",
       {{NameColumn(), Column("Status", "string", "Active or Terminating."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(StringMember(StatusOf(object), "phase")), Age(object, now)};
        }}},
      {"Service",
       {{NameColumn(), Column("Type", "string", "How the service is reached."),
         Column("Cluster-IP", "string", "Its address in the cluster."),
         Column("External-IP", "string", "Its addresses outside."), Column("Port(s)", "string", "Its ports."),
         AgeColumn(), SelectorColumn()},
        ServiceRow}},
      {"Endpoints", {{NameColumn(), Column("Endpoints", "string", "The first addresses."), AgeColumn()}, EndpointsRow}},
      {"ConfigMap",
       {{NameColumn(), Column("Data", "string", "Number of keys."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), SizeOf(object, "data") + SizeOf(object, "binaryData"), Age(object, now)};
        }}},
      {"Secret",
       {{NameColumn(), Column("Type", "string", "What it is for."), Column("Data", "string", "Number of keys."),
         AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(StringMember(object, "type")), SizeOf(object, "data"), Age(object, now)};
        }}},
      {"Lease",
       {{NameColumn(), Column("Holder", "string", "Who holds it."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(StringMember(Spec(object), "holderIdentity")), Age(object, now)};
        }}},
      {"PodGroup",
       {{NameColumn(), Column("Policy", "string", "Whether its pods are placed together or one by one."),
         Column("Workload", "string", "The Workload that it is made of."),
         Column("Status", "string", "Whether it has been placed."), AgeColumn()},
        PodGroupRow}},
      {"CompositePodGroup",
       {{NameColumn(), Column("Policy", "string", "Whether its groups are placed together or one by one."),
         Column("Workload", "string", "The Workload that it is made of."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(GroupPolicy(object)), Text(GroupWorkload(object)), Age(object, now)};
        }}},
      {"Workload",
       {{NameColumn(), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array { return {Name(object), Age(object, now)}; }}},
      {"NodeMetrics",
       {{NameColumn(), Column("cpu", "string", "The CPU in use."), Column("memory", "string", "The memory in use."),
         Column("Window", "string", "The time that it was measured in.")},
        [](const json::object& object, std::int64_t) -> json::array {
          const json::object& usage = Part(object, "usage");
          return {Name(object), Text(StringMember(usage, "cpu")), Text(StringMember(usage, "memory")),
                  Text(StringMember(object, "window"))};
        }}},
      {"PriorityClass",
       {{NameColumn(), Column("Value", "integer", "The priority of its pods."),
         Column("Global-Default", "boolean", "Whether pods without a class get it."), AgeColumn(),
         Column("PreemptionPolicy", "string", "Whether its pods may preempt others.")},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), IntMember(object, "value"), BoolMember(object, "globalDefault"), Age(object, now),
                  Text(StringMember(object, "preemptionPolicy"))};
        }}}};
}

std::map<std::string_view, Printing> AllPrintings() {
  std::map<std::string_view, Printing> all;
  for (auto* list : {WorkloadPrintings, StoragePrintings, ClusterPrintings, PolicyPrintings, OtherPrintings}) {
    for (KindPrinting& each : list()) all[each.kind] = std::move(each.printing);
  }
  return all;
}

}  // namespace

Printing PrintingOf(std::string_view kind) {
  static const std::map<std::string_view, Printing> kPrintings = AllPrintings();
  if (const auto found = kPrintings.find(kind); found != kPrintings.end()) return found->second;
  return {{NameColumn(), AgeColumn()},
          [](const json::object& object, std::int64_t now) -> json::array { return {Name(object), Age(object, now)}; }};
}

}  // namespace berth::objects::internal
