// SPDX-License-Identifier: Apache-2.0
// Nominator, Backoff, update events, registrations: the queue's smaller parts.
#include <algorithm>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/queue/backoff.h"
#include "berth/core/queue/large_pods.h"
#include "berth/core/queue/nominator.h"
#include "berth/core/queue/queue_testing.h"
#include "berth/core/queue/run_and_heap.h"
#include "berth/core/queue/update_events.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::EventResource;
namespace action = framework::action;
using Names = std::vector<std::string>;

Names NamesOn(const Nominator& nominator, std::string_view node) {
  Names names;
  for (const auto& pod : nominator.PodsForNode(node)) names.push_back(pod->name);
  return names;
}

TEST(Nominator, KeepsOneNominationAPod) {
  Nominator nominator;
  EXPECT_TRUE(nominator.PodsForNode("n1").empty());
  nominator.AddNominatedPod(MakePodInfo({.name = "a", .nominated_node_name = "n1"}));
  nominator.AddNominatedPod(MakePodInfo({.name = "b"}), "n1");
  nominator.AddNominatedPod(MakePodInfo({.name = "c"}));  // names no node
  EXPECT_EQ(NamesOn(nominator, "n1"), (Names{"a", "b"}));
  EXPECT_EQ(nominator.size(), 2U);
  // The argument takes precedence.
  nominator.AddNominatedPod(MakePodInfo({.name = "a", .nominated_node_name = "n1"}), "n2");
  EXPECT_EQ(NamesOn(nominator, "n1"), Names{"b"});
  EXPECT_EQ(NamesOn(nominator, "n2"), Names{"a"});
  std::map<std::string, std::size_t> counts;
  nominator.ForEachNode([&](std::string_view node, auto pods) { counts.emplace(node, pods.size()); });
  EXPECT_EQ(counts, (std::map<std::string, std::size_t>{{"n1", 1}, {"n2", 1}}));
  nominator.AddNominatedPod(MakePodInfo({.name = "a", .nominated_node_name = "n1"}), "");  // removes the nomination
  EXPECT_EQ(nominator.NominatedNode("uid-a"), "");
  nominator.DeleteNominated("uid-b");
  nominator.DeleteNominated("uid-b");
  EXPECT_TRUE(nominator.empty());
}

TEST(Nominator, UpdateKeepsWhatOnlyMemoryKnows) {
  struct Case {
    const char* name;
    std::string in_memory, old_says, new_says, expected;
  };
  for (const Case& c : {Case{"said by nobody", "", "", "", ""}, Case{"in memory only", "n1", "", "", "n1"},
                        Case{"added", "n1", "", "n2", "n2"}, Case{"changed", "n1", "n1", "n2", "n2"},
                        Case{"removed", "n1", "n1", "", ""}}) {
    SCOPED_TRACE(c.name);
    Nominator nominator;
    const auto before = MakePodInfo({.name = "a", .nominated_node_name = c.old_says});
    nominator.AddNominatedPod(before, c.in_memory);
    const auto after = MakePodInfo({.name = "a", .nominated_node_name = c.new_says});
    nominator.UpdateNominated(before.get(), after);
    EXPECT_EQ(nominator.NominatedNode("uid-a"), c.expected);
    if (!c.expected.empty()) {
      EXPECT_EQ(nominator.PodsForNode(c.expected)[0], after);
    }
    EXPECT_EQ(nominator.size(), c.expected.empty() ? 0U : 1U);
  }
}

TEST(Backoff, Lengths) {
  struct Case {
    Duration initial, max;
    std::int32_t count;
    Duration expected;
  };
  for (const Case& c : {Case{1s, 10s, 0, 0s}, Case{1s, 10s, 1, 1s}, Case{1s, 10s, 2, 2s}, Case{1s, 10s, 4, 8s},
                        Case{1s, 10s, 5, 10s}, Case{1s, 10s, 63, 10s}, Case{1s, 10s, 64, 10s},
                        Case{1s, 10s, 2'000'000, 10s}, Case{20s, 10s, 1, 10s}, Case{3s, 100s, 5, 48s}}) {
    EXPECT_EQ((Backoff{c.initial, c.max}.Length(c.count)), c.expected) << c.count;
  }
}

