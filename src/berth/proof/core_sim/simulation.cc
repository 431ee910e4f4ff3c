// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/core_sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/registry.h"
#include "berth/proof/core_sim/chance.h"
#include "berth/proof/core_sim/checkers.h"
#include "berth/proof/core_sim/model_api_server.h"
#include "berth/testing/builders.h"

namespace berth::core_sim {
namespace {

using namespace std::chrono_literals;
using framework::Operation;
using framework::PodInfo;
using framework::Status;
using scheduler::Input;

constexpr Time kStart{std::chrono::seconds(1'000'000'020)};
constexpr Duration kChaos = 90s;
constexpr std::int32_t kHighPriority = 100;  // all others: 0
// Longer than back-offs, Permit waits and the flush of pods that wait for too long (5 minutes) together.
constexpr Duration kHealing = 20min;

// Makes some pods wait at Permit, some pass through work at PreBind, and some of that work fail, while `is_strict`.
class Gatekeeper final : public framework::PermitPlugin, public framework::PreBindPlugin {
 public:
  explicit Gatekeeper(const bool& is_strict) : is_strict_(is_strict) {}
  std::string_view Name() const override { return "Gatekeeper"; }
  framework::PermitResult Permit(const framework::Cycle& cycle, const PodInfo&, std::string_view) override {
    if (!is_strict_) return {};
    switch (Random(cycle.seed).Below(6)) {
      case 0: return {Status::Wait(), 3s};
      case 1: return {Status::Unschedulable("not now"), {}};
      default: return {};
    }
  }
  Status PreBindPreFlight(const PodInfo& pod) override { return Hash(pod) % 3 == 0 ? Status() : Status::Skip(); }
  Operation PreBind(const PodInfo& pod) override {
    const bool fails = is_strict_ && Hash(pod) % 2 == 0;
    return Operation::Run([fails] { return fails ? Status::Error("the volume is stuck") : Status(); });
  }

 private:
  static std::size_t Hash(const PodInfo& pod) { return std::hash<std::string>{}(pod.uid); }
  const bool& is_strict_;
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, bool prints_trace) : chance_(seed), prints_trace_(prints_trace), seed_(seed) {}

  Report Run() {
    for (int i = 3 + chance_.Below(6); i > 0; --i) AddNode();
    has_gatekeeper_ = chance_.OneIn(2);
    Restart();
    report_.restarts = 0;
    const Time chaos_end = now_ + kChaos;
    for (Time at = now_; at < chaos_end; at += chance_.Upto(800ms)) At(at, [this] { Disturb(); });
    RunUntil(chaos_end);
    Heal();
    RunUntil(now_ + kHealing);
    checker_.CheckNothingForgotten(*core_);
    checker_.CheckEvents(instance_);
    for (const auto& [key, pod] : std::map(server_.pods())) server_.DeletePod(key);
    Relist(pods_);
    RunUntil(now_ + kHealing);
    checker_.CheckNothingLeft(*core_);
    return report_;
  }

 private:
  // ---- Time, and what went wrong ----

  void At(Time time, std::function<void()> what) { agenda_.push({time, next_entry_++, std::move(what)}); }

  void Trace(const std::string& what) {
    if (prints_trace_) std::printf("%10.6f %s\n", static_cast<double>((now_ - kStart).count()) * 1e-6, what.c_str());
  }
  void Violate(const std::string& what) {
    Trace("VIOLATION: " + what);
    if (report_.violation.empty()) report_.violation = "after " + FormatGoDuration(now_ - kStart) + ": " + what;
  }

  void RunUntil(Time end) {
    while (report_.violation.empty()) {
      Time next = end;
      if (!agenda_.empty()) next = std::min(next, agenda_.top().time);
      if (const auto wake = core_->NextWake()) next = std::min(next, *wake);
      if (core_->queue().HasReadyPod()) next = std::min(next, now_ + Duration(1ms));
      now_ = std::max(now_, next);
      while (!agenda_.empty() && agenda_.top().time <= now_) {
        const auto what = agenda_.top().what;
        agenda_.pop();
        what();
      }
      core_->Tick(now_);
      for (int i = 1 + chance_.Below(4); i > 0 && core_->ScheduleOne(now_); --i) {
        const scheduler::Decision& decision = core_->decisions().Newest();
        Trace("decide " + decision.pod_name + ": " + (decision.node_name.empty() ? "" : decision.node_name + ", ") +
              decision.Why());
      }
      Perform();
      if (now_ >= end && !core_->queue().HasReadyPod()) return;
    }
  }

  // ---- Watches ----

  struct Watch {
    const char* name;
    const std::vector<Input>& log;
    std::size_t next = 0;                      // into the log
    Time last{};                               // nothing overtakes
    std::map<std::string, std::string> known;  // key to uid, as delivered
    std::uint64_t generation = 0;              // deliveries of older ones are void
  };

  // Events that were logged since go on their way.
  void Pump(Watch& watch) {
    for (; watch.next < watch.log.size(); ++watch.next) {
      const Duration lag = is_faulty_ ? (chance_.OneIn(6) ? chance_.Upto(3s) : chance_.Upto(50ms)) : 1ms;
      watch.last = std::max(watch.last, now_ + lag);
      const int copies = is_faulty_ && chance_.OneIn(10) ? 2 : 1;
      for (int i = 0; i < copies; ++i) {
        At(watch.last, [this, &watch, input = watch.log[watch.next], generation = watch.generation] {
          if (generation == watch.generation) Deliver(watch, input);
        });
      }
    }
  }

  void Deliver(Watch& watch, const Input& input) {
    if (const auto* set = std::get_if<scheduler::PodSet>(&input)) {
      const api::ObjectMeta& meta = set->pod->metadata;
      std::string& uid = watch.known[KeyOf(meta)];
      if (!uid.empty() && uid != meta.uid) core_->Handle(scheduler::PodGone{meta.namespace_name, meta.name, uid}, now_);
      uid = meta.uid;
    } else if (const auto* gone = std::get_if<scheduler::PodGone>(&input)) {
      if (watch.known.erase(gone->namespace_name + "/" + gone->name) == 0) return;
    } else if (const auto* node = std::get_if<scheduler::NodeSet>(&input)) {
      watch.known[node->node->metadata.name] = "node";
    } else if (watch.known.erase(std::get<scheduler::NodeGone>(input).name) == 0) {
      return;
    }
    core_->Handle(input, now_);
  }

  // The watch has expired: what is under way is lost, and the objects are listed anew.
  void Relist(Watch& watch) {
    Trace(std::string("relist ") + watch.name);
    ++report_.relists;
    ++watch.generation;
    watch.next = watch.log.size();
    watch.last = now_;
    std::set<std::string> there;
    if (&watch == &nodes_) {
      for (const auto& [name, node] : server_.nodes()) there.insert(name);
    } else {
      for (const auto& [key, pod] : server_.pods()) {
        if (!IsFinished(*pod)) there.insert(key);
      }
    }
    for (const auto& [key, uid] : std::map(watch.known)) {
      if (there.contains(key)) continue;
      const std::size_t slash = key.find('/');
      if (&watch == &nodes_) {
        Deliver(watch, scheduler::NodeGone{key});
      } else {
        Deliver(watch, scheduler::PodGone{key.substr(0, slash), key.substr(slash + 1), uid});
      }
    }
    for (const std::string& key : there) {
      if (&watch == &nodes_) {
        Deliver(watch, scheduler::NodeSet{server_.nodes().at(key)});
      } else {
        Deliver(watch, scheduler::PodSet{server_.pods().at(key)});
      }
    }
  }

  // ---- The scheduler and its requests ----

  void Restart() {
    // Whoever takes over waits for the lease: what the old one had sent has arrived by then, or never will.
    for (auto& [id, request] : requests_) {
      if (chance_.OneIn(2)) Arrive(request);
    }
    requests_.clear();
    ++report_.restarts;
    ++instance_;
    Trace("start scheduler " + std::to_string(instance_));
    config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
    core_.reset();
    handle_ = std::make_unique<scheduler::CoreHandle>([](framework::PermitDecision) {});
    auto profiles = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), *handle_);
    BERTH_CHECK(profiles.ok(), profiles.error().message);
    runtime::ProfilePlugins& profile = *profiles->front();
    if (has_gatekeeper_) {
      const auto gatekeeper = std::make_shared<Gatekeeper>(is_faulty_);
      profile.permit.push_back(gatekeeper.get());
      profile.pre_bind.push_back(gatekeeper.get());
      profile.owned.push_back(gatekeeper);
    }
    scheduler::SchedulerOptions options;
    options.seed = seed_ + static_cast<std::uint64_t>(instance_);
    // No second chance for pods whose event was missed. A pod that the gatekeeper refused may have none.
    if (!has_gatekeeper_) options.queue.unschedulable_max = 24h;
    core_ = std::make_unique<scheduler::Scheduler>(options, *handle_, std::move(*profiles));
    for (Watch* watch : {&nodes_, &pods_}) watch->known.clear();
    Relist(chance_.OneIn(2) ? nodes_ : pods_);
    Relist(nodes_);
    Relist(pods_);
  }

