// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_quotas.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_templates.h"

namespace berth::whatif {
namespace {

AdmissionObject Quota(const std::string& name, const std::string& spec, const std::string& hard,
                      const std::string& used) {
  const std::string text = R"({"metadata":{"name":")" + name + R"("},"spec":{)" + spec + R"(},"status":{"hard":{)" +
                           hard + R"(},"used":{)" + used + "}}}";
  return {"ResourceQuota", "shop", name, codec::json::parse(text).as_object()};
}

ClusterState StateOf(std::vector<AdmissionObject> quotas) {
  ClusterState state;
  state.admission = std::move(quotas);
  return state;
}

constexpr const char* kOneContainer =
    R"(containers: [{name: c, image: i, resources: {requests: {cpu: 500m, memory: 128Mi}}}])";

// The demand of a pod with this spec, in YAML's flow style.
QuotaDemand DemandOf(const std::string& spec) {
  const ClusterState state = StateOf({Quota("any", "", R"("pods":"1")", R"("pods":"0")")});
  const auto manifests =
      ReadManifests({{"m.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}\n"}}, "shop");
  BERTH_CHECK(manifests.ok(), manifests.error().message);
  const AdmissionRules rules(*manifests, state);
  const auto made = PodTemplate::Make(manifests->documents.front().object, "", rules);
  BERTH_CHECK(made.ok(), made.error().message);
  BERTH_CHECK(made->quota_demand() != nullptr);
  return *made->quota_demand();
}

std::string WhyNot(const std::vector<AdmissionObject>& quotas, const std::string& spec) {
  return PodQuotas(StateOf(quotas)).Admit("shop", DemandOf(spec)).value_or("");
}

TEST(PodQuotasTest, SayWhatIsExceededAsTheApiServerDoes) {
  struct Case {
    const char* name;
    const char* hard;
    const char* used;
    std::string spec;
    std::string want;
  };
  const std::string two =
      R"(initContainers: [{name: first, image: i, resources: {requests: {cpu: 2}}}],
         containers: [{name: a, image: i, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 2Gi}}},
                      {name: b, image: i, resources: {requests: {cpu: 250m, memory: 512Mi}, limits: {memory: 1Gi}}}])";
  const std::vector<Case> cases = {
      {"room", R"("requests.cpu":"1")", R"("requests.cpu":"500m")", kOneContainer, ""},
      {"no room", R"("requests.cpu":"900m")", R"("requests.cpu":"500m")", kOneContainer,
       "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=500m, limited: requests.cpu=900m"},
      {"cpu is requests.cpu", R"("cpu":"1","memory":"1Gi")", R"("cpu":"750m","memory":"1000Mi")", kOneContainer,
       "exceeded quota: q, requested: cpu=500m,memory=128Mi, used: cpu=750m,memory=1000Mi, limited: cpu=1,memory=1Gi"},
      {"only what is exceeded is named", R"("cpu":"1","memory":"1Gi")", R"("cpu":"750m","memory":"0")", kOneContainer,
       "exceeded quota: q, requested: cpu=500m, used: cpu=750m, limited: cpu=1"},
      {"pods", R"("pods":"3","count/pods":"9")", R"("pods":"3","count/pods":"4")", kOneContainer,
       "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3"},
      {"all pods that there are", R"("count/pods":"9")", R"("count/pods":"9")", kOneContainer,
       "exceeded quota: q, requested: count/pods=1, used: count/pods=9, limited: count/pods=9"},
      {"init containers count as for the scheduler", R"("requests.memory":"1Gi")", R"("requests.memory":"0")",
       R"(initContainers: [{name: first, image: i, resources: {requests: {memory: 2Gi}}}], )" +
           std::string(kOneContainer),
       "exceeded quota: q, requested: requests.memory=2Gi, used: requests.memory=0, limited: requests.memory=1Gi"},
      {"limits", R"("limits.memory":"2Gi")", R"("limits.memory":"0")",
       R"(containers: [{name: a, image: i, resources: {limits: {memory: 2Gi}}},
                       {name: b, image: i, resources: {limits: {memory: 1Gi}}}])",
       "exceeded quota: q, requested: limits.memory=3Gi, used: limits.memory=0, limited: limits.memory=2Gi"},
      {"each container names what is demanded", R"("limits.cpu":"9","requests.memory":"9Gi")",
       R"("limits.cpu":"0","requests.memory":"0")", two,
       "failed quota: q: must specify limits.cpu for: b,first; requests.memory for: first"},
      {"what nobody demands is not missed", R"("requests.ephemeral-storage":"1Gi","requests.x.y/z":"1")",
       R"("requests.ephemeral-storage":"0","requests.x.y/z":"0")", two, ""},
      {"extended resources", R"("requests.nvidia.com/gpu":"4")", R"("requests.nvidia.com/gpu":"3")",
       R"(containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}])",
       "exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=3, limited: "
       "requests.nvidia.com/gpu=4"},
      {"other objects do not matter", R"("services":"0","requests.storage":"0")", "", kOneContainer, ""},
      {"nobody has counted yet", R"("pods":"3","services":"1")", "", kOneContainer,
       "status unknown for quota: q, resources: pods"},
      {"amounts of the pod as a whole", R"("requests.cpu":"1")", R"("requests.cpu":"0")",
       R"(resources: {requests: {cpu: 2}}, containers: [{name: c, image: i}])",
       "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(WhyNot({Quota("q", "", each.hard, each.used)}, each.spec), each.want) << each.name;
}

