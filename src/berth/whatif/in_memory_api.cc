// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/in_memory_api.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/decode.h"
#include "berth/plugins/dynamic_resources/claim_json.h"

namespace berth::whatif {
namespace {

using codec::json::object;
using codec::json::value;
using framework::Operation;

constexpr std::string_view kClaims = "resourceclaims";
constexpr std::string_view kPodGroups = "podgroups";
constexpr std::string_view kVolumes = "persistentvolumes";
constexpr std::string_view kVolumeClaims = "persistentvolumeclaims";
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr std::string_view kImmediate = "Immediate";
constexpr std::string_view kStorage = "storage";

Error NotFound(const framework::ObjectRef& ref) {
  const std::string group = ref.resource == kClaims      ? ".resource.k8s.io"
                            : ref.resource == kPodGroups ? ".scheduling.k8s.io"
                                                         : "";
  return {ErrorCode::kNotFound, ref.resource + group + " \"" + ref.name + "\" not found"};
}

const value* At(const value* from, std::string_view key) {
  if (from == nullptr || !from->is_object()) return nullptr;
  return from->get_object().if_contains(key);
}

std::string TextAt(const value* from, std::string_view key) {
  const value* found = At(from, key);
  return found == nullptr || !found->is_string() ? std::string() : std::string(found->get_string());
}

// Whether the preconditions of a patch hold.
bool Meets(const value& patch, const api::ObjectMeta& current) {
  const value* metadata = At(&patch, "metadata");
  const auto is_met = [&](std::string_view key, const std::string& want) {
    return At(metadata, key) == nullptr || TextAt(metadata, key) == want;
  };
  return is_met("uid", current.uid) && is_met("resourceVersion", current.resource_version);
}

Error Conflict() { return {ErrorCode::kConflict, "the object has been modified"}; }

void SetAnnotations(const value& patch, api::StringMap& annotations) {
  const value* given = At(At(&patch, "metadata"), "annotations");
  if (given == nullptr || !given->is_object()) return;
  for (const auto& [key, text] : given->get_object()) {
    if (text.is_string()) annotations.Set(key, std::string(text.get_string()));
  }
}

// The JSON of an object, as far as plugins read it in an answer.
std::string Answer(const api::ObjectMeta& meta, const std::string& claim_uid) {
  object annotations;
  for (const auto& [key, text] : meta.annotations) annotations[key] = text;
  const object answer{
      {"metadata",
       object{{"uid", meta.uid}, {"resourceVersion", meta.resource_version}, {"annotations", std::move(annotations)}}},
      {"spec", object{{"claimRef", object{{"uid", claim_uid}}}}}};
  return codec::WriteJson(answer);
}

std::string ClassOf(const api::PersistentVolumeClaim& claim) { return claim.storage_class_name.value_or(""); }

// Whether the volume controller would give the volume to the claim.
bool Fits(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const api::PersistentVolumeSpec& spec = volume.spec;
  const auto mode = [](const std::string& text) { return text.empty() ? std::string("Filesystem") : text; };
  if (spec.claim_ref || spec.storage_class_name != ClassOf(claim)) return false;
  if (mode(spec.volume_mode) != mode(claim.volume_mode)) return false;
  if (claim.selector && !claim.selector->Matches(volume.metadata.labels)) return false;
  const bool has_modes = std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&](const auto& each) {
    return std::find(spec.access_modes.begin(), spec.access_modes.end(), each) != spec.access_modes.end();
  });
  const api::Quantity* wanted = api::FindResource(claim.requests, kStorage);
  const api::Quantity* has = api::FindResource(spec.capacity, kStorage);
  return has_modes && (wanted == nullptr || (has != nullptr && *has >= *wanted));
}

void MergeInto(object& target, const object& patch) {
  for (const auto& [key, change] : patch) {
    if (change.is_null()) {
      target.erase(key);
    } else if (change.is_object()) {
      value& slot = target[key];
      if (!slot.is_object()) slot.emplace_object();
      MergeInto(slot.as_object(), change.as_object());
    } else {
      target[key] = change;
    }
  }
}

// Applies the one strategic merge patch that plugins write: it takes consumers away by their uid.
void RemoveConsumers(object& claim, const object& patch) {
  for (const value& entry : patch.at("status").at("reservedFor").as_array()) {
    if (!claim.contains("status") || !claim["status"].as_object().contains("reservedFor")) return;
    auto& consumers = claim["status"].as_object()["reservedFor"].as_array();
    const auto last = std::remove_if(consumers.begin(), consumers.end(),
                                     [&](const value& consumer) { return consumer.at("uid") == entry.at("uid"); });
    consumers.erase(last, consumers.end());
  }
}

