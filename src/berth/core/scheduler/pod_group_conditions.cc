// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_conditions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/base/log.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/framework/pod_group_namer.h"

namespace berth::scheduler {

using framework::Operation;
using framework::PodGroupKey;

namespace {

constexpr Duration kRetryInitial = std::chrono::milliseconds(200);
constexpr Duration kRetryMax = std::chrono::seconds(10);

bool MayPass(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kConflict:
    // An API server that has just started forbids requests until it has read its rules.
    case ErrorCode::kForbidden:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kTooManyRequests: return true;
    default: return error.outcome_unknown;
  }
}

}  // namespace

void PodGroupConditions::Set(const PodGroupKey& group, bool is_scheduled, const std::string& reason,
                             const std::string& message) {
  // A named group has no API object; the conditions of its pods have the same message.
  if (framework::IsNamedPodGroup(group.name)) return;
  if (!group.is_composite) {
    SetOn(group, state_.pod_groups->FindPodGroup(group), api::kPodGroupInitiallyScheduled, is_scheduled, reason,
          message);
  } else if (state_.release.writes_composite_conditions) {
    SetOn(group, state_.pod_groups->FindComposite(group), api::kCompositePodGroupInitiallyScheduled, is_scheduled,
          reason, message);
  }
}

// `object`: null when the group is gone.
template <typename Object>
void PodGroupConditions::SetOn(const PodGroupKey& group, const Object* object, std::string_view type, bool is_scheduled,
                               const std::string& reason, const std::string& message) {
  if (object == nullptr) return;
  const api::GroupCondition* const old = object->FindCondition(type);
  GroupWrites& writes = writes_[group];
  if (writes.uid != object->metadata.uid) writes = {.uid = object->metadata.uid};
  const bool was_scheduled = writes.is_scheduled || (old != nullptr && old->status == "True");
  if (was_scheduled && !is_scheduled) return;
  const std::string status = is_scheduled ? "True" : "False";
  const bool is_same = old != nullptr && old->status == status && old->reason == reason && old->message == message &&
                       old->observed_generation == object->metadata.generation;
  const std::string said = status + "\n" + reason + "\n" + message + "\n" + std::to_string(object->metadata.generation);
  const std::string& last_said = writes.next.empty() ? writes.under_way : writes.next;
  if (last_said.empty() ? is_same : last_said == said) return;
  writes.is_scheduled = is_scheduled;
  codec::json::object condition{{"type", type},
                                {"status", status},
                                {"observedGeneration", object->metadata.generation},
                                {"reason", reason},
                                {"message", message}};
  // Strategic merge by type keeps the old transition time if none is given.
  if (old == nullptr || old->status != status) condition["lastTransitionTime"] = FormatRfc3339(state_.WallNow());
  codec::json::object body{{"status", codec::json::object{{"conditions", codec::json::array{std::move(condition)}}}}};
  // The uid protects a later group of the same name from this write.
  if (!object->metadata.uid.empty()) body["metadata"] = codec::json::object{{"uid", object->metadata.uid}};
  if (!writes.under_way.empty()) {
    writes.next = said;
    writes.next_body = codec::WriteJson(body);
    return;
  }
  writes.under_way = said;
  writes.write = ++last_write_;
  background_.Start(Post(group, codec::WriteJson(body), writes.write, 1), state_.now);
  if (writes_.size() >= forget_at_) Forget();
}

Operation PodGroupConditions::Post(const PodGroupKey& group, const std::string& body, std::uint64_t write, int tries) {
  framework::ObjectPatch patch;
  patch.object = {"scheduling.k8s.io/v1beta1", group.is_composite ? "compositepodgroups" : "podgroups",
                  group.namespace_name, group.name};
  patch.subresource = "status";
  patch.type = framework::PatchType::kStrategicMerge;
  patch.body = body;
  return Operation::Write(std::move(patch), [this, group, body, write, tries](const framework::StepResult& result) {
    if (!result.error || result.error->code == ErrorCode::kNotFound) return Next(group, write);
    if (IsOutdated(group, write)) return Next(group, write);
    if (!MayPass(*result.error) || tries == kTriesMax) {
      log::Warning("scheduler", "The condition of a pod group could not be written",
                   {{"podGroup", group.Text()}, {"error", result.error->message}});
      return Next(group, write);
    }
    const Duration delay = std::min(kRetryMax, kRetryInitial * (1 << tries));
    return Operation::After(delay, [this, group, body, write, tries](const framework::StepResult&) {
      return IsOutdated(group, write) ? Next(group, write) : Post(group, body, write, tries + 1);
    });
  });
}

bool PodGroupConditions::IsOutdated(const PodGroupKey& group, std::uint64_t write) const {
  const auto writes = writes_.find(group);
  return writes == writes_.end() || writes->second.write != write || !writes->second.next.empty();
}

Operation PodGroupConditions::Next(const PodGroupKey& group, std::uint64_t write) {
  const auto found = writes_.find(group);
  if (found == writes_.end() || found->second.write != write) return Operation::Done();
  GroupWrites& writes = found->second;
  writes.under_way = std::exchange(writes.next, {});
  if (writes.under_way.empty()) return Operation::Done();
  writes.write = ++last_write_;
  return Post(group, std::exchange(writes.next_body, {}), writes.write, 1);
}

void PodGroupConditions::Forget() {
  absl::erase_if(writes_, [this](const auto& each) {
    const std::string uid = framework::ReadGroup(*state_.pod_groups, each.first, std::string(),
                                                 [](const auto& object) { return object.metadata.uid; });
    return uid != each.second.uid;
  });
  forget_at_ = std::max<std::size_t>(1024, 2 * writes_.size());
}

}  // namespace berth::scheduler
