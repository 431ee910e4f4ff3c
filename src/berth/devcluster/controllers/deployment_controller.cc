// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/deployment_controller.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "berth/devcluster/controllers/workload_pods.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kKind = "Deployment";
constexpr std::string_view kReporter = "deployment-controller";
constexpr int kDeploymentsAtOnce = 8;
constexpr Duration kGather = std::chrono::milliseconds(20);
// A write that the watch does not show within this time is taken for lost.
constexpr Duration kBehindMax = std::chrono::seconds(30);
constexpr Duration kBehindRetry = std::chrono::seconds(5);
constexpr std::size_t kSetNameMax = 63 - 11;  // room for a dash and the hash

constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr const char* kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
constexpr const char* kMaxReplicas = "deployment.kubernetes.io/max-replicas";
// Annotations that the Deployment keeps for itself; its ReplicaSets do not get them.
constexpr std::string_view kNotInherited[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                              kRevision,
                                              "deployment.kubernetes.io/revision-history",
                                              kDesiredReplicas,
                                              kMaxReplicas,
                                              "deprecated.deployment.rollback.to"};

std::int64_t ToInteger(const std::string* text) {
  std::int64_t number = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::int64_t RevisionOf(const WorkloadView& workload) { return ToInteger(workload.annotations.Find(kRevision)); }

json::value CountOrNull(std::int64_t count) { return count == 0 ? json::value(nullptr) : json::value(count); }

const json::object* FindCondition(const json::object& status, std::string_view type) {
  const json::value* conditions = Member(status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const json::value& each : conditions->get_array()) {
    if (each.is_object() && StringOf(each.get_object(), "type") == type) return &each.get_object();
  }
  return nullptr;
}

json::object MakeCondition(const json::object* before, std::string_view type, std::string_view status,
                           std::string_view reason, std::string message, bool is_news, Time now) {
  const std::string time = FormatRfc3339(now);
  const bool same_status = before != nullptr && StringOf(*before, "status") == status;
  const bool same = same_status && StringOf(*before, "reason") == reason;
  if (same && !is_news) return *before;
  const std::string_view transition = same_status ? StringOf(*before, "lastTransitionTime") : std::string_view();
  return {{"type", View(type)},     {"status", View(status)},
          {"lastUpdateTime", time}, {"lastTransitionTime", transition.empty() ? View(time) : View(transition)},
          {"reason", View(reason)}, {"message", std::move(message)}};
}

void RemoveCondition(json::array& conditions, std::string_view type) {
  const auto rest = std::remove_if(conditions.begin(), conditions.end(), [&](const json::value& each) {
    return each.is_object() && StringOf(each.get_object(), "type") == type;
  });
  conditions.erase(rest, conditions.end());
}

// One with another status or reason becomes the last, as upstream's SetDeploymentCondition has it.
void SetCondition(json::array& conditions, const json::object& condition) {
  const std::string_view type = StringOf(condition, "type");
  for (json::value& each : conditions) {
    if (!each.is_object() || StringOf(each.get_object(), "type") != type) continue;
    const bool is_same = StringOf(each.get_object(), "status") == StringOf(condition, "status") &&
                         StringOf(each.get_object(), "reason") == StringOf(condition, "reason");
    if (!is_same) break;
    each = condition;
    return;
  }
  RemoveCondition(conditions, type);
  conditions.push_back(condition);
}

}  // namespace

DeploymentController::DeploymentController(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = kDeploymentsAtOnce, .seed = context.options.seed + 21},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

void DeploymentController::OnSynced() { is_synced_ = true; }

void DeploymentController::OnDeployment(const WorkloadView& deployment) { queue_->Add(deployment.Key()); }

void DeploymentController::OnDeploymentGone(const WorkloadView& deployment) {
  status_written_.erase(deployment.uid);
  created_.erase(deployment.uid);
}

void DeploymentController::OnReplicaSet(const WorkloadView& set) {
  const auto written = scaled_.find(set.uid);
  if (written != scaled_.end() && set.generation >= written->second.generation) scaled_.erase(written);
  if (set.controller) {
    if (const auto deployment = context_.deployments.FindUid(set.controller->uid)) {
      queue_->AddAfter(deployment->Key(), kGather);
    }
  }
}

