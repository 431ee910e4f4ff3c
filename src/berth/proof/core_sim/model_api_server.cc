// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/core_sim/model_api_server.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/codec/json.h"

namespace berth::core_sim {

void ModelApiServer::SetNode(api::Node node) {
  node.metadata.resource_version = NextVersion();
  auto object = std::make_shared<const api::Node>(std::move(node));
  nodes_[object->metadata.name] = object;
  node_log_.emplace_back(scheduler::NodeSet{object});
}

void ModelApiServer::DeleteNode(const std::string& name) {
  if (nodes_.erase(name) > 0) node_log_.emplace_back(scheduler::NodeGone{name});
}

void ModelApiServer::CreatePod(api::Pod pod) {
  pod.metadata.uid = "uid-" + std::to_string(next_uid_++);
  SetPod(std::move(pod));
}

void ModelApiServer::SetPod(api::Pod pod) {
  pod.metadata.resource_version = NextVersion();
  auto object = std::make_shared<const api::Pod>(std::move(pod));
  pods_[KeyOf(object->metadata)] = object;
  if (IsFinished(*object)) {
    pod_log_.emplace_back(
        scheduler::PodGone{object->metadata.namespace_name, object->metadata.name, object->metadata.uid});
  } else {
    pod_log_.emplace_back(scheduler::PodSet{object});
  }
}

void ModelApiServer::DeletePod(const std::string& key) {
  const auto it = pods_.find(key);
  if (it == pods_.end()) return;
  const api::ObjectMeta& meta = it->second->metadata;
  if (!IsFinished(*it->second)) pod_log_.emplace_back(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid});
  pods_.erase(it);
}

std::optional<Error> ModelApiServer::Bind(const framework::PodRef& ref, const std::string& node_name) {
  const PodPtr pod = Read(ref);
  if (!pod) return Error{ErrorCode::kNotFound, "pods \"" + ref.name + "\" not found"};
  if (pod->metadata.uid != ref.uid) return Error{ErrorCode::kConflict, "the uid does not match"};
  if (pod->metadata.deletion_time) return Error{ErrorCode::kConflict, "the pod is being deleted"};
  if (!pod->spec.node_name.empty()) return Error{ErrorCode::kConflict, "the pod is assigned already"};
  api::Pod bound = *pod;
  bound.spec.node_name = node_name;
  std::erase_if(bound.status.conditions, [](const api::PodCondition& c) { return c.type == "PodScheduled"; });
  bound.status.conditions.push_back({"PodScheduled", "True", "", ""});
  SetPod(std::move(bound));
  return std::nullopt;
}

void ModelApiServer::Patch(const framework::PodStatusWrite& write) {
  const PodPtr pod = Read(write.pod);
  if (!pod || pod->metadata.uid != write.pod.uid || IsFinished(*pod)) return;
  api::Pod patched = *pod;
  if (write.has_condition) {
    auto& conditions = patched.status.conditions;
    std::erase_if(conditions, [&](const api::PodCondition& c) { return c.type == write.condition_type; });
    conditions.push_back(
        {write.condition_type, write.condition_status, write.condition_reason, write.condition_message});
  }
  if (write.has_nomination) patched.status.nominated_node_name = write.nominated_node_name;
  SetPod(std::move(patched));
}

Expected<PodPtr> ModelApiServer::Find(const framework::ObjectRef& ref, std::string_view uid) const {
  const auto it = pods_.find(ref.namespace_name + "/" + ref.name);
  if (it == pods_.end()) return Error{ErrorCode::kNotFound, "pods \"" + ref.name + "\" not found"};
  if (it->second->metadata.uid != uid) return Error{ErrorCode::kConflict, "the uid does not match"};
  return it->second;
}

std::optional<Error> ModelApiServer::Patch(const framework::ObjectPatch& patch) {
  const auto body = codec::ParseJson(patch.body);
  BERTH_CHECK(body.ok(), patch.body);
  const auto& object = body->as_object();
  const auto pod = Find(patch.object, std::string(object.at("metadata").at("uid").as_string()));
  if (!pod.ok()) return pod.error();
  api::Pod patched = **pod;
  auto& conditions = patched.status.conditions;
  for (const auto& item : object.at("status").at("conditions").as_array()) {
    const auto text = [&](const char* key) { return std::string(item.at(key).as_string()); };
    std::erase_if(conditions, [&](const api::PodCondition& c) { return c.type == text("type"); });
    conditions.push_back({text("type"), text("status"), text("reason"), text("message")});
  }
  SetPod(std::move(patched));
  return std::nullopt;
}

std::optional<Error> ModelApiServer::Delete(const framework::ObjectDelete& deletion, Time now) {
  const auto pod = Find(deletion.object, deletion.uid);
  if (!pod.ok()) return pod.error();
  if ((*pod)->metadata.deletion_time) return std::nullopt;
  api::Pod going = **pod;
  going.metadata.deletion_time = now;
  SetPod(std::move(going));
  return std::nullopt;
}

PodPtr ModelApiServer::Read(const framework::PodRef& ref) const {
  const auto it = pods_.find(ref.namespace_name + "/" + ref.name);
  return it == pods_.end() ? nullptr : it->second;
}

}  // namespace berth::core_sim
