// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/pod_company.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/buy/node_catalogue.h"

namespace berth::buy {
namespace {

constexpr const char* kHostname = "kubernetes.io/hostname";

struct Asked {
  std::string app;
  api::PodSpec spec;
  std::size_t count = 10;
};

api::LabelSelector Selects(const std::string& app) {
  api::LabelSelector selector;
  api::Requirement& requirement = selector.requirements.emplace_back();
  requirement.key = "app";
  requirement.values.push_back(app);
  return selector;
}

api::PodSpec Spread(const std::string& key, const std::string& over) {
  api::PodSpec spec;
  api::TopologySpreadConstraint& constraint = spec.topology_spread_constraints.emplace_back();
  constraint.max_skew = 1;
  constraint.topology_key = key;
  constraint.selector = Selects(over);
  return spec;
}

api::PodSpec Apart(const std::string& from, const std::string& key = kHostname) {
  api::PodSpec spec;
  api::PodAffinityTerm& term = spec.pod_anti_affinity.required.emplace_back();
  term.topology_key = key;
  term.selector = Selects(from);
  return spec;
}

PodCompany CompanyOf(const std::vector<Asked>& groups) {
  std::vector<framework::PodInfoPtr> models;
  std::vector<std::size_t> sizes;
  for (const Asked& group : groups) {
    auto pod_class = std::make_shared<framework::PodClass>();
    pod_class->namespace_name = "default";
    pod_class->labels.Set("app", group.app);
    pod_class->spec = group.spec;
    auto info = std::make_shared<framework::PodInfo>();
    info->pod_class = std::move(pod_class);
    models.push_back(std::move(info));
    sizes.push_back(group.count);
  }
  return {models, sizes};
}

TEST(PodCompany, PodsWithoutRulesAreAlone) {
  const PodCompany company =
      CompanyOf({{"web", {}}, {"db", Spread(std::string(kZoneLabel), "db")}, {"cache", Apart("web")}});
  EXPECT_FALSE(company.IsAlone(0)) << "the cache bears it not";
  EXPECT_FALSE(company.IsAlone(1));
  EXPECT_FALSE(company.IsAlone(2));
  EXPECT_TRUE(CompanyOf({{"web", {}}, {"db", Spread(std::string(kZoneLabel), "db")}}).IsAlone(0));
}

TEST(PodCompany, VolumesAndClaimsAreCompany) {
  api::PodSpec with_volume;
  with_volume.volumes.emplace_back().source.kind = api::VolumeKind::kPersistentVolumeClaim;
  api::PodSpec with_claim;
  with_claim.resource_claims.emplace_back();
  const PodCompany company = CompanyOf({{"a", with_volume}, {"b", with_claim}});
  EXPECT_FALSE(company.IsAlone(0));
  EXPECT_FALSE(company.IsAlone(1));
}

TEST(PodCompany, EqualConstraintsAreOneRule) {
  const PodCompany company = CompanyOf(
      {{"a", Spread(kHostname, "b")}, {"b", Spread(kHostname, "b")}, {"b", Spread(std::string(kZoneLabel), "b")}});
  ASSERT_EQ(company.spreads().size(), 2U);
  EXPECT_FALSE(company.spreads()[0].is_by_zone);
  EXPECT_EQ(company.spreads()[0].is_bound, (std::vector<std::uint8_t>{1, 1, 0}));
  EXPECT_EQ(company.spreads()[0].counts, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_TRUE(company.spreads()[1].is_by_zone);
}

TEST(PodCompany, ExclusionsAreThoseOfSeveralGroupsThatExcludeEachOther) {
  const PodCompany company =
      CompanyOf({{"a", Apart("a")}, {"a", Apart("a")}, {"a", {}}, {"b", Apart("b")}, {"c", Apart("a")}});
  // That of b is about one group alone; that of c is not about c.
  ASSERT_EQ(company.exclusions().size(), 0U) << "c has the term of a and is not selected by it";
  const PodCompany mutual = CompanyOf({{"a", Apart("a")}, {"a", Apart("a")}, {"a", {}}, {"b", Apart("b")}});
  ASSERT_EQ(mutual.exclusions().size(), 1U);
  EXPECT_EQ(mutual.exclusions()[0].excludes, (std::vector<std::uint8_t>{1, 1, 0, 0}));
  EXPECT_EQ(mutual.exclusions()[0].counts, (std::vector<std::uint8_t>{1, 1, 1, 0}));
  EXPECT_TRUE(CompanyOf({{"a", Apart("a", "rack")}, {"a", Apart("a", "rack")}}).exclusions().empty());
}

TEST(PodCompany, NodesAreNotCrowdedWherePodsSpreadByLabelsOfOthers) {
  const PodCompany company =
      CompanyOf({{"a", Spread(kHostname, "b"), 40}, {"b", Spread(kHostname, "a"), 40}, {"c", {}, 40}});
  EXPECT_EQ(company.crowd_max(), 1);
  EXPECT_TRUE(company.IsInCrowd(0));
  EXPECT_FALSE(company.IsInCrowd(2));
  EXPECT_EQ(CompanyOf({{"a", Spread(kHostname, "a"), 40}}).crowd_max(), 0) << "all nodes can have as many";
  EXPECT_EQ(CompanyOf({{"a", Spread(kHostname, "b"), 2}, {"b", {}, 400}}).crowd_max(), 0) << "too few";
}

}  // namespace
}  // namespace berth::buy
