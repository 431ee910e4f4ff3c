// The columns and cells that kubectl get shows for each kind, as kube-apiserver prints them.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/apiserver/resources_internal.h"
#include "berth/apiserver/table.h"

namespace berth::apiserver::internal {
namespace {

using Row = std::function<json::array(const json::object& object, std::int64_t now_seconds)>;

constexpr std::string_view kNone = "<none>";
constexpr std::string_view kUnset = "<unset>";

const json::object& Part(const json::object& object, std::string_view member) {
  static const json::object kEmpty;
  const json::object* part = ObjectMember(object, member);
  return part == nullptr ? kEmpty : *part;
}
const json::object& Spec(const json::object& object) { return Part(object, "spec"); }
const json::object& StatusOf(const json::object& object) { return Part(object, "status"); }
const json::object& Metadata(const json::object& object) { return Part(object, "metadata"); }

json::string Text(std::string_view text) { return json::string(text); }
std::string_view Or(std::string_view text, std::string_view otherwise) { return text.empty() ? otherwise : text; }

json::string Name(const json::object& object) { return Text(StringMember(Metadata(object), "name")); }

json::string Since(std::optional<std::int64_t> seconds, std::int64_t now_seconds) {
  return seconds ? json::string(HumanDuration(now_seconds - *seconds)) : json::string("<unknown>");
}

json::string Age(const json::object& object, std::int64_t now_seconds) {
  return Since(SecondsOf(Metadata(object), "creationTimestamp"), now_seconds);
}

bool IsBeingDeleted(const json::object& object) { return !StringMember(Metadata(object), "deletionTimestamp").empty(); }

// A quantity, a number or a percentage as text.
std::string Plain(const json::value* value) {
  if (value == nullptr) return {};
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::string JoinStrings(const json::object& object, std::string_view member) {
  std::string joined;
  if (const json::array* list = ArrayMember(object, member)) {
    for (const json::value& each : *list) joined += (joined.empty() ? "" : ",") + Plain(&each);
  }
  return joined;
}

// "a=b,c=d" in the order of the keys.
std::string Pairs(const json::object& labels) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : labels) sorted[std::string(key)] = Plain(&value);
  std::string text;
  for (const auto& [key, value] : sorted) text += (text.empty() ? "" : ",") + key + "=" + value;
  return text.empty() ? std::string(kNone) : text;
}

// A label selector as selectors are written: "a=b,c in (d,e),!f".
std::string SelectorText(const json::object& owner) {
  const json::object* selector = ObjectMember(owner, "selector");
  if (selector == nullptr) return std::string(kNone);
  std::multimap<std::string, std::string> pieces;
  for (const auto& [key, value] : Part(*selector, "matchLabels")) {
    pieces.emplace(key, std::string(key) + "=" + Plain(&value));
  }
  for (const json::object* each : ObjectsOf(*selector, "matchExpressions")) {
    const std::string key(StringMember(*each, "key"));
    const std::string_view op = StringMember(*each, "operator");
    const json::array* found = ArrayMember(*each, "values");
    std::set<std::string> values;
    if (found != nullptr) {
      for (const json::value& value : *found) values.insert(Plain(&value));
    }
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ",") + value;
    if (op == "In") pieces.emplace(key, key + " in (" + list + ")");
    if (op == "NotIn") pieces.emplace(key, key + " notin (" + list + ")");
    if (op == "Exists") pieces.emplace(key, key);
    if (op == "DoesNotExist") pieces.emplace(key, "!" + key);
  }
  std::string text;
  for (const auto& [key, piece] : pieces) text += (text.empty() ? "" : ",") + piece;
  return text;
}