  struct Request {
    framework::BindWrite bind;
    bool has_arrived = false;
    bool arrives = true;
    std::optional<Error> result;
  };

  void Perform() {
    std::vector<scheduler::Output> outputs;
    core_->TakeOutputs(outputs);
    for (scheduler::Output& output : outputs) {
      if (auto* event = std::get_if<scheduler::EmitEvent>(&output)) {
        Trace("event " + event->reason + " " + event->regarding.name + ": " + event->note);
        if (event->reason == "Scheduled") ++history_.scheduled_events[event->regarding.uid][instance_];
        continue;
      }
      if (auto* work = std::get_if<scheduler::Work>(&output)) {
        Answer(chance_.Upto(is_faulty_ ? 2s : 10ms), scheduler::WorkDone{work->operation, work->work()});
        continue;
      }
      auto& write = std::get<scheduler::Write>(output);
      if (auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
        const bool is_lost = is_faulty_ && chance_.OneIn(8);
        At(now_ + chance_.Upto(is_faulty_ ? 200ms : 5ms), [this, is_lost, status = std::move(*status)] {
          if (!is_lost) server_.Patch(status);
          PumpAll();
        });
      } else if (auto* read = std::get_if<framework::PodRead>(&write.write)) {
        Read(write.operation, read->pod);
      } else if (auto* patch = std::get_if<framework::ObjectPatch>(&write.write)) {
        Trace("patch " + patch->object.name);
        Send(write.operation, [this, patch = std::move(*patch)] { return server_.Patch(patch); });
      } else if (auto* deletion = std::get_if<framework::ObjectDelete>(&write.write)) {
        Trace("delete " + deletion->object.name);
        Send(write.operation, [this, deletion = std::move(*deletion)] { return Evict(deletion); });
      } else {
        Post(write.operation, std::get<framework::BindWrite>(write.write));
      }
    }
  }

