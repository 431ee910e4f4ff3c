// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/replica_set_controller.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "berth/devcluster/controllers/workload_pods.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kKind = "ReplicaSet";
constexpr std::string_view kReporter = "replicaset-controller";
constexpr int kSetsAtOnce = 8;
// Changes of pods come in swarms; each swarm is one look at the ReplicaSet.
constexpr Duration kGather = std::chrono::milliseconds(20);
constexpr Duration kExpectationsMax = std::chrono::minutes(5);  // as upstream
constexpr Duration kUnknownMax = std::chrono::seconds(30);      // where even reading did not settle a creation
constexpr std::size_t kNameMax = 63 - 6;                        // room for a dash and the suffix

bool HasTemplateLabels(const PodView& pod, const WorkloadView& set) {
  const json::object* metadata = ObjectOf(set.Template(), "metadata");
  const json::object* labels = metadata == nullptr ? nullptr : ObjectOf(*metadata, "labels");
  if (labels == nullptr) return true;
  return std::all_of(labels->begin(), labels->end(), [&pod](const auto& label) {
    const std::string* value = pod.labels.Find(std::string_view(label.key().data(), label.key().size()));
    return value != nullptr && label.value().is_string() && label.value().get_string() == View(*value);
  });
}

// Upstream writes 0 for these as absent.
json::value CountOrNull(std::int64_t count) { return count == 0 ? json::value(nullptr) : json::value(count); }

}  // namespace

void SortForRemoval(std::vector<std::shared_ptr<const PodView>>& pods) {
  std::map<std::string_view, std::int64_t> per_node;
  for (const auto& pod : pods) ++per_node[pod->node_name];
  const auto rank = [&per_node](const PodView& pod) {
    const int phase = pod.phase == "Pending" || pod.phase.empty() ? 0 : pod.phase == "Running" ? 2 : 1;
    const Time never_ready = Time::max();
    // Pods are sorted ascending by this, and the first ones are deleted first.
    return std::array<std::int64_t, 8>{pod.node_name.empty() ? 0 : 1,
                                       phase,
                                       pod.is_ready ? 1 : 0,
                                       pod.deletion_cost,
                                       -per_node.at(pod.node_name),
                                       -pod.ready_since.value_or(never_ready).time_since_epoch().count(),
                                       -pod.restarts,
                                       -pod.creation_time.value_or(Time()).time_since_epoch().count()};
  };
  std::sort(pods.begin(), pods.end(), [&rank](const auto& a, const auto& b) {
    const auto rank_a = rank(*a);
    const auto rank_b = rank(*b);
    return rank_a != rank_b ? rank_a < rank_b : a->uid < b->uid;
  });
}

ReplicaSetController::ReplicaSetController(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop, client::WorkQueueOptions{.in_flight_max = kSetsAtOnce, .seed = context.options.seed + 11},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })),
      random_(context.options.seed + 12) {}

void ReplicaSetController::AddSoon(const std::string& key) { queue_->AddAfter(key, kGather); }

void ReplicaSetController::OnSynced() { is_synced_ = true; }

void ReplicaSetController::OnReplicaSet(const WorkloadView& set) { queue_->Add(set.Key()); }

void ReplicaSetController::OnReplicaSetGone(const WorkloadView& set) {
  expectations_.erase(set.uid);
  status_written_.erase(set.uid);
  problems_.erase(set.uid);
}

void ReplicaSetController::OnPod(const PodView* before, const PodView& pod) {
  const auto meet = [this](const PodView& each) {
    if (!each.controller) return;
    const auto set = context_.replica_sets.FindUid(each.controller->uid);
    const auto expected = expectations_.find(each.controller->uid);
    if (expected != expectations_.end()) {
      expected->second.created.erase(each.Key());
      if (each.is_deleted) expected->second.deleted.erase(each.uid);
    }
    if (set) AddSoon(set->Key());
  };
  meet(pod);
  if (before != nullptr && before->controller && !(before->controller == pod.controller)) meet(*before);
  if (pod.controller || pod.is_deleted) return;
  // Nobody's: perhaps one that a ReplicaSet of its namespace adopts.
  for (const auto& [key, set] : context_.replica_sets.Orphans(pod.namespace_name)) {
    if (set->selector && set->selector->Matches(pod.labels)) AddSoon(key);
  }
  for (const auto& [uid, sets] : context_.replica_sets.by_owner()) {
    for (const auto& [key, set] : sets) {
      if (set->namespace_name == pod.namespace_name && set->selector && set->selector->Matches(pod.labels))
        AddSoon(key);
    }
  }
}