void DeploymentController::OnReplicaSetGone(const WorkloadView& set) {
  scaled_.erase(set.uid);
  if (!set.controller) return;
  // A ReplicaSet that is created again under the same name is waited for again.
  created_.erase(set.controller->uid);
  if (const auto deployment = context_.deployments.FindUid(set.controller->uid))
    queue_->AddAfter(deployment->Key(), kGather);
}

void DeploymentController::OnPodEnded(const PodView& pod) {
  if (!pod.controller) return;
  const auto set = context_.replica_sets.FindUid(pod.controller->uid);
  if (!set || !set->controller) return;
  if (const auto deployment = context_.deployments.FindUid(set->controller->uid))
    queue_->AddAfter(deployment->Key(), kGather);
}

void DeploymentController::Finish(const RoundPtr& round, bool succeeded) { round->done(succeeded); }

bool DeploymentController::IsBehind(const std::vector<SetPtr>& sets, const WorkloadView& deployment) {
  const Time lost = context_.loop.Now() - kBehindMax;
  for (const SetPtr& set : sets) {
    const auto scaled = scaled_.find(set->uid);
    if (scaled == scaled_.end()) continue;
    if (scaled->second.at > lost) return true;
    scaled_.erase(scaled);
  }
  const auto created = created_.find(deployment.uid);
  if (created == created_.end()) return false;
  if (created->second.at > lost && !context_.replica_sets.Find(created->second.key)) return true;
  created_.erase(created);
  return false;
}

void DeploymentController::Sync(const std::string& key, WorkQueue::Done done) {
  if (!is_synced_) {
    queue_->AddAfter(key, kGather);
    return done(true);
  }
  auto round = std::make_shared<Round>();
  round->deployment = context_.deployments.Find(key);
  round->done = std::move(done);
  if (!round->deployment || !round->deployment->selector) return round->done(true);
  const WorkloadView& deployment = *round->deployment;
  for (const auto& [set_key, set] : context_.replica_sets.Owned(deployment.uid)) {
    if (!set->is_deleted) round->sets.push_back(set);
  }
  std::stable_sort(round->sets.begin(), round->sets.end(), [](const SetPtr& a, const SetPtr& b) {
    return a->creation_time.value_or(Time()) < b->creation_time.value_or(Time());
  });
  if (IsBehind(round->sets, deployment)) {
    queue_->AddAfter(key, kBehindRetry);
    return round->done(true);
  }
  for (const SetPtr& set : round->sets) {
    if (!round->newest && SameTemplate(set->Template(), deployment.Template())) round->newest = set;
  }
  RolloutPlan& plan = round->plan;
  plan.replicas = std::max<std::int64_t>(deployment.replicas, 0);
  plan.bounds = ReadRolloutBounds(deployment.spec, plan.replicas);
  const json::object* strategy = ObjectOf(deployment.spec, "strategy");
  plan.is_recreate = strategy != nullptr && StringOf(*strategy, "type") == "Recreate";
  if (plan.is_recreate) plan.bounds = {0, plan.replicas};
  const json::value* paused = Member(deployment.spec, "paused");
  plan.is_paused = paused != nullptr && paused->is_bool() && paused->get_bool();
  plan.has_old_pods = HasOldPods(*round);
  for (const SetPtr& set : round->sets) {
    plan.sets.push_back({set == round->newest, set->replicas, set->StatusCount("availableReplicas")});
  }

  if (deployment.is_deleted) return WriteStatus(round);
  if (Adopt(round)) return;
  if (!round->newest && !plan.is_paused) {
    // Recreate makes the new set when the old pods have gone, as upstream.
    const bool waits =
        plan.is_recreate && (plan.has_old_pods || std::any_of(plan.sets.begin(), plan.sets.end(),
                                                              [](const auto& set) { return set.replicas > 0; }));
    if (!waits) return CreateSet(round);
    for (SetPtr& set : round->sets) {
      if (set->replicas > 0) ++round->left;
    }
    if (round->left == 0) return WriteStatus(round);
    for (const SetPtr& set : std::vector<SetPtr>(round->sets)) {
      if (set->replicas > 0) ScaleSet(round, set, 0);
    }
    return;
  }
  if (WriteRevision(round)) return;
  Scale(round);
}

bool DeploymentController::HasOldPods(const Round& round) const {
  for (const SetPtr& set : round.sets) {
    if (set == round.newest) continue;
    for (const auto& [key, pod] : context_.pods.Owned(set->uid)) {
      if (!pod->IsFinished()) return true;
    }
  }
  return false;
}

