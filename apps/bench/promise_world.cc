// SPDX-License-Identifier: Apache-2.0
#include "promise_world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/codec/json_reader.h"
#include "berth/core/cache/cache.h"
#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/registry.h"
#include "berth/provisioning/request_pods.h"
#include "meter.h"
#include "recipes.h"

namespace berth::bench {
namespace {

namespace json = codec::json;
using provisioning::ProvisioningRequest;

constexpr std::int64_t kNodeMilli = 16'000;
constexpr std::size_t kBrokenMax = 10;
constexpr int kOwners = 250;  // of the pods that are there

std::string NameOf(int request) { return "job-" + std::to_string(request); }

struct Workers {
  int count;
  std::string cpu;
};
Workers WorkersOf(int request) {
  constexpr std::array kCounts{8, 16, 32, 64, 128};
  constexpr std::array kCpus{"500m", "1", "2", "4"};
  return {kCounts[static_cast<std::size_t>(request) % kCounts.size()],
          kCpus[static_cast<std::size_t>(request) / kCounts.size() % kCpus.size()]};
}

// Of ten requests one keeps its workers on different nodes, one spreads them over zones, one is for one zone.
std::string RulesOf(int request) {
  const std::string selector = R"("labelSelector":{"matchLabels":{"job":")" + NameOf(request) + R"("}})";
  switch (request % 10) {
    case 3:
      return R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":")" +
             std::string(kHostname) + "\"," + selector + "}]}},";
    case 7:
      return R"("topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","topologyKey":")" +
             std::string(kZone) + "\"," + selector + "}],";
    case 5: return R"("nodeSelector":{")" + std::string(kZone) + R"(":"zone1"},)";
    default: return {};
  }
}

json::object Parsed(const std::string& text) {
  const auto parsed = codec::ParseJson(text);
  BERTH_CHECK(parsed.ok(), text, parsed.error().message);
  return parsed->get_object();
}

json::object TemplateOf(int request, bool is_driver) {
  const Workers workers = WorkersOf(request);
  return Parsed(R"({"metadata":{"namespace":"jobs"},"template":{"metadata":{"labels":{"job":")" + NameOf(request) +
                (is_driver ? "-driver" : "") + R"(","app":"training"}},"spec":{"restartPolicy":"Never",)" +
                (is_driver ? "" : RulesOf(request)) +
                R"("containers":[{"name":"c","image":"registry.example/training:1","env":[{"name":"A","value":"b"}],)"
                R"("resources":{"requests":{"cpu":")" +
                (is_driver ? "1" : workers.cpu) + R"(","memory":"1Gi"}}}]}}})");
}

json::object RequestOf(int request, Time now) {
  const std::string name = NameOf(request);
  return Parsed(R"({"metadata":{"namespace":"jobs","name":")" + name + R"(","uid":"uid-of-)" + name +
                R"(","resourceVersion":"1","generation":1,"creationTimestamp":")" + FormatRfc3339(now) +
                R"("},"spec":{"provisioningClassName":"check-capacity.autoscaling.x-k8s.io",)"
                R"("parameters":{"processorInstance":"berth"},"podSets":[{"count":1,"podTemplateRef":{"name":")" +
                name + R"(-driver"}},{"count":)" + std::to_string(WorkersOf(request).count) +
                R"(,"podTemplateRef":{"name":")" + name + R"(-workers"}}]}})");
}

int NumberOf(std::string_view name) { return std::stoi(std::string(name.substr(name.find('-') + 1))); }

// As the API server merges a patch of the status.
void Merge(json::object& object, const json::object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      object.erase(key);
    } else if (value.is_object()) {
      json::value& at = object[key];
      if (!at.is_object()) at = json::object();
      Merge(at.get_object(), value.get_object());
    } else {
      object[key] = value;
    }
  }
}

std::vector<std::unique_ptr<runtime::ProfilePlugins>> DefaultProfile(scheduler::CoreHandle& handle) {
  auto profiles = runtime::MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle);
  BERTH_CHECK(profiles.ok(), profiles.error().message);
  return std::move(*profiles);
}

}  // namespace

