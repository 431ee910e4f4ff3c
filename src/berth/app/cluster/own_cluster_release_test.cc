// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/own_cluster_release.h"

#include <gtest/gtest.h>

#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::app {
namespace {

bool HasGroups(const OwnClusterRelease& release) {
  const auto gates = OwnClusterGates(release);
  EXPECT_TRUE(gates.ok()) << gates.error().message;
  return gates->FollowedRelease().has_pod_groups;
}

TEST(OwnClusterRelease, HasPodGroupsWhereTheyAreAndNobodySwitchesThemOff) {
  EXPECT_FALSE(HasGroups({}));
  EXPECT_FALSE(HasGroups({36, {}}));
  EXPECT_TRUE(HasGroups({37, {}}));
  EXPECT_TRUE(HasGroups({37, {"StorageCapacityScoring=true"}}));
  EXPECT_TRUE(HasGroups({37, {"kube:StorageCapacityScoring=true"}}));
  EXPECT_TRUE(HasGroups({37, {"CompositePodGroup=false"}}));
  EXPECT_FALSE(HasGroups({37, {"GenericWorkload=false"}}));
  // What depends on a gate that is switched off stays off, and the others on.
  EXPECT_TRUE(HasGroups({37, {"TopologyAwareWorkloadScheduling=false"}}));
  const auto all = OwnClusterGates({37, {}});
  EXPECT_TRUE(all->FollowedRelease().has_composite_pod_groups);
  EXPECT_TRUE(all->FollowedRelease().places_pod_groups_by_topology);
  EXPECT_EQ(OwnClusterGates({}, 37)->release_minor(), 37);
  EXPECT_EQ(OwnClusterGates({36, {}}, 37)->release_minor(), 36);
}

TEST(OwnClusterRelease, RefusesGatesAsTheSchedulerDoes) {
  for (const int minor : {36, 37}) {
    const auto unknown = OwnClusterGates({minor, {"NoSuchGate=true"}});
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("NoSuchGate"), std::string::npos) << unknown.error().message;
  }
  EXPECT_FALSE(OwnClusterGates({36, {"GenericWorkload=true"}}).ok());
}

std::vector<std::string> Warnings(const OwnClusterRelease& release, std::string_view plural, std::string_view spec) {
  embedded_cluster::EmbeddedClusterOptions cluster;
  const auto gates = OwnClusterGates(release);
  FollowGates(*gates, cluster);
  EXPECT_EQ(cluster.release_minor, gates->release_minor());
  const bool is_composite = plural == "compositepodgroups";
  const auto* type = plural == "pods"
                         ? objects::FindResource("", "v1", plural)
                         : objects::FindResource("scheduling.k8s.io", is_composite ? "v1alpha3" : "v1beta1", plural);
  return cluster.creation_warnings(*type,
                                   R"({"metadata":{"name":"g","namespace":"shop"},"spec":)" + std::string(spec) + "}");
}

TEST(OwnClusterRelease, WarnsOfGroupsThatAreNotPlacedAsGroups) {
  constexpr const char* kPlain = R"({"schedulingPolicy":{"gang":{"minCount":5}}})";
  constexpr const char* kNear = R"({"schedulingConstraints":{"topology":[{"key":"zone"}]}})";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(
      Warnings({}, "podgroups", kPlain),
      Lines{"PodGroup shop/g: pods are scheduled one by one, as Kubernetes 1.36 does; with --kubernetes-version 1.37 "
            "and --feature-gates GenericWorkload=true as a group"});
  EXPECT_EQ(
      Warnings({37, {"GenericWorkload=false"}}, "podgroups", kPlain),
      Lines{"PodGroup shop/g: pods are scheduled one by one; with --feature-gates GenericWorkload=true as a group"});
  EXPECT_EQ(Warnings({37, {}}, "podgroups", kPlain), Lines{});
  EXPECT_EQ(Warnings({37, {}}, "podgroups", kNear), Lines{});
  EXPECT_EQ(
      Warnings({37, {"TopologyAwareWorkloadScheduling=false,CompositePodGroup=false"}}, "podgroups", kNear).size(), 1u);
  EXPECT_EQ(Warnings({37, {"CompositePodGroup=false"}}, "compositepodgroups", "{}").size(), 1u);
  EXPECT_EQ(Warnings({}, "pods", "{}"), Lines{});
}

}  // namespace
}  // namespace berth::app