  void Answer(Duration delay, Input input) {
    At(now_ + delay, [this, instance = instance_, input = std::move(input)] {
      if (instance == instance_) core_->Handle(input, now_);
    });
  }

  void Read(std::uint64_t operation, const framework::PodRef& pod) {
    Trace("read " + pod.name);
    if (is_faulty_ && chance_.OneIn(3)) {
      return Answer(chance_.Upto(1s),
                    scheduler::PodReadDone{operation, nullptr, Error{ErrorCode::kUnavailable, "down"}});
    }
    At(now_ + chance_.Upto(is_faulty_ ? 300ms : 5ms), [this, instance = instance_, operation, pod] {
      if (instance == instance_)
        Answer(chance_.Upto(is_faulty_ ? 300ms : 5ms), scheduler::PodReadDone{operation, server_.Read(pod), {}});
    });
  }

  // A request to the API server; it, or its answer, may be lost.
  void Send(std::uint64_t operation, std::function<std::optional<Error>()> arrive) {
    const Duration travel = chance_.Upto(is_faulty_ && chance_.OneIn(5) ? 2s : 20ms);
    const bool is_lost = is_faulty_ && chance_.OneIn(6);
    const bool is_answer_lost = is_lost || (is_faulty_ && chance_.OneIn(6));
    At(now_ + travel, [this, operation, instance = instance_, is_lost, is_answer_lost, arrive = std::move(arrive)] {
      std::optional<Error> result;
      if (!is_lost) result = arrive();
      PumpAll();
      if (is_answer_lost) result = Error{ErrorCode::kTimeout, "no answer", true};
      if (instance == instance_) Answer(chance_.Upto(20ms), scheduler::WriteDone{operation, std::move(result)});
    });
  }