TEST(Backoff, Windows) {
  const Backoff backoff{1s, 10s};
  EXPECT_EQ(backoff.Expiration(kStart + 999ms, 1), kStart + 1s);
  EXPECT_EQ(backoff.Expiration(kStart, 0), Time::min());
  EXPECT_EQ((Backoff{1s, 0s}.Expiration(kStart, 5)), Time::min());
  EXPECT_FALSE(Backoff::IsOver(kStart, kStart));
  EXPECT_FALSE(Backoff::IsOver(kStart, kStart + 999999us));
  EXPECT_TRUE(Backoff::IsOver(kStart, kStart + 1s));
  EXPECT_TRUE(Backoff::IsOver(Time::min(), Time()));
}

struct Numbered {
  std::uint32_t position = 0;
  std::uint64_t key = 0;
};
struct LessNumber {
  using Key = std::uint64_t;
  bool operator()(const HeapSlot<Numbered, Key>& a, const HeapSlot<Numbered, Key>& b) const { return a.key < b.key; }
};

TEST(LargePods, TakeTurnsWithPauses) {
  LargePods large_pods;
  const auto large = MakePodInfo({.name = "large", .tolerations = 2000});
  const auto ordinary = MakePodInfo({.name = "ordinary", .tolerations = 900});
  Time now = kStart;
  EXPECT_FALSE(large_pods.Throttle(CountAsked(*ordinary->pod_class), now));
  EXPECT_FALSE(large_pods.Throttle(CountAsked(*large->pod_class), now));
  EXPECT_TRUE(large_pods.Throttle(CountAsked(*large->pod_class), now)->starts_with("the pod asks for 2000 things "));
  EXPECT_FALSE(large_pods.Throttle(CountAsked(*ordinary->pod_class), now));
  now += 199ms;
  EXPECT_TRUE(large_pods.Throttle(CountAsked(*large->pod_class), now));
  now += 1ms;
  EXPECT_FALSE(large_pods.Throttle(CountAsked(*large->pod_class), now));
}

// Recognised by size: one requirement with 17,000 values, or a thousand labels.
TEST(LargePods, AreKnownByTheirBytesToo) {
  framework::PodClass pod_class;
  pod_class.bytes = std::size_t{100} << 10;
  EXPECT_FALSE(IsLarge(pod_class));
  pod_class.bytes = std::size_t{1} << 20;
  EXPECT_TRUE(IsLarge(pod_class));
}

// Compares with a sorted list: elements arrive in order and out of order, leave from anywhere, and are reordered.
TEST(RunAndHeap, GivesTheLeast) {
  Random random(7);
  RunAndHeap<Numbered, LessNumber> queue(LessNumber{});
  std::vector<std::unique_ptr<Numbered>> all;
  std::vector<Numbered*> inside;
  std::uint64_t next = 1'000'000;
  const auto least = [&] { return *std::ranges::min_element(inside, {}, &Numbered::key); };
  for (int step = 0; step < 40'000; ++step) {
    // The queue grows for a while, then shrinks to nothing, and so on.
    const bool grows = step / 8000 % 2 == 0;
    const std::uint64_t action = random.Below(10);
    if (inside.empty() || action < (grows ? 6U : 2U)) {
      Numbered* const element = all.emplace_back(std::make_unique<Numbered>()).get();
      element->key = random.Below(8) == 0 ? ++next - 500'000 : ++next + 500'000;
      queue.Push(element, element->key);
      inside.push_back(element);
    } else if (action < 8) {
      Numbered* const front = least();
      ASSERT_EQ(queue.front(), front) << step;
      queue.Remove(front);
      std::erase(inside, front);
    } else {
      Numbered* const some = inside[random.Below(inside.size())];
      if (action == 8) {
        queue.Remove(some);
        std::erase(inside, some);
      } else {
        some->key = ++next + random.Below(2) * 500'000;
        queue.Reorder(some, some->key);
      }
    }
    ASSERT_EQ(queue.size(), inside.size());
    if (!inside.empty() && step % 7 == 0) {
      ASSERT_EQ(queue.front(), least()) << step;
    }
  }
}

TEST(RunAndHeap, ReturnsWhatComesNext) {
  RunAndHeap<Numbered, LessNumber> queue(LessNumber{});
  EXPECT_EQ(queue.Next(0), nullptr);
  Numbered elements[4];
  for (std::uint64_t i = 0; i < 4; ++i) queue.Push(&elements[i], elements[i].key = i);
  EXPECT_EQ(queue.Next(0), &elements[0]);
  EXPECT_EQ(queue.Next(1), &elements[1]);
  queue.Remove(&elements[0]);
  queue.Remove(&elements[2]);
  EXPECT_EQ(queue.Next(0), &elements[1]);
  EXPECT_EQ(queue.Next(1), nullptr) << "it is gone";
  EXPECT_EQ(queue.Next(2), &elements[3]);
  EXPECT_EQ(queue.Next(3), nullptr);
}

