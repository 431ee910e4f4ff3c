// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/job_decision.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr Time kNow{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z

WorkloadView Job(const char* spec, const char* status = R"({"startTime":"2026-01-01T00:00:00Z"})") {
  WorkloadView job;
  job.namespace_name = "default";
  job.name = "j";
  job.uid = "u";
  job.spec = json::parse(spec).as_object();
  job.status = json::parse(status).as_object();
  return job;
}

std::shared_ptr<const PodView> PodOf(const std::string& name, const std::string& phase, int index = -1) {
  auto pod = std::make_shared<PodView>();
  pod->name = name;
  pod->uid = name;
  pod->phase = phase;
  pod->is_ready = phase == "Running";
  if (index >= 0) pod->labels.Set("batch.kubernetes.io/job-completion-index", std::to_string(index));
  return pod;
}

std::string ConditionsOf(const PodDecision& decision) {
  std::string text;
  const json::value* conditions = Member(decision.status, "conditions");
  if (conditions == nullptr) return text;
  for (const json::value& each : conditions->as_array()) {
    text +=
        std::string(StringOf(each.as_object(), "type")) + '=' + std::string(StringOf(each.as_object(), "status")) + ' ';
  }
  return text;
}

TEST(DecideJob, MakesAsManyPodsAsMayRun) {
  const WorkloadView job = Job(R"({"completions":5,"parallelism":2})", "{}");
  const PodDecision first = DecideJob(job, {}, kNow);
  ASSERT_EQ(first.pods.size(), 2u);
  EXPECT_EQ(first.status.at("startTime"), "2026-01-01T00:00:00Z");
  EXPECT_NE(first.pods[0].name, first.pods[1].name);
  EXPECT_EQ(first.pods[0].document.at("metadata").at("ownerReferences").at(0).at("apiVersion"), "batch/v1");
  // The same again while the watch is late: the same names, so that nothing is made twice.
  const PodDecision again = DecideJob(job, {}, kNow);
  EXPECT_EQ(again.pods[0].name, first.pods[0].name);
  // One is there and the other has ended: one more, of a third name.
  const PodDecision next =
      DecideJob(job, {PodOf(first.pods[0].name, "Succeeded"), PodOf(first.pods[1].name, "Running")}, kNow);
  ASSERT_EQ(next.pods.size(), 1u);
  EXPECT_NE(next.pods[0].name, first.pods[0].name);
  EXPECT_EQ(next.status.at("succeeded"), 1);
  EXPECT_EQ(next.status.at("active"), 1);
  EXPECT_EQ(next.status.at("ready"), 1);
}

TEST(DecideJob, MakesNoMoreThanAreLeft) {
  const WorkloadView job = Job(R"({"completions":3,"parallelism":3})");
  const PodDecision decision =
      DecideJob(job, {PodOf("a", "Succeeded"), PodOf("b", "Succeeded"), PodOf("c", "Running")}, kNow);
  EXPECT_TRUE(decision.pods.empty());
  EXPECT_TRUE(decision.surplus.empty());
  EXPECT_EQ(ConditionsOf(decision), "");
}

TEST(DecideJob, IsCompleteWithItsLastPod) {
  const WorkloadView job = Job(R"({"completions":1,"parallelism":1})");
  const PodDecision decision = DecideJob(job, {PodOf("a", "Succeeded")}, kNow);
  EXPECT_EQ(ConditionsOf(decision), "SuccessCriteriaMet=True Complete=True ");
  EXPECT_EQ(decision.status.at("completionTime"), "2026-01-01T00:00:00Z");
  ASSERT_TRUE(decision.note);
  EXPECT_EQ(decision.note->reason, "Completed");
  // A pod that somebody has deleted meanwhile counts on.
  const WorkloadView counted = Job(R"({"completions":2})", R"({"succeeded":1})");
  EXPECT_EQ(ConditionsOf(DecideJob(counted, {}, kNow)), "");
  EXPECT_EQ(DecideJob(counted, {}, kNow).status.at("succeeded"), 1);
}

TEST(DecideJob, FailsByItsLimits) {
  const WorkloadView job = Job(R"({"completions":1,"backoffLimit":1})");
  const PodDecision failed = DecideJob(job, {PodOf("a", "Failed"), PodOf("b", "Failed"), PodOf("c", "Running")}, kNow);
  EXPECT_EQ(ConditionsOf(failed), "FailureTarget=True Failed=True ");
  ASSERT_EQ(failed.surplus.size(), 1u);
  EXPECT_EQ(failed.surplus[0]->name, "c");
  EXPECT_TRUE(failed.pods.empty());

  const WorkloadView hurried = Job(R"({"completions":1,"activeDeadlineSeconds":60})");
  EXPECT_EQ(DecideJob(hurried, {PodOf("a", "Running")}, kNow).again_after, Duration(std::chrono::seconds(60)));
  EXPECT_EQ(ConditionsOf(DecideJob(hurried, {PodOf("a", "Running")}, kNow + std::chrono::seconds(60))),
            "FailureTarget=True Failed=True ");
}

TEST(DecideJob, SuspendedHasNoPods) {
  const WorkloadView job = Job(R"({"completions":1,"suspend":true})");
  const PodDecision decision = DecideJob(job, {PodOf("a", "Running")}, kNow);
  EXPECT_EQ(decision.surplus.size(), 1u);
  EXPECT_TRUE(decision.pods.empty());
  EXPECT_EQ(ConditionsOf(decision), "Suspended=True ");
}

TEST(DecideJob, IndexedMakesEachIndexOnce) {
  const WorkloadView job = Job(R"({"completions":4,"parallelism":4,"completionMode":"Indexed"})");
  const PodDecision decision =
      DecideJob(job, {PodOf("a", "Succeeded", 0), PodOf("b", "Succeeded", 1), PodOf("c", "Failed", 2)}, kNow);
  ASSERT_EQ(decision.pods.size(), 2u);
  EXPECT_TRUE(decision.pods[0].name.starts_with("j-2-")) << decision.pods[0].name;
  EXPECT_TRUE(decision.pods[1].name.starts_with("j-3-")) << decision.pods[1].name;
  EXPECT_EQ(decision.pods[0].document.at("metadata").at("annotations").at("batch.kubernetes.io/job-completion-index"),
            "2");
  EXPECT_EQ(decision.pods[0].document.at("spec").at("hostname"), "j-2");
  EXPECT_EQ(decision.status.at("completedIndexes"), "0,1");
}

TEST(DecideJob, IsRemovedAfterItsTime) {
  const WorkloadView job = Job(R"({"ttlSecondsAfterFinished":10})",
                               R"({"conditions":[{"type":"Complete","status":"True",
                                   "lastTransitionTime":"2026-01-01T00:00:00Z"}]})");
  EXPECT_FALSE(DecideJob(job, {}, kNow).removes_owner);
  EXPECT_EQ(DecideJob(job, {}, kNow).again_after, Duration(std::chrono::seconds(10)));
  EXPECT_TRUE(DecideJob(job, {}, kNow + std::chrono::seconds(10)).removes_owner);
  const WorkloadView kept = Job("{}", R"({"conditions":[{"type":"Complete","status":"True"}]})");
  EXPECT_FALSE(DecideJob(kept, {}, kNow).removes_owner);
  EXPECT_TRUE(DecideJob(kept, {}, kNow).status.empty());
}

}  // namespace
}  // namespace berth::controllers