// Names and images of a template's containers.
std::pair<std::string, std::string> Containers(const json::object& object) {
  std::string names;
  std::string images;
  const json::object* spec = ObjectAt(object, {"spec", "template", "spec"});
  if (spec == nullptr) return {};
  for (const json::object* container : ObjectsOf(*spec, "containers")) {
    if (!names.empty()) names += ',', images += ',';
    names += StringMember(*container, "name");
    images += StringMember(*container, "image");
  }
  return {names, images};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

// --- Pods ------------------------------------------------------------------------------------------------------------

bool HasCondition(const json::object& status, std::string_view type) {
  for (const json::object* condition : ObjectsOf(status, "conditions")) {
    if (StringMember(*condition, "type") == type) return StringMember(*condition, "status") == "True";
  }
  return false;
}

// What the Ready, Status and Restarts columns say of a pod, found out container by container.
struct PodSummary {
  std::string status;
  std::int64_t ready = 0;
  std::int64_t total = 0;
  std::int64_t restarts = 0;
  std::optional<std::int64_t> restarted_at;  // when a container last ended to be started again

  void AddRestarts(const json::object& container) {
    restarts += IntMember(container, "restartCount");
    const json::object* last = ObjectAt(container, {"lastState", "terminated"});
    if (last == nullptr) return;
    const std::optional<std::int64_t> at = SecondsOf(*last, "finishedAt");
    if (at && (!restarted_at || *restarted_at < *at)) restarted_at = at;
  }
};

std::string TerminationReason(const json::object& terminated) {
  if (const std::string_view reason = StringMember(terminated, "reason"); !reason.empty()) return std::string(reason);
  if (const std::int64_t signal = IntMember(terminated, "signal"); signal != 0)
    return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(IntMember(terminated, "exitCode"));
}

// True when an init container is still at work or has failed; `summary` then says which.
bool SummarizeInitContainers(const json::object& pod, PodSummary& summary, PodSummary& sidecars) {
  std::set<std::string> restartable;
  const std::vector<const json::object*> specs = ObjectsOf(Spec(pod), "initContainers");
  for (const json::object* container : specs) {
    if (StringMember(*container, "restartPolicy") == "Always") {
      restartable.insert(std::string(StringMember(*container, "name")));
      ++summary.total;
    }
  }
  std::size_t position = 0;
  for (const json::object* container : ObjectsOf(StatusOf(pod), "initContainerStatuses")) {
    const std::size_t index = position++;
    const bool is_sidecar = restartable.contains(std::string(StringMember(*container, "name")));
    summary.AddRestarts(*container);
    if (is_sidecar) sidecars.AddRestarts(*container);
    const json::object* terminated = ObjectAt(*container, {"state", "terminated"});
    const std::string_view waiting = StringAt(*container, {"state", "waiting", "reason"});
    if (terminated != nullptr && IntMember(*terminated, "exitCode") == 0) continue;
    if (is_sidecar && BoolMember(*container, "started")) {
      if (BoolMember(*container, "ready")) ++summary.ready;
      continue;
    }
    if (terminated != nullptr) {
      summary.status = "Init:" + TerminationReason(*terminated);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      summary.status = "Init:" + std::string(waiting);
    } else {
      summary.status = "Init:" + std::to_string(index) + "/" + std::to_string(specs.size());
    }
    return true;
  }
  return false;
}

void SummarizeContainers(const json::object& pod, PodSummary& summary) {
  bool has_running = false;
  std::string failure;
  std::vector<const json::object*> containers = ObjectsOf(StatusOf(pod), "containerStatuses");
  std::reverse(containers.begin(), containers.end());  // so that the first container has the last word
  for (const json::object* container : containers) {
    summary.AddRestarts(*container);
    const std::string_view waiting = StringAt(*container, {"state", "waiting", "reason"});
    const json::object* terminated = ObjectAt(*container, {"state", "terminated"});
    if (!waiting.empty()) {
      summary.status = waiting;
    } else if (terminated != nullptr) {
      summary.status = TerminationReason(*terminated);
      if (IntMember(*terminated, "exitCode") != 0) failure = summary.status;
    } else if (BoolMember(*container, "ready") && ObjectAt(*container, {"state", "running"}) != nullptr) {
      has_running = true;
      ++summary.ready;
    }
  }
  if (summary.status != "Completed") return;
  if (has_running && HasCondition(StatusOf(pod), "Ready")) {
    summary.status = "Running";
  } else if (!failure.empty()) {
    summary.status = failure;
  } else if (has_running) {
    summary.status = "NotReady";
  }
}

PodSummary Summarize(const json::object& pod) {
  const json::object& status = StatusOf(pod);
  const std::string phase(StringMember(status, "phase"));
  const std::string own_reason(StringMember(status, "reason"));
  PodSummary summary;
  summary.status = own_reason.empty() ? phase : own_reason;
  summary.total = static_cast<std::int64_t>(ObjectsOf(Spec(pod), "containers").size());
  for (const json::object* condition : ObjectsOf(status, "conditions")) {
    if (StringMember(*condition, "type") == "PodScheduled" && StringMember(*condition, "reason") == "SchedulingGated") {
      summary.status = "SchedulingGated";
    }
  }
  PodSummary sidecars;
  const bool is_initializing = SummarizeInitContainers(pod, summary, sidecars);
  if (!is_initializing || HasCondition(status, "Initialized")) {
    summary.restarts = sidecars.restarts;
    summary.restarted_at = sidecars.restarted_at;
    SummarizeContainers(pod, summary);
  }
  if (IsBeingDeleted(pod)) {
    if (own_reason == "NodeLost") {
      summary.status = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.status = "Terminating";
    }
  }
  return summary;
}

json::array PodRow(const json::object& pod, std::int64_t now_seconds) {
  const PodSummary summary = Summarize(pod);
  const json::object& status = StatusOf(pod);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && summary.restarted_at) {
    restarts += " (" + HumanDuration(now_seconds - *summary.restarted_at) + " ago)";
  }
  const std::vector<const json::object*> ips = ObjectsOf(status, "podIPs");
  const std::string_view ip = ips.empty() ? StringMember(status, "podIP") : StringMember(*ips.front(), "ip");
  std::string gates(kNone);
  if (const auto wanted = ObjectsOf(Spec(pod), "readinessGates"); !wanted.empty()) {
    const auto met = std::count_if(wanted.begin(), wanted.end(), [&](const json::object* gate) {
      return HasCondition(status, StringMember(*gate, "conditionType"));
    });
    gates = std::to_string(met) + "/" + std::to_string(wanted.size());
  }
  return {Name(pod),
          Text(std::to_string(summary.ready) + "/" + std::to_string(summary.total)),
          Text(summary.status),
          Text(restarts),
          Age(pod, now_seconds),
          Text(Or(ip, kNone)),
          Text(Or(StringMember(Spec(pod), "nodeName"), kNone)),
          Text(Or(StringMember(status, "nominatedNodeName"), kNone)),
          Text(gates)};
}

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
  for (const std::string& role : roles) role_list += (role_list.empty() ? "" : ",") + role;
  const json::object& info = Part(StatusOf(node), "nodeInfo");
  std::string kernel(Or(StringMember(info, "kernelVersion"), "<unknown>"));
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
          Text(Or(StringMember(info, "osImage"), "<unknown>")),
          Text(kernel),
          Text(Or(StringMember(info, "containerRuntimeVersion"), "<unknown>"))};
}

