// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/workload_controller.h"

#include <utility>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr int kOwnersAtOnce = 8;
// Changes of pods come in swarms; each swarm is one look at the owner.
constexpr Duration kGather = std::chrono::milliseconds(20);

// An absent member is as good as null, 0, "" or an empty list.
bool IsNothing(const json::value& value) {
  return value.is_null() || (value.is_int64() && value.get_int64() == 0) ||
         (value.is_string() && value.get_string().empty()) || (value.is_array() && value.get_array().empty());
}

bool ChangesNothing(const json::object& status, const json::object& wanted) {
  for (const auto& [key, value] : wanted) {
    const json::value* own = status.if_contains(key);
    if (own == nullptr ? !IsNothing(value) : *own != value && !(IsNothing(*own) && IsNothing(value))) return false;
  }
  return true;
}

// Counts that upstream's status leaves out while they are zero.
constexpr std::string_view kLeftOutAtZero[] = {"active",          "currentReplicas",        "failed",
                                               "numberAvailable", "numberUnavailable",      "readyReplicas",
                                               "succeeded",       "updatedNumberScheduled", "updatedReplicas"};

json::object WithoutZeros(json::object status) {
  for (const std::string_view name : kLeftOutAtZero) {
    json::value* count = status.if_contains(name);
    if (count != nullptr && IsNothing(*count)) *count = nullptr;
  }
  return status;
}

}  // namespace

WorkloadController::WorkloadController(Context& context, const OwnerKind& kind, ObjectIndex<WorkloadView>& owners,
                                       Decide decide)
    : context_(context),
      kind_(kind),
      owners_(owners),
      decide_(std::move(decide)),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = kOwnersAtOnce, .seed = context.options.seed + kind.plural.size()},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

void WorkloadController::OnSynced() { is_synced_ = true; }

void WorkloadController::OnOwner(const std::shared_ptr<const WorkloadView>& owner) {
  owners_.Put(owner);
  queue_->Add(owner->Key());
}

void WorkloadController::OnOwnerGone(const WorkloadView& owner) {
  owners_.Erase(owner.Key());
  status_written_.erase(owner.uid);
}

void WorkloadController::OnPod(const PodView& pod) {
  if (!pod.controller || pod.controller->kind != kind_.kind) return;
  if (const auto owner = owners_.FindUid(pod.controller->uid)) queue_->AddAfter(owner->Key(), kGather);
}

void WorkloadController::LookAtAll() {
  owners_.ForEach([this](const WorkloadView& owner) { queue_->AddAfter(owner.Key(), kGather); });
}

void WorkloadController::Sync(const std::string& key, WorkQueue::Done done) {
  if (!is_synced_) {
    queue_->AddAfter(key, kGather);
    return done(true);
  }
  const auto owner = owners_.Find(key);
  if (!owner || owner->is_deleted) return done(true);
  Pods pods;
  for (const auto& [pod_key, pod] : context_.pods.Owned(owner->uid)) pods.push_back(pod);
  Nodes nodes;
  for (const auto& [name, node] : context_.nodes) nodes.push_back(node);
  auto round = std::make_shared<Round>();
  round->owner = owner;
  round->decision = decide_(*owner, pods, nodes, context_.loop.WallNow());
  round->done = std::move(done);
  if (round->decision.again_after) queue_->AddAfter(key, *round->decision.again_after + std::chrono::milliseconds(1));
  if (round->decision.removes_owner) {
    return context_.Delete(ObjectPath(kind_.prefix, owner->namespace_name, kind_.plural, owner->name), *owner, {},
                           [this, round](Expected<net::Response> response) {
                             const bool is_gone = response.ok() || response.error().code == ErrorCode::kNotFound;
                             if (!is_gone) context_.CountFailure("removing", round->owner->Key(), response.error());
                             round->done(is_gone);
                           });
  }
  WriteClaims(round);
}

void WorkloadController::WriteClaims(const RoundPtr& round) {
  if (round->decision.claims.empty()) return WritePods(round);
  round->left = round->decision.claims.size();
  for (const PodDecision::New& claim : round->decision.claims) {
    context_.Enter(
        [this, round, &claim] { Create(round, "persistentvolumeclaims", claim, [this, round] { WritePods(round); }); });
  }
}

void WorkloadController::WritePods(const RoundPtr& round) {
  round->left = round->decision.pods.size() + round->decision.surplus.size();
  if (round->left == 0 || round->has_failed) return Finish(round);
  for (const PodDecision::New& pod : round->decision.pods) {
    context_.Enter([this, round, &pod] { Create(round, "pods", pod, [this, round] { Finish(round); }); });
  }
  for (const auto& pod : round->decision.surplus) {
    context_.Enter([this, round, &pod] { Delete(round, pod); });
  }
}

