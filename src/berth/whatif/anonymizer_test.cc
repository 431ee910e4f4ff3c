// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/anonymizer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/field_list.h"
#include "berth/api/meta.h"
#include "berth/plugins/spot_first/spot_labels.h"
#include "berth/whatif/state_builder.h"

namespace berth::whatif {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Anonymizer& Anon() {
  static const Anonymizer anonymizer({7, 9});
  return anonymizer;
}

std::string Rewritten(std::string_view kind, std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element object;
  EXPECT_EQ(parser.parse(text).get(object), simdjson::SUCCESS) << text;
  api::PruneOptions options;
  options.annotations = {"*"};
  options.rewrite_of = [kind](std::string_view path) { return Anon().RewriteOf(kind, path); };
  std::string out;
  api::JsonPruner(kind, options).Append(object, out);
  return out;
}

TEST(AnonymizerTest, NoTwoWordsBecomeOne) {
  // All words of one and of two characters, and some long ones that differ in one place.
  const std::string characters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::vector<std::string> words;
  for (const char a : characters) {
    words.emplace_back(1, a);
    for (const char b : characters) {
      words.push_back({a, b});
      words.push_back(std::string("abcdefghij") + a + "klmnop" + b);
      words.push_back(std::string("2026") + a + b);
    }
  }
  const std::set<std::string> before(words.begin(), words.end());
  std::set<std::string> after;
  std::size_t unchanged = 0;
  for (const std::string& word : before) {
    const std::string other = Anon().Text(word);
    EXPECT_EQ(other.size(), word.size()) << word;
    EXPECT_TRUE(after.insert(other).second) << word << " and another become " << other;
    if (other == word) ++unchanged;
    const auto has = [](const std::string& text, char first, char last) {
      return std::ranges::any_of(text, [=](char c) { return c >= first && c <= last; });
    };
    EXPECT_EQ(has(other, 'A', 'Z'), has(word, 'A', 'Z')) << word;
    EXPECT_EQ(has(other, 'A', 'Z') || has(other, 'a', 'z'), has(word, 'A', 'Z') || has(word, 'a', 'z')) << word;
  }
  EXPECT_LT(unchanged, before.size() / 100);
}

TEST(AnonymizerTest, TheKeyDecides) {
  EXPECT_EQ(Anonymizer({7, 9}).Text("checkout"), Anon().Text("checkout"));
  EXPECT_NE(Anonymizer({8, 9}).Text("checkout"), Anon().Text("checkout"));
  EXPECT_NE(Anonymizer({7, 8}).Text("checkout"), Anon().Text("checkout"));
}

TEST(AnonymizerTest, WhatIsMadeOfNamesStillIs) {
  const std::string pod = Anon().Text("checkout-7d9f"), volume = Anon().Text("data");
  EXPECT_EQ(Anon().Text("checkout-7d9f-data"), pod + "-" + volume);
  EXPECT_EQ(Anon().Text("eu-west__us-east"), Anon().Text("eu-west") + "__" + Anon().Text("us-east"));
  EXPECT_EQ(Anon().Text("req/sub"), Anon().Text("req") + "/" + Anon().Text("sub"));
  EXPECT_THAT(Anon().Text("shop/web"), Not(HasSubstr("web")));
  EXPECT_THAT(Anon().Text("web:latest"), HasSubstr(":latest"));
  EXPECT_TRUE(Anon().Text("aws://eu-1a/vol-07").starts_with("aws://"));
  EXPECT_THAT(Anon().Text("aws://eu-1a/vol-07"), HasSubstr("/vol-"));
  EXPECT_EQ(Anon().Text(""), "");
  EXPECT_EQ(Anon().Text("kube-system"), "kube-system");
  const std::string other_letters = Anon().Text(
      "Gr\xc3\xbc\xc3\x9f"
      "e");
  EXPECT_TRUE(std::ranges::all_of(other_letters, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(AnonymizerTest, NamesStayNames) {
  for (const char* text : {"a", "web-0", "a.b-c.example", "x", "0a", "a0123456789012345678901234567890123456789-b"}) {
    EXPECT_TRUE(api::IsDnsSubdomain(Anon().Text(text))) << text;
    EXPECT_TRUE(api::IsLabelValue(Anon().Text(text))) << text;
  }
  EXPECT_TRUE(api::IsQualifiedName(Anon().Key("example.com/Team_x")));
}

TEST(AnonymizerTest, Keys) {
  for (const char* key :
       {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "node-role.kubernetes.io/x",
        "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType", "berth.dev/price", "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone", "topology.cinder.csi.openstack.org/zone"}) {
    EXPECT_EQ(Anon().Key(key), key);
  }
  for (const char* key : {"team", "example.com/team", "notkubernetes.io/x", "kubernetes.io", "k8s.io.example.com/x"}) {
    EXPECT_NE(Anon().Key(key), key);
  }
  EXPECT_EQ(Anon().Resource("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_EQ(Anon().Resource("requests.nvidia.com/gpu"), "requests.nvidia.com/gpu");
  EXPECT_EQ(Anon().Resource("gold.storageclass.storage.k8s.io/requests.storage"),
            Anon().Text("gold") + ".storageclass.storage.k8s.io/requests.storage");
  EXPECT_EQ(Anon().Resource("deviceclass.resource.kubernetes.io/big-gpu"),
            "deviceclass.resource.kubernetes.io/" + Anon().Text("big-gpu"));
}

TEST(AnonymizerTest, SpotNodesStaySpotNodes) {
  const std::pair<const char*, const char*> labels[] = {
      {"eks.amazonaws.com/capacityType", "SPOT"},
      {"aws.amazon.com/spot", "true"},
      {"cloud.google.com/gke-provisioning", "preemptible"},
      {"kubernetes.azure.com/scalesetpriority", "spot"},
      {"oci.oraclecloud.com/oke-is-preemptible", "true"},
      {"node.alibabacloud.com/spot-strategy", "SpotAsPriceGo"},
      {"node.alibabacloud.com/spot-strategy", "SpotWithPriceLimit"},
      {"karpenter.sh/capacity-type", "spot"},
      {"spotinst.io/node-lifecycle", "spot"},
      {"scheduling.cast.ai/spot", "true"},
      {"kops.k8s.io/lifecycle", "Spot"},
      {"lifecycle", "Ec2Spot"},
      {"node-role.kubernetes.io/spot-worker", "x"},
      {"cluster.x-k8s.io/interruptible", "x"},
      {"machine.openshift.io/interruptible-instance", "x"},
  };
  for (const auto& [key, value] : labels) {
    api::Node node;
    node.metadata.labels.Set(key, value);
    EXPECT_TRUE(plugins::SpotLabels().IsSpot(node)) << key << ": the label is no longer known";
    node.metadata.labels = {{Anon().Key(key), Anon().NodeLabelValue(value)}};
    EXPECT_TRUE(plugins::SpotLabels().IsSpot(node)) << key;
  }
}

TEST(AnonymizerTest, WhatWasLeftOutNamesNobody) {
  EXPECT_EQ(Anon().LeftOut("csinodes: forbidden: csinodes is forbidden: User \"jane\" cannot list"),
            "csinodes: forbidden");
  EXPECT_EQ(Anon().LeftOut("resourceslices: not served: x"), "resourceslices: not served");
  EXPECT_EQ(Anon().LeftOut("pods: Pod shop/web: spec.x: \"1x\" is no quantity"),
            "pods: an object that could not be read");
  EXPECT_EQ(Anon().LeftOut("pods: 7 more that could not be read"), "pods: 7 more that could not be read");
}

TEST(AnonymizerTest, Objects) {
  const auto t = [](std::string_view text) { return Anon().Text(text); };
  EXPECT_EQ(Rewritten("Node",
                      R"({"metadata":{"name":"box-1","resourceVersion":"77","labels":{"kubernetes.io/hostname":"box-1",
        "rack":"17","team":"red"},"annotations":{"berth.dev/price":"0.25","note":"hello"}},
        "spec":{"taints":[{"key":"team","value":"red","effect":"NoSchedule"}]},
        "status":{"allocatable":{"cpu":"4"},"conditions":[{"type":"Ready","status":"True"}],
          "images":[{"names":["reg.example/shop/web:v1"],"sizeBytes":5}]}})"),
            R"({"metadata":{"name":")" + t("box-1") +
                R"(","resourceVersion":"77","labels":{"kubernetes.io/hostname":")" + t("box-1") + R"(",")" + t("rack") +
                R"(":"17",")" + t("team") + R"(":")" + t("red") + R"("},"annotations":{"berth.dev/price":"0.25",")" +
                t("note") + R"(":")" + t("hello") + R"("}},"spec":{"taints":[{"key":")" + t("team") + R"(","value":")" +
                t("red") +
                R"(","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"4"},"conditions":[{"type":"Ready",)"
                R"("status":"True"}],"images":[{"names":[")" +
                t("reg.example/shop/web:v1") + R"("],"sizeBytes":5}]}})");
  EXPECT_EQ(Rewritten("CSIDriver", R"({"metadata":{"name":"ebs.csi.aws.com"}})"),
            R"({"metadata":{"name":"ebs.csi.aws.com"}})");
  EXPECT_EQ(Rewritten("PersistentVolumeClaim",
                      R"({"metadata":{"name":"c","annotations":{"volume.kubernetes.io/selected-node":"box-1"}}})"),
            R"({"metadata":{"name":")" + t("c") + R"(","annotations":{"volume.kubernetes.io/selected-node":")" +
                t("box-1") + R"("}}})");
  EXPECT_EQ(
      Rewritten("Pod", R"({"metadata":{"annotations":{"berth.dev/pod-group":"train","berth.dev/min-count":"4"}}})"),
      R"({"metadata":{"annotations":{"berth.dev/pod-group":")" + t("train") + R"(","berth.dev/min-count":"4"}}})");
  EXPECT_EQ(Rewritten("PodDisruptionBudget", R"({"status":{"disruptedPods":{"web-0":"2026-01-01T00:00:00Z"}}})"),
            R"({"status":{"disruptedPods":{")" + t("web-0") + R"(":"2026-01-01T00:00:00Z"}}})");
  EXPECT_EQ(Rewritten("PodGroup", R"({"metadata":{"name":"training"},"spec":{"workloadRef":{"workloadName":"secret"},
        "schedulingPolicy":{"gang":{"minCount":3}},"schedulingConstraints":{"topology":[{"key":"rack"}]},
        "disruptionMode":{"all":{}}},"status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False",
        "reason":"Unschedulable","message":"pod a"}]}})"),
            R"({"metadata":{"name":")" + t("training") + R"("},"spec":{"workloadRef":{"workloadName":")" + t("secret") +
                R"("},"schedulingPolicy":{"gang":{"minCount":3}},"schedulingConstraints":{"topology":[{"key":")" +
                t("rack") +
                R"("}]},"disruptionMode":{"all":{}}},"status":{"conditions":[{"type":"PodGroupInitiallyScheduled",)"
                R"("status":"False","reason":"Unschedulable","message":""}]}})");
  EXPECT_EQ(Rewritten("DeviceClass", R"({"spec":{"config":[{"opaque":{"driver":"d","parameters":{"secret":1}}}]}})"),
            R"({"spec":{"config":[{"opaque":{}}]}})");
}