// --- Workloads -------------------------------------------------------------------------------------------------------

std::string Fraction(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + "/" + std::to_string(whole);
}

json::array DeploymentRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = Containers(object);
  const json::object& status = StatusOf(object);
  return {Name(object),
          Text(Fraction(IntMember(status, "readyReplicas"), IntMember(Spec(object), "replicas"))),
          IntMember(status, "updatedReplicas"),
          IntMember(status, "availableReplicas"),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(SelectorText(Spec(object)))};
}

json::array ReplicaSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = Containers(object);
  const json::object& status = StatusOf(object);
  // A ReplicationController's selector is a plain map.
  const bool is_plain = StringMember(object, "kind") == "ReplicationController";
  return {Name(object),
          IntMember(Spec(object), "replicas"),
          IntMember(status, "replicas"),
          IntMember(status, "readyReplicas"),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(is_plain ? Pairs(Part(Spec(object), "selector")) : SelectorText(Spec(object)))};
}

json::array StatefulSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = Containers(object);
  return {Name(object),
          Text(Fraction(IntMember(StatusOf(object), "readyReplicas"), IntMember(Spec(object), "replicas"))),
          Age(object, now_seconds), Text(names), Text(images)};
}

json::array DaemonSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = Containers(object);
  const json::object& status = StatusOf(object);
  const json::object* node_selector = ObjectAt(object, {"spec", "template", "spec", "nodeSelector"});
  return {Name(object),
          IntMember(status, "desiredNumberScheduled"),
          IntMember(status, "currentNumberScheduled"),
          IntMember(status, "numberReady"),
          IntMember(status, "updatedNumberScheduled"),
          IntMember(status, "numberAvailable"),
          Text(node_selector == nullptr ? std::string(kNone) : Pairs(*node_selector)),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(SelectorText(Spec(object)))};
}

