// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/group_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "berth/api/pod.h"
#include "berth/base/go_text.h"
#include "berth/codec/json.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/framework/pod_groups.h"
#include "berth/proof/conformance/devices.h"
#include "berth/whatif/in_memory_api.h"

namespace berth::conformance {
namespace {

// Bound pods start at this time and then a second apart, as in runner.cc.
constexpr Time kBoundEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
constexpr std::size_t kCyclesMax = 40;
constexpr std::uint64_t kSeedsMax = 64;
// Carry() waits only for what is due within kMoment, and at most kMomentsMax times.
constexpr Duration kMoment = std::chrono::milliseconds(20);
constexpr int kMomentsMax = 1000;
constexpr Duration kBackoff = std::chrono::hours(1);
constexpr std::string_view kPodGroups = "podgroups";
constexpr std::string_view kPods = "pods";
constexpr std::string_view kClaims = "resourceclaims";

std::string KeyOf(std::string_view namespace_name, std::string_view name) {
  return std::string(namespace_name).append("/").append(name);
}

bool IsOfClaim(const framework::ApiWrite& write) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.object.resource; }) return each.object.resource == kClaims;
        return false;
      },
      write);
}

class GroupRun {
 public:
  GroupRun(const Case& test, runtime::Form form, std::span<const config::KnownPlugin> registry, std::uint64_t seed)
      : test_(test), form_(form), registry_(registry), seed_(seed) {}

  std::vector<std::string> Go() {
    if (!SetUp()) return std::move(differences_);
    for (std::size_t i = 0; i < kCyclesMax && core_->queue().active_count() > 0; ++i) {
      const CycleRecord got = RunCycle();
      if (i == test_.cycles.size()) {
        Differ(i, "entity", "none", got.entity);
        return std::move(differences_);
      }
      // The first cycle that differs ends the comparison: all later ones depend on it.
      const std::size_t before = differences_.size();
      Compare(i, test_.cycles[i], got);
      if (differences_.size() > before) return std::move(differences_);
      ++compared_;
    }
    if (compared_ < test_.cycles.size()) Differ(compared_, "entity", test_.cycles[compared_].entity, "none");
    return std::move(differences_);
  }

 private:
  bool SetUp() {
    const auto configuration = ConfigurationOf(test_);
    auto profiles = configuration.ok()
                        ? runtime::MakeProfiles(*configuration, registry_, handle_)
                        : Expected<std::vector<std::unique_ptr<runtime::ProfilePlugins>>>(configuration.error());
    if (!profiles.ok()) {
      differences_.push_back("config: " + profiles.error().message);
      return false;
    }
    scheduler::SchedulerOptions options;
    options.seed = seed_;
    options.queue.initial_backoff = options.queue.max_backoff = kBackoff;  // longer than all moments together
    options.evaluator.form = form_;
    core_ = std::make_unique<scheduler::Scheduler>(options, handle_, std::move(*profiles));
    for (const framework::AnyObject& object : test_.objects) {
      core_->Handle(scheduler::ObjectSet{object}, now_);
      if (const auto* group = std::get_if<std::shared_ptr<const api::PodGroup>>(&object))
        groups_[KeyOf((*group)->metadata.namespace_name, (*group)->metadata.name)] = *group;
      has_composites_ |= std::holds_alternative<std::shared_ptr<const api::CompositePodGroup>>(object);
    }
    for (const auto& node : test_.nodes) core_->Handle(scheduler::NodeSet{node}, now_);
    for (const auto* pods : {&test_.pods, &test_.pending}) {
      for (const auto& pod : *pods) {
        pods_[KeyOf(pod->metadata.namespace_name, pod->metadata.name)] = *pod;
        core_->Handle(scheduler::PodSet{pod}, now_);
      }
    }
    // What the start writes is no part of a cycle.
    CycleRecord ignored;
    Carry(ignored);
    return true;
  }

