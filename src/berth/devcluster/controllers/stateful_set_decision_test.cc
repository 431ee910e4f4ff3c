// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/stateful_set_decision.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr Time kNow{std::chrono::seconds(1767225600)};

WorkloadView Set(std::int64_t replicas, const char* more = "", const char* image = "1") {
  WorkloadView set;
  set.namespace_name = "default";
  set.name = "web";
  set.uid = "u";
  set.replicas = replicas;
  set.spec = json::parse(std::string(R"({"serviceName":"svc","selector":{"matchLabels":{"app":"web"}},
      "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":")") +
                         image + R"("}]}})" + more + "}")
                 .as_object();
  return set;
}

std::shared_ptr<PodView> PodOf(const std::string& name, const std::string& revision, bool is_ready = true) {
  auto pod = std::make_shared<PodView>();
  pod->name = name;
  pod->uid = name;
  pod->phase = is_ready ? "Running" : "Pending";
  pod->is_ready = is_ready;
  pod->labels.Set("controller-revision-hash", revision);
  return pod;
}

std::string Revision(const WorkloadView& set) {
  return std::string(DecideStatefulSet(set, {}, kNow).status.at("updateRevision").as_string());
}

std::string Names(const PodDecision& decision) {
  std::string names;
  for (const auto& made : decision.pods) names += '+' + made.name;
  for (const auto& pod : decision.surplus) names += '-' + pod->name;
  return names;
}

TEST(DecideStatefulSet, OneAfterTheOther) {
  const WorkloadView set = Set(3);
  const std::string revision = Revision(set);
  EXPECT_EQ(Names(DecideStatefulSet(set, {}, kNow)), "+web-0");
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", revision, false)}, kNow)), "");
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", revision)}, kNow)), "+web-1");
  const PodDecision rest =
      DecideStatefulSet(set, {PodOf("web-0", revision), PodOf("web-1", revision), PodOf("web-2", revision)}, kNow);
  EXPECT_EQ(Names(rest), "");
  EXPECT_EQ(rest.status.at("readyReplicas"), 3);
  EXPECT_EQ(rest.status.at("updatedReplicas"), 3);
  EXPECT_EQ(rest.status.at("currentRevision"), rest.status.at("updateRevision"));
}

TEST(DecideStatefulSet, AllAtOnceWhereItIsParallel) {
  EXPECT_EQ(Names(DecideStatefulSet(Set(3, R"(,"podManagementPolicy":"Parallel")"), {}, kNow)), "+web-0+web-1+web-2");
  EXPECT_EQ(Names(DecideStatefulSet(Set(1, R"(,"ordinals":{"start":5})"), {}, kNow)), "+web-5");
}

TEST(DecideStatefulSet, ShrinksFromTheEnd) {
  const WorkloadView set = Set(1);
  const std::string revision = Revision(set);
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", revision), PodOf("web-1", revision), PodOf("web-2", revision)},
                                    kNow)),
            "-web-2");
  // The last one is on its way out: the next waits.
  const auto leaving = PodOf("web-2", revision);
  leaving->is_deleted = true;
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", revision), PodOf("web-1", revision), leaving}, kNow)), "");
}

TEST(DecideStatefulSet, UpdatesFromTheEndDownToThePartition) {
  const WorkloadView set = Set(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}})", "2");
  const std::string old = Revision(Set(3));
  const std::string revision = Revision(set);
  ASSERT_NE(old, revision);
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", old), PodOf("web-1", old), PodOf("web-2", old)}, kNow)),
            "-web-2");
  EXPECT_EQ(Names(DecideStatefulSet(set, {PodOf("web-0", old), PodOf("web-1", old), PodOf("web-2", revision)}, kNow)),
            "-web-1");
  const PodDecision done =
      DecideStatefulSet(set, {PodOf("web-0", old), PodOf("web-1", revision), PodOf("web-2", revision)}, kNow);
  EXPECT_EQ(Names(done), "");
  EXPECT_EQ(done.status.at("updatedReplicas"), 2);
}

TEST(DecideStatefulSet, APodHasItsNumberAndItsClaims) {
  const PodDecision decision = DecideStatefulSet(
      Set(1, R"(,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"]}}])"), {},
      kNow);
  ASSERT_EQ(decision.claims.size(), 1u);
  EXPECT_EQ(decision.claims[0].name, "data-web-0");
  EXPECT_EQ(decision.claims[0].document.at("kind"), "PersistentVolumeClaim");
  EXPECT_EQ(decision.claims[0].document.at("metadata").at("labels").at("app"), "web");
  const json::object& pod = decision.pods[0].document;
  EXPECT_EQ(pod.at("metadata").at("labels").at("apps.kubernetes.io/pod-index"), "0");
  EXPECT_EQ(pod.at("spec").at("hostname"), "web-0");
  EXPECT_EQ(pod.at("spec").at("subdomain"), "svc");
  EXPECT_EQ(pod.at("spec").at("volumes").at(0).at("persistentVolumeClaim").at("claimName"), "data-web-0");
}

}  // namespace
}  // namespace berth::controllers