bool DeploymentController::Adopt(const RoundPtr& round) {
  std::vector<SetPtr> orphans;
  for (const auto& [key, set] : context_.replica_sets.Orphans(round->deployment->namespace_name)) {
    if (!set->is_deleted && round->deployment->selector->Matches(set->labels)) orphans.push_back(set);
  }
  if (orphans.empty()) return false;
  round->left = orphans.size();
  for (const SetPtr& set : orphans) {
    const json::object patch{
        {"metadata", json::object{{"uid", set->uid},
                                  {"ownerReferences", json::array{OwnerReferenceTo(*round->deployment, kKind)}}}}};
    context_.Send("PATCH", ObjectPath(kAppsPrefix, set->namespace_name, "replicasets", set->name), patch,
                  kStrategicPatch, [this, round](Expected<net::Response> response) {
                    if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
                      round->has_failed = true;
                      context_.CountFailure("adopting a ReplicaSet for", round->deployment->Key(), response.error());
                    }
                    if (--round->left == 0) Finish(round, !round->has_failed);
                  });
  }
  return true;
}

// One more than the old sets have; the newest set's own number where that is the highest already.
std::int64_t DeploymentController::NewRevision(const Round& round) const {
  std::int64_t highest_old = 0;
  for (const SetPtr& set : round.sets) {
    if (set != round.newest) highest_old = std::max(highest_old, RevisionOf(*set));
  }
  const std::int64_t own = round.newest ? RevisionOf(*round.newest) : 0;
  return std::max(own, highest_old + 1);
}

json::object DeploymentController::SetAnnotations(const Round& round) const {
  json::object annotations;
  for (const auto& [key, value] : round.deployment->annotations) {
    if (std::find(std::begin(kNotInherited), std::end(kNotInherited), key) == std::end(kNotInherited))
      annotations[key] = value;
  }
  annotations[kRevision] = std::to_string(NewRevision(round));
  annotations[kDesiredReplicas] = std::to_string(round.plan.replicas);
  annotations[kMaxReplicas] = std::to_string(round.plan.replicas + round.plan.bounds.surge_max);
  return annotations;
}

void DeploymentController::CreateSet(const RoundPtr& round) {
  const WorkloadView& deployment = *round->deployment;
  const std::string hash = TemplateHash(deployment.Template(), deployment.StatusCount("collisionCount"));
  const std::string name = deployment.name.substr(0, kSetNameMax) + '-' + hash;

  const json::object pod_template = ReplicaSetTemplate(deployment, hash);
  const json::value& labels = pod_template.at("metadata").at("labels");
  json::object selector;
  if (const json::object* given = ObjectOf(deployment.spec, "selector")) selector = *given;
  json::value& match_labels = selector["matchLabels"];
  if (!match_labels.is_object()) match_labels = json::object();
  match_labels.get_object()[kTemplateHashLabel] = hash;

  // What the first step of the rollout gives it.
  RolloutPlan plan = round->plan;
  plan.sets.push_back({true, 0, 0});
  const std::int64_t replicas = NextReplicas(plan).back();
  json::object spec{{"replicas", replicas}, {"selector", std::move(selector)}, {"template", pod_template}};
  if (deployment.min_ready_seconds > 0) spec["minReadySeconds"] = deployment.min_ready_seconds;
  const json::object set{
      {"apiVersion", kAppsVersion},
      {"kind", "ReplicaSet"},
      {"metadata", json::object{{"name", name},
                                {"namespace", deployment.namespace_name},
                                {"labels", labels},
                                {"annotations", SetAnnotations(*round)},
                                {"ownerReferences", json::array{OwnerReferenceTo(deployment, kKind)}}}},
      {"spec", std::move(spec)}};
  context_.Send("POST", ObjectPath(kAppsPrefix, deployment.namespace_name, "replicasets"), set, {},
                [this, round, name, replicas](Expected<net::Response> response) {
                  const WorkloadView& owner = *round->deployment;
                  if (response.ok()) {
                    created_[owner.uid] = {owner.namespace_name + '/' + name, context_.loop.Now()};
                    if (replicas > 0) {
                      context_.RecordEvent(owner, kKind, kReporter, false, "ScalingReplicaSet",
                                           "Scaled up replica set " + name + " from 0 to " + std::to_string(replicas));
                    }
                    queue_->AddAfter(owner.Key(), kGather);
                    return Finish(round, true);
                  }
                  if (response.error().code == ErrorCode::kAlreadyExists) return OnNameTaken(round, name);
                  context_.CountFailure("creating a ReplicaSet for", owner.Key(), response.error());
                  Finish(round, false);
                });
}