  // The scheduler deletes a victim, which takes its time to go.
  std::optional<Error> Evict(const framework::ObjectDelete& deletion) {
    const std::string key = deletion.object.namespace_name + "/" + deletion.object.name;
    const auto victim = server_.pods().find(key);
    if (victim != server_.pods().end() && victim->second->metadata.uid == deletion.uid) {
      const api::Pod& pod = *victim->second;
      if (pod.spec.priority.value_or(0) >= kHighPriority) Violate(key + " is evicted although no pod matters more");
      const api::PodCondition* why = pod.status.FindCondition("DisruptionTarget");
      if (why == nullptr || why->reason != "PreemptionByScheduler") Violate(key + " is evicted without a word");
      if (!pod.metadata.deletion_time) ++report_.evicted;
      DeleteLater(key, deletion.uid);
    }
    return server_.Delete(deletion, now_);
  }

  void DeleteLater(const std::string& key, const std::string& uid) {
    At(now_ + chance_.Upto(3s), [this, key, uid] {
      const auto found = server_.pods().find(key);
      if (found != server_.pods().end() && found->second->metadata.uid == uid) server_.DeletePod(key);
      PumpAll();
    });
  }

  void Post(std::uint64_t operation, const framework::BindWrite& bind) {
    Trace("post binding of " + bind.pod.name + " to " + bind.node_name);
    bool may_be_bound = false;
    for (const auto& [id, request] : requests_) {
      if (request.bind.pod.uid != bind.pod.uid || request.has_arrived || !request.arrives) continue;
      may_be_bound = true;
      // A node that has gone takes its promises with it.
      if (request.bind.node_name != bind.node_name && server_.nodes().contains(request.bind.node_name)) {
        Violate("pod " + bind.pod.name + " is promised to " + request.bind.node_name + " and to " + bind.node_name);
      }
    }
    Request& request = requests_.emplace(operation, Request{bind, false, true, {}}).first->second;
    const Duration travel = chance_.Upto(is_faulty_ && chance_.OneIn(5) ? 2s : 20ms);
    Duration back = chance_.Upto(is_faulty_ && chance_.OneIn(5) ? 2s : 20ms);
    std::optional<Error> lie;
    if (is_faulty_) {
      switch (chance_.Below(8)) {
        case 0: request.arrives = false; [[fallthrough]];
        case 1:  // The answer is lost, perhaps before the request has arrived.
          lie = Error{ErrorCode::kTimeout, "no answer", true};
          if (chance_.OneIn(2)) back = -travel / 2;
          ++report_.unknown;
          break;
        case 2:
          // A definite refusal, of a request that no earlier one can belie.
          if (may_be_bound) break;
          request.arrives = false;
          lie = Error{chance_.OneIn(3) ? ErrorCode::kForbidden : ErrorCode::kInvalid, "a webhook says no"};
          break;
        case 3:
          request.arrives = false;
          lie = Error{ErrorCode::kTooManyRequests, "slow down"};
          break;
        default: break;
      }
    }
    At(now_ + travel, [this, instance = instance_, operation] {
      if (instance != instance_) return;
      if (const auto it = requests_.find(operation); it != requests_.end()) Arrive(it->second);
      PumpAll();
    });
    At(now_ + travel + back, [this, instance = instance_, operation, lie] {
      if (instance != instance_) return;
      core_->Handle(scheduler::WriteDone{operation, lie ? lie : requests_.at(operation).result}, now_);
    });
  }

