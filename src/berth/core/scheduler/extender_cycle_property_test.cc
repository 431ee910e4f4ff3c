// SPDX-License-Identifier: Apache-2.0
// Long random runs with extenders that answer late, wrongly or not at all, while pods and nodes come and go: no pod may
// be bound twice or forgotten. One run in four has more nodes than a batch; the ones that fit have the worst scores. A
// failure prints the seed that replays it.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/preemption_review.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;

class ALife : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::size_t kBatchMax = 100;

  ALife() : random_(GetParam()), world_(BatchProfiles(), Options()) {
    if (!is_large_) return;
    for (int i = 0; i < 130; ++i) world_.Set(MakeNode("many-" + std::to_string(i)).Allocatable("example.com/gpu", "2"));
  }

  static Profiles BatchProfiles() {
    Profiles profiles = DefaultProfiles();
    profiles.front()->percentage_of_nodes_to_score = 1;
    return profiles;
  }
  // In a large cluster few nodes pass, and in the end only those that were added last.
  bool IsRefused(const std::string& node) {
    if (is_calm_) return is_large_ && !node.starts_with("roomy-");
    return is_large_ ? !OneIn(60) : OneIn(4);
  }

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  static SchedulerOptions Options() {
    config::Extender filter;
    filter.url_prefix = "filter";
    filter.filter_verb = "f";
    config::Extender all = filter;
    all.prioritize_verb = "p";
    all.weight = 3;
    all.bind_verb = "b";
    all.preempt_verb = "v";
    all.ignorable = true;
    config::Extender gpu = filter;
    gpu.prioritize_verb = "p";
    gpu.weight = 1;
    gpu.preempt_verb = "v";
    gpu.managed_resources = {{"example.com/gpu", false}};
    SchedulerOptions options;
    options.seed = 1;
    options.extenders = config::InCallOrder({all, filter, gpu});
    return options;
  }

  // A pod as the API server knows it.
  struct Known {
    PodBuilder pod;
    std::string node;
  };

  void SetNode() {
    const std::string name = "n" + std::to_string(random_.Below(4));
    world_.Set(MakeNode(name).Allocatable("example.com/gpu", "2"));
    nodes_.insert(name);
  }

  void AddPod() {
    const std::string name = "p" + std::to_string(next_pod_++);
    PodBuilder pod = MakePod(name);
    pod.Request("cpu", OneIn(3) ? "2" : "100m");
    if (OneIn(3)) pod.Request("example.com/gpu", "1");
    pod.Priority(static_cast<std::int32_t>(random_.Below(3)));
    pods_.emplace(name, Known{pod, ""});
    world_.Set(pod);
  }

  Known& AnyPod() { return std::next(pods_.begin(), static_cast<std::ptrdiff_t>(random_.Below(pods_.size())))->second; }

  void ChangePod() {
    if (pods_.empty()) return;
    Known& known = AnyPod();
    const std::string name = known.pod.Build().metadata.name;
    if (OneIn(3)) {
      world_.Remove(known.pod);
      pods_.erase(name);
    } else if (known.node.empty()) {
      known.pod.Label("changed", std::to_string(random_.Below(100)));
      world_.Set(known.pod);
    }
  }

  // No request is about more nodes than a batch has. An extender that filters sees each node once per cycle, except for
  // a nominated node, which is asked about first and alone.
  void CheckBatch(const AskExtender& ask) {
    ASSERT_LE(ask.node_names.size(), kBatchMax) << GetParam();
    if (ask.verb != ExtenderVerb::kFilter || ask.node_names.size() < 2) return;
    const std::uint64_t cycle = world_.core.counts().cycles;
    if (cycle != asked_cycle_) asked_names_.clear();
    asked_cycle_ = cycle;
    std::set<std::string>& names = asked_names_[ask.extender];
    if (!names.empty()) ++next_batch_count_;
    for (const std::string& name : ask.node_names)
      ASSERT_TRUE(names.insert(name).second) << name << " twice; replay with seed " << GetParam();
  }

  // Takes the outputs; status writes and events need no answer.
  void Collect() {
    std::vector<Output> outputs;
    world_.core.TakeOutputs(outputs);
    for (Output& output : outputs) {
      if (auto* ask = std::get_if<AskExtender>(&output)) {
        CheckBatch(*ask);
        asked_.push_back(std::move(*ask));
      } else if (auto* write = std::get_if<Write>(&output)) {
        if (!std::holds_alternative<framework::PodStatusWrite>(write->write)) writes_.push_back(std::move(*write));
      }
    }
  }

  // Binds as an API server does: each pod once.
  std::optional<Error> Bind(const std::string& name, const std::string& uid, const std::string& node) {
    const auto found = pods_.find(name);
    if (found == pods_.end() || found->second.pod.Build().metadata.uid != uid)
      return Error{ErrorCode::kNotFound, "gone"};
    if (!found->second.node.empty()) return Error{ErrorCode::kConflict, "bound already"};
    found->second.node = node;
    return std::nullopt;
  }

  void Evict(const std::string& name) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) return;
    world_.Remove(found->second.pod);
    pods_.erase(found);
  }

  void AnswerWrite() {
    if (writes_.empty()) return;
    const Write write = std::move(writes_.front());
    writes_.pop_front();
    if (const auto* bind = std::get_if<framework::BindWrite>(&write.write)) {
      const Error lost{ErrorCode::kTimeout, "no answer", true};
      std::optional<Error> error = lost;
      if (is_calm_ || !OneIn(5)) error = Bind(bind->pod.name, bind->pod.uid, bind->node_name);
      if (!is_calm_ && OneIn(5)) error = lost;
      world_.core.Handle(WriteDone{write.operation, error}, world_.now);
    } else if (const auto* read = std::get_if<framework::PodRead>(&write.write)) {
      const auto found = pods_.find(read->pod.name);
      std::shared_ptr<const api::Pod> object;
      if (found != pods_.end()) object = world_.Object(PodBuilder(found->second.pod).Node(found->second.node));
      world_.core.Handle(PodReadDone{write.operation, object, {}}, world_.now);
    } else {
      if (const auto* victim = std::get_if<framework::ObjectDelete>(&write.write)) Evict(victim->object.name);
      world_.core.Handle(WriteDone{write.operation, std::nullopt}, world_.now);
    }
  }

  Expected<ExtenderAnswer> AnswerTo(const AskExtender& ask) {
    if (!is_calm_ && OneIn(5)) {
      if (ask.verb == ExtenderVerb::kBind && OneIn(2)) (void)Bind(ask.pod.name, ask.pod.uid, ask.node_names.front());
      return Error{ErrorCode::kTimeout, "no answer", true};
    }
    ExtenderAnswer answer;
    if (ask.verb == ExtenderVerb::kBind) {
      if (const auto error = Bind(ask.pod.name, ask.pod.uid, ask.node_names.front())) return *error;
      return answer;
    }
    for (const VictimsOnNode& each : ask.victims) {
      if (is_calm_ || !OneIn(4)) answer.victims.push_back(each);
    }
    for (const std::string& name : ask.node_names) {
      answer.scores.emplace_back(name, static_cast<std::int64_t>(random_.Below(11)));
      if (!IsRefused(name)) {
        answer.node_names.push_back(name);
      } else if (OneIn(2)) {
        answer.failed_nodes.emplace_back(name, "no");
      }
    }
    return answer;
  }

  void AnswerExtender() {
    if (asked_.empty()) return;
    const auto at = is_calm_ ? 0 : random_.Below(asked_.size());
    const AskExtender ask = std::move(asked_[at]);
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
    world_.core.Handle(ExtenderDone{ask.operation, AnswerTo(ask)}, world_.now);
  }

  // The watch shows a binding late or not at all.
  void Watch() {
    if (pods_.empty()) return;
    Known& known = AnyPod();
    if (!known.node.empty()) world_.Set(PodBuilder(known.pod).Node(known.node));
  }

  void Step() {
    switch (random_.Below(12)) {
      case 0: SetNode(); break;
      case 1:
        if (OneIn(4) && !nodes_.empty()) {
          const std::string name = *nodes_.begin();
          world_.RemoveNode(name);
          nodes_.erase(name);
        }
        break;
      case 2:
      case 3: AddPod(); break;
      case 4: ChangePod(); break;
      case 5: Watch(); break;
      case 6:
      case 7: AnswerWrite(); break;
      case 8:
      case 9:
      case 10: AnswerExtender(); break;
      default: world_.Run(std::chrono::seconds(random_.Below(3)));
    }
    world_.Run();
    Collect();
  }

  std::string Newest() const {
    if (world_.core.decisions().size() == 0) return "";
    const Decision& newest = world_.core.decisions().Newest();
    return std::to_string(newest.cycle) + " " + newest.PodKey() + " on " + newest.node_name + ": " + newest.Why();
  }

  Random random_;
  Harness world_;
  std::map<std::string, Known> pods_;
  std::set<std::string> nodes_;
  std::deque<AskExtender> asked_;
  std::deque<Write> writes_;
  const bool is_large_ = GetParam() % 4 == 0;
  bool is_calm_ = false;
  int next_pod_ = 0;
  // By extender: the nodes that it was asked about in this cycle.
  std::map<std::size_t, std::set<std::string>> asked_names_;
  std::uint64_t asked_cycle_ = 0;
  int next_batch_count_ = 0;
};