void DeploymentController::OnNameTaken(const RoundPtr& round, const std::string& name) {
  const WorkloadView& deployment = *round->deployment;
  const auto known = context_.replica_sets.Find(deployment.namespace_name + '/' + name);
  // Unknown yet: most likely ours, from a request whose answer was lost. The watch will show it.
  if (!known || (known->controller && known->controller->uid == deployment.uid &&
                 SameTemplate(known->Template(), deployment.Template()))) {
    return Finish(round, false);
  }
  const json::object patch{{"metadata", json::object{{"uid", deployment.uid}}},
                           {"status", json::object{{"collisionCount", deployment.StatusCount("collisionCount") + 1}}}};
  context_.Send("PATCH", ObjectPath(kAppsPrefix, deployment.namespace_name, "deployments", deployment.name, "status"),
                patch, kMergePatch, [this, round](Expected<net::Response> response) {
                  if (!response.ok()) {
                    context_.CountFailure("counting a collision of names for", round->deployment->Key(),
                                          response.error());
                  }
                  Finish(round, false);
                });
}

bool DeploymentController::WriteRevision(const RoundPtr& round) {
  const WorkloadView& deployment = *round->deployment;
  if (!round->newest) return false;
  json::object changed;
  for (const auto& [key, value] : SetAnnotations(*round)) {
    const std::string* now = round->newest->annotations.Find(std::string_view(key.data(), key.size()));
    if (now == nullptr || View(*now) != value.get_string()) changed[key] = value;
  }
  // One after the other: the Deployment shows a revision when its set has it.
  const bool is_patient = round->newest->min_ready_seconds == deployment.min_ready_seconds;
  if (!changed.empty() || !is_patient) {
    json::object patch{{"metadata", json::object{{"uid", round->newest->uid}, {"annotations", std::move(changed)}}}};
    if (!is_patient) patch["spec"] = json::object{{"minReadySeconds", deployment.min_ready_seconds}};
    context_.Send("PATCH", ObjectPath(kAppsPrefix, deployment.namespace_name, "replicasets", round->newest->name),
                  patch, kMergePatch, [this, round](Expected<net::Response> response) {
                    if (!response.ok()) {
                      context_.CountFailure("annotating the ReplicaSet of", round->deployment->Key(), response.error());
                    }
                    // The ReplicaSet's own event starts the next synchronisation.
                    if (response.ok()) return Scale(round);
                    Finish(round, false);
                  });
    return true;
  }
  const std::string revision = std::to_string(NewRevision(*round));
  const std::string* now = deployment.annotations.Find(kRevision);
  if (now != nullptr && *now == revision) return false;
  const json::object patch{
      {"metadata", json::object{{"uid", deployment.uid}, {"annotations", json::object{{kRevision, revision}}}}}};
  // By way of the status, as upstream: an annotation alone is no new generation there.
  context_.Send("PATCH", ObjectPath(kAppsPrefix, deployment.namespace_name, "deployments", deployment.name, "status"),
                patch, kMergePatch, [this, round](Expected<net::Response> response) {
                  if (!response.ok()) {
                    context_.CountFailure("writing the revision of", round->deployment->Key(), response.error());
                    return Finish(round, false);
                  }
                  Scale(round);
                });
  return true;
}

void DeploymentController::Scale(const RoundPtr& round) {
  const std::vector<std::int64_t> wanted = NextReplicas(round->plan);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != round->sets[i]->replicas) ++round->left;
  }
  if (round->left == 0) return WriteStatus(round);
  const std::vector<SetPtr> sets = round->sets;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != sets[i]->replicas) ScaleSet(round, sets[i], wanted[i]);
  }
}