// Every device with binding conditions is ready, unless something has been said about it already.
void PrepareDevices(api::ResourceClaim& claim) {
  if (!claim.allocation) return;
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    const bool is_known = std::any_of(claim.devices.begin(), claim.devices.end(), [&](const auto& device) {
      return device.driver == result.driver && device.pool == result.pool && device.device == result.device;
    });
    if (result.binding_conditions.empty() || is_known) continue;
    api::AllocatedDeviceStatus& status = claim.devices.emplace_back();
    status.driver = result.driver;
    status.pool = result.pool;
    status.device = result.device;
    for (const std::string& type : result.binding_conditions) status.conditions.push_back({type, "True", {}, {}});
  }
}

}  // namespace

framework::Status InMemoryApi::Run(Operation operation, Time now) {
  while (!operation.is_done()) {
    framework::StepResult result;
    result.now = result.wall_now = now;
    for (const framework::ApiWrite& write : operation.writes) {
      auto answer = Do(write);
      if (!answer.ok()) {
        result.error = answer.error();
        break;
      }
      result.body = std::move(*answer);
    }
    if (operation.work) result.status = operation.work();
    if (!operation.next) {
      return result.error ? framework::Status::Error(result.error->message) : std::move(result.status);
    }
    operation = Operation::Next(operation.next)(result);
  }
  return operation.status;
}

Expected<std::string> InMemoryApi::Do(const framework::ApiWrite& write) {
  if (const auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
    if (patch->object.resource == kVolumes) return PatchVolume(*patch);
    if (patch->object.resource == kVolumeClaims) return PatchVolumeClaim(*patch);
    if (patch->object.resource == kPodGroups) return PatchPodGroup(*patch);
    return patch->object.resource == kClaims ? Patch(*patch) : std::string("{}");
  }
  if (const auto* create = std::get_if<framework::ObjectCreate>(&write)) {
    return create->object.resource == kClaims ? Create(*create) : std::string("{}");
  }
  if (const auto* erased = std::get_if<framework::ObjectDelete>(&write)) {
    return erased->object.resource == kClaims ? Delete(*erased) : std::string("{}");
  }
  if (const auto* read = std::get_if<framework::ObjectRead>(&write); read && read->object.resource == kClaims) {
    const Claim* claim = Find(read->object);
    if (claim == nullptr) return NotFound(read->object);
    return codec::WriteJson(plugins::ToJson(*claim));
  }
  return std::string("{}");
}

// Conditions are merged by their type.
Expected<std::string> InMemoryApi::PatchPodGroup(const framework::ObjectPatch& write) {
  const api::PodGroup* group =
      cluster_.objects.Of<api::PodGroup>().Find(write.object.namespace_name, write.object.name);
  if (group == nullptr) return NotFound(write.object);
  BERTH_ASSIGN_OR_RETURN(const value body, codec::ParseJson(write.body));
  if (!Meets(body, group->metadata)) return Conflict();
  auto changed = std::make_shared<api::PodGroup>(*group);
  changed->metadata.resource_version = NextVersion();
  const value* conditions = At(At(&body, "status"), "conditions");
  if (conditions == nullptr || !conditions->is_array()) return std::string("{}");
  for (const value& each : conditions->get_array()) {
    api::GroupCondition condition{TextAt(&each, "type"), TextAt(&each, "status"), TextAt(&each, "reason"),
                                  TextAt(&each, "message")};
    const value* generation = At(&each, "observedGeneration");
    if (generation != nullptr && generation->is_int64()) condition.observed_generation = generation->get_int64();
    std::erase_if(changed->conditions, [&](const auto& other) { return other.type == condition.type; });
    changed->conditions.push_back(std::move(condition));
  }
  cluster_.set(std::shared_ptr<const api::PodGroup>(std::move(changed)));
  return std::string("{}");
}

const api::ResourceClaim* InMemoryApi::Find(const framework::ObjectRef& ref) const {
  return cluster_.objects.Of<Claim>().Find(ref.namespace_name, ref.name);
}