json::array BudgetRow(const json::object& object, std::int64_t now_seconds) {
  const std::string least = Plain(FindMember(Spec(object), "minAvailable"));
  const std::string most = Plain(FindMember(Spec(object), "maxUnavailable"));
  return {Name(object), Text(Or(least, "N/A")), Text(Or(most, "N/A")),
          IntMember(StatusOf(object), "disruptionsAllowed"), Age(object, now_seconds)};
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
  std::string target = Lower(StringMember(about, "kind"));
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

// --- Services and storage --------------------------------------------------------------------------------------------

std::string ExternalAddresses(const json::object& service) {
  const json::object& spec = Spec(service);
  const std::string_view type = StringMember(spec, "type");
  std::string listed = JoinStrings(spec, "externalIPs");
  if (type == "ExternalName") return std::string(StringMember(spec, "externalName"));
  if (type != "LoadBalancer") return listed.empty() ? std::string(kNone) : listed;
  std::set<std::string> balanced;
  if (const json::object* balancer = ObjectMember(StatusOf(service), "loadBalancer")) {
    for (const json::object* ingress : ObjectsOf(*balancer, "ingress")) {
      const std::string address(Or(StringMember(*ingress, "ip"), StringMember(*ingress, "hostname")));
      if (!address.empty()) balanced.insert(address);
    }
  }
  std::string text;
  for (const std::string& each : balanced) text += (text.empty() ? "" : ",") + each;
  if (!listed.empty()) text += (text.empty() ? "" : ",") + listed;
  return text.empty() ? "<pending>" : text;
}

json::array ServiceRow(const json::object& service, std::int64_t now_seconds) {
  const json::object& spec = Spec(service);
  const json::array* addresses = ArrayMember(spec, "clusterIPs");
  const std::string address = addresses == nullptr || addresses->empty() ? std::string(StringMember(spec, "clusterIP"))
                                                                         : Plain(&addresses->front());
  std::string ports;
  for (const json::object* port : ObjectsOf(spec, "ports")) {
    if (!ports.empty()) ports += ",";
    ports += std::to_string(IntMember(*port, "port"));
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
  std::vector<std::string> shown;
  std::size_t count = 0;
  const auto add = [&](std::string text) {
    if (++count <= kShownMax) shown.push_back(std::move(text));
  };
  for (const json::object* subset : ObjectsOf(object, "subsets")) {
    const auto addresses = ObjectsOf(*subset, "addresses");
    const auto ports = ObjectsOf(*subset, "ports");
    if (ports.empty()) {
      for (const json::object* address : addresses) add(std::string(StringMember(*address, "ip")));
    }
    for (const json::object* port : ports) {
      for (const json::object* address : addresses) {
        const std::string ip(StringMember(*address, "ip"));
        const bool is_v6 = ip.find(':') != std::string::npos;
        add((is_v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(IntMember(*port, "port")));
      }
    }
  }
  std::string text;
  for (const std::string& each : shown) text += (text.empty() ? "" : ",") + each;
  if (count > kShownMax) text += " + " + std::to_string(count - kShownMax) + " more...";
  return {Name(object), Text(Or(text, kNone)), Age(object, now_seconds)};
}

std::string AccessModes(const json::object& owner) {
  std::string text;
  const std::string modes = "," + JoinStrings(owner, "accessModes") + ",";
  for (const auto& [mode, brief] : {std::pair<const char*, const char*>{"ReadWriteOnce", "RWO"},
                                    {"ReadOnlyMany", "ROX"},
                                    {"ReadWriteMany", "RWX"},
                                    {"ReadWriteOncePod", "RWOP"}}) {
    if (modes.find("," + std::string(mode) + ",") != std::string::npos)
      text += (text.empty() ? "" : ",") + std::string(brief);
  }
  return text;
}

std::string_view VolumePhase(const json::object& object) {
  return IsBeingDeleted(object) ? "Terminating" : StringMember(StatusOf(object), "phase");
}

json::array VolumeRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  std::string claim;
  if (const json::object* reference = ObjectMember(spec, "claimRef")) {
    claim = std::string(StringMember(*reference, "namespace")) + "/" + std::string(StringMember(*reference, "name"));
  }
  return {Name(object),
          Text(Plain(FindMember(Part(spec, "capacity"), "storage"))),
          Text(AccessModes(spec)),
          Text(StringMember(spec, "persistentVolumeReclaimPolicy")),
          Text(VolumePhase(object)),
          Text(claim),
          Text(StringMember(spec, "storageClassName")),
          Text(Or(StringMember(spec, "volumeAttributesClassName"), kUnset)),
          Text(StringMember(StatusOf(object), "reason")),
          Age(object, now_seconds),
          Text(Or(StringMember(spec, "volumeMode"), kUnset))};
}

json::array ClaimRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  const bool is_bound = !StringMember(spec, "volumeName").empty();
  return {Name(object),
          Text(VolumePhase(object)),
          Text(StringMember(spec, "volumeName")),
          Text(is_bound ? Plain(FindMember(Part(StatusOf(object), "capacity"), "storage")) : std::string()),
          Text(is_bound ? AccessModes(StatusOf(object)) : std::string()),
          Text(StringMember(spec, "storageClassName")),
          Text(Or(StringMember(spec, "volumeAttributesClassName"), kUnset)),
          Age(object, now_seconds),
          Text(Or(StringMember(spec, "volumeMode"), kUnset))};
}

json::array StorageClassRow(const json::object& object, std::int64_t now_seconds) {
  std::string name(StringMember(Metadata(object), "name"));
  if (StringMember(Part(Metadata(object), "annotations"), "storageclass.kubernetes.io/is-default-class") == "true") {
    name += " (default)";
  }
  return {Text(name),
          Text(StringMember(object, "provisioner")),
          Text(StringMember(object, "reclaimPolicy")),
          Text(StringMember(object, "volumeBindingMode")),
          BoolMember(object, "allowVolumeExpansion"),
          Age(object, now_seconds)};
}

json::array CsiDriverRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  std::string audiences;
  for (const json::object* request : ObjectsOf(spec, "tokenRequests")) {
    audiences += (audiences.empty() ? "" : ",") + std::string(StringMember(*request, "audience"));
  }
  const std::string modes = JoinStrings(spec, "volumeLifecycleModes");
  return {Name(object),
          BoolMember(spec, "attachRequired", true),
          BoolMember(spec, "podInfoOnMount"),
          BoolMember(spec, "storageCapacity"),
          Text(ArrayMember(spec, "tokenRequests") == nullptr ? std::string(kUnset) : audiences),
          BoolMember(spec, "requiresRepublish"),
          Text(Or(modes, kNone)),
          Age(object, now_seconds)};
}