void DeploymentController::ScaleSet(const RoundPtr& round, const SetPtr& set, std::int64_t replicas) {
  const json::object patch{
      {"metadata",
       json::object{{"uid", set->uid},
                    {"annotations", json::object{{kDesiredReplicas, std::to_string(round->plan.replicas)},
                                                 {kMaxReplicas, std::to_string(round->plan.replicas +
                                                                               round->plan.bounds.surge_max)}}}}},
      {"spec", json::object{{"replicas", replicas}}}};
  context_.Send("PATCH", ObjectPath(kAppsPrefix, set->namespace_name, "replicasets", set->name), patch, kMergePatch,
                [this, round, set, replicas](Expected<net::Response> response) {
                  if (response.ok()) {
                    const auto known = context_.replica_sets.FindUid(set->uid);
                    // The write made a new generation; older views of the set are out of date.
                    if (known && known->generation <= set->generation)
                      scaled_[set->uid] = {set->generation + 1, context_.loop.Now()};
                    context_.RecordEvent(
                        *round->deployment, kKind, kReporter, false, "ScalingReplicaSet",
                        (replicas > set->replicas ? "Scaled up replica set " : "Scaled down replica set ") + set->name +
                            " from " + std::to_string(set->replicas) + " to " + std::to_string(replicas));
                  } else {
                    round->has_failed = true;
                    context_.CountFailure("scaling a ReplicaSet of", round->deployment->Key(), response.error());
                  }
                  if (--round->left == 0) WriteStatus(round);
                });
}

void DeploymentController::RemoveOldSets(const RoundPtr& round) {
  const std::int64_t limit = IntegerOf(round->deployment->spec, "revisionHistoryLimit", 10);
  std::vector<SetPtr> old;
  for (const SetPtr& set : round->sets) {
    if (set != round->newest) old.push_back(set);
  }
  const std::int64_t surplus = static_cast<std::int64_t>(old.size()) - std::max<std::int64_t>(limit, 0);
  std::stable_sort(old.begin(), old.end(),
                   [](const SetPtr& a, const SetPtr& b) { return RevisionOf(*a) < RevisionOf(*b); });
  for (std::int64_t i = 0; i < surplus; ++i) {
    const SetPtr& set = old[static_cast<std::size_t>(i)];
    const bool is_empty = set->replicas == 0 && set->StatusCount("replicas") == 0 &&
                          set->StatusCount("observedGeneration") >= set->generation;
    if (!is_empty) continue;
    context_.Delete(ObjectPath(kAppsPrefix, set->namespace_name, "replicasets", set->name), *set,
                    {.is_version_strict = true}, [this, set](Expected<net::Response> response) {
                      if (response.ok() || response.error().code == ErrorCode::kNotFound) return;
                      // It changed meanwhile, or the server is away: the next look removes it.
                      context_.CountFailure("removing the old ReplicaSet", set->Key(), response.error());
                    });
  }
}