  CycleRecord RunCycle() {
    CycleRecord got;
    const std::map<std::string, ClaimRecord> before = ClaimsOf(handle_.objects());
    core_->ScheduleOne(now_);
    core_->Tick(now_);  // evictions begin
    // The newest decision is about a member of the group, or about a pod that is in no group.
    const scheduler::Decision& decision = core_->decisions().Newest();
    const std::string key = decision.PodKey();
    const std::optional<framework::PodGroupKey> root = RootOf(key);
    got.entity = root ? root->EntityText() : "pod/" + key;
    Carry(got);
    const bool has_given_up = RecordClaims(before, got);
    Apply(got, key, root, has_given_up);
    Shorten(got, root && root->is_composite);
    got.queue = Queue();
    return got;
  }

  // Records the claims that the cycle changed. True: one of them lost a device or a consumer.
  bool RecordClaims(const std::map<std::string, ClaimRecord>& before, CycleRecord& got) const {
    bool has_given_up = false;
    for (auto& [name, now] : ClaimsOf(handle_.objects())) {
      const auto old = before.find(name);
      if (old != before.end() && old->second == now) continue;
      if (old != before.end())
        has_given_up |= now.devices.size() < old->second.devices.size() ||
                        !std::ranges::includes(now.reserved_for, old->second.reserved_for);
      got.claims.emplace(name, std::move(now));
    }
    return has_given_up;
  }

  // The root of the tree of groups that the pod is in; nullopt: it is in no group.
  std::optional<framework::PodGroupKey> RootOf(const std::string& pod_key) const {
    const auto pod = pods_.find(pod_key);
    if (pod == pods_.end() || pod->second.spec.pod_group_name.empty()) return std::nullopt;
    return handle_.pod_groups()->RootOf({pod->second.metadata.namespace_name, pod->second.spec.pod_group_name, false});
  }

  // Leaves out what kube-scheduler decides by chance, as the oracle does.
  void Shorten(CycleRecord& got, bool is_of_composite) const {
    if (has_composites_) std::ranges::sort(got.victims);
    if (is_of_composite) {
      std::erase_if(got.nominated, [&](const auto& nominated) { return got.bound.contains(nominated.first); });
      return;
    }
    if (!got.conditions.empty()) got.condition = got.conditions.begin()->second;
    got.conditions.clear();
  }

  // Carries out the core's outputs until there are no more. Time passes where pods write the same claim one after the
  // other: each waits for a moment before its write.
  void Carry(CycleRecord& got) {
    std::vector<scheduler::Output> outputs;
    for (int moments = 0; moments < kMomentsMax; ++moments) {
      for (core_->TakeOutputs(outputs); !outputs.empty(); core_->TakeOutputs(outputs))
        for (scheduler::Output& output : std::exchange(outputs, {})) Do(output, got);
      const std::optional<Time> next = core_->NextWake();
      if (!next || *next > now_ + kMoment) return;
      now_ = std::max(now_, *next);
      core_->Tick(now_);
    }
  }