  void Arrive(Request& request) {
    if (request.has_arrived || !request.arrives) return;
    request.has_arrived = true;
    const framework::BindWrite& bind = request.bind;
    request.result = server_.Bind(bind.pod, bind.node_name);
    Trace("binding of " + bind.pod.name + " to " + bind.node_name +
          (request.result ? " refused: " + request.result->message : " done"));
    if (request.result) return;
    ++report_.bound;
    const bool is_first = history_.bound_by.emplace(bind.pod.uid, instance_).second;
    if (!is_first) Violate("pod " + bind.pod.name + " was bound twice");
    const auto node = server_.nodes().find(bind.node_name);
    if (node == server_.nodes().end()) {
      history_.bound_to_nothing.insert(bind.pod.uid);
    } else {
      checker_.CheckRoom(*node->second);
    }
  }

  void PumpAll() {
    Pump(nodes_);
    Pump(pods_);
  }

  // ---- What happens to the cluster ----

  void AddNode() {
    const std::string name = "n" + std::to_string(chance_.Below(14));
    // A binding that is still on its way to the old node of that name may not land on the new one: the room was given
    // up.
    for (const auto& [id, request] : requests_) {
      if (request.bind.node_name == name && !request.has_arrived && request.arrives) return;
    }
    // Neither may one that has just landed there, and that the scheduler cannot have seen yet.
    for (const auto& [key, pod] : server_.pods()) {
      if (pod->spec.node_name == name && history_.bound_to_nothing.contains(pod->metadata.uid)) return;
    }
    if (server_.nodes().contains(name)) return;
    const int size = std::hash<std::string>{}(name) % 3 == 0 ? 8 : 4;  // the same for each node of that name
    auto node =
        testing::MakeNode(name).Allocatable("cpu", std::to_string(size)).Allocatable("pods", std::to_string(size + 2));
    if (chance_.OneIn(2)) node.Label("disk", "ssd");
    if (chance_.OneIn(4)) node.Taint("gpu", "", api::TaintEffect::kNoSchedule);
    server_.SetNode(*node.Build());
  }

  void ChangeNode() {
    const auto it = chance_.Any(server_.nodes());
    if (it == server_.nodes().end()) return;
    api::Node node = *it->second;
    switch (chance_.Below(5)) {
      case 0: node.unschedulable = !node.unschedulable; break;
      case 1:
        node.taints.empty() ? node.taints.push_back({"gpu", "", api::TaintEffect::kNoSchedule}) : node.taints.clear();
        break;
      case 2:
        node.metadata.labels.Find("disk") ? node.metadata.labels.Erase("disk")
                                          : node.metadata.labels.Set("disk", "ssd");
        break;
      default: break;  // a heartbeat
    }
    server_.SetNode(std::move(node));
  }

  void AddPod() {
    const std::string name = "p" + std::to_string(next_pod_++ % 200);
    if (server_.pods().contains("default/" + name)) return;
    auto pod = testing::MakePod(name).Request("cpu", std::to_string(1 + chance_.Below(3)));
    if (chance_.OneIn(4)) pod.NodeSelector("disk", "ssd");
    if (chance_.OneIn(4)) pod.Toleration("gpu", "Exists");
    if (chance_.OneIn(6)) pod.HostPort(80);
    if (chance_.OneIn(4)) pod.Priority(kHighPriority);
    if (chance_.OneIn(12)) pod.Gate("wait");
    if (chance_.OneIn(12)) pod.SchedulerName("somebody-else");
    server_.CreatePod(pod.Build());
  }