void WorkloadController::Create(const RoundPtr& round, const char* plural, const PodDecision::New& made,
                                std::function<void()> next) {
  const WorkloadView& owner = *round->owner;
  const auto newest = owners_.FindUid(owner.uid);
  // Who is gone needs no pods; and after a refusal the others would be refused as well.
  if (round->has_failed || !newest || newest->is_deleted) {
    round->has_failed = true;
    return EndStep(round, next);
  }
  const bool is_pod = plural == std::string_view("pods");
  context_.Send("POST", ObjectPath(kCorePrefix, owner.namespace_name, plural), made.document, {},
                [this, round, is_pod, name = made.name, next = std::move(next)](Expected<net::Response> response) {
                  const WorkloadView& of = *round->owner;
                  if (response.ok()) {
                    if (is_pod) ++context_.pods_created;
                    context_.RecordEvent(of, kind_.kind, kind_.reporter, false, "SuccessfulCreate",
                                         (is_pod ? "Created pod: " : "Created claim: ") + name, is_pod ? name : "");
                    return EndStep(round, next);
                  }
                  // There is one of that name: made before, as a rule, and the watch is about to show it.
                  if (response.error().code == ErrorCode::kAlreadyExists) {
                    const auto there = is_pod ? context_.pods.Find(of.namespace_name + '/' + name) : nullptr;
                    if (there && !(there->controller && there->controller->uid == of.uid)) {
                      context_.RecordEvent(
                          of, kind_.kind, kind_.reporter, true, "FailedCreate",
                          "Error creating: pod " + name + " exists and is not of this " + std::string(kind_.kind));
                    }
                    return EndStep(round, next);
                  }
                  round->has_failed = true;
                  context_.CountFailure("creating a pod of", of.Key(), response.error());
                  const ErrorCode code = response.error().code;
                  if (code == ErrorCode::kInvalid || code == ErrorCode::kForbidden) {
                    context_.RecordEvent(of, kind_.kind, kind_.reporter, true, "FailedCreate",
                                         "Error creating: " + response.error().message);
                  }
                  EndStep(round, next);
                });
}

void WorkloadController::Delete(const RoundPtr& round, const std::shared_ptr<const PodView>& pod) {
  context_.Delete(
      ObjectPath(kCorePrefix, pod->namespace_name, "pods", pod->name), *pod, {},
      [this, round, pod](Expected<net::Response> response) {
        if (response.ok()) {
          ++context_.pods_deleted;
          context_.RecordEvent(*round->owner, kind_.kind, kind_.reporter, false, "SuccessfulDelete",
                               "Deleted pod: " + pod->name, pod->name);
        } else if (response.error().code != ErrorCode::kNotFound && response.error().code != ErrorCode::kConflict) {
          context_.CountFailure("deleting a pod of", round->owner->Key(), response.error());
          round->has_failed = true;
        }
        EndStep(round, [this, round] { Finish(round); });
      });
}

void WorkloadController::EndStep(const RoundPtr& round, const std::function<void()>& next) {
  context_.Leave();
  if (--round->left == 0) next();
}

void WorkloadController::Finish(const RoundPtr& round) {
  // After a full burst more pods may be wanted.
  const auto made = static_cast<std::int64_t>(round->decision.pods.size());
  if (made >= kBurst) queue_->AddAfter(round->owner->Key(), kGather);
  if (round->has_failed) return round->done(false);
  WriteStatus(round);
}

void WorkloadController::WriteStatus(const RoundPtr& round) {
  const WorkloadView& owner = *round->owner;
  const PodDecision& decision = round->decision;
  if (ChangesNothing(owner.status, decision.status)) return round->done(true);
  const json::object patch{{"metadata", json::object{{"uid", owner.uid}}}, {"status", WithoutZeros(decision.status)}};
  // The watch may be behind what we have written: the same is not written twice for one version.
  std::string mark = owner.resource_version + codec::WriteJson(patch);
  std::string& written = status_written_[owner.uid];
  if (written == mark) return round->done(true);
  written = std::move(mark);
  context_.Send("PATCH", ObjectPath(kind_.prefix, owner.namespace_name, kind_.plural, owner.name, "status"), patch,
                kMergePatch, [this, round](Expected<net::Response> response) {
                  const WorkloadView& of = *round->owner;
                  if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
                    status_written_.erase(of.uid);
                    context_.CountFailure("writing the status of", of.Key(), response.error());
                    return round->done(false);
                  }
                  if (const auto& note = round->decision.note; note && response.ok()) {
                    context_.RecordEvent(of, kind_.kind, kind_.reporter, note->is_warning, note->reason, note->text);
                  }
                  round->done(true);
                });
}

}  // namespace berth::controllers