TEST(UpdateEvents, OfAPod) {
  const auto event = [](ClusterEvent e) { return e.Label(true); };
  struct Case {
    const char* name;
    PodSketch before, after;
    Names expected;
  };
  for (const Case& c : {
           Case{"nothing", {.name = "a"}, {.name = "a"}, {"TargetPodUpdate"}},
           Case{"nothing, assigned", {.name = "a"}, {.name = "a", .node_name = "n1"}, {"AssignedPodUpdate"}},
           Case{"label", {.name = "a"}, {.name = "a", .labels = {{"x", "y"}}}, {"TargetPodUpdatePodLabel"}},
           Case{"less cpu", {.name = "a"}, {.name = "a", .cpu_milli = 50}, {"TargetPodUpdatePodScaleDown"}},
           Case{"more cpu", {.name = "a"}, {.name = "a", .cpu_milli = 200}, {"TargetPodUpdate"}},
           Case{"toleration", {.name = "a"}, {.name = "a", .tolerations = 1}, {"TargetPodUpdatePodToleration"}},
           Case{"last gate",
                {.name = "a", .gates = {"g"}},
                {.name = "a"},
                {"TargetPodUpdatePodSchedulingGatesEliminated"}},
           Case{"one gate of two",
                {.name = "a", .gates = {"g", "h"}},
                {.name = "a", .gates = {"g"}},
                {"TargetPodUpdate"}},
           Case{"two aspects",
                {.name = "a"},
                {.name = "a", .labels = {{"x", "y"}}, .tolerations = 1, .node_name = "n1"},
                {"AssignedPodUpdatePodLabel", "AssignedPodUpdatePodToleration"}},
       }) {
    Names labels;
    for (const ClusterEvent& e : PodUpdateEvents(*MakePodInfo(c.before), *MakePodInfo(c.after)))
      labels.push_back(event(e));
    EXPECT_EQ(labels, c.expected) << c.name;
  }
}

// Before 1.37 all events about pods without a node had the same name.
TEST(UpdateEvents, AreNamedAsTheReleaseNamesThem) {
  using framework::EventResource;
  const ClusterEvent own{EventResource::kTargetPod, framework::action::kUpdatePodLabel};
  const ClusterEvent other{EventResource::kUnschedulablePod, framework::action::kAdd};
  const ClusterEvent assigned{EventResource::kAssignedPod, framework::action::kDelete};
  EXPECT_EQ(own.Label(true), "TargetPodUpdatePodLabel");
  EXPECT_EQ(own.Label(false), "UnschedulablePodUpdatePodLabel");
  EXPECT_EQ(other.Label(true), "UnscheduledPodAdd");
  EXPECT_EQ(other.Label(false), "UnschedulablePodAdd");
  EXPECT_EQ(assigned.Label(true), assigned.Label(false));
}

TEST(UpdateEvents, APodsOwnUpdateIsHeardOfAsOneOfAPod) {
  using framework::EventResource;
  const ClusterEvent own{EventResource::kTargetPod, framework::action::kUpdatePodLabel};
  const auto hears = [&](EventResource resource) {
    return ClusterEvent::Matches({resource, framework::action::kUpdate}, own);
  };
  EXPECT_TRUE(hears(EventResource::kPod));
  EXPECT_TRUE(hears(EventResource::kUnschedulablePod));
  EXPECT_TRUE(hears(EventResource::kTargetPod));
  EXPECT_FALSE(hears(EventResource::kAssignedPod));
  EXPECT_FALSE(ClusterEvent::Matches({EventResource::kTargetPod, framework::action::kAll},
                                     {EventResource::kUnschedulablePod, framework::action::kAdd}));
}

TEST(UpdateEvents, OfAPodsClaims) {
  const auto with = [](std::vector<api::PodResourceClaimStatus> claims, const char* extended = nullptr) {
    auto pod = std::make_shared<framework::PodInfo>(*MakePodInfo({.name = "a"}));
    auto status = std::make_shared<framework::PodClaimStatus>();
    status->resource_claims = std::move(claims);
    if (extended != nullptr) status->extended_resource_claim = api::PodExtendedResourceClaimStatus{extended, {}};
    pod->claim_status = std::move(status);
    return pod;
  };
  const auto label = [](const framework::PodInfoPtr& before, const framework::PodInfoPtr& after) {
    return PodUpdateEvents(*before, *after).front().Label(true);
  };
  const auto without = std::make_shared<framework::PodInfo>(*with({}));
  without->claim_status = nullptr;
  const std::string changed = "TargetPodUpdatePodGeneratedResourceClaim";
  EXPECT_EQ(label(without, with({{"c", "made"}})), changed);
  EXPECT_EQ(label(with({{"c", "made"}}), with({{"c", "other"}})), changed);
  EXPECT_EQ(label(without, with({}, "made")), changed);
  EXPECT_EQ(label(with({}, "made"), with({}, "made")), "TargetPodUpdate");
  EXPECT_EQ(label(without, with({})), "TargetPodUpdate");
}

