// SPDX-License-Identifier: Apache-2.0
#include "berth/api/prune_json.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/decode.h"
#include "berth/api/field_list.h"
#include "berth/testing/source_path.h"

namespace berth::api {
namespace {

using simdjson::dom::element;

std::string Pruned(std::string_view kind, std::string_view text, const PruneOptions& options = {}) {
  simdjson::dom::parser parser;
  element object;
  EXPECT_EQ(parser.parse(text).get(object), simdjson::SUCCESS);
  std::string out;
  JsonPruner(kind, options).Append(object, out);
  return out;
}

TEST(PruneJsonTest, KeepsWhatDecodingReads) {
  struct Case {
    const char* name;
    const char* kind;
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"a pod", "Pod",
       R"({"kind":"Pod","metadata":{"name":"p","managedFields":[{"manager":"m"}],"labels":{"a":"b\n"},
           "ownerReferences":[{"name":"o","controller":true,"blockOwnerDeletion":true}]},
           "spec":{"containers":[{"name":"c","env":[{"name":"SECRET","value":"x"}],"args":["-x"],
             "resources":{"requests":{"cpu":1},"limits":{"cpu":2}}}],
             "volumes":[{"name":"v","secret":{"secretName":"s"}},{"name":"w","persistentVolumeClaim":{"claimName":"k"}}],
             "serviceAccountName":"sa"}})",
       R"({"metadata":{"name":"p","labels":{"a":"b\n"},"ownerReferences":[{"name":"o","controller":true}]},)"
       R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":1}}}],)"
       R"("volumes":[{"name":"v"},{"name":"w","persistentVolumeClaim":{"claimName":"k"}}]}})"},
      {"annotations are gone", "Node", R"({"metadata":{"name":"n","annotations":{"a":"b"}}})",
       R"({"metadata":{"name":"n","annotations":{}}})"},
      {"presence is kept", "Pod",
       R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"x":1}}},"priority":null}})",
       R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}},"priority":null}})"},
      {"values of another type", "Pod", R"({"metadata":[1],"spec":{"containers":{"a":1},"nodeName":7}})",
       R"({"metadata":[1],"spec":{"containers":{"a":1},"nodeName":7}})"},
      {"no object", "Pod", R"("text")", R"("text")"},
      {"metadata that two entries read", "ResourceClaim",
       R"({"metadata":{"name":"c","finalizers":["f"],"ownerReferences":[{"uid":"u","x":1}],"selfLink":"s"}})",
       R"({"metadata":{"name":"c","finalizers":["f"],"ownerReferences":[{"uid":"u"}]}})"},
      {"maps of messages, and what is passed on", "ResourceSlice",
       R"({"spec":{"devices":[{"attributes":{"a\"b":{"int":1,"x":2}},"basic":{}}]}})",
       R"({"spec":{"devices":[{"attributes":{"a\"b":{"int":1}}}]}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(Pruned(c.kind, c.text), c.want) << c.name;
}

TEST(PruneJsonTest, AnnotationsThatAreNamedStay) {
  const PruneOptions options{{"berth.dev/*", "a"}, {}};
  EXPECT_EQ(
      Pruned("Pod", R"({"metadata":{"annotations":{"berth.dev/x":"1","a":"2","ab":"3","berth.de":"4"}}})", options),
      R"({"metadata":{"annotations":{"berth.dev/x":"1","a":"2"}}})");
}

TEST(PruneJsonTest, ARewriteGetsTheLeavesByTheirPath) {
  std::set<std::string> asked;
  PruneOptions options;
  options.annotations = {"a"};
  options.rewrite_of = [&](std::string_view path) -> PruneOptions::Rewrite {
    asked.insert(std::string(path));
    if (path == "spec.priority") return {};
    return [path = std::string(path)](const element& value, std::string& out) {
      AppendJsonText(path + "=" + std::string(simdjson::minify(value)), out);
    };
  };
  EXPECT_EQ(Pruned("Pod", R"({"metadata":{"labels":{"a":"b"},"annotations":{"a":"b","c":"d"}},"spec":{"nodeName":null,
      "priority":7,"schedulingGates":[{"name":"g"}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}})",
                   options),
            R"({"metadata":{"labels":"metadata.labels={\"a\":\"b\"}",)"
            R"("annotations":"metadata.annotations={\"a\":\"b\"}"},"spec":{"nodeName":null,"priority":7,)"
            R"("schedulingGates":[{"name":"spec.schedulingGates.name=\"g\""}],)"
            R"("containers":[{"resources":{"requests":"spec.containers.resources.requests={\"cpu\":\"1\"}"}}]}})");
  // Every field that decoding reads is a leaf or has leaves.
  for (const ListedField& field : ListFields("Pod")) {
    const bool is_covered = asked.contains(field.path) || asked.lower_bound(field.path + ".") != asked.end();
    EXPECT_TRUE(is_covered) << field.path;
  }
}

