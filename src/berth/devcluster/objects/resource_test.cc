// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/resource.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

TEST(ResourceTypes, AreComplete) {
  std::set<std::string> names;
  for (const ResourceType& type : ResourceTypes()) {
    EXPECT_TRUE(names.insert(type.group + "/" + type.plural).second || type.kind == "HorizontalPodAutoscaler")
        << type.plural;
    EXPECT_EQ(FindResource(type.group, type.version, type.plural), &type);
    EXPECT_FALSE(type.columns.empty()) << type.plural;
    EXPECT_TRUE(type.set_defaults && type.prepare_create && type.prepare_update && type.validate && type.row &&
                type.field)
        << type.plural;
  }
  for (const char* want : {"/pods",
                           "/nodes",
                           "/namespaces",
                           "/events",
                           "/services",
                           "/configmaps",
                           "/secrets",
                           "/serviceaccounts",
                           "/replicationcontrollers",
                           "/persistentvolumes",
                           "/persistentvolumeclaims",
                           "apps/deployments",
                           "apps/replicasets",
                           "apps/statefulsets",
                           "apps/daemonsets",
                           "events.k8s.io/events",
                           "coordination.k8s.io/leases",
                           "node.k8s.io/runtimeclasses",
                           "policy/poddisruptionbudgets",
                           "storage.k8s.io/storageclasses",
                           "storage.k8s.io/csinodes",
                           "storage.k8s.io/csidrivers",
                           "storage.k8s.io/csistoragecapacities",
                           "storage.k8s.io/volumeattachments",
                           "scheduling.k8s.io/priorityclasses",
                           "resource.k8s.io/resourceslices",
                           "resource.k8s.io/deviceclasses",
                           "resource.k8s.io/resourceclaims",
                           "resource.k8s.io/resourceclaimtemplates"}) {
    EXPECT_TRUE(names.contains(want)) << want;
  }
  EXPECT_EQ(FindResource("", "v1", "nonsense"), nullptr);
}

// Whatever a body holds, as long as its types fit: nothing crashes.
TEST(ResourceTypes, TakeEmptyObjects) {
  for (const ResourceType& type : ResourceTypes()) {
    json::object object;
    EXPECT_EQ(type.row(object, 0).size(), type.columns.size()) << type.plural;
    (void)type.validate(object, nullptr);
    type.set_defaults(object);
    type.prepare_create(object);
    (void)type.validate(object, nullptr);
    json::object changed = object;
    type.prepare_update(changed, object);
    (void)type.validate(changed, &object);
    (void)type.validate(changed, &changed);
    EXPECT_EQ(type.row(changed, 0).size(), type.columns.size()) << type.plural;
  }
}

TEST(ResourceTypes, SelectableFields) {
  const json::object pod = json::parse(R"({"spec":{"nodeName":"n"},"status":{"phase":"Running"}})").as_object();
  const ResourceType& pods = *FindResource("", "v1", "pods");
  EXPECT_EQ(*pods.field(pod, "spec.nodeName"), "n");
  EXPECT_EQ(*pods.field(pod, "status.phase"), "Running");
  EXPECT_EQ(pods.field(pod, "spec.schedulerName"), nullptr);
  EXPECT_EQ(*pods.field(pod, "spec.hostNetwork"), false);
  EXPECT_EQ(*FindResource("", "v1", "nodes")->field({}, "spec.unschedulable"), false);
  const json::object event = json::parse(R"({"involvedObject":{"name":"x"},"reportingComponent":"r"})").as_object();
  const ResourceType& events = *FindResource("", "v1", "events");
  EXPECT_EQ(*events.field(event, "involvedObject.name"), "x");
  EXPECT_EQ(*events.field(event, "source"), "r");
}

}  // namespace
}  // namespace berth::objects