TEST(AnonymizerTest, ConditionsAndOwnersOfOthersAreChanged) {
  const auto t = [](std::string_view text) { return Anon().Text(text); };
  // What no controller of Kubernetes writes names its writer, and often an object.
  const std::string health = "target-health.elbv2.k8s.aws/k8s-shop-checkout-0a1b2c";
  EXPECT_THAT(t(health), Not(::testing::AnyOf(HasSubstr("shop"), HasSubstr("checkout"), HasSubstr("elbv2"))));
  EXPECT_EQ(
      Rewritten("Pod", R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"},
        {"type":")" + health +
                           R"(","status":"False","reason":"AcmeTargetDraining"},
        {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"},
        {"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}})"),
      R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"},{"type":")" +
          t(health) + R"(","status":"False","reason":")" + t("AcmeTargetDraining") +
          R"("},{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"},)"
          R"({"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}})");
  EXPECT_EQ(Rewritten("Node", R"({"status":{"conditions":[{"type":"DiskPressure","status":"False"},
        {"type":"AcmeRaidDegraded","status":"False"}]}})"),
            R"({"status":{"conditions":[{"type":"DiskPressure","status":"False"},{"type":")" + t("AcmeRaidDegraded") +
                R"(","status":"False"}]}})");
  EXPECT_EQ(Rewritten("PodGroup", R"({"status":{"conditions":[{"type":"AcmeQuota","reason":"AcmeWaits"}]}})"),
            R"({"status":{"conditions":[{"type":")" + t("AcmeQuota") + R"(","reason":")" + t("AcmeWaits") + R"("}]}})");

  const auto owner = [](std::string_view version, std::string_view kind) {
    return R"({"metadata":{"ownerReferences":[{"apiVersion":")" + std::string(version) + R"(","kind":")" +
           std::string(kind) + R"("}]}})";
  };
  for (const auto& [version, kind] : {std::pair("v1", "Node"),
                                      {"apps/v1", "DaemonSet"},
                                      {"batch/v1", "Job"},
                                      {"scheduling.k8s.io/v1alpha1", "Workload"}}) {
    EXPECT_EQ(Rewritten("Pod", owner(version, kind)), owner(version, kind));
  }
  // The kind alone makes it a pod that stays on its node.
  EXPECT_EQ(Rewritten("Pod", owner("apps.acme.example/v1", "DaemonSet")),
            owner(t("apps.acme.example/v1"), "DaemonSet"));
  EXPECT_EQ(Rewritten("Pod", owner("acme.example/v1", "AcmeTradingEngine")),
            owner(t("acme.example/v1"), t("AcmeTradingEngine")));
  EXPECT_EQ(Rewritten("Pod", owner("k8s.io.acme.example/v1", "AcmeRun")),
            owner(t("k8s.io.acme.example/v1"), t("AcmeRun")));
}