// --- Pruned objects decode to the same value -------------------------------------------------------------------------

template <typename T>
using Decode = Expected<std::shared_ptr<const T>> (*)(element);

template <typename T, Decode<T> kDecode>
void ExpectSame(std::string_view kind, element object, const std::string& where) {
  static const JsonPruner pruner(kind, {{"*"}, {}});  // one for each T
  std::string text;
  pruner.Append(object, text);
  const auto before = kDecode(object);
  simdjson::dom::parser parser;
  element pruned;
  ASSERT_EQ(parser.parse(text).get(pruned), simdjson::SUCCESS) << text;
  const auto after = kDecode(pruned);
  ASSERT_TRUE(before.ok() && after.ok()) << where << ": " << text;
  EXPECT_EQ(**before, **after) << where << ": " << text;
  std::string again;
  pruner.Append(pruned, again);
  EXPECT_EQ(again, text) << where;
}

struct Golden {
  std::string_view kind;
  void (*expect_same)(std::string_view kind, element object, const std::string& where);
};
const std::map<std::string_view, Golden> kGolden = {
    {"pods", {"Pod", ExpectSame<Pod, DecodePod>}},
    {"nodes", {"Node", ExpectSame<Node, DecodeNode>}},
    {"persistentVolumes", {"PersistentVolume", ExpectSame<PersistentVolume, DecodePersistentVolume>}},
    {"persistentVolumeClaims",
     {"PersistentVolumeClaim", ExpectSame<PersistentVolumeClaim, DecodePersistentVolumeClaim>}},
    {"storageClasses", {"StorageClass", ExpectSame<StorageClass, DecodeStorageClass>}},
    {"csiNodes", {"CSINode", ExpectSame<CsiNode, DecodeCsiNode>}},
    {"csiDrivers", {"CSIDriver", ExpectSame<CsiDriver, DecodeCsiDriver>}},
    {"csiStorageCapacities", {"CSIStorageCapacity", ExpectSame<CsiStorageCapacity, DecodeCsiStorageCapacity>}},
    {"volumeAttachments", {"VolumeAttachment", ExpectSame<VolumeAttachment, DecodeVolumeAttachment>}},
    {"podDisruptionBudgets", {"PodDisruptionBudget", ExpectSame<PodDisruptionBudget, DecodePodDisruptionBudget>}},
    {"namespaces", {"Namespace", ExpectSame<Namespace, DecodeNamespace>}},
    {"services", {"Service", ExpectSame<Service, DecodeService>}},
    {"replicationControllers",
     {"ReplicationController", ExpectSame<ReplicationController, DecodeReplicationController>}},
    {"replicaSets", {"ReplicaSet", ExpectSame<ReplicaSet, DecodeReplicaSet>}},
    {"statefulSets", {"StatefulSet", ExpectSame<StatefulSet, DecodeStatefulSet>}},
    {"resourceSlices", {"ResourceSlice", ExpectSame<ResourceSlice, DecodeResourceSlice>}},
    {"deviceClasses", {"DeviceClass", ExpectSame<DeviceClass, DecodeDeviceClass>}},
    {"podGroups", {"PodGroup", ExpectSame<PodGroup, DecodePodGroup>}},
    {"compositePodGroups", {"CompositePodGroup", ExpectSame<CompositePodGroup, DecodeCompositePodGroup>}},
    {"resourceClaims", {"ResourceClaim", ExpectSame<ResourceClaim, DecodeResourceClaim>}},
};

TEST(PruneJsonTest, GoldenObjectsDecodeToTheSame) {
  std::map<std::string_view, int> seen;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(berth::testing::SourcePath("tests/golden"))) {
    if (entry.path().extension() != ".json") continue;
    simdjson::dom::parser parser;
    element document;
    ASSERT_EQ(parser.load(entry.path().string()).get(document), simdjson::SUCCESS) << entry.path();
    const auto expect_list = [&](std::string_view key, element list) {
      const auto at = kGolden.find(key);
      ASSERT_NE(at, kGolden.end()) << entry.path() << " has objects of a kind that this test does not know: " << key;
      simdjson::dom::array array;
      ASSERT_EQ(list.get(array), simdjson::SUCCESS);
      for (const element object : array) {
        at->second.expect_same(at->second.kind, object, entry.path().string());
        ++seen[at->first];  // the map's own string, because that of a document is freed with its parser
      }
    };
    element pending;
    if (document["pending"].get(pending) == simdjson::SUCCESS) expect_list("pods", pending);
    simdjson::dom::object objects;
    if (document["objects"].get(objects) != simdjson::SUCCESS) continue;
    for (const auto member : objects) {
      if (!member.value.is_null()) expect_list(member.key, member.value);
    }
  }
  EXPECT_EQ(seen.size(), kGolden.size()) << "some kind has no golden object";
}

}  // namespace
}  // namespace berth::api