TEST_P(ALife, EndsWithEveryPodWhereItBelongs) {
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i) Step();
  // From now on nothing fails and there is room for all pods.
  is_calm_ = true;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "roomy-" + std::to_string(i);
    testing::NodeBuilder node = MakeNode(name).Allocatable("example.com/gpu", "8");
    if (is_large_) node.Taint("worst", "", api::TaintEffect::kPreferNoSchedule);
    world_.Set(node);
    nodes_.insert(name);
  }
  for (int i = 0; i < 5000 && !HasFatalFailure(); ++i) {
    for (const auto& [name, known] : pods_) {
      if (!known.node.empty() && i % 50 == 0) world_.Set(PodBuilder(known.pod).Node(known.node));
    }
    AnswerWrite();
    AnswerExtender();
    world_.Run(i % 20 == 0 ? Duration(1s) : Duration{0});
    Collect();
    const bool is_done =
        std::all_of(pods_.begin(), pods_.end(), [](const auto& each) { return !each.second.node.empty(); });
    if (is_done && world_.core.binding_count() == 0 && asked_.empty() && writes_.empty()) break;
  }
  for (const UnboundPod& pod : world_.core.Unbound()) ADD_FAILURE() << pod.key << ": " << pod.why;
  for (const auto& [name, known] : pods_)
    EXPECT_FALSE(known.node.empty()) << name << " is forgotten; replay with seed " << GetParam();
  EXPECT_FALSE(world_.core.IsWaitingForExtenders()) << GetParam();
  EXPECT_EQ(world_.core.binding_count(), 0U) << GetParam();
  EXPECT_EQ(world_.core.queue().in_flight_count(), 0U) << GetParam();
  EXPECT_EQ(next_batch_count_ > 0, is_large_) << GetParam();
}

