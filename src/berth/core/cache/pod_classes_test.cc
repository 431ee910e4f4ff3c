// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/pod_classes.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/framework/make_pod_info.h"
#include "berth/testing/builders.h"

namespace berth::cache {
namespace {

using testing::MakePod;

api::Pod Base() {
  api::Pod pod = MakePod("web-1").Request("cpu", "1").Image("images.example/a:1").Build();
  pod.metadata.labels = {{"app", "web"}};
  pod.metadata.controller = {"apps/v1", "ReplicaSet", "web", "rs-uid"};
  pod.spec.priority = 0;
  pod.spec.node_affinity.emplace();
  pod.spec.node_affinity->required = {testing::Term({testing::In("zone", {"a"})})};
  pod.spec.tolerations = {{"gpu", "Exists", "", api::TaintEffect::kNone}};
  return pod;
}

TEST(PodClasses, PodsOfOneReplicaSetShareTheirClass) {
  PodClasses classes;
  const auto first = classes.MakePodInfo(Base());
  api::Pod other = Base();
  other.metadata.name = "web-2";
  other.metadata.uid = "uid-2";
  other.metadata.resource_version = "7";
  other.metadata.generation = 3;
  other.metadata.annotations = {{"note", "x"}};
  other.metadata.creation_time = Time(std::chrono::seconds(5));
  other.metadata.deletion_time = Time(std::chrono::seconds(6));
  other.spec.node_name = "n";
  other.status.nominated_node_name = "m";
  other.status.phase = api::PodPhase::kRunning;
  other.status.start_time = Time(std::chrono::seconds(7));
  other.status.conditions = {{"PodScheduled", "False", "Unschedulable", "no room"}};
  const auto second = classes.MakePodInfo(other);
  EXPECT_EQ(first->pod_class, second->pod_class);
  EXPECT_EQ(classes.size(), 1u);
  EXPECT_EQ(second->pod_class->spec.node_name, "");
  EXPECT_EQ(second->pod_class->requests.cpu_milli, 1000);
}

TEST(PodClasses, APodIsTheSameAgainFromWhatIsKeptOfIt) {
  PodClasses classes({"read.example/"});
  api::Pod pod = Base();
  pod.metadata.resource_version = "7";
  pod.metadata.generation = 3;
  pod.metadata.annotations = {{"note", "x"}, {"read.example/a", "y"}};
  pod.metadata.creation_time = Time(std::chrono::seconds(5));
  pod.metadata.deletion_time = Time(std::chrono::seconds(6));
  pod.status.nominated_node_name = "m";
  pod.status.start_time = Time(std::chrono::seconds(7));
  pod.status.conditions = {{"PodScheduled", "False", "Unschedulable", "no room"},
                           {"DisruptionTarget", "True", "PreemptionByScheduler", ""},
                           {"PodResizePending", "True", "Infeasible", ""}};
  pod.status.container_statuses = {{"c", api::ResourceList{{"cpu", *api::Quantity::Parse("2")}}, std::nullopt}};
  pod.status.resource_claim_statuses = {{"claim", "made"}};
  const auto first = classes.MakePodInfo(pod);
  const auto again = classes.MakePodInfo(framework::PodOf(*first));
  EXPECT_EQ(again->pod_class, first->pod_class);
  EXPECT_EQ(classes.size(), 1u);
  // PodOf() reconstructs exactly the parts of the pod that are kept.
  EXPECT_EQ(framework::PodOf(*again), framework::PodOf(*first));
  const api::Pod kept = framework::PodOf(*first);
  EXPECT_EQ(kept.spec, pod.spec);
  EXPECT_EQ(kept.status, pod.status);
  pod.metadata.annotations = {{"read.example/a", "y"}};
  EXPECT_EQ(kept.metadata, pod.metadata);
  // The scheduled condition of a pod with a node is not kept.
  pod.spec.node_name = "n";
  pod.status.phase = api::PodPhase::kFailed;
  const auto placed = classes.MakePodInfo(pod);
  pod.status.conditions.erase(pod.status.conditions.begin());
  EXPECT_EQ(framework::PodOf(*placed), pod);
}

TEST(PodClasses, ClassesThatAskTheSameOfANodeShareTheirPlacement) {
  using Change = std::function<void(api::Pod&)>;
  const auto claim = [](api::Pod& p) {
    api::VolumeSource source;
    source.kind = api::VolumeKind::kPersistentVolumeClaim;
    source.id = "c";
    p.spec.volumes = {{"v", source}};
  };
  const struct {
    const char* name;
    Change base, change;
    bool is_shared;
  } cases[] = {
      {"labels", nullptr, [](api::Pod& p) { p.metadata.labels.Set("app", "db"); }, true},
      {"controller", nullptr, [](api::Pod& p) { p.metadata.controller.reset(); }, true},
      {"priority", nullptr, [](api::Pod& p) { p.spec.priority = 7; }, true},
      {"scheduler", nullptr, [](api::Pod& p) { p.spec.scheduler_name = "other"; }, true},
      {"namespace", nullptr, [](api::Pod& p) { p.metadata.namespace_name = "other"; }, true},
      {"spread", nullptr, [](api::Pod& p) { p.spec.topology_spread_constraints.emplace_back(); }, true},
      {"pod affinity", nullptr, [](api::Pod& p) { p.spec.pod_affinity.required.emplace_back(); }, true},
      {"namespace of a claim", claim, [](api::Pod& p) { p.metadata.namespace_name = "other"; }, false},
      {"requests", nullptr, [](api::Pod& p) { p.spec.containers[0].requests = testing::Resources({{"cpu", "2"}}); },
       false},
      {"tolerations", nullptr, [](api::Pod& p) { p.spec.tolerations.clear(); }, false},
      {"node selector", nullptr, [](api::Pod& p) { p.spec.node_selector = {{"a", "b"}}; }, false},
      {"node affinity", nullptr, [](api::Pod& p) { p.spec.node_affinity.reset(); }, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    PodClasses classes;
    api::Pod one = Base();
    if (c.base) c.base(one);
    api::Pod other = one;
    c.change(other);
    const auto first = classes.MakePodInfo(one);
    const auto second = classes.MakePodInfo(other);
    EXPECT_NE(first->pod_class->id, second->pod_class->id);
    EXPECT_EQ(first->pod_class->placement_id == second->pod_class->placement_id, c.is_shared);
  }
}

// Of equally good nodes a pod may get another one if it shares a placement, which must not depend on what was there.
TEST(PodClasses, APlacementIsSharedWhateverHasGoneMeanwhile) {
  const auto named = [](const std::string& app) {
    api::Pod pod = Base();
    pod.metadata.labels.Set("app", app);
    return pod;
  };
  for (const bool is_swept : {false, true}) {
    SCOPED_TRACE(is_swept);
    PodClasses classes;
    const auto first = classes.MakePodInfo(named("a"));
    classes.MakePodInfo(named("b"));  // its class has no other pod, and is gone at once
    if (is_swept) classes.Sweep();
    const auto third = classes.MakePodInfo(named("c"));
    EXPECT_EQ(first->pod_class->placement_id, third->pod_class->placement_id);
  }
}

TEST(PodClasses, WhatMattersSeparates) {
  using Change = std::function<void(api::Pod&)>;
  const auto amounts = [](const char* amount) { return testing::Resources({{"cpu", amount}}); };
  const api::PodAffinityTerm by_zone{std::nullopt, {}, std::nullopt, "zone"};
  const auto unknown = [](std::string op) {
    return api::LabelSelector{{{"k", api::SelectorOperator::kUnknown, {}, std::move(op)}}};
  };
  using Constraint = api::TopologySpreadConstraint;
  const auto spread = [](auto change) -> Change {
    return [change](api::Pod& p) {
      Constraint constraint{.max_skew = 1, .topology_key = "zone"};
      change(constraint);
      p.spec.topology_spread_constraints = {constraint};
    };
  };
  const auto volume = [](api::VolumeSource source) -> Change {
    return [source](api::Pod& p) { p.spec.volumes = {{"v", source}}; };
  };
  const struct {
    const char* name;
    Change change;
  } cases[] = {
      {"namespace", [](api::Pod& p) { p.metadata.namespace_name = "other"; }},
      {"label value", [](api::Pod& p) { p.metadata.labels.Set("app", "db"); }},
      {"label more", [](api::Pod& p) { p.metadata.labels.Set("tier", ""); }},
      {"no controller", [](api::Pod& p) { p.metadata.controller.reset(); }},
      {"controller kind", [](api::Pod& p) { p.metadata.controller->kind = "Job"; }},
      {"controller version", [](api::Pod& p) { p.metadata.controller->api_version = "apps/v2"; }},
      {"controller name", [](api::Pod& p) { p.metadata.controller->name = "db"; }},
      {"controller uid", [](api::Pod& p) { p.metadata.controller->uid = "rs-2"; }},
      {"scheduler name", [](api::Pod& p) { p.spec.scheduler_name = "other"; }},
      {"priority", [](api::Pod& p) { p.spec.priority = 1; }},
      {"negative priority", [](api::Pod& p) { p.spec.priority = -1; }},
      {"no priority", [](api::Pod& p) { p.spec.priority.reset(); }},
      {"preemption policy", [](api::Pod& p) { p.spec.preemption_policy = api::PreemptionPolicy::kNever; }},
      {"node selector", [](api::Pod& p) { p.spec.node_selector = {{"zone", "a"}}; }},
      {"no affinity", [](api::Pod& p) { p.spec.node_affinity.reset(); }},
      {"no required terms", [](api::Pod& p) { p.spec.node_affinity->required.reset(); }},
      {"empty required terms", [](api::Pod& p) { p.spec.node_affinity->required.emplace(); }},
      {"required key", [](api::Pod& p) { p.spec.node_affinity->required->front().match_expressions[0].key = "rack"; }},
      {"required operator",
       [](api::Pod& p) {
         p.spec.node_affinity->required->front().match_expressions[0].op = api::SelectorOperator::kNotIn;
       }},
      {"required value",
       [](api::Pod& p) { p.spec.node_affinity->required->front().match_expressions[0].values = {"b"}; }},
      {"required field",
       [](api::Pod& p) {
         p.spec.node_affinity->required->front().match_fields = {testing::In("metadata.name", {"n"})};
       }},
      {"expression as a field",
       [](api::Pod& p) {
         api::NodeSelectorTerm& term = p.spec.node_affinity->required->front();
         std::swap(term.match_fields, term.match_expressions);
       }},
      {"preferred term",
       [](api::Pod& p) { p.spec.node_affinity->preferred = {{1, testing::Term({testing::Exists("zone")})}}; }},
      {"preferred weight",
       [](api::Pod& p) { p.spec.node_affinity->preferred = {{2, testing::Term({testing::Exists("zone")})}}; }},
      {"toleration key", [](api::Pod& p) { p.spec.tolerations[0].key = "spot"; }},
      {"toleration operator", [](api::Pod& p) { p.spec.tolerations[0].op = "Equal"; }},
      {"toleration value", [](api::Pod& p) { p.spec.tolerations[0].value = "x"; }},
      {"toleration effect", [](api::Pod& p) { p.spec.tolerations[0].effect = api::TaintEffect::kNoExecute; }},
      {"toleration more", [](api::Pod& p) { p.spec.tolerations.push_back({}); }},
      {"container name", [](api::Pod& p) { p.spec.containers[0].name = "other"; }},
      {"image", [](api::Pod& p) { p.spec.containers[0].image = "images.example/a:2"; }},
      {"request", [&](api::Pod& p) { p.spec.containers[0].requests = amounts("1001m"); }},
      {"request of a nano", [&](api::Pod& p) { p.spec.containers[0].requests = amounts("1000000001n"); }},
      {"container more", [](api::Pod& p) { p.spec.containers.emplace_back(); }},
      {"container as init container", [](api::Pod& p) { std::swap(p.spec.init_containers, p.spec.containers); }},
      {"sidecar", [](api::Pod& p) { p.spec.containers[0].restart_always = true; }},
      {"host port", [](api::Pod& p) { p.spec.containers[0].ports = {{80, "", ""}}; }},
      {"host port number", [](api::Pod& p) { p.spec.containers[0].ports = {{81, "", ""}}; }},
      {"host port protocol", [](api::Pod& p) { p.spec.containers[0].ports = {{80, "", "UDP"}}; }},
      {"host port address", [](api::Pod& p) { p.spec.containers[0].ports = {{80, "10.0.0.1", ""}}; }},
      {"image volume", [](api::Pod& p) { p.spec.image_volumes = {"images.example/v:1"}; }},
      {"overhead", [&](api::Pod& p) { p.spec.overhead = amounts("1"); }},
      {"pod-level requests", [&](api::Pod& p) { p.spec.requests = amounts("1"); }},
      {"gate", [](api::Pod& p) { p.spec.scheduling_gates = {"wait"}; }},
      {"affinity term", [&](api::Pod& p) { p.spec.pod_affinity.required = {by_zone}; }},
      {"anti-affinity term", [&](api::Pod& p) { p.spec.pod_anti_affinity.required = {by_zone}; }},
      {"preferred affinity term", [&](api::Pod& p) { p.spec.pod_affinity.preferred = {{1, by_zone}}; }},
      {"preferred affinity weight", [&](api::Pod& p) { p.spec.pod_affinity.preferred = {{2, by_zone}}; }},
      {"affinity topology key",
       [&](api::Pod& p) { p.spec.pod_affinity.required = {{std::nullopt, {}, std::nullopt, "rack"}}; }},
      {"affinity selector",
       [&](api::Pod& p) { p.spec.pod_affinity.required = {{api::LabelSelector(), {}, std::nullopt, "zone"}}; }},
      {"affinity namespace", [&](api::Pod& p) { p.spec.pod_affinity.required = {{std::nullopt, {"n"}, {}, "zone"}}; }},
      {"affinity namespaces",
       [&](api::Pod& p) { p.spec.pod_affinity.required = {{{}, {}, api::LabelSelector(), "zone"}}; }},
      {"unknown operator",
       [&](api::Pod& p) { p.spec.pod_affinity.required = {{unknown("Near"), {}, std::nullopt, "zone"}}; }},
      {"other unknown operator",
       [&](api::Pod& p) { p.spec.pod_affinity.required = {{unknown("Far"), {}, std::nullopt, "zone"}}; }},
      {"constraint", spread([](Constraint&) {})},
      {"constraint's skew", spread([](Constraint& c) { c.max_skew = 2; })},
      {"constraint's topology key", spread([](Constraint& c) { c.topology_key = "rack"; })},
      {"constraint's action",
       spread([](Constraint& c) { c.when_unsatisfiable = api::UnsatisfiableConstraintAction::kScheduleAnyway; })},
      {"constraint's selector", spread([](Constraint& c) { c.selector.emplace(); })},
      {"constraint's minimum", spread([](Constraint& c) { c.min_domains = 2; })},
      {"constraint's affinity policy",
       spread([](Constraint& c) { c.node_affinity_policy = api::NodeInclusionPolicy::kHonor; })},
      {"constraint's taints policy",
       spread([](Constraint& c) { c.node_taints_policy = api::NodeInclusionPolicy::kHonor; })},
      {"constraint's label keys", spread([](Constraint& c) { c.match_label_keys = {"a"}; })},
      {"volume", volume({.kind = api::VolumeKind::kPersistentVolumeClaim, .id = "c"})},
      {"volume of another claim", volume({.kind = api::VolumeKind::kPersistentVolumeClaim, .id = "d"})},
      {"volume of another kind", volume({.kind = api::VolumeKind::kGcePersistentDisk, .id = "c"})},
      {"volume to be read", volume({.kind = api::VolumeKind::kGcePersistentDisk, .id = "c", .read_only = true})},
      {"volume's driver", volume({.kind = api::VolumeKind::kCsi, .driver = "d"})},
      {"volume's pool", volume({.kind = api::VolumeKind::kRbd, .pool = "d"})},
      {"volume's monitors", volume({.kind = api::VolumeKind::kRbd, .monitors = {"d"}})},
      {"volume's kind of disk", volume({.kind = api::VolumeKind::kAzureDisk, .disk_kind = "Managed"})},
      {"claim by name", [](api::Pod& p) { p.spec.resource_claims = {{"a", "x", std::nullopt}}; }},
      {"claim by template", [](api::Pod& p) { p.spec.resource_claims = {{"a", std::nullopt, "x"}}; }},
      {"claim's name", [](api::Pod& p) { p.spec.resource_claims = {{"b", std::nullopt, "x"}}; }},
      {"host network", [](api::Pod& p) { p.spec.host_network = true; }},
      {"host users", [](api::Pod& p) { p.spec.host_users = false; }},
      {"restart rule", [](api::Pod& p) { p.spec.containers[0].restarts_all_containers = true; }},
      {"resized", [&](api::Pod& p) { p.status.container_statuses = {{"c", amounts("2"), std::nullopt}}; }},
      {"resized, allocated", [&](api::Pod& p) { p.status.container_statuses = {{"c", std::nullopt, amounts("2")}}; }},
      {"resized as a pod", [&](api::Pod& p) { p.status.pod_resources = {"", amounts("2"), std::nullopt}; }},
      {"resize is infeasible",
       [](api::Pod& p) { p.status.conditions = {{"PodResizePending", "True", "Infeasible", ""}}; }},
  };
  PodClasses classes;
  std::map<std::uint64_t, std::string> name_by_id;
  std::vector<framework::PodInfoPtr> alive{classes.MakePodInfo(Base())};
  name_by_id[alive[0]->pod_class->id] = "base";
  for (const auto& test : cases) {
    api::Pod pod = Base();
    test.change(pod);
    alive.push_back(classes.MakePodInfo(pod));
    const auto [it, is_new] = name_by_id.emplace(alive.back()->pod_class->id, test.name);
    EXPECT_TRUE(is_new) << test.name << " shares a class with " << it->second;
    EXPECT_EQ(classes.MakePodInfo(pod)->pod_class, alive.back()->pod_class) << test.name;
    EXPECT_EQ(classes.MakePodInfo(framework::PodOf(*alive.back()))->pod_class, alive.back()->pod_class) << test.name;
  }
}

TEST(PodClasses, AnnotationsSeparateWhereAPluginReadsThem) {
  PodClasses classes({"berth.dev/max-price"});
  const auto info_with = [&classes](api::StringMap annotations) {
    api::Pod pod = testing::MakePod("p").Build();
    pod.metadata.annotations = std::move(annotations);
    return classes.MakePodInfo(pod);
  };
  const auto plain = info_with({});
  const auto other = info_with({{"checksum/config", "1"}});
  const auto priced = info_with({{"berth.dev/max-price", "0.1"}, {"checksum/config", "2"}});
  EXPECT_EQ(plain->pod_class, other->pod_class);
  EXPECT_NE(plain->pod_class, priced->pod_class);
  EXPECT_NE(plain->pod_class->placement_id, priced->pod_class->placement_id);
  EXPECT_EQ(priced->pod_class->annotations, (api::StringMap{{"berth.dev/max-price", "0.1"}}));
}

TEST(PodClasses, APrefixStandsForAllAnnotationsThatBeginWithIt) {
  PodClasses classes({"berth.dev/max-price", "match.berth.dev/"});
  api::Pod pod = testing::MakePod("p").Build();
  pod.metadata.annotations = {{"match.berth.dev/disk", "ssd"},
                              {"match.berth.dev/arch", "arm64"},
                              {"match.berth.devil/arch", "x"},
                              {"berth.dev/max-price", "1"}};
  EXPECT_EQ(classes.MakePodInfo(pod)->pod_class->annotations,
            (api::StringMap{
                {"berth.dev/max-price", "1"}, {"match.berth.dev/arch", "arm64"}, {"match.berth.dev/disk", "ssd"}}));
}

TEST(PodClasses, PodsWithClaimsMadeFromTheirNamesAreAlone) {
  PodClasses classes;
  api::Pod one = Base();
  one.spec.volumes = {{"v", {.kind = api::VolumeKind::kEphemeral}}};
  api::Pod other = one;
  other.metadata.name = "web-2";
  api::Pod again = one;
  again.metadata.uid = "uid-2";
  const auto first = classes.MakePodInfo(one);
  EXPECT_EQ(first->pod_class, classes.MakePodInfo(one)->pod_class);
  EXPECT_NE(first->pod_class, classes.MakePodInfo(other)->pod_class);
  EXPECT_NE(first->pod_class, classes.MakePodInfo(again)->pod_class);
}

TEST(PodClasses, NeighbouringTextsDoNotRunTogether) {
  PodClasses classes;
  api::Pod a = Base();
  api::Pod b = Base();
  a.metadata.labels = {{"ab", "c"}};
  b.metadata.labels = {{"a", "bc"}};
  const auto first = classes.MakePodInfo(a);
  EXPECT_NE(first->pod_class, classes.MakePodInfo(b)->pod_class);
}

TEST(PodClasses, EachPodGetsItsOwnClassWhicheverCameBefore) {
  PodClasses classes;
  std::vector<api::Pod> pods(3, Base());
  pods[1].metadata.labels.Set("app", "api");
  pods[2].metadata.labels.Set("note", std::string(10'000, 'x'));
  std::vector<framework::PodInfoPtr> first;
  for (const api::Pod& pod : pods) first.push_back(classes.MakePodInfo(pod));
  EXPECT_EQ(classes.size(), 3u);
  for (const int i : {0, 2, 0, 0, 1, 2, 2, 1, 0}) {
    const auto again = classes.MakePodInfo(pods[static_cast<std::size_t>(i)]);
    EXPECT_EQ(again->pod_class, first[static_cast<std::size_t>(i)]->pod_class) << i;
  }
}

TEST(PodClasses, ClassesDieWithTheirPods) {
  PodClasses classes;
  auto pod = classes.MakePodInfo(Base());
  const std::uint64_t id = pod->pod_class->id;
  const std::weak_ptr<const framework::PodClass> watched = pod->pod_class;
  pod.reset();
  EXPECT_TRUE(watched.expired());
  // An id is never reused, because caches may still hold it.
  EXPECT_NE(classes.MakePodInfo(Base())->pod_class->id, id);
  // The entries of classes without pods are erased.
  for (int i = 0; i < 5000; ++i) {
    api::Pod other = Base();
    other.metadata.labels.Set("run", std::to_string(i));
    (void)classes.MakePodInfo(other);
  }
  EXPECT_LE(classes.size(), 1100u);
}

// Pods of a megabyte, each of another class, created and deleted: neither their keys nor their classes are kept.
TEST(PodClasses, LargePodsLeaveNothingBehind) {
  PodClasses classes;
  for (int i = 0; i < 50; ++i) {
    api::Pod pod = MakePod("p").Build();
    pod.spec.node_selector = api::StringMap({{"large", std::string(1'000'000, 'x') + std::to_string(i)}});
    const auto info = classes.MakePodInfo(pod);
    EXPECT_EQ(info->spec().node_selector, pod.spec.node_selector);
    EXPECT_NE(classes.MakePodInfo(pod)->pod_class->id, info->pod_class->id) << "not worth sharing";
    EXPECT_GE(info->pod_class->bytes, 1'000'000u);
  }
  EXPECT_EQ(classes.size(), 0u);
  // Keys of medium size are swept by their bytes: a thousand of them take 64 MB.
  for (int i = 0; i < 1000; ++i) {
    api::Pod pod = MakePod("p").Build();
    pod.spec.node_selector = api::StringMap({{"middling", std::string(30'000, 'x') + std::to_string(i)}});
    static_cast<void>(classes.MakePodInfo(pod));
  }
  EXPECT_LT(classes.size(), 300u);
}

TEST(PodClasses, WhatAPodKeepsForItself) {
  PodClasses classes;
  api::Pod pod = Base();
  pod.status.phase = api::PodPhase::kFailed;
  pod.status.conditions = {{"PodScheduled", "False", "Unschedulable", "no room"},
                           {"DisruptionTarget", "True", "PreemptionByScheduler", ""}};
  auto info = classes.MakePodInfo(pod);
  EXPECT_TRUE(info->is_terminal);
  EXPECT_TRUE(info->is_preempted);
  ASSERT_NE(info->scheduled_condition, nullptr);
  EXPECT_EQ(info->scheduled_condition->message, "no room");
  pod.spec.node_name = "n";
  pod.status.phase = api::PodPhase::kRunning;
  pod.status.conditions[1].reason = "EvictionByEvictionAPI";
  info = classes.MakePodInfo(pod);
  EXPECT_EQ(info->scheduled_condition, nullptr);
  EXPECT_FALSE(info->is_terminal);
  EXPECT_FALSE(info->is_preempted);
  EXPECT_EQ(info->node_name, "n");

  EXPECT_EQ(info->claim_status, nullptr);
  pod.status.resource_claim_statuses = {{"a", "web-1-a"}};
  const auto claimed = classes.MakePodInfo(pod);
  ASSERT_NE(claimed->claim_status, nullptr);
  EXPECT_EQ(claimed->claim_status->resource_claims, pod.status.resource_claim_statuses);
  EXPECT_EQ(claimed->pod_class, info->pod_class);
  pod.status.resource_claim_statuses.clear();
  pod.status.extended_resource_claim_status = {"x", {{"c", "a.b/c", "r"}}};
  EXPECT_EQ(classes.MakePodInfo(pod)->claim_status->extended_resource_claim, pod.status.extended_resource_claim_status);
}

}  // namespace
}  // namespace berth::cache