void ReplicaSetController::OnPodGone(const PodView& pod) {
  if (!pod.controller) return;
  const auto expected = expectations_.find(pod.controller->uid);
  if (expected != expectations_.end()) {
    expected->second.created.erase(pod.Key());
    expected->second.deleted.erase(pod.uid);
  }
  if (const auto set = context_.replica_sets.FindUid(pod.controller->uid)) AddSoon(set->Key());
}

bool ReplicaSetController::HasExpectations(const std::string& uid) {
  const auto found = expectations_.find(uid);
  if (found == expectations_.end()) return false;
  const bool is_over = found->second.since && context_.loop.Now() - *found->second.since > kExpectationsMax;
  if (!found->second.IsEmpty() && !is_over) return true;
  expectations_.erase(found);
  return false;
}

void ReplicaSetController::Sync(const std::string& key, WorkQueue::Done done) {
  if (!is_synced_) {
    queue_->AddAfter(key, kGather);
    return done(true);
  }
  const auto set = context_.replica_sets.Find(key);
  if (!set || !set->selector) return done(true);
  if (HasExpectations(set->uid)) {
    // The watch wakes us; the time-out is for what it never shows.
    const Time since = expectations_[set->uid].since.value_or(context_.loop.Now());
    queue_->AddAfter(key, since + kExpectationsMax - context_.loop.Now() + std::chrono::seconds(1));
    return WriteStatus(set, true, done);
  }
  const auto owned = context_.pods.Owned(set->uid);
  if (!set->is_deleted && Claim(*set, owned, done)) return;

  std::vector<PodPtr> active;
  for (const auto& [pod_key, pod] : owned) {
    if (pod->IsActive()) active.push_back(pod);
  }
  const std::int64_t surplus = static_cast<std::int64_t>(active.size()) - set->replicas;
  if (surplus == 0 || set->is_deleted) {
    if (surplus == 0) problems_.erase(set->uid);
    return WriteStatus(set, true, done);
  }
  auto round = std::make_shared<Round>();
  round->set = set;
  round->done = std::move(done);
  if (surplus < 0) return CreatePods(round, std::min(-surplus, kBurst));
  problems_.erase(set->uid);
  SortForRemoval(active);
  active.resize(static_cast<std::size_t>(std::min(surplus, kBurst)));
  DeletePods(round, std::move(active));
}

bool ReplicaSetController::Claim(const WorkloadView& set, const ObjectIndex<PodView>::Group& owned,
                                 const WorkQueue::Done& done) {
  struct Change {
    std::string path;
    json::object patch;
  };
  std::vector<Change> changes;
  const auto change = [&](const PodView& pod, json::object reference) {
    json::object metadata{{"uid", pod.uid}, {"ownerReferences", json::array{std::move(reference)}}};
    changes.push_back(
        {ObjectPath(kCorePrefix, pod.namespace_name, "pods", pod.name), {{"metadata", std::move(metadata)}}});
  };
  for (const auto& [key, pod] : context_.pods.Orphans(set.namespace_name)) {
    if (pod->IsActive() && set.selector->Matches(pod->labels)) change(*pod, OwnerReferenceTo(set, kKind));
  }
  for (const auto& [key, pod] : owned) {
    if (!pod->is_deleted && !set.selector->Matches(pod->labels)) change(*pod, {{"$patch", "delete"}, {"uid", set.uid}});
  }
  if (changes.empty()) return false;
  auto round = std::make_shared<Round>();
  round->left = changes.size();
  const std::string key = set.Key();
  for (Change& each : changes) {
    context_.Enter([this, each = std::move(each), round, done, key] {
      context_.Send("PATCH", each.path, each.patch, kStrategicPatch,
                    [this, round, done, key](Expected<net::Response> response) {
                      context_.Leave();
                      if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
                        round->has_failed = true;
                        context_.CountFailure("adopting or releasing pods of", key, response.error());
                      }
                      if (--round->left > 0) return;
                      // Synchronises once more when the watch has shown what changed.
                      if (!round->has_failed) queue_->AddAfter(key, kGather);
                      done(!round->has_failed);
                    });
    });
  }
  return true;
}