std::int64_t CpuMilli(const api::Pod& pod) {
  const api::ResourceList& requests = pod.spec.containers.front().requests;
  const auto cpu = std::ranges::find(requests, "cpu", [](const auto& each) { return std::string_view(each.first); });
  return cpu == requests.end() ? 0 : cpu->second.MilliValue();
}

PromiseWorld::PromiseWorld(const PromiseShape& shape)
    : shape_(shape),
      handle_([](framework::PermitDecision) {}),
      core_(std::make_unique<scheduler::Scheduler>(scheduler::SchedulerOptions{.seed = shape.seed}, handle_,
                                                   DefaultProfile(handle_))),
      controller_(*this, {.instance = "berth", .namespaces = {}}) {
  for (int i = 0; i < shape_.nodes; ++i) AddNode(i);
  controller_.Lead(now_);
  Settle();
}

PromiseWorld::Mark PromiseWorld::Now() { return {NowMicroseconds(), CpuMicroseconds()}; }

void PromiseWorld::Break(std::string what) {
  if (broken_.size() < kBrokenMax) broken_.push_back(std::move(what));
}

void PromiseWorld::Use(const std::string& node_name, std::int64_t cpu_milli) {
  std::int64_t& free = free_milli_[node_name];
  free -= cpu_milli;
  if (free < 0) Break(node_name + ": " + std::to_string(-free) + "m CPU more are used and promised than it has");
}

void PromiseWorld::AddNode(int i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = NodeName(i);
  node->metadata.uid = "uid-" + node->metadata.name;
  node->metadata.labels =
      api::StringMap({{kHostname, node->metadata.name}, {kZone, "zone" + std::to_string(i % 3 + 1)}});
  node->allocatable = {{"cpu", Amount("16")}, {"memory", Amount("64Gi")}, {"pods", Amount("110")}};
  node->conditions = {{"Ready", "True"}};
  core_->Handle(scheduler::NodeSet{node}, now_);
  free_milli_[node->metadata.name] = kNodeMilli;
  for (int k = 0; k < shape_.existing; ++k) {
    const int number = i * shape_.existing + k;
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.namespace_name = "apps";
    pod->metadata.name = "app-" + std::to_string(number);
    pod->metadata.uid = "uid-of-app-" + std::to_string(number);
    pod->metadata.labels = api::StringMap({{"app", "app-" + std::to_string(number % kOwners)}});
    pod->spec.scheduler_name = "default-scheduler";
    pod->spec.containers.emplace_back();
    Request(*pod, "1", "4Gi");
    pod->spec.node_name = node->metadata.name;
    pod->status.phase = api::PodPhase::kRunning;
    Use(node->metadata.name, CpuMilli(*pod));
    core_->Handle(scheduler::PodSet{std::move(pod)}, now_);
  }
}

// --- Requests ---

// The controller reads the request as the watch brings it.
void PromiseWorld::Show(int request) {
  const std::string text = codec::WriteJson(promises_.at(request).object);
  mark_ = Now();
  codec::JsonReader reader;
  const auto parsed = reader.Parse(text);
  BERTH_CHECK(parsed.ok(), text);
  auto decoded = provisioning::DecodeProvisioningRequest(*parsed);
  BERTH_CHECK(decoded.ok(), text, decoded.error().message);
  controller_.SetRequest(*std::move(decoded), now_);
}

void PromiseWorld::Create(int request) {
  auto& templates = controller_.sources().templates;
  templates["jobs/" + NameOf(request) + "-driver"] = TemplateOf(request, true);
  templates["jobs/" + NameOf(request) + "-workers"] = TemplateOf(request, false);
  promises_[request].object = RequestOf(request, now_ + std::chrono::seconds(request));
  Show(request);
}

void PromiseWorld::Delete(int request) {
  controller_.RequestGone("jobs/" + NameOf(request));
  Promise& promise = promises_.at(request);
  for (std::size_t set = 0; set < promise.unused.size(); ++set) {
    for (const auto& [node, count] : promise.unused[set])
      Use(node, -CpuMilli(*promise.templates[set]) * static_cast<std::int64_t>(count));
  }
  promise.unused.clear();
  promise.is_promised = false;
  controller_.sources().templates.erase("jobs/" + NameOf(request) + "-driver");
  controller_.sources().templates.erase("jobs/" + NameOf(request) + "-workers");
}