TEST(PodQuotasTest, ScopesSayWhichPodsAreMeant) {
  const auto by_class = [](const std::string& rest) {
    return R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass",)" + rest + "}]}";
  };
  const std::string plain = kOneContainer;
  const std::string critical = plain + ", priorityClassName: system-node-critical";
  const std::string ends = plain + ", activeDeadlineSeconds: 60";
  const std::string any = "containers: [{name: c, image: i}]";
  struct Case {
    std::string spec;
    std::string pod;
    bool is_meant;
  };
  const std::vector<Case> cases = {
      {"", plain, true},
      {R"("scopes":["Terminating"])", plain, false},
      {R"("scopes":["Terminating"])", ends, true},
      {R"("scopes":["NotTerminating"])", ends, false},
      {R"("scopes":["NotTerminating"])", plain, true},
      {R"("scopes":["BestEffort"])", plain, false},
      {R"("scopes":["BestEffort"])", any, true},
      {R"("scopes":["NotBestEffort"])", any, false},
      {R"("scopes":["NotBestEffort","NotTerminating"])", plain, true},
      {R"("scopes":["NotBestEffort","Terminating"])", plain, false},
      {R"("scopes":["PriorityClass"])", plain, false},
      {R"("scopes":["PriorityClass"])", critical, true},
      {R"("scopes":["CrossNamespacePodAffinity"])", plain, false},
      {R"("scopes":["CrossNamespacePodAffinity"])",
       plain + ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, "
               "namespaces: "
               "[other], labelSelector: {matchLabels: {a: b}}}]}}",
       true},
      {R"("scopes":["OfTheFuture"])", plain, false},
      {by_class(R"("operator":"In","values":["system-node-critical","high"])"), critical, true},
      {by_class(R"("operator":"In","values":["high"])"), critical, false},
      {by_class(R"("operator":"In","values":["high"])"), plain, false},
      {by_class(R"("operator":"NotIn","values":["high"])"), critical, true},
      {by_class(R"("operator":"NotIn","values":["high"])"), plain, true},
      {by_class(R"("operator":"NotIn","values":["system-node-critical"])"), critical, false},
      {by_class(R"("operator":"Exists")"), critical, true},
      {by_class(R"("operator":"Exists")"), plain, false},
      {by_class(R"("operator":"DoesNotExist")"), critical, false},
      {by_class(R"("operator":"DoesNotExist")"), plain, true},
  };
  for (const Case& each : cases)
    EXPECT_EQ(!WhyNot({Quota("q", each.spec, R"("pods":"0")", R"("pods":"0")")}, each.pod).empty(), each.is_meant)
        << each.spec << ' ' << each.pod;
}

TEST(PodQuotasTest, CountPodAfterPodAndARefusedOneNowhere) {
  PodQuotas quotas(StateOf({Quota("b-cpu", "", R"("requests.cpu":"3")", R"("requests.cpu":"1")"),
                            Quota("a-pods", "", R"("pods":"9")", R"("pods":"0")")}));
  const QuotaDemand small = DemandOf(kOneContainer);
  const QuotaDemand large =
      DemandOf("containers: [{name: c, image: i, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]");
  EXPECT_FALSE(quotas.Admit("shop", small));
  EXPECT_FALSE(quotas.Admit("elsewhere", large));
  EXPECT_FALSE(quotas.Admit("shop", small));
  EXPECT_EQ(quotas.Admit("shop", large),
            "exceeded quota: b-cpu, requested: requests.cpu=1500m, used: requests.cpu=2, limited: requests.cpu=3");
  EXPECT_FALSE(quotas.Admit("shop", small));
  EXPECT_FALSE(quotas.Admit("shop", small));
  EXPECT_EQ(quotas.Admit("shop", small),
            "exceeded quota: b-cpu, requested: requests.cpu=500m, used: requests.cpu=3, limited: requests.cpu=3");
}

TEST(PodQuotasTest, RefusedPodsAreNotAdded) {
  const std::string text = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]
      volumes:
      - name: scratch
        ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: c, image: i}]}
)";
  const auto manifests = ReadManifests({{"m.yaml", text}}, "shop");
  ASSERT_TRUE(manifests.ok()) << manifests.error().message;
  const ClusterState state = StateOf({Quota("q", "", R"("requests.cpu":"1")", R"("requests.cpu":"0")")});
  AdditionOptions options;
  EXPECT_EQ(MakeAdditions(*manifests, state, options)->pods.size(), 6U);
  options.applies_quotas = true;
  const auto made = MakeAdditions(*manifests, state, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->pods.size(), 2U);
  EXPECT_EQ(made->objects.size(), 3U) << "the ReplicaSet, and a claim for each pod";
  ASSERT_EQ(made->refused.size(), 2U);
  EXPECT_EQ(made->refused[0].workload, (Workload{"Deployment", "shop", "web"}));
  EXPECT_EQ(made->refused[0].count, 3U);
  EXPECT_EQ(made->refused[0].why,
            "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=1, limited: requests.cpu=1");
  EXPECT_EQ(made->refused[1].first, "shop/plain");
  EXPECT_EQ(made->refused[1].why, "failed quota: q: must specify requests.cpu for: c");
  ASSERT_EQ(made->notes.size(), 1U);
  EXPECT_TRUE(made->notes[0].starts_with("LimitRanges are not read"));
  options.pods_max = 4;
  EXPECT_FALSE(MakeAdditions(*manifests, state, options).ok()) << "refused ones take time, too";
}

}  // namespace
}  // namespace berth::whatif