json::array ClaimStateRow(const json::object& object, std::int64_t now_seconds) {
  std::string state;
  if (IsBeingDeleted(object)) state = "deleted";
  if (ObjectMember(StatusOf(object), "allocation") != nullptr) {
    state += std::string(state.empty() ? "" : ",") + "allocated";
    if (!ObjectsOf(StatusOf(object), "reservedFor").empty()) state += ",reserved";
  } else if (state.empty()) {
    state = "pending";
  }
  return {Name(object), Text(state), Age(object, now_seconds)};
}

std::int64_t SizeOf(const json::object& object, std::string_view member) {
  return static_cast<std::int64_t>(Part(object, member).size());
}

// --- The list --------------------------------------------------------------------------------------------------------

TableColumn Column(std::string name, std::string type, std::string description, int priority = 0) {
  const bool is_name = name == "Name";
  return {std::move(name), std::move(type), is_name ? "name" : "", std::move(description), priority};
}

TableColumn NameColumn() {
  return Column("Name", "string", "The object's name, unique among its kind (in its namespace).");
}
TableColumn AgeColumn() { return Column("Age", "string", "Time since the object was created."); }
TableColumn ContainersColumn() { return Column("Containers", "string", "Names of the template's containers.", 1); }
TableColumn ImagesColumn() { return Column("Images", "string", "Images of the template's containers.", 1); }
TableColumn SelectorColumn() { return Column("Selector", "string", "Label selector of the pods.", 1); }