  void ChangePod() {
    const auto it = chance_.Any(server_.pods());
    if (it == server_.pods().end()) return;
    const std::string key = it->first;
    api::Pod pod = *it->second;
    const bool is_bound = !pod.spec.node_name.empty();
    switch (chance_.Below(7)) {
      case 0: server_.DeletePod(key); return;
      case 1:
        pod.metadata.deletion_time = now_;
        DeleteLater(key, pod.metadata.uid);
        break;
      case 2:
        if (!is_bound) return;
        pod.status.phase = chance_.OneIn(2) ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
        break;
      case 3: pod.metadata.labels.Set("touched", std::to_string(chance_.Below(3))); break;
      case 4: pod.spec.scheduling_gates.clear(); break;
      case 5: {  // made anew under the same name, before anybody sees that it was gone
        api::Pod again = testing::MakePod(pod.metadata.name).Request("cpu", "1").Build();
        server_.DeletePod(key);
        server_.CreatePod(std::move(again));
        return;
      }
      default: {  // somebody else binds it, without asking whether there is room
        if (is_bound || pod.metadata.deletion_time || !chance_.OneIn(3)) return;
        const auto node = chance_.Any(server_.nodes());
        if (node == server_.nodes().end()) return;
        Trace("somebody else binds " + key + " to " + node->first);
        history_.crowded.insert(node->first);
        history_.bound_by_others.insert(pod.metadata.uid);
        pod.spec.node_name = node->first;
      }
    }
    if (!IsFinished(*server_.pods().at(key))) server_.SetPod(std::move(pod));
  }

  void Disturb() {
    switch (chance_.Below(20)) {
      case 0: AddNode(); break;
      case 1: {
        const auto node = chance_.Any(server_.nodes());
        if (node != server_.nodes().end() && chance_.OneIn(2)) server_.DeleteNode(std::string(node->first));
        break;
      }
      case 2:
      case 3: ChangeNode(); break;
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: AddPod(); break;
      case 12:
      case 13:
      case 14:
      case 15: ChangePod(); break;
      case 16: Relist(chance_.OneIn(2) ? nodes_ : pods_); break;
      case 17:
        if (chance_.OneIn(6)) Restart();
        break;
      default: {
        // The gatekeeper makes up its mind about somebody, who may not even wait.
        const auto pod = chance_.Any(server_.pods());
        if (pod == server_.pods().end()) break;
        core_->Handle(framework::PermitDecision{pod->second->metadata.uid, "Gatekeeper", !chance_.OneIn(3), "no entry"},
                      now_);
      }
    }
    PumpAll();
  }

  // From here on everything works, and there is room for some more.
  void Heal() {
    Trace("heal");
    is_faulty_ = false;
    for (int i = 0; i < 4; ++i) AddNode();
    PumpAll();
  }

  struct Entry {
    Time time;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Entry& other) const { return std::tie(other.time, other.number) < std::tie(time, number); }
  };

  Chance chance_;
  const bool prints_trace_;
  const std::uint64_t seed_;
  Time now_ = kStart;
  bool is_faulty_ = true;
  bool has_gatekeeper_ = false;
  ModelApiServer server_;
  Watch nodes_{"nodes", server_.node_log(), 0, {}, {}, 0};
  Watch pods_{"pods", server_.pod_log(), 0, {}, {}, 0};
  std::unique_ptr<scheduler::CoreHandle> handle_;  // of core_
  std::unique_ptr<scheduler::Scheduler> core_;
  int instance_ = 0;
  std::map<std::uint64_t, Request> requests_;  // of this instance, by operation
  std::priority_queue<Entry> agenda_;
  std::uint64_t next_entry_ = 0;
  int next_pod_ = 0;

  History history_;
  const Checker checker_{server_, history_, [this](const std::string& what) { Violate(what); }};
  Report report_;
};

}  // namespace

Report Simulate(std::uint64_t seed, bool prints_trace) { return Simulation(seed, prints_trace).Run(); }

}  // namespace berth::core_sim
