// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/ledger.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace berth::program_sim {
namespace {

namespace json = codec::json;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

const json::value* At(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::object* at = &object;
  const json::value* found = nullptr;
  for (const std::string_view step : path) {
    if (at == nullptr) return nullptr;
    found = at->if_contains(json::string_view(step.data(), step.size()));
    if (found == nullptr) return nullptr;
    at = found->if_object();
  }
  return found;
}

std::string Text(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* found = At(object, path);
  return found != nullptr && found->is_string() ? std::string(View(found->get_string())) : std::string();
}

const json::array* Array(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* found = At(object, path);
  return found == nullptr ? nullptr : found->if_array();
}

std::int64_t Number(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* found = At(object, path);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

// Above the highest priority of any simulated pod.
constexpr std::int64_t kEvictedBelow = 1000;

// The amount in thousandths. Reads the forms that simulated objects use: "2", "500m", "3Gi", "512Mi".
std::int64_t Milli(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (problem != std::errc()) return 0;
  if (unit == "m") return number;
  if (unit == "Mi") return (number << 20) * 1000;
  if (unit == "Gi") return (number << 30) * 1000;
  return number * 1000;
}

const json::object* FirstContainer(const json::object& pod) {
  const json::array* containers = Array(pod, {"spec", "containers"});
  return containers == nullptr || containers->empty() ? nullptr : containers->front().if_object();
}

struct Usage {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t pods = 0;

  void Add(const LedgerPod& pod) {
    cpu_milli += pod.cpu_milli;
    memory += pod.memory;
    ++pods;
  }
  bool IsOver(const LedgerNode& node) const {
    return cpu_milli > node.cpu_milli || memory > node.memory || pods > node.pods;
  }
};

bool IsSmaller(const LedgerNode& node, const LedgerNode& before) {
  return node.cpu_milli < before.cpu_milli || node.memory < before.memory || node.pods < before.pods;
}

bool Repel(const LedgerPod& one, const LedgerPod& other) {
  return (one.repels_app || other.repels_app) && !one.app.empty() && one.app == other.app &&
         one.namespace_name == other.namespace_name;
}

LedgerPod ReadPod(const json::object& object) {
  LedgerPod pod;
  pod.name = Text(object, {"metadata", "name"});
  pod.namespace_name = Text(object, {"metadata", "namespace"});
  pod.key = pod.namespace_name + "/" + pod.name;
  pod.uid = Text(object, {"metadata", "uid"});
  pod.app = Text(object, {"metadata", "labels", "app"});
  pod.node = Text(object, {"spec", "nodeName"});
  pod.nominated_node = Text(object, {"status", "nominatedNodeName"});
  pod.scheduler_name = Text(object, {"spec", "schedulerName"});
  pod.priority = Number(object, {"spec", "priority"});
  if (const json::object* container = FirstContainer(object)) {
    pod.cpu_milli = Milli(Text(*container, {"resources", "requests", "cpu"}));
    pod.memory = Milli(Text(*container, {"resources", "requests", "memory"})) / 1000;
    const json::array* ports = Array(*container, {"ports"});
    if (ports != nullptr && !ports->empty() && ports->front().is_object())
      pod.host_port = static_cast<int>(Number(ports->front().get_object(), {"hostPort"}));
  }
  pod.repels_app = At(object, {"spec", "affinity", "podAntiAffinity"}) != nullptr;
  pod.wants_ssd = At(object, {"spec", "nodeSelector", "disk"}) != nullptr;
  if (const json::array* tolerations = Array(object, {"spec", "tolerations"})) {
    for (const json::value& each : *tolerations)
      pod.tolerates = pod.tolerates || (each.is_object() && Text(each.get_object(), {"key"}) == "gpu");
  }
  const json::array* gates = Array(object, {"spec", "schedulingGates"});
  pod.is_gated = gates != nullptr && !gates->empty();
  const std::string phase = Text(object, {"status", "phase"});
  pod.is_finished = phase == "Succeeded" || phase == "Failed";
  pod.is_terminating = At(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (const json::array* conditions = Array(object, {"status", "conditions"})) {
    for (const json::value& each : *conditions) {
      if (!each.is_object() || Text(each.get_object(), {"type"}) != "PodScheduled") continue;
      pod.told.state = Text(each.get_object(), {"status"}) + "/" + Text(each.get_object(), {"reason"});
      pod.told.message = Text(each.get_object(), {"message"});
    }
  }
  return pod;
}

// Whether a condition says that a scheduler evicts the pod.
bool SaysEvicted(const json::object& pod) {
  const json::array* conditions = Array(pod, {"status", "conditions"});
  return conditions != nullptr && std::any_of(conditions->begin(), conditions->end(), [](const json::value& each) {
           return each.is_object() && Text(each.get_object(), {"type"}) == "DisruptionTarget" &&
                  Text(each.get_object(), {"reason"}) == "PreemptionByScheduler";
         });
}

LedgerNode ReadNode(const json::object& object) {
  LedgerNode node;
  node.name = Text(object, {"metadata", "name"});
  node.uid = Text(object, {"metadata", "uid"});
  node.cpu_milli = Milli(Text(object, {"status", "allocatable", "cpu"}));
  node.memory = Milli(Text(object, {"status", "allocatable", "memory"})) / 1000;
  node.pods = Milli(Text(object, {"status", "allocatable", "pods"})) / 1000;
  const json::value* unschedulable = At(object, {"spec", "unschedulable"});
  node.is_unschedulable = unschedulable != nullptr && unschedulable->is_bool() && unschedulable->get_bool();
  const json::array* taints = Array(object, {"spec", "taints"});
  node.is_tainted = taints != nullptr && !taints->empty();
  node.is_ssd = Text(object, {"metadata", "labels", "disk"}) == "ssd";
  return node;
}

}  // namespace

void Ledger::TakeLines(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const auto event = codec::ParseJson(bytes.substr(0, end));
    if (event.ok() && event->is_object()) {
      const json::value* object = event->get_object().if_contains("object");
      if (object != nullptr && object->is_object())
        TakeEvent(Text(event->get_object(), {"type"}), object->get_object());
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void Ledger::TakeEvent(std::string_view type, const json::object& object) {
  if (type == "BOOKMARK" || type == "ERROR") return;
  const std::string kind = Text(object, {"kind"});
  if (kind == "Node") return TakeNode(type, object);
  if (kind == "Pod") return TakePod(type, object);
  if (kind == "ProvisioningRequest") return TakeRequest(type, object);
  if (kind == "Lease") return TakeLease(type, object);
  if (kind != "Event") return;
  std::string message = Text(object, {"message"});
  if (message.empty()) message = Text(object, {"note"});
  CheckBlame("event " + Text(object, {"metadata", "namespace"}) + "/" + Text(object, {"metadata", "name"}), message);
  TakeScheduledEvent(type, object);
}

// Keeps the terms of leaders without relying on the elector (client/leader_elector.h): the server knows when each
// renewal was sent and stored.
void Ledger::TakeRequest(std::string_view type, const json::object& object) {
  LedgerRequest request;
  request.namespace_name = Text(object, {"metadata", "namespace"});
  request.name = Text(object, {"metadata", "name"});
  request.key = request.namespace_name + "/" + request.name;
  if (type == "DELETED") {
    requests_.erase(request.key);
    return;
  }
  if (const json::array* conditions = Array(object, {"status", "conditions"})) {
    for (const json::value& each : *conditions) {
      if (!each.is_object() || Text(each.get_object(), {"status"}) != "True") continue;
      const std::string condition = Text(each.get_object(), {"type"});
      if (condition == "Provisioned") request.is_provisioned = true;
      if (condition == "Failed" || condition == "BookingExpired" || condition == "CapacityRevoked")
        request.is_over = true;
    }
  }
  requests_[request.key] = std::move(request);
}

void Ledger::TakeLease(std::string_view type, const json::object& object) {
  if (type == "DELETED" || author_.life == kOutsider) return;
  const std::string holder = Text(object, {"spec", "holderIdentity"});
  if (holder.empty()) {
    terms_[author_.life].was_given_back = true;
    return;
  }
  for (const auto& [life, term] : terms_) {
    if (life != author_.life && MayWrite(life))
      violate_("two leaders", "life " + std::to_string(author_.life) + " takes the lease while life " +
                                  std::to_string(life) + " may still write");
  }
  const Duration duration = std::chrono::seconds(Number(object, {"spec", "leaseDurationSeconds"}));
  LedgerTerm& term = terms_[author_.life];
  if (term.was_given_back)
    violate_("two leaders", "life " + std::to_string(author_.life) + " takes the lease that it had given back");
  term.may_write_until = author_.sent_at + duration - duration / 10;
  term.ends_at = clock_.Now() + duration;
}

bool Ledger::MayWrite(Life life) const {
  const auto term = terms_.find(life);
  return term != terms_.end() && !term->second.was_given_back && clock_.Now() < term->second.may_write_until;
}

bool Ledger::IsWithinTerm(Life life) const {
  const auto term = terms_.find(life);
  return term != terms_.end() && !term->second.was_given_back && clock_.Now() <= term->second.ends_at;
}

// Recognises refusals by RequestLanes (client/request_lanes.h) by their messages.
void Ledger::CheckBlame(const std::string& who, std::string_view message) {
  if (!forbids_blame_) return;
  if (message.ends_with(": not sent") || message.find("webhook") != std::string_view::npos)
    violate_("slow for all", who + " says \"" + std::string(message) + "\" while no request fails");
}

void Ledger::TakeNode(std::string_view type, const json::object& object) {
  LedgerNode node = ReadNode(object);
  const auto known = nodes_.find(node.name);
  if (type == "DELETED") {
    if (known != nodes_.end()) {
      gone_nodes_[node.name] = std::move(known->second);
      nodes_.erase(known);
    }
    return;
  }
  if (known == nodes_.end() || known->second.uid != node.uid) {
    node.created_at = clock_.Now();
    // Pods of an earlier node of the same name count as the new node's, and nobody checked whether it has room for
    // them.
    for (const auto& [key, pod] : pods_) {
      if (pod.node == node.name && !pod.is_finished) node.excuse = "it holds pods of an earlier node of that name";
    }
    const auto earlier = gone_nodes_.find(node.name);
    if (earlier != gone_nodes_.end() && IsSmaller(node, earlier->second)) node.excuse = "it was made anew, and smaller";
  } else {
    node.created_at = known->second.created_at;
    node.roomier_at = IsSmaller(known->second, node) ? clock_.Now() : known->second.roomier_at;
    node.excuse = known->second.excuse;
    if (IsSmaller(node, known->second)) node.excuse = "it was made smaller";
  }
  nodes_[node.name] = std::move(node);
}

void Ledger::TakePod(std::string_view type, const json::object& object) {
  LedgerPod pod = ReadPod(object);
  const auto known = pods_.find(pod.key);
  const LedgerPod* before = known != pods_.end() && known->second.uid == pod.uid ? &known->second : nullptr;
  if (before != nullptr) {
    pod.created_at = before->created_at;
    pod.binding = before->binding;
    pod.is_evicted = before->is_evicted;
    pod.told.changed_at = before->told.changed_at;
    pod.told.by = before->told.by;
    if (!before->node.empty() && before->node != pod.node)
      violate_("bound twice", pod.key + " was on " + before->node + " and is on \"" + pod.node + "\" now");
  } else {
    pod.created_at = clock_.Now();
    uids_.insert(pod.uid);
  }
  const bool has_new_condition =
      before == nullptr || before->told.state != pod.told.state || before->told.message != pod.told.message;
  if (has_new_condition && author_.life != kOutsider) {
    pod.told.changed_at = clock_.Now();
    pod.told.by = author_.life;
    CheckBlame(pod.key, pod.told.message);
  }
  const bool is_evicted_now = (type == "DELETED" || pod.is_terminating) && !pod.is_evicted &&
                              author_.life != kOutsider && (before == nullptr || !before->is_terminating);
  if (is_evicted_now) {
    pod.is_evicted = true;
    ++evicted_;
    if (pod.priority >= kEvictedBelow) violate_("evicted", pod.key + " is evicted, and no pod matters more");
    if (expects_reasons_ && !SaysEvicted(object))
      violate_("evicted", pod.key + " is evicted, and its conditions do not say why");
  }
  const bool leaves = type == "DELETED" || (before != nullptr && pod.is_finished && !before->is_finished);
  if (const auto node = nodes_.find(pod.node); leaves && node != nodes_.end()) node->second.roomier_at = clock_.Now();
  if (type == "DELETED") {
    if (known != pods_.end()) pods_.erase(known);
    return;
  }
  const bool is_bound_now = !pod.node.empty() && (before == nullptr || before->node.empty());
  if (is_bound_now) {
    pod.binding = {clock_.Now(), author_.life};
    // A binding whose node is deleted before it takes effect fails, and the pod's condition says so. The request may be
    // so late that the client has given it up, and then take effect on a new node of the same name. Nobody records an
    // event for it. kube-scheduler, too, records events only for bindings whose success it has seen.
    const auto node = nodes_.find(pod.node);
    pod.binding.was_given_up = before != nullptr && node != nodes_.end() && author_.sent_at < node->second.created_at &&
                               before->told.changed_at > author_.sent_at && before->told.state.starts_with("False/");
    pod.binding.was_late = has_election_ && author_.life != kOutsider && !author_.is_current;
    const auto term = terms_.find(author_.life);
    if (term != terms_.end() && term->second.was_given_back)
      violate_("given back", pod.key + " is bound to " + pod.node + " by life " + std::to_string(author_.life) +
                                 ", which had given the lease back");
  }
  const std::string key = pod.key;
  LedgerPod& kept = pods_[key] = std::move(pod);
  if (!is_bound_now) return;
  bound_.emplace(kept.uid, kept);
  if (const auto name = names_.find(author_.life); name != names_.end() && name->second != kept.scheduler_name)
    violate_("not ours", kept.key + " of " + kept.scheduler_name + " is bound by " + name->second);
  CheckBinding(kept);
}

void Ledger::CheckBinding(const LedgerPod& pod) {
  const auto found = nodes_.find(pod.node);
  if (found == nodes_.end()) return;
  LedgerNode& node = found->second;
  if (author_.life == kOutsider) {
    node.excuse = "an outsider bound a pod to it";
  } else if (!author_.is_current) {
    node.excuse = has_election_ ? "a binding to it was under way for longer than the lease"
                                : "a scheduler that had died, or was not alone, bound a pod to it";
  } else if (author_.sent_at < node.created_at) {
    node.excuse = "the binding was under way when the node was made anew";
  }
  if (!node.excuse.empty()) return;
  Usage usage;
  for (const auto& [key, other] : pods_) {
    if (other.node != node.name || other.is_finished) continue;
    usage.Add(other);
    if (other.uid == pod.uid) continue;
    if (pod.host_port != 0 && pod.host_port == other.host_port)
      violate_("host port", pod.key + " and " + key + " share a host port: " + Describe(node));
    if (Repel(pod, other)) violate_("anti-affinity", pod.key + " and " + key + " repel each other: " + Describe(node));
  }
  if (usage.IsOver(node)) violate_("over capacity", pod.key + " has no room: " + Describe(node));
  if (pod.is_gated) violate_("gated", pod.key + " is bound while it is gated");
}

void Ledger::TakeScheduledEvent(std::string_view type, const json::object& object) {
  if (type == "DELETED" || Text(object, {"reason"}) != "Scheduled") return;
  std::string uid = Text(object, {"involvedObject", "uid"});
  if (uid.empty()) uid = Text(object, {"regarding", "uid"});
  const std::string name = Text(object, {"metadata", "namespace"}) + "/" + Text(object, {"metadata", "name"});
  const auto bound = bound_.find(uid);
  if (bound == bound_.end()) {
    if (uids_.contains(uid)) violate_("announced", name + " says Scheduled of a pod that is not bound");
    return;
  }
  // Two schedulers that have the same name and chose the same node may both take the binding for their own.
  std::string reporter = Text(object, {"reportingInstance"});
  if (reporter.empty()) reporter = Text(object, {"source", "host"});
  const auto [known, is_new] = bound->second.scheduled_events.emplace(reporter, name);
  if (!is_new && known->second != name)
    violate_("events once", bound->second.key + " has two Scheduled events of " + reporter + ", the second is " + name);
  // Without an election two schedulers may take a binding for their own. With an election that is allowed only if the
  // binding was late.
  if (has_election_ && is_new && bound->second.scheduled_events.size() > 1 && !bound->second.binding.was_late)
    violate_("events once", bound->second.key + " has Scheduled events of two schedulers, the second is " + name);
  const std::int64_t count = std::max(Number(object, {"count"}), Number(object, {"series", "count"}));
  if (count > 1) violate_("events once", bound->second.key + " was Scheduled " + std::to_string(count) + " times");
}

bool Ledger::Fits(const LedgerPod& pod, const LedgerNode& node, bool may_preempt) const {
  if (node.is_unschedulable || (node.is_tainted && !pod.tolerates) || (pod.wants_ssd && !node.is_ssd)) return false;
  Usage usage;
  usage.Add(pod);
  for (const auto& [key, other] : pods_) {
    const bool is_nominated = !may_preempt && other.node.empty() && other.nominated_node == node.name &&
                              other.priority >= pod.priority && other.uid != pod.uid;
    if ((other.node != node.name && !is_nominated) || other.is_finished) continue;
    if (may_preempt && other.priority < pod.priority) continue;
    usage.Add(other);
    if (Repel(pod, other) || (pod.host_port != 0 && pod.host_port == other.host_port)) return false;
  }
  return !usage.IsOver(node);
}

std::string Ledger::FittingNode(const LedgerPod& pod, bool may_preempt, Time unchanged_since) const {
  for (const auto& [name, node] : nodes_) {
    if (node.roomier_at <= unchanged_since && Fits(pod, node, may_preempt)) return name;
  }
  return {};
}

std::string Ledger::Describe(const LedgerNode& node) const {
  Usage usage;
  std::string names;
  for (const auto& [key, pod] : pods_) {
    if (pod.node != node.name || pod.is_finished) continue;
    usage.Add(pod);
    names += " " + key + "(" + std::to_string(pod.cpu_milli) + "m";
    if (pod.priority != 0) names += " priority " + std::to_string(pod.priority);
    if (pod.host_port != 0) names += " port";
    if (pod.is_terminating) names += " terminating";
    names += " by " + std::to_string(pod.binding.by) + ")";
  }
  return node.name + ": " + std::to_string(usage.cpu_milli) + "m of " + std::to_string(node.cpu_milli) + "m, " +
         std::to_string(usage.memory >> 20) + "Mi of " + std::to_string(node.memory >> 20) + "Mi, " +
         std::to_string(usage.pods) + " pods of " + std::to_string(node.pods) + " by" + names;
}

void Ledger::Excuse(const std::string& node, std::string_view why) {
  if (const auto found = nodes_.find(node); found != nodes_.end()) found->second.excuse = why;
}

}  // namespace berth::program_sim