void ReplicaSetController::CreatePods(const RoundPtr& round, std::int64_t count) {
  const WorkloadView& set = *round->set;
  Expectations& expected = expectations_[set.uid];
  expected.since = context_.loop.Now();
  const std::string base = set.name.substr(0, kNameMax) + '-';
  std::vector<std::string> names;
  while (static_cast<std::int64_t>(names.size()) < count) {
    std::string name = base + NameSuffix(random_.Next());
    const std::string key = set.namespace_name + '/' + name;
    if (context_.pods.Find(key) || !expected.created.insert(key).second) continue;
    names.push_back(std::move(name));
  }
  round->left = names.size();
  for (std::string& name : names) {
    context_.Enter([this, round, name = std::move(name)] { CreatePod(round, name); });
  }
}

void ReplicaSetController::CreatePod(const RoundPtr& round, const std::string& name) {
  const WorkloadView& set = *round->set;
  const auto newest = context_.replica_sets.FindUid(set.uid);
  // After a failure the rest of the round would most likely fail as well; and who is gone needs no pods.
  if (round->has_failed || !newest || newest->is_deleted) {
    expectations_[set.uid].created.erase(set.namespace_name + '/' + name);
    round->has_failed = true;
    return EndStep(round);
  }
  context_.Send("POST", ObjectPath(kCorePrefix, set.namespace_name, "pods"), PodMaker(kKind, set).Make(name), {},
                [this, round, name](Expected<net::Response> response) {
                  if (response.ok()) {
                    ++context_.pods_created;
                    problems_.erase(round->set->uid);
                    context_.RecordEvent(*round->set, kKind, kReporter, false, "SuccessfulCreate",
                                         "Created pod: " + name, name);
                    return EndStep(round);
                  }
                  if (response.error().outcome_unknown) return Settle(round, name, response.error());
                  FailCreation(round, name, response.error());
                });
}

void ReplicaSetController::Settle(const RoundPtr& round, const std::string& name, const Error& error) {
  const WorkloadView& set = *round->set;
  context_.CountFailure("creating a pod of", set.Key(), error);
  context_.Read(ObjectPath(kCorePrefix, set.namespace_name, "pods", name),
                [this, round, name, error](Expected<net::Response> response) {
                  if (response.ok()) {
                    ++context_.pods_created;  // and the watch will show it
                    return EndStep(round);
                  }
                  if (response.error().code == ErrorCode::kNotFound) return FailCreation(round, name, error);
                  // Still unknown: the expectation stands for a shorter time, until that or the watch ends it.
                  expectations_[round->set->uid].since = context_.loop.Now() - kExpectationsMax + kUnknownMax;
                  round->has_failed = true;
                  EndStep(round);
                });
}

void ReplicaSetController::FailCreation(const RoundPtr& round, const std::string& name, const Error& error) {
  const WorkloadView& set = *round->set;
  expectations_[set.uid].created.erase(set.namespace_name + '/' + name);
  context_.CountFailure("creating a pod of", set.Key(), error);
  const bool is_refused = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kForbidden;
  if (is_refused) {
    problems_[set.uid] = error.message;
    if (!round->has_failed) {
      context_.RecordEvent(set, kKind, kReporter, true, "FailedCreate", "Error creating: " + error.message);
    }
  }
  round->has_failed = true;
  EndStep(round);
}

void ReplicaSetController::DeletePods(const RoundPtr& round, std::vector<PodPtr> surplus) {
  Expectations& expected = expectations_[round->set->uid];
  expected.since = context_.loop.Now();
  round->left = surplus.size();
  for (const PodPtr& pod : surplus) expected.deleted.insert(pod->uid);
  for (const PodPtr& pod : surplus) {
    context_.Enter([this, round, pod] { DeletePod(round, pod); });
  }
}