Expected<std::string> InMemoryApi::Store(object claim) {
  claim["metadata"].as_object()["resourceVersion"] = NextVersion();
  const auto element = api::ParseObject("ResourceClaim", codec::WriteJson(claim));
  if (!element.ok()) return element.error();
  const auto decoded = api::DecodeResourceClaim(*element);
  if (!decoded.ok()) return decoded.error();
  auto stored = std::make_shared<Claim>(**decoded);
  PrepareDevices(*stored);
  std::string answer = codec::WriteJson(plugins::ToJson(*stored));
  cluster_.set(std::shared_ptr<const Claim>(std::move(stored)));
  return answer;
}

Expected<std::string> InMemoryApi::Create(const framework::ObjectCreate& write) {
  auto body = codec::ParseJson(write.body);
  if (!body.ok()) return body.error();
  object& metadata = body->as_object()["metadata"].as_object();
  const std::string name = std::string(metadata.at("generateName").as_string()) + std::to_string(version_ + 1);
  metadata["name"] = name;
  metadata["uid"] = "uid-" + name;
  return Store(std::move(body->as_object()));
}

Expected<std::string> InMemoryApi::Patch(const framework::ObjectPatch& write) {
  const Claim* claim = Find(write.object);
  if (claim == nullptr) return NotFound(write.object);
  auto patch = codec::ParseJson(write.body);
  if (!patch.ok()) return patch.error();
  object patched = plugins::ToJson(*claim);
  if (write.type == framework::PatchType::kStrategicMerge) {
    RemoveConsumers(patched, patch->as_object());
    return Store(std::move(patched));
  }
  if (!Meets(*patch, claim->metadata)) return Conflict();
  MergeInto(patched, patch->as_object());
  return Store(std::move(patched));
}

Expected<std::string> InMemoryApi::Delete(const framework::ObjectDelete& write) {
  const Claim* claim = Find(write.object);
  if (claim == nullptr) return NotFound(write.object);
  cluster_.remove(framework::ObjectKind::kResourceClaim,
                  framework::ObjectStore<Claim>::Key(write.object.namespace_name, write.object.name));
  return std::string("{}");
}

void InMemoryApi::RecordVersion(const std::string& version) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error == std::errc() && end == version.data() + version.size()) version_ = std::max(version_, number);
}

Expected<std::string> InMemoryApi::PatchVolume(const framework::ObjectPatch& write) {
  const auto* volume = cluster_.objects.Of<api::PersistentVolume>().Find(write.object.name);
  if (volume == nullptr) return NotFound(write.object);
  BERTH_ASSIGN_OR_RETURN(const value patch, codec::ParseJson(write.body));
  if (!Meets(patch, volume->metadata)) return Conflict();
  const value* ref = At(At(&patch, "spec"), "claimRef");
  const std::string key =
      framework::ObjectStore<api::PersistentVolumeClaim>::Key(TextAt(ref, "namespace"), TextAt(ref, "name"));
  // Copies: what they point to changes with the cluster.
  api::PersistentVolume patched = *volume;
  SetAnnotations(patch, patched.metadata.annotations);
  const auto claim = cluster_.objects.Of<api::PersistentVolumeClaim>().Get(key);
  if (claim == nullptr)
    return NotFound({"v1", std::string(kVolumeClaims), TextAt(ref, "namespace"), TextAt(ref, "name")});
  // The volume controller does the rest.
  Bind(*claim, patched);
  const auto* bound = cluster_.objects.Of<api::PersistentVolume>().Find(write.object.name);
  return Answer(bound->metadata, TextAt(ref, "uid"));
}

Expected<std::string> InMemoryApi::PatchVolumeClaim(const framework::ObjectPatch& write) {
  const std::string key =
      framework::ObjectStore<api::PersistentVolumeClaim>::Key(write.object.namespace_name, write.object.name);
  const auto claim = cluster_.objects.Of<api::PersistentVolumeClaim>().Get(key);
  if (claim == nullptr) return NotFound(write.object);
  BERTH_ASSIGN_OR_RETURN(const value patch, codec::ParseJson(write.body));
  if (!Meets(patch, claim->metadata)) return Conflict();
  auto patched = std::make_shared<api::PersistentVolumeClaim>(*claim);
  SetAnnotations(patch, patched->metadata.annotations);
  patched->metadata.resource_version = NextVersion();
  std::string answer = Answer(patched->metadata, "");
  const std::shared_ptr<const api::PersistentVolumeClaim> stored = std::move(patched);
  cluster_.set(stored);
  const std::string* node_name = stored->metadata.annotations.Find(kSelectedNode);
  const auto* storage_class = cluster_.objects.Of<api::StorageClass>().Find(ClassOf(*stored));
  if (node_name != nullptr && storage_class != nullptr && stored->volume_name.empty())
    Provision(*stored, *storage_class, cluster_.find_node ? cluster_.find_node(*node_name) : nullptr);
  return answer;
}