TEST(AnonymizerTest, AnnotationsStayWhereSchedulingReadsThem) {
  const auto value = [](std::string_view key, std::string_view text) {
    const std::string pod = R"({"metadata":{"annotations":{")";
    const std::string out = Rewritten("Pod", pod + std::string(key) + R"(":")" + std::string(text) + R"("}}})");
    const std::size_t begin = out.find("\":\"", pod.size()) + 3;
    return out.substr(begin, out.size() - begin - 4);
  };
  for (const auto& [key, text] :
       {std::pair("berth.dev/price", "0.25"),
        {"berth.dev/spot", "required"},
        {"berth.dev/cpu-usage", "1500m"},
        {"berth.dev/reclaim-at", "2026-01-01T00:00:00Z"},
        {"berth.dev/consolidating", "after 2026-01-01T00:00:00Z"},
        {"hightower.com/cost", "2"},
        {"kubernetes.io/config.source", "api"},
        {"pv.kubernetes.io/bind-completed", "yes"},
        {"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"}}) {
    EXPECT_EQ(value(key, text), text) << key;
  }
  EXPECT_EQ(value("berth.dev/pod-group", "train"), Anon().Text("train"));
  EXPECT_EQ(value("kubectl.kubernetes.io/last-applied-configuration", "hunter2"), Anon().Text("hunter2"));
}