void ReplicaSetController::DeletePod(const RoundPtr& round, const PodPtr& pod) {
  context_.Delete(ObjectPath(kCorePrefix, pod->namespace_name, "pods", pod->name), *pod, {},
                  [this, round, pod](Expected<net::Response> response) {
                    if (response.ok()) {
                      ++context_.pods_deleted;
                      context_.RecordEvent(*round->set, kKind, kReporter, false, "SuccessfulDelete",
                                           "Deleted pod: " + pod->name, pod->name);
                      return EndStep(round);
                    }
                    const ErrorCode code = response.error().code;
                    expectations_[round->set->uid].deleted.erase(pod->uid);
                    if (code != ErrorCode::kNotFound && code != ErrorCode::kConflict) {
                      context_.CountFailure("deleting a pod of", round->set->Key(), response.error());
                      round->has_failed = true;
                    }
                    EndStep(round);
                  });
}

void ReplicaSetController::EndStep(const RoundPtr& round) {
  context_.Leave();
  if (--round->left > 0) return;
  const std::string key = round->set->Key();
  const auto newest = context_.replica_sets.Find(key);
  if (!newest || newest->uid != round->set->uid) {
    expectations_.erase(round->set->uid);
    return round->done(true);
  }
  // What the round's own events may have woken already is done once more: the round may have been only a part.
  queue_->AddAfter(key, kGather);
  WriteStatus(newest, !round->has_failed, round->done);
}

void ReplicaSetController::WriteStatus(const std::shared_ptr<const WorkloadView>& set, bool succeeded,
                                       const WorkQueue::Done& done) {
  const Time now = context_.loop.WallNow();
  std::int64_t replicas = 0;
  std::int64_t labeled = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::optional<Time> next_available;
  for (const auto& [key, pod] : context_.pods.Owned(set->uid)) {
    if (!pod->IsActive()) continue;
    ++replicas;
    if (HasTemplateLabels(*pod, *set)) ++labeled;
    if (!pod->is_ready) continue;
    ++ready;
    const Time available_at = pod->ready_since.value_or(now) + std::chrono::seconds(set->min_ready_seconds);
    if (set->min_ready_seconds == 0 || available_at <= now) {
      ++available;
    } else {
      next_available = std::min(next_available.value_or(available_at), available_at);
    }
  }
  if (next_available) queue_->AddAfter(set->Key(), *next_available - now + std::chrono::milliseconds(1));

  const auto problem = problems_.find(set->uid);
  const json::value* conditions = Member(set->status, "conditions");
  const bool has_condition = conditions != nullptr && conditions->is_array() && !conditions->get_array().empty();
  const bool is_same =
      set->StatusCount("replicas") == replicas && set->StatusCount("fullyLabeledReplicas") == labeled &&
      set->StatusCount("readyReplicas") == ready && set->StatusCount("availableReplicas") == available &&
      set->StatusCount("observedGeneration") >= set->generation && has_condition == (problem != problems_.end());
  if (is_same) return done(succeeded);
  json::object status{{"replicas", replicas},
                      {"fullyLabeledReplicas", CountOrNull(labeled)},
                      {"readyReplicas", CountOrNull(ready)},
                      {"availableReplicas", CountOrNull(available)},
                      {"observedGeneration", set->generation}};
  if (problem != problems_.end()) {
    if (!has_condition) {
      status["conditions"] = json::array{json::object{{"type", "ReplicaFailure"},
                                                      {"status", "True"},
                                                      {"reason", "FailedCreate"},
                                                      {"message", problem->second},
                                                      {"lastTransitionTime", FormatRfc3339(now)}}};
    }
  } else if (has_condition) {
    status["conditions"] = nullptr;
  }
  const json::object patch{{"metadata", json::object{{"uid", set->uid}}}, {"status", std::move(status)}};
  // The watch may be behind what we have written: the same is not written twice for one version.
  std::string mark = set->resource_version + codec::WriteJson(patch);
  std::string& written = status_written_[set->uid];
  if (written == mark) return done(succeeded);
  written = std::move(mark);
  context_.Send("PATCH", ObjectPath(kAppsPrefix, set->namespace_name, "replicasets", set->name, "status"), patch,
                kMergePatch, [this, set, succeeded, done](Expected<net::Response> response) {
                  if (response.ok() || response.error().code == ErrorCode::kNotFound) return done(succeeded);
                  status_written_.erase(set->uid);
                  context_.CountFailure("writing the status of ReplicaSet", set->Key(), response.error());
                  done(false);
                });
}

}  // namespace berth::controllers
