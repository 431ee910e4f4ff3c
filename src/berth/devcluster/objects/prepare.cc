// SPDX-License-Identifier: Apache-2.0
// What a create and an update change in an object before it is validated: first status, generation, allocated
// addresses, what may not change hands. Also the quality-of-service class.
#include "berth/devcluster/objects/prepare.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "berth/api/quantity.h"
#include "berth/base/time.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects::internal {

namespace {

std::optional<api::Quantity> QuantityOf(const json::value& value) {
  if (value.is_string()) {
    auto parsed = api::Quantity::Parse(View(value.get_string()));
    if (parsed.ok()) return parsed.value();
  }
  if (value.is_int64()) return api::Quantity::FromValue(value.get_int64());
  return std::nullopt;
}

using Amounts = std::map<std::string, api::Quantity::Nanos>;

// Adds the positive CPU and memory amounts of a resource list; returns how many of the two it has.
int AddAmounts(const json::object* list, Amounts& sums) {
  int count = 0;
  for (const std::string_view name : {"cpu", "memory"}) {
    const json::value* value = list == nullptr ? nullptr : FindMember(*list, name);
    if (value == nullptr) continue;
    const std::optional<api::Quantity> amount = QuantityOf(*value);
    if (!amount || amount->IsZero() || amount->IsNegative()) continue;
    sums[std::string(name)] += amount->nanos();
    ++count;
  }
  return count;
}

// FNV-1a: addresses only have to differ, and must be the same in every run.
std::uint32_t Hash(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

// A pod that is held back says so from the start; the scheduler takes it up when the gates are gone.
json::object GatedCondition(const json::object& pod) {
  json::object condition;
  condition["type"] = "PodScheduled";
  condition["status"] = "False";
  condition["lastProbeTime"] = nullptr;
  const std::string_view created = StringAt(pod, {"metadata", "creationTimestamp"});
  condition["lastTransitionTime"] = created.empty() ? json::value(nullptr) : json::value(created);
  condition["reason"] = "SchedulingGated";
  condition["message"] = "Scheduling is blocked due to non-empty scheduling gates";
  return condition;
}

// matchLabelKeys are turned into requirements on the pod's own values, so that the scheduler need not know of them.
void AppendKeyRequirements(json::object& term, const json::object& labels, std::string_view keys, std::string_view op) {
  const json::array* names = ArrayMember(term, keys);
  if (names == nullptr || ObjectMember(term, "labelSelector") == nullptr) return;
  const json::array copy = *names;
  for (const json::value& key : copy) {
    if (!key.is_string()) continue;
    const json::value* value = FindMember(labels, View(key.get_string()));
    if (value == nullptr) continue;
    json::object requirement;
    requirement["key"] = key;
    requirement["operator"] = op;
    requirement["values"] = json::array{*value};
    json::value& list = MutableObject(term, "labelSelector")["matchExpressions"];
    if (!list.is_array()) list = json::array();
    list.get_array().push_back(std::move(requirement));
  }
}

void MergeLabelKeys(json::object& pod) {
  const json::object* found = ObjectAt(pod, {"metadata", "labels"});
  if (found == nullptr) return;
  const json::object labels = *found;
  json::object& spec = MutableObject(pod, "spec");
  for (json::object* constraint : MutableObjectsOf(spec, "topologySpreadConstraints")) {
    AppendKeyRequirements(*constraint, labels, "matchLabelKeys", "In");
  }
  if (ObjectMember(spec, "affinity") == nullptr) return;
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    if (ObjectAt(spec, {"affinity", kind}) == nullptr) continue;
    json::object& affinity = MutableObject(MutableObject(spec, "affinity"), kind);
    const auto merge = [&](json::object& term) {
      AppendKeyRequirements(term, labels, "matchLabelKeys", "In");
      AppendKeyRequirements(term, labels, "mismatchLabelKeys", "NotIn");
    };
    for (json::object* term : MutableObjectsOf(affinity, "requiredDuringSchedulingIgnoredDuringExecution"))
      merge(*term);
    for (json::object* weighted : MutableObjectsOf(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
      merge(MutableObject(*weighted, "podAffinityTerm"));
    }
  }
}

}  // namespace

std::string_view QosClass(const json::object& pod) {
  const json::object* spec = ObjectMember(pod, "spec");
  if (spec == nullptr) return "BestEffort";
  Amounts requests;
  Amounts limits;
  bool is_guaranteed = true;
  const auto add = [&](const json::object& owner) {
    AddAmounts(ObjectAt(owner, {"resources", "requests"}), requests);
    if (AddAmounts(ObjectAt(owner, {"resources", "limits"}), limits) < 2) is_guaranteed = false;
  };
  if (const json::object* of_pod = ObjectMember(*spec, "resources"); of_pod != nullptr && !of_pod->empty()) {
    add(*spec);  // what is said of the pod as a whole decides alone
  } else {
    for (const char* list : {"containers", "initContainers"}) {
      for (const json::object* container : ObjectsOf(*spec, list)) add(*container);
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  return is_guaranteed && requests == limits ? "Guaranteed" : "Burstable";
}

void PreparePodCreate(json::object& pod) {
  json::object status;
  status["phase"] = "Pending";
  status["qosClass"] = QosClass(pod);
  if (const json::array* gates = ArrayMember(MutableObject(pod, "spec"), "schedulingGates");
      gates != nullptr && !gates->empty()) {
    status["conditions"] = json::array{GatedCondition(pod)};
  }
  pod["status"] = std::move(status);
  MergeLabelKeys(pod);
}

void PrepareServiceCreate(json::object& service) {
  json::object& spec = MutableObject(service, "spec");
  const std::string type(StringMember(spec, "type"));
  const std::string key = std::string(StringAt(service, {"metadata", "namespace"})) + "/" +
                          std::string(StringAt(service, {"metadata", "name"}));
  if (type != "ExternalName") {
    if (StringMember(spec, "clusterIP").empty()) {
      // Nothing listens there; the address is derived from the name and may, rarely, be another service's too.
      const std::uint32_t hash = Hash(key);
      spec["clusterIP"] = "10.96." + std::to_string((hash >> 8) % 256) + "." + std::to_string(2 + hash % 253);
    }
    const json::value address = spec["clusterIP"];
    if (ArrayMember(spec, "clusterIPs") == nullptr) spec["clusterIPs"] = json::array{address};
    if (FindMember(spec, "ipFamilies") == nullptr) spec["ipFamilies"] = json::array{"IPv4"};
    if (FindMember(spec, "ipFamilyPolicy") == nullptr) spec["ipFamilyPolicy"] = "SingleStack";
  }
  if (type == "NodePort" || type == "LoadBalancer") {
    for (json::object* port : MutableObjectsOf(spec, "ports")) {
      if (IntMember(*port, "nodePort") != 0) continue;
      const std::uint32_t hash =
          Hash(key + ":" + std::to_string(IntMember(*port, "port")) + std::string(StringMember(*port, "protocol")));
      (*port)["nodePort"] = 30000 + static_cast<std::int64_t>(hash % 2768);
    }
  }
}

void PrepareServiceUpdate(json::object& service, const json::object& old) {
  json::object& spec = MutableObject(service, "spec");
  const json::object* old_spec = ObjectMember(old, "spec");
  if (old_spec != nullptr && StringMember(spec, "type") != "ExternalName") {
    for (const char* name : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      const json::value* before = FindMember(*old_spec, name);
      if (before != nullptr && FindMember(spec, name) == nullptr) spec[name] = *before;
    }
    // A port that keeps its number and protocol keeps its node port.
    for (json::object* port : MutableObjectsOf(spec, "ports")) {
      if (IntMember(*port, "nodePort") != 0) continue;
      for (const json::object* before : ObjectsOf(*old_spec, "ports")) {
        if (IntMember(*before, "port") == IntMember(*port, "port") && IntMember(*before, "nodePort") != 0 &&
            StringMember(*before, "protocol") == StringMember(*port, "protocol") &&
            StringMember(spec, "type") != "ClusterIP") {
          (*port)["nodePort"] = IntMember(*before, "nodePort");
        }
      }
    }
  }
  PrepareServiceCreate(service);
}

void PrepareJobCreate(json::object& job) {
  const std::string uid(StringAt(job, {"metadata", "uid"}));
  const std::string name(StringAt(job, {"metadata", "name"}));
  json::object& spec = MutableObject(job, "spec");
  if (BoolMember(spec, "manualSelector")) return;
  json::object& labels = MutableObject(MutableObject(MutableObject(spec, "template"), "metadata"), "labels");
  for (const char* prefix : {"", "batch.kubernetes.io/"}) {
    labels[std::string(prefix) + "controller-uid"] = uid;
    labels[std::string(prefix) + "job-name"] = name;
  }
  MutableObject(MutableObject(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = uid;
  // As upstream's defaults, which see the template with these labels.
  json::object& own = MutableObject(MutableObject(job, "metadata"), "labels");
  if (own.empty()) own = labels;
}

void PrepareCreate(const PrepareTraits& traits, json::object& object) {
  if (traits.drops_status) {
    object.erase("status");
    object["status"] = traits.first_status;
  }
  if (traits.has_generation) MutableObject(object, "metadata")["generation"] = 1;
  if (traits.on_create != nullptr) traits.on_create(object);
}

void PrepareUpdate(const PrepareTraits& traits, json::object& object, const json::object& old) {
  if (traits.drops_status) {
    if (const json::value* status = FindMember(old, "status")) {
      object["status"] = *status;
    } else {
      object.erase("status");
    }
  }
  if (!traits.has_generation) return;
  const auto differs = [](const json::value* a, const json::value* b) {
    if (a == nullptr || b == nullptr) return a != b;
    return *a != *b;
  };
  bool has_changed = false;
  for (const std::string_view member : traits.generation_members) {
    has_changed = has_changed || differs(FindMember(object, member), FindMember(old, member));
  }
  if (traits.annotations_count) {
    has_changed = has_changed ||
                  differs(FindPath(object, {"metadata", "annotations"}), FindPath(old, {"metadata", "annotations"}));
  }
  const json::object* old_metadata = ObjectMember(old, "metadata");
  const std::int64_t before = old_metadata == nullptr ? 0 : IntMember(*old_metadata, "generation");
  MutableObject(object, "metadata")["generation"] = before + (has_changed ? 1 : 0);
}

}  // namespace berth::objects::internal