void InMemoryApi::BindNow(const api::PersistentVolumeClaim& claim) {
  if (!claim.volume_name.empty()) return;
  const auto* storage_class = cluster_.objects.Of<api::StorageClass>().Find(ClassOf(claim));
  if (storage_class != nullptr && storage_class->volume_binding_mode.value_or(std::string(kImmediate)) != kImmediate)
    return;
  const api::PersistentVolume* smallest = nullptr;
  const auto size = [](const api::PersistentVolume& volume) {
    const api::Quantity* capacity = api::FindResource(volume.spec.capacity, kStorage);
    return capacity == nullptr ? api::Quantity() : *capacity;
  };
  for (const auto& [name, volume] : cluster_.objects.Of<api::PersistentVolume>()) {
    if (Fits(*volume, claim) && (smallest == nullptr || size(*volume) < size(*smallest))) smallest = volume.get();
  }
  if (smallest != nullptr) {
    Bind(claim, api::PersistentVolume(*smallest));
  } else if (storage_class != nullptr && storage_class->provisioner != kNoProvisioner) {
    Provision(claim, *storage_class, nullptr);
  }
}

// The volume can be reached from where the class allows and, with a node, from that node's topology as its CSI driver
// tells it.
void InMemoryApi::Provision(const api::PersistentVolumeClaim& claim, const api::StorageClass& storage_class,
                            const api::Node* node) {
  api::PersistentVolume volume;
  volume.metadata.name = "pvc-" + claim.metadata.uid;
  volume.metadata.uid = "uid-" + volume.metadata.name;
  volume.spec.capacity = claim.requests;
  volume.spec.access_modes = claim.access_modes;
  volume.spec.storage_class_name = storage_class.metadata.name;
  volume.spec.volume_mode = claim.volume_mode;
  volume.spec.source.kind = api::VolumeKind::kCsi;
  volume.spec.source.driver = storage_class.provisioner;
  volume.spec.source.id = volume.metadata.name;
  api::NodeSelectorTerm reach;
  const api::CsiNode* csi = node == nullptr ? nullptr : cluster_.objects.Of<api::CsiNode>().Find(node->metadata.name);
  if (csi != nullptr) {
    for (const api::CsiNodeDriver& driver : csi->drivers) {
      if (driver.name != storage_class.provisioner) continue;
      for (const std::string& key : driver.topology_keys) {
        const std::string* at = node->metadata.labels.Find(key);
        if (at != nullptr) reach.match_expressions.push_back({key, api::SelectorOperator::kIn, {*at}, {}});
      }
    }
  }
  if (!reach.match_expressions.empty()) {
    volume.spec.node_affinity.emplace().push_back(std::move(reach));
  } else if (!storage_class.allowed_topologies.empty()) {
    auto& terms = volume.spec.node_affinity.emplace();
    for (const auto& requirements : storage_class.allowed_topologies) {
      api::NodeSelectorTerm& term = terms.emplace_back();
      for (const api::TopologySelectorRequirement& each : requirements)
        term.match_expressions.push_back({each.key, api::SelectorOperator::kIn, each.values, {}});
    }
  }
  Bind(claim, volume);
}

void InMemoryApi::Bind(const api::PersistentVolumeClaim& claim, const api::PersistentVolume& volume) {
  auto bound_volume = std::make_shared<api::PersistentVolume>(volume);
  bound_volume->metadata.resource_version = NextVersion();
  bound_volume->spec.claim_ref = {claim.metadata.namespace_name, claim.metadata.name, claim.metadata.uid};
  bound_volume->phase = "Bound";
  auto bound_claim = std::make_shared<api::PersistentVolumeClaim>(claim);
  bound_claim->metadata.resource_version = NextVersion();
  bound_claim->metadata.annotations.Set(kBindCompleted, "yes");
  bound_claim->volume_name = volume.metadata.name;
  bound_claim->phase = "Bound";
  cluster_.set(std::shared_ptr<const api::PersistentVolume>(std::move(bound_volume)));
  cluster_.set(std::shared_ptr<const api::PersistentVolumeClaim>(std::move(bound_claim)));
}

}  // namespace berth::whatif