TEST(UpdateEvents, OfANode) {
  struct Case {
    const char* name;
    std::function<void(api::Node&)> before, after;
    Names expected;
  };
  const auto nothing = [](api::Node&) {};
  const auto cordon = [](api::Node& node) { node.unschedulable = true; };
  for (const Case& c : {
           Case{"heartbeat", nothing, [](api::Node& node) { node.metadata.resource_version = "2"; }, {}},
           Case{"cordoned", nothing, cordon, {}},
           Case{"uncordoned", cordon, nothing, {"NodeUpdateNodeTaint"}},
           Case{"allocatable",
                nothing,
                [](api::Node& n) { n.allocatable.emplace_back("cpu", api::Quantity()); },
                {"NodeUpdateNodeAllocatable"}},
           Case{"label", nothing, [](api::Node& n) { n.metadata.labels.Set("a", "b"); }, {"NodeUpdateNodeLabel"}},
           Case{"taint", nothing, [](api::Node& n) { n.taints.emplace_back(); }, {"NodeUpdateNodeTaint"}},
           Case{"condition",
                nothing,
                [](api::Node& n) { n.conditions.emplace_back("Ready", "True"); },
                {"NodeUpdateNodeCondition"}},
           Case{"annotation",
                nothing,
                [](api::Node& n) { n.metadata.annotations.Set("a", "b"); },
                {"NodeUpdateNodeAnnotation"}},
           Case{"feature",
                nothing,
                [](api::Node& n) { n.declared_features.push_back("X"); },
                {"NodeUpdateNodeDeclaredFeature"}},
       }) {
    api::Node before, after;
    c.before(before);
    c.after(after);
    Names labels;
    for (const ClusterEvent& e : NodeUpdateEvents(before, after)) labels.push_back(e.Label(true));
    EXPECT_EQ(labels, c.expected) << c.name;
  }
}

class Silent final : public framework::FilterPlugin {
 public:
  std::string_view Name() const override { return "Silent"; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo&) const override {
    return {};
  }
};

class Speaks final : public framework::EnqueueExtensions {
 public:
  explicit Speaks(std::vector<ClusterEvent> wanted) : wanted_(std::move(wanted)) {}
  std::string_view Name() const override { return "Speaks"; }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override {
    std::vector<framework::ClusterEventWithHint> events;
    for (const ClusterEvent& event : wanted_) events.push_back({event, nullptr});
    return events;
  }

 private:
  std::vector<ClusterEvent> wanted_;
};

TEST(Registrations, OfAPlugin) {
  const auto labels = [](const framework::Plugin& plugin, bool adds_node_taint_event = true) {
    Names names;
    for (const Registration& registration : RegistrationsOf(plugin, adds_node_taint_event)) {
      names.push_back(registration.plugin + ":" + registration.event.event.Label(true));
    }
    return names;
  };
  EXPECT_EQ(labels(Silent()), Names{"Silent:*All"});
  EXPECT_EQ(labels(Speaks({})), Names{});
  EXPECT_EQ(labels(Speaks({events::kPodDelete})), Names{"Speaks:PodDelete"});
  EXPECT_EQ(labels(Speaks({events::kNodeAdd})), (Names{"Speaks:NodeAdd", "Speaks:NodeUpdateNodeTaint"}));
  EXPECT_EQ(labels(Speaks({events::kNodeAdd}), false), Names{"Speaks:NodeAdd"});
  EXPECT_EQ(labels(Speaks({{EventResource::kNode, action::kAdd | action::kUpdateNodeTaint}})),
            Names{"Speaks:NodeAddUpdateNodeTaint"});
  EXPECT_EQ(labels(Speaks({events::kNodeAdd, events::kNodeTaint})),
            (Names{"Speaks:NodeAdd", "Speaks:NodeUpdateNodeTaint"}));
}

}  // namespace
}  // namespace berth::queue