  void Do(scheduler::Output& output, CycleRecord& got) {
    if (auto* write = std::get_if<scheduler::Write>(&output)) {
      Take(write->write, got);
      scheduler::WriteDone done{write->operation, std::nullopt, {}};
      if (IsOfClaim(write->write)) {
        auto answer = api_.Do(write->write);
        if (answer.ok()) done.body = std::move(*answer);
        if (!answer.ok()) done.error = answer.error();
      }
      core_->Handle(std::move(done), now_);
    } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
      core_->Handle(scheduler::WorkDone{work->operation, work->work()}, now_);
    }
  }

  void Take(const framework::ApiWrite& write, CycleRecord& got) {
    if (const auto* bind = std::get_if<framework::BindWrite>(&write)) {
      got.bound[KeyOf(bind->pod.namespace_name, bind->pod.name)] = bind->node_name;
    } else if (const auto* status = std::get_if<framework::PodStatusWrite>(&write)) {
      const std::string key = KeyOf(status->pod.namespace_name, status->pod.name);
      if (status->has_condition && status->condition_type == "PodScheduled")
        got.failed[key] = status->condition_reason + ": " + status->condition_message;
      if (status->has_nomination) got.nominated[key] = status->nominated_node_name;
    } else if (const auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
      if (patch->object.resource == kPodGroups)
        got.conditions[KeyOf(patch->object.namespace_name, patch->object.name)] = ConditionIn(*patch);
    } else if (const auto* gone = std::get_if<framework::ObjectDelete>(&write)) {
      if (gone->object.resource == kPods) got.victims.push_back(KeyOf(gone->object.namespace_name, gone->object.name));
    }
  }

  // The condition that the patch writes, as text. The group that the core is shown next gets it as well.
  std::string ConditionIn(const framework::ObjectPatch& patch) {
    const auto body = codec::ParseJson(patch.body);
    if (!body.ok()) return body.error().message;
    const codec::json::object& condition =
        body->as_object().at("status").as_object().at("conditions").as_array().at(0).as_object();
    const auto text = [&](const char* key) { return std::string(condition.at(key).as_string()); };
    const auto group = groups_.find(KeyOf(patch.object.namespace_name, patch.object.name));
    if (group != groups_.end()) {
      auto changed = std::make_shared<api::PodGroup>(*group->second);
      changed->conditions = {{text("type"), text("status"), text("reason"), text("message"),
                              condition.at("observedGeneration").as_int64()}};
      group->second = changed;
      changed_groups_.push_back(group->second);
    }
    return text("type") + "=" + text("status") + " " + text("reason") + ": " + text("message");
  }

  // Does what the API server, the kubelet and the informers do after a cycle, in the way of the oracle.
  void Apply(const CycleRecord& got, const std::string& pod_key, const std::optional<framework::PodGroupKey>& root,
             bool has_given_up_claim) {
    CycleRecord late;
    for (const auto& [key, node] : got.bound) {
      const auto pod = pods_.find(key);
      if (pod == pods_.end()) continue;
      pod->second.spec.node_name = node;
      pod->second.status.nominated_node_name.clear();
      pod->second.status.start_time = kBoundEpoch + std::chrono::seconds(bound_++);
      Show(pod->second);
    }
    for (const auto& [key, node] : got.nominated) {
      const auto pod = pods_.find(key);
      if (pod == pods_.end() || got.bound.contains(key) || pod->second.status.nominated_node_name == node) continue;
      pod->second.status.nominated_node_name = node;
      Show(pod->second);
    }
    for (const std::string& key : got.victims) {
      const auto pod = pods_.find(key);
      if (pod == pods_.end()) continue;
      const api::ObjectMeta& meta = pod->second.metadata;
      core_->Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid}, now_);
      pods_.erase(pod);
    }
    for (const auto& changed : std::exchange(changed_groups_, {})) core_->Handle(scheduler::ObjectSet{changed}, now_);
    if (!got.victims.empty() || has_given_up_claim) Activate(pod_key, root);
    Carry(late);
  }

  // The pod or group that evicted victims or gave up a claim is tried next, without its back-off.
  void Activate(const std::string& pod_key, const std::optional<framework::PodGroupKey>& root) {
    for (const auto& [key, pod] : pods_) {
      const bool is_of_group = root && RootOf(key) == root;
      if (pod.spec.node_name.empty() && (key == pod_key || is_of_group)) handle_.Activate(pod.metadata.uid);
    }
  }

  void Show(api::Pod& pod) {
    pod.metadata.resource_version = std::to_string(++version_);
    core_->Handle(scheduler::PodSet{std::make_shared<const api::Pod>(pod)}, now_);
  }

  // Pods in backoffQ and unschedulable pods count together. Unlike the oracle's scheduler, this core sees bindings and
  // deleted victims as events, which move plain pods from one of the two to the other.
  std::map<std::string, std::int64_t> Queue() const {
    std::map<std::string, std::int64_t> queue{{"active", 0}, {"waiting", 0}};
    for (const queue::PodStanding& standing : core_->queue().Dump())
      ++queue[standing.place == queue::Place::kActive ? "active" : "waiting"];
    return queue;
  }

  void Differ(std::size_t cycle, std::string_view what, const std::string& want, const std::string& got) {
    if (want == got) return;
    differences_.push_back("cycle " + std::to_string(cycle + 1) + ": " + std::string(what) + ": kube-scheduler " +
                           want + ", berth " + got);
  }

  void Compare(std::size_t cycle, const CycleRecord& want, const CycleRecord& got) {
    Differ(cycle, "entity", want.entity, got.entity);
    CompareMaps(cycle, "bound", want.bound, got.bound);
    CompareMaps(cycle, "failed", want.failed, got.failed);
    CompareMaps(cycle, "nominated", want.nominated, got.nominated);
    Differ(cycle, "condition", want.condition.value_or("none"), got.condition.value_or("none"));
    CompareMaps(cycle, "condition", want.conditions, got.conditions);
    CompareMaps(cycle, "claim", Shown(want.claims), Shown(got.claims));
    Differ(cycle, "victims", GoList(Sorted(want.victims)), GoList(Sorted(got.victims)));
    for (const auto& [part, count] : got.queue) {
      const auto found = want.queue.find(part);
      Differ(cycle, "queue " + part, std::to_string(found == want.queue.end() ? 0 : found->second),
             std::to_string(count));
    }
  }

  static std::map<std::string, std::string> Shown(const std::map<std::string, ClaimRecord>& claims) {
    std::map<std::string, std::string> shown;
    for (const auto& [name, claim] : claims) shown.emplace(name, conformance::Show(claim));
    return shown;
  }

  // kube-scheduler takes the pods of a group in any order.
  static std::vector<std::string> Sorted(std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  }

  void CompareMaps(std::size_t cycle, std::string_view what, const std::map<std::string, std::string>& want,
                   const std::map<std::string, std::string>& got) {
    const auto show = [](const std::map<std::string, std::string>& of, const std::string& key) {
      const auto found = of.find(key);
      return found == of.end() ? std::string("none") : "\"" + found->second + "\"";
    };
    std::map<std::string, std::string> keys = want;
    keys.insert(got.begin(), got.end());
    for (const auto& [key, value] : keys) Differ(cycle, std::string(what) + " " + key, show(want, key), show(got, key));
  }

  const Case& test_;
  const runtime::Form form_;
  const std::span<const config::KnownPlugin> registry_;
  const std::uint64_t seed_;
  // Decisions about waiting pods come as inputs, but not in the middle of a turn; the core makes its own here.
  scheduler::CoreHandle handle_{[](const framework::PermitDecision&) {}};
  std::unique_ptr<scheduler::Scheduler> core_;
  std::map<std::string, api::Pod> pods_;
  std::map<std::string, std::shared_ptr<const api::PodGroup>> groups_;
  std::vector<std::shared_ptr<const api::PodGroup>> changed_groups_;  // in this cycle
  std::vector<std::string> differences_;
  Time now_ = kBoundEpoch - std::chrono::hours(1);
  whatif::InMemoryApi api_{
      {handle_.objects(),
       [this](framework::AnyObject object) { core_->Handle(scheduler::ObjectSet{std::move(object)}, now_); },
       [this](framework::ObjectKind kind, const std::string& key) {
         core_->Handle(scheduler::ObjectGone{kind, key}, now_);
       },
       {}}};
  bool has_composites_ = false;
  std::size_t compared_ = 0;
  std::int64_t version_ = 1'000'000;
  int bound_ = 0;
};

}  // namespace

std::vector<std::string> RunGroupCase(const Case& test, runtime::Form form,
                                      std::span<const config::KnownPlugin> registry) {
  std::vector<std::string> of_first;
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    std::vector<std::string> differences = GroupRun(test, form, registry, seed).Go();
    if (differences.empty()) return {};
    if (seed == 1) of_first = std::move(differences);
  }
  return of_first;
}

}  // namespace berth::conformance