// A run in which "what if" questions are asked all the time, also while a cycle waits for extenders.
class AnAskedLife final : public ALife {
 public:
  void Ask() {
    if (dice_.Below(2) == 0 && !pods_.empty()) {
      const auto overlay = world_.core.MakeOverlay(world_.now);
      PodBuilder pod = AnyOf(pods_).pod;
      pod.Request("cpu", dice_.Below(2) == 0 ? "100m" : "2").Priority(static_cast<std::int32_t>(dice_.Below(4)));
      const api::Pod asked = pod.Build();
      overlay->RemovePod(asked.metadata.uid);
      if (dice_.Below(2) == 0) overlay->SetNode(MakeNode("n" + std::to_string(dice_.Below(6))).Build());
      const auto answer = overlay->Evaluate(overlay->MakePod(asked), Overlay::Detail::kAll);
      if (answer.outcome.result != runtime::Result::kRefused) return;
      framework::PreemptionReview question{.is_dry_run = true};
      (void)answer.evaluator.RunPostFilter(&question);
      for (const framework::NodeIndex row : overlay->nodes().rows()) (void)answer.evaluator.AllRefusals(row);
    }
  }
  bool StepAndAsk() {
    Step();
    Ask();
    return world_.core.IsWaitingForExtenders();
  }
  using ALife::Newest;
  void TestBody() override {}

 private:
  Known& AnyOf(std::map<std::string, Known>& pods) {
    return std::next(pods.begin(), static_cast<std::ptrdiff_t>(dice_.Below(pods.size())))->second;
  }

  Random dice_{GetParam() + 1000};  // separate, so that the other random choices are the same in both runs
};

TEST_P(ALife, QuestionsBetweenTheTurnsChangeNoDecision) {
  AnAskedLife asked;
  int waiting_count = 0;
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i) {
    Step();
    if (asked.StepAndAsk()) ++waiting_count;
    ASSERT_EQ(Newest(), asked.Newest()) << "step " << i << ", seed " << GetParam();
  }
  EXPECT_GT(waiting_count, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ALife, ::testing::Range<std::uint64_t>(1, 121));

}  // namespace
}  // namespace berth::scheduler