void PromiseWorld::PatchStatus(const ProvisioningRequest& request, std::string body) {
  const Mark end = Now();
  const int number = NumberOf(request.name);
  const bool is_promised = promises_.at(number).is_promised;
  costs_.push_back({end.wall_us - mark_.wall_us, end.cpu_us - mark_.cpu_us, is_promised});
  patches_.emplace_back(number, std::move(body));
  mark_ = Now();
}

void PromiseWorld::ApplyPatches() {
  for (auto& [request, body] : std::exchange(patches_, {})) {
    json::object& object = promises_.at(request).object;
    Merge(object, Parsed(body));
    object["metadata"].get_object()["resourceVersion"] = std::to_string(++version_ + 1);
    controller_.Written("jobs/" + NameOf(request), "uid-of-" + NameOf(request), std::nullopt, now_);
    Show(request);
  }
}

std::vector<AnswerCost> PromiseWorld::TakeCosts() { return std::exchange(costs_, {}); }

std::vector<int> PromiseWorld::Promised() const {
  std::vector<int> numbers;
  for (const auto& [number, promise] : promises_) {
    if (promise.is_promised) numbers.push_back(number);
  }
  return numbers;
}

std::size_t PromiseWorld::unexplained() const {
  return static_cast<std::size_t>(std::ranges::count_if(promises_, [](const auto& each) {
    const auto& [number, promise] = each;
    return !promise.is_promised && codec::WriteJson(promise.object).find(" pods have room; ") == std::string::npos;
  }));
}

std::size_t PromiseWorld::others_bound() const {
  return static_cast<std::size_t>(std::ranges::count_if(others_, [](const auto& each) { return each.second.second; }));
}

// --- The core ---

void PromiseWorld::Settle() {
  std::vector<scheduler::Output> outputs;
  for (;;) {
    if (!inputs_.empty()) {
      scheduler::Input input = std::move(inputs_.front());
      inputs_.pop_front();
      if (const auto* const asked = std::get_if<scheduler::BookingAsked>(&input)) {
        Promise& promise = promises_.at(NumberOf(std::string_view(asked->request).substr(5)));
        promise.templates.clear();
        for (const scheduler::BookingSet& set : asked->sets) promise.templates.push_back(set.pods.front());
      }
      core_->Handle(std::move(input), now_);
    }
    core_->TakeOutputs(outputs);
    if (!outputs.empty()) {
      for (scheduler::Output& output : outputs) Take(output);
    } else if (inputs_.empty()) {
      if (patches_.empty()) return;
      ApplyPatches();
    }
  }
}

void PromiseWorld::Pass(Duration time) {
  now_ += time;
  mark_ = Now();
  core_->Tick(now_);
  controller_.Tick(now_);
  Settle();
}

void PromiseWorld::Take(scheduler::Output& output) {
  if (const auto* const report = std::get_if<scheduler::BookingReport>(&output)) return Take(*report);
  auto* const write = std::get_if<scheduler::Write>(&output);
  if (write == nullptr) return;
  const auto* const bind = std::get_if<framework::BindWrite>(&write->write);
  const auto* const status = std::get_if<framework::PodStatusWrite>(&write->write);
  if (bind == nullptr && status == nullptr) return Break("a write that nothing here causes");
  core_->Handle(scheduler::WriteDone{write->operation, {}}, now_);
  if (bind != nullptr) Bind(*bind);
}

void PromiseWorld::Take(const scheduler::BookingReport& report) {
  const int number = NumberOf(std::string_view(report.request).substr(5));
  Promise& promise = promises_.at(number);
  if (report.state == scheduler::BookingState::kBooked) {
    promise.is_promised = true;
    promise.unused.assign(report.sets.size(), {});
    for (std::size_t set = 0; set < report.sets.size(); ++set) {
      std::uint64_t pods = 0;
      for (const auto& [node, count] : report.sets[set].nodes) {
        promise.unused[set][node] += count;
        pods += count;
        Use(node, CpuMilli(*promise.templates[set]) * static_cast<std::int64_t>(count));
      }
      if (pods != report.sets[set].count) Break(report.request + ": not all of its pods have room");
      pods_promised_ += pods;
    }
  } else if (report.state != scheduler::BookingState::kRefused) {
    Break(report.request + ": the room was moved or lost: " + report.why);
  }
  controller_.Take(report, now_);
}