void DeploymentController::WriteStatus(const RoundPtr& round) {
  const WorkloadView& deployment = *round->deployment;
  const Time now = context_.loop.WallNow();
  std::int64_t replicas = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t specified = 0;
  for (const SetPtr& set : round->sets) {
    replicas += set->StatusCount("replicas");
    ready += set->StatusCount("readyReplicas");
    available += set->StatusCount("availableReplicas");
    specified += set->replicas;
  }
  const std::int64_t updated = round->newest ? round->newest->StatusCount("replicas") : 0;
  const std::int64_t unavailable = std::max<std::int64_t>(specified - available, 0);

  json::array conditions;
  const json::object& before = deployment.status;
  const bool is_available = available >= round->plan.replicas - round->plan.bounds.unavailable_max;
  const json::object available_condition =
      is_available
          ? MakeCondition(FindCondition(before, "Available"), "Available", "True", "MinimumReplicasAvailable",
                          "Deployment has minimum availability.", false, now)
          : MakeCondition(FindCondition(before, "Available"), "Available", "False", "MinimumReplicasUnavailable",
                          "Deployment does not have minimum availability.", false, now);

  const json::object* progressing = FindCondition(before, "Progressing");
  const std::string_view reason_before = progressing == nullptr ? std::string_view() : StringOf(*progressing, "reason");
  const std::string set_text =
      round->newest ? "ReplicaSet \"" + round->newest->name + '"' : "Deployment \"" + deployment.name + '"';
  const std::int64_t deadline_seconds = IntegerOf(deployment.spec, "progressDeadlineSeconds", 600);
  constexpr std::int64_t kNoDeadline = 2147483647;
  const bool is_complete = updated == round->plan.replicas && replicas == round->plan.replicas &&
                           available == round->plan.replicas && round->newest != nullptr;
  const std::int64_t old_before = deployment.StatusCount("replicas") - deployment.StatusCount("updatedReplicas");
  const bool has_progressed = updated > deployment.StatusCount("updatedReplicas") || replicas - updated < old_before ||
                              ready > deployment.StatusCount("readyReplicas") ||
                              available > deployment.StatusCount("availableReplicas");
  const auto last_update =
      progressing == nullptr ? std::nullopt : ParseRfc3339(StringOf(*progressing, "lastUpdateTime"));
  const Time deadline = last_update.value_or(now) + std::chrono::seconds(std::min(deadline_seconds, kNoDeadline));
  std::optional<json::object> progress;
  if (deadline_seconds >= kNoDeadline) {
    progress = std::nullopt;
  } else if (round->plan.is_paused) {
    progress =
        MakeCondition(progressing, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", false, now);
  } else if (is_complete) {
    progress = MakeCondition(progressing, "Progressing", "True", "NewReplicaSetAvailable",
                             set_text + " has successfully progressed.", false, now);
  } else if (progressing == nullptr && round->newest) {
    progress = MakeCondition(nullptr, "Progressing", "True", "NewReplicaSetCreated",
                             "Created new replica set \"" + round->newest->name + '"', true, now);
  } else if (has_progressed || reason_before == "DeploymentPaused" ||
             (reason_before == "NewReplicaSetAvailable" && updated < round->plan.replicas)) {
    progress = MakeCondition(progressing, "Progressing", "True", "ReplicaSetUpdated", set_text + " is progressing.",
                             true, now);
  } else if (reason_before != "NewReplicaSetAvailable" && reason_before != "ProgressDeadlineExceeded" &&
             progressing != nullptr && now >= deadline) {
    progress = MakeCondition(progressing, "Progressing", "False", "ProgressDeadlineExceeded",
                             set_text + " has timed out progressing.", true, now);
  } else if (progressing != nullptr) {
    progress = *progressing;
  }
  const bool awaits_deadline = progress && StringOf(*progress, "status") == "True" && !is_complete &&
                               StringOf(*progress, "reason") != "NewReplicaSetAvailable";
  if (awaits_deadline) {
    const auto since = ParseRfc3339(StringOf(*progress, "lastUpdateTime")).value_or(now);
    const Duration left = since + std::chrono::seconds(deadline_seconds) - now;
    queue_->AddAfter(deployment.Key(), std::max<Duration>(left, std::chrono::seconds(1)));
  }
  if (is_complete) RemoveOldSets(round);

  if (const json::value* all = Member(before, "conditions"); all != nullptr && all->is_array()) {
    conditions = all->get_array();
  }
  SetCondition(conditions, available_condition);
  if (progress) {
    SetCondition(conditions, *progress);
  } else {
    RemoveCondition(conditions, "Progressing");
  }

  const bool is_same =
      deployment.StatusCount("observedGeneration") >= deployment.generation &&
      deployment.StatusCount("replicas") == replicas && deployment.StatusCount("updatedReplicas") == updated &&
      deployment.StatusCount("readyReplicas") == ready && deployment.StatusCount("availableReplicas") == available &&
      deployment.StatusCount("unavailableReplicas") == unavailable && Member(before, "conditions") != nullptr &&
      *Member(before, "conditions") == json::value(conditions);
  if (is_same) return Finish(round, !round->has_failed);
  const json::object patch{{"metadata", json::object{{"uid", deployment.uid}}},
                           {"status", json::object{{"observedGeneration", deployment.generation},
                                                   {"replicas", CountOrNull(replicas)},
                                                   {"updatedReplicas", CountOrNull(updated)},
                                                   {"readyReplicas", CountOrNull(ready)},
                                                   {"availableReplicas", CountOrNull(available)},
                                                   {"unavailableReplicas", CountOrNull(unavailable)},
                                                   {"conditions", std::move(conditions)}}}};
  // The watch may be behind what we have written: the same is not written twice for one version.
  std::string mark = deployment.resource_version + codec::WriteJson(patch);
  std::string& written = status_written_[deployment.uid];
  if (written == mark) return Finish(round, !round->has_failed);
  written = std::move(mark);
  context_.Send("PATCH", ObjectPath(kAppsPrefix, deployment.namespace_name, "deployments", deployment.name, "status"),
                patch, kMergePatch, [this, round](Expected<net::Response> response) {
                  const bool is_gone = !response.ok() && response.error().code == ErrorCode::kNotFound;
                  if (response.ok() || is_gone) return Finish(round, !round->has_failed);
                  status_written_.erase(round->deployment->uid);
                  context_.CountFailure("writing the status of Deployment", round->deployment->Key(), response.error());
                  Finish(round, false);
                });
}

}  // namespace berth::controllers