std::vector<TableColumn> ReplicaColumns() {
  return {NameColumn(),
          Column("Desired", "integer", "Replicas asked for."),
          Column("Current", "integer", "Replicas there are."),
          Column("Ready", "integer", "Replicas that are ready."),
          AgeColumn(),
          ContainersColumn(),
          ImagesColumn(),
          SelectorColumn()};
}

std::map<std::string, Printing, std::less<>> MakePrintings() {
  std::map<std::string, Printing, std::less<>> all;
  all["Pod"] = {
      {NameColumn(), Column("Ready", "string", "Ready containers of all."),
       Column("Status", "string", "Phase, or the most telling reason of the containers."),
       Column("Restarts", "string", "How often containers were restarted, and when last."), AgeColumn(),
       Column("IP", "string", "The pod's address.", 1), Column("Node", "string", "The node it is bound to.", 1),
       Column("Nominated Node", "string", "The node that preemption makes room on.", 1),
       Column("Readiness Gates", "string", "Readiness gates that are met.", 1)},
      PodRow};
  all["Node"] = {{NameColumn(), Column("Status", "string", "Whether the node is ready and schedulable."),
                  Column("Roles", "string", "Roles from the node's labels."), AgeColumn(),
                  Column("Version", "string", "The kubelet's version."),
                  Column("Internal-IP", "string", "Address inside the cluster.", 1),
                  Column("External-IP", "string", "Address outside the cluster.", 1),
                  Column("OS-Image", "string", "Operating system.", 1),
                  Column("Kernel-Version", "string", "Kernel and architecture.", 1),
                  Column("Container-Runtime", "string", "Container runtime.", 1)},
                 NodeRow};
  all["Deployment"] = {{NameColumn(), Column("Ready", "string", "Ready replicas of those asked for."),
                        Column("Up-to-date", "string", "Replicas of the newest template."),
                        Column("Available", "string", "Replicas that have been ready long enough."), AgeColumn(),
                        ContainersColumn(), ImagesColumn(), SelectorColumn()},
                       DeploymentRow};
  all["ReplicaSet"] = {ReplicaColumns(), ReplicaSetRow};
  all["ReplicationController"] = {ReplicaColumns(), ReplicaSetRow};
  all["StatefulSet"] = {{NameColumn(), Column("Ready", "string", "Ready replicas of those asked for."), AgeColumn(),
                         ContainersColumn(), ImagesColumn()},
                        StatefulSetRow};
  all["DaemonSet"] = {
      {NameColumn(), Column("Desired", "integer", "Nodes that should run the pod."),
       Column("Current", "integer", "Nodes that run the pod."), Column("Ready", "integer", "Ready pods."),
       Column("Up-to-date", "integer", "Pods of the newest template."),
       Column("Available", "integer", "Pods that have been ready long enough."),
       Column("Node Selector", "string", "The template's node selector."), AgeColumn(), ContainersColumn(),
       ImagesColumn(), SelectorColumn()},
      DaemonSetRow};
  all["PodDisruptionBudget"] = {
      {NameColumn(), Column("Min Available", "string", "Pods that must stay."),
       Column("Max Unavailable", "string", "Pods that may be missing."),
       Column("Allowed Disruptions", "integer", "Pods that may be evicted now."), AgeColumn()},
      BudgetRow};
  all["Event"] = {
      {Column("Last Seen", "string", "Time since it was last seen."), Column("Type", "string", "Normal or Warning."),
       Column("Reason", "string", "A short word for machines."), Column("Object", "string", "What it is about."),
       Column("Subobject", "string", "The part of the object.", 1), Column("Source", "string", "Who says so.", 1),
       Column("Message", "string", "A sentence for people."),
       Column("First Seen", "string", "Time since it was first seen.", 1),
       Column("Count", "string", "How often it was seen.", 1),
       [] {
         TableColumn name = NameColumn();
         name.priority = 1;
         return name;
       }()},
      EventRow};
  all["Namespace"] = {{NameColumn(), Column("Status", "string", "Active or Terminating."), AgeColumn()},
                      [](const json::object& object, std::int64_t now) -> json::array {
                        return {Name(object), Text(StringMember(StatusOf(object), "phase")), Age(object, now)};
                      }};
  all["Service"] = {{NameColumn(), Column("Type", "string", "How the service is reached."),
                     Column("Cluster-IP", "string", "Its address in the cluster."),
                     Column("External-IP", "string", "Its addresses outside."),
                     Column("Port(s)", "string", "Its ports."), AgeColumn(), SelectorColumn()},
                    ServiceRow};
  all["Endpoints"] = {{NameColumn(), Column("Endpoints", "string", "The first addresses."), AgeColumn()}, EndpointsRow};
  all["ConfigMap"] = {{NameColumn(), Column("Data", "string", "Number of keys."), AgeColumn()},
                      [](const json::object& object, std::int64_t now) -> json::array {
                        return {Name(object), SizeOf(object, "data") + SizeOf(object, "binaryData"), Age(object, now)};
                      }};
  all["Secret"] = {{NameColumn(), Column("Type", "string", "What it is for."),
                    Column("Data", "string", "Number of keys."), AgeColumn()},
                   [](const json::object& object, std::int64_t now) -> json::array {
                     return {Name(object), Text(StringMember(object, "type")), SizeOf(object, "data"),
                             Age(object, now)};
                   }};
  all["PersistentVolume"] = {
      {NameColumn(), Column("Capacity", "string", "Size."), Column("Access Modes", "string", "How it may be mounted."),
       Column("Reclaim Policy", "string", "What becomes of it without its claim."),
       Column("Status", "string", "Phase."), Column("Claim", "string", "The claim it is bound to."),
       Column("StorageClass", "string", "Its class."),
       Column("VolumeAttributesClass", "string", "Its attributes' class."),
       Column("Reason", "string", "Why it is in this phase."), AgeColumn(),
       Column("VolumeMode", "string", "File system or block device.", 1)},
      VolumeRow};
  all["PersistentVolumeClaim"] = {
      {NameColumn(), Column("Status", "string", "Phase."), Column("Volume", "string", "The volume it is bound to."),
       Column("Capacity", "string", "Size."), Column("Access Modes", "string", "How it may be mounted."),
       Column("StorageClass", "string", "Its class."),
       Column("VolumeAttributesClass", "string", "Its attributes' class."), AgeColumn(),
       Column("VolumeMode", "string", "File system or block device.", 1)},
      ClaimRow};
  all["Lease"] = {{NameColumn(), Column("Holder", "string", "Who holds it."), AgeColumn()},
                  [](const json::object& object, std::int64_t now) -> json::array {
                    return {Name(object), Text(StringMember(Spec(object), "holderIdentity")), Age(object, now)};
                  }};
  all["StorageClass"] = {{NameColumn(), Column("Provisioner", "string", "Who makes its volumes."),
                          Column("ReclaimPolicy", "string", "What becomes of a volume without its claim."),
                          Column("VolumeBindingMode", "string", "When claims are bound."),
                          Column("AllowVolumeExpansion", "string", "Whether volumes may grow."), AgeColumn()},
                         StorageClassRow};
  all["CSINode"] = {{NameColumn(), Column("Drivers", "integer", "Number of drivers on the node."), AgeColumn()},
                    [](const json::object& object, std::int64_t now) -> json::array {
                      return {Name(object), static_cast<std::int64_t>(ObjectsOf(Spec(object), "drivers").size()),
                              Age(object, now)};
                    }};
  all["CSIDriver"] = {{NameColumn(), Column("AttachRequired", "boolean", "Whether volumes are attached first."),
                       Column("PodInfoOnMount", "boolean", "Whether the driver learns of the pod."),
                       Column("StorageCapacity", "boolean", "Whether capacity is considered."),
                       Column("TokenRequests", "string", "Audiences of tokens."),
                       Column("RequiresRepublish", "boolean", "Whether volumes are published again and again."),
                       Column("Modes", "string", "Lifecycle modes."), AgeColumn()},
                      CsiDriverRow};
  all["CSIStorageCapacity"] = {{NameColumn(), Column("Created At", "date", "When it was created.")},
                               [](const json::object& object, std::int64_t) -> json::array {
                                 return {Name(object), Text(StringMember(Metadata(object), "creationTimestamp"))};
                               }};
  all["VolumeAttachment"] = {
      {NameColumn(), Column("Attacher", "string", "The driver."), Column("PV", "string", "The volume."),
       Column("Node", "string", "The node."), Column("Attached", "boolean", "Whether it is attached."), AgeColumn()},
      [](const json::object& object, std::int64_t now) -> json::array {
        const json::object& spec = Spec(object);
        return {Name(object),
                Text(StringMember(spec, "attacher")),
                Text(StringMember(Part(spec, "source"), "persistentVolumeName")),
                Text(StringMember(spec, "nodeName")),
                BoolMember(StatusOf(object), "attached"),
                Age(object, now)};
      }};
  all["PriorityClass"] = {{NameColumn(), Column("Value", "integer", "The priority of its pods."),
                           Column("Global-Default", "boolean", "Whether pods without a class get it."), AgeColumn(),
                           Column("PreemptionPolicy", "string", "Whether its pods may preempt others.")},
                          [](const json::object& object, std::int64_t now) -> json::array {
                            return {Name(object), IntMember(object, "value"), BoolMember(object, "globalDefault"),
                                    Age(object, now), Text(StringMember(object, "preemptionPolicy"))};
                          }};
  all["ResourceClaim"] = {
      {NameColumn(), Column("State", "string", "Whether devices are allocated and reserved."), AgeColumn()},
      ClaimStateRow};
  all["ResourceSlice"] = {
      {NameColumn(), Column("Node", "string", "The node the devices are at."),
       Column("Driver", "string", "Their driver."), Column("Pool", "string", "Their pool."), AgeColumn()},
      [](const json::object& object, std::int64_t now) -> json::array {
        const json::object& spec = Spec(object);
        return {Name(object), Text(StringMember(spec, "nodeName")), Text(StringMember(spec, "driver")),
                Text(StringMember(Part(spec, "pool"), "name")), Age(object, now)};
      }};
  return all;
}

}  // namespace

Printing PrintingOf(std::string_view kind) {
  static const std::map<std::string, Printing, std::less<>> kPrintings = MakePrintings();
  if (const auto found = kPrintings.find(kind); found != kPrintings.end()) return found->second;
  return {{NameColumn(), AgeColumn()},
          [](const json::object& object, std::int64_t now) -> json::array { return {Name(object), Age(object, now)}; }};
}

}  // namespace berth::apiserver::internal