void PromiseWorld::Schedule() {
  core_->Tick(now_);
  while (core_->ScheduleOne(now_)) {
    if (core_->binding_count() > 0) Settle();
  }
  Settle();
}

void PromiseWorld::Bind(const framework::BindWrite& bind) {
  if (const auto other = others_.find(bind.pod.name); other != others_.end()) {
    other->second.second = true;
    other->second.first->spec.node_name = bind.node_name;
    Use(bind.node_name, CpuMilli(*other->second.first));
    core_->Handle(scheduler::PodSet{std::make_shared<const api::Pod>(*other->second.first)}, now_);
    return;
  }
  Promise& promise = promises_.at(NumberOf(bind.pod.name));
  auto& [pod, set] = promise.pods.at(bind.pod.name);
  auto& unused = promise.unused.at(static_cast<std::size_t>(set));
  const auto there = unused.find(bind.node_name);
  if (there == unused.end()) {
    Break(bind.pod.name + ": it was bound where no room was promised to its request");
  } else if (--there->second == 0) {
    unused.erase(there);
  }
  pod->spec.node_name = bind.node_name;
  ++pods_bound_;
  core_->Handle(scheduler::PodSet{std::make_shared<const api::Pod>(*pod)}, now_);
}

// --- Pods ---

void PromiseWorld::AddOthers(int count, const std::string& cpu) {
  for (int i = 0; i < count; ++i) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.namespace_name = "apps";
    pod->metadata.name = "other-" + std::to_string(++version_);
    pod->metadata.uid = "uid-of-" + pod->metadata.name;
    pod->metadata.labels = api::StringMap({{"app", "other"}});
    pod->spec.scheduler_name = "default-scheduler";
    pod->spec.containers.emplace_back();
    Request(*pod, cpu.c_str(), "1Gi");
    others_[pod->metadata.name] = {pod, false};
    core_->Handle(scheduler::PodSet{std::make_shared<const api::Pod>(*pod)}, now_);
  }
  Schedule();
}

void PromiseWorld::RemoveOthers() {
  for (const auto& [name, other] : others_) {
    const auto& [pod, is_bound] = other;
    if (is_bound) Use(pod->spec.node_name, -CpuMilli(*pod));
    core_->Handle(scheduler::PodGone{"apps", name, pod->metadata.uid}, now_);
  }
  others_.clear();
  Settle();
}

// The pods of all these requests, mixed: one of each request by turns.
void PromiseWorld::AddPods(std::vector<int> requests) {
  for (int i = 0; !requests.empty(); ++i) {
    for (const int request : requests) {
      Promise& promise = promises_.at(request);
      const int set = i == 0 ? 0 : 1;
      auto pod = std::make_shared<api::Pod>(*promise.templates[static_cast<std::size_t>(set)]);
      pod->metadata.name = NameOf(request) + "-" + std::to_string(i);
      pod->metadata.uid = "uid-of-" + pod->metadata.name;
      promise.pods[pod->metadata.name] = {pod, set};
      const double before = Now().cpu_us;
      const std::uint64_t bound = pods_bound_;
      core_->Handle(scheduler::PodSet{std::make_shared<const api::Pod>(*pod)}, now_);
      Schedule();
      pod_costs_.push_back(Now().cpu_us - before);
      if (pods_bound_ != bound + 1) Break(pod->metadata.name + ": its room was promised, and it was not bound at once");
    }
    std::erase_if(requests, [&](int request) { return WorkersOf(request).count <= i; });
  }
}

void PromiseWorld::RemovePods(int request) {
  for (const auto& [name, come] : std::exchange(promises_.at(request).pods, {})) {
    const auto& pod = come.first;
    if (!pod->spec.node_name.empty()) Use(pod->spec.node_name, -CpuMilli(*pod));
    core_->Handle(scheduler::PodGone{"jobs", name, pod->metadata.uid}, now_);
  }
  Settle();
}

}  // namespace berth::bench