// Whatever stands in a value, nothing of it is left, whichever annotation, label, status or reason it is.
TEST(AnonymizerTest, NoMarkerSurvives) {
  constexpr std::string_view kMarker = "Tr0ubadour";
  // What kube-apiserver takes as a number or a quantity alone.
  constexpr std::string_view kNumbers[] = {"restartCount",
                                           "exitCode",
                                           "observedGeneration",
                                           "sizeBytes",
                                           "disruptionsAllowed",
                                           "resourceVersion",
                                           "allocatedResources",
                                           "allocatable",
                                           "capacity",
                                           "consumedCapacity",
                                           "requests",
                                           "disruptedPods",
                                           "tolerationSeconds",
                                           "currentHealthy",
                                           "desiredHealthy",
                                           "hard",
                                           "used"};
  // Words of drivers, which no cluster has to itself (docs/snapshot.md), and those that the API server takes no others
  // of.
  constexpr std::string_view kOfDrivers[] = {"driver", "source",   "adminAccess", "key",
                                             "values", "operator", "effect",      "resourceName"};
  std::size_t tried = 0;
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    const std::string_view name = KindInfo(kind).name;
    api::PruneOptions options;
    options.rewrite_of = [&](std::string_view path) -> api::PruneOptions::Rewrite {
      const std::string_view last = path.substr(path.rfind('.') + 1);
      const bool is_asked = path.starts_with("status.") || path.starts_with("metadata.labels") ||
                            path.starts_with("metadata.annotations") || last == "reason";
      if (!is_asked || std::ranges::count(kNumbers, last) > 0 || std::ranges::count(kOfDrivers, last) > 0) return {};
      ++tried;
      const api::PruneOptions::Rewrite rewrite = Anon().RewriteOf(name, path);
      EXPECT_TRUE(rewrite) << name << "." << path << " is kept";
      if (!rewrite) return {};
      for (const std::string& text :
           {"\"" + std::string(kMarker) + "\"", "{\"berth.dev/price\":\"" + std::string(kMarker) + "\"}",
            "{\"kubectl.kubernetes.io/x\":\"image " + std::string(kMarker) + "\",\"app\":\"" + std::string(kMarker) +
                "\"}"}) {
        simdjson::dom::parser parser;
        simdjson::dom::element value;
        EXPECT_EQ(parser.parse(text).get(value), simdjson::SUCCESS);
        const bool is_map = path.starts_with("metadata.labels") || path.starts_with("metadata.annotations");
        if (is_map != value.is_object()) continue;
        std::string out;
        rewrite(value, out);
        EXPECT_THAT(out, Not(HasSubstr(std::string(kMarker)))) << name << "." << path;
      }
      return {};
    };
    const api::JsonPruner pruner(name, options);
  }
  EXPECT_GT(tried, 30u);
}

TEST(AnonymizerTest, OfEachFieldItIsSaidWhatBecomesOfIt) {
  std::set<std::string> missing;
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    const std::string_view name = KindInfo(kind).name;
    std::size_t fields = 0;
    api::PruneOptions options;
    options.rewrite_of = [&](std::string_view path) -> api::PruneOptions::Rewrite {
      ++fields;
      if (!Anonymizer::IsDescribed(name, path)) missing.insert(std::string(name).append(": ").append(path));
      return {};
    };
    const api::JsonPruner pruner(name, options);
    EXPECT_GT(fields, 0u) << name << ": prune_json.cc does not know it, and would keep all of it";
  }
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "kRules of anonymizer.cc should say it";
}

}  // namespace
}  // namespace berth::whatif
