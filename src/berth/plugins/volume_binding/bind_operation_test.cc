// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/bind_operation.h"

#include <gtest/gtest.h>

#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

using framework::ObjectPatch;
using framework::ObjectRead;
using framework::Operation;
using std::chrono::seconds;
using testing::MakeNode;
using testing::MakePod;

const Error kLost{ErrorCode::kTimeout, "no answer", true};

// A pod whose claim "data" gets the volume "pv", and whose claim "made" gets a new one, on the node n1; the test is the
// API server, the controllers and the clock.
class BindTest : public ::testing::Test {
 protected:
  BindTest() {
    cluster_.Set(MakeVolume("pv"));
    cluster_.Set(MakeClaim("data").Version("7"));
    cluster_.Set(MakeClaim("made").Version("8").With([](auto& c) { c.storage_class_name = "make"; }));
  }

  void Begin(testing::PodBuilder builder) {
    pod_ = builder.Node("n1").Info();
    ASSERT_EQ(cluster_.Place(*pod_, "n1"), "ok");
    ASSERT_EQ(TestCluster::Describe(cluster_.plugin().PreBindPreFlight(*pod_)), "ok");
    operation_ = cluster_.plugin().PreBind(*pod_);
  }
  void BeginData() { Begin(MakePod("pod").Claim("data")); }
  void BeginMade() { Begin(MakePod("pod").Claim("made")); }

  // What the operation wants now: "patch persistentvolumes/pv", "read ...", "wait 1s", or its outcome.
  std::string Wants() const {
    if (operation_.is_done()) return TestCluster::Describe(operation_.status);
    if (operation_.writes.empty()) return "wait " + FormatGoDuration(operation_.delay);
    const framework::ApiWrite& write = operation_.writes.front();
    if (const auto* patch = std::get_if<ObjectPatch>(&write)) return "patch " + Path(patch->object);
    return "read " + Path(std::get<ObjectRead>(write).object);
  }
  std::string Body() const { return std::get<ObjectPatch>(operation_.writes.front()).body; }

  void Next(framework::StepResult result) {
    const Operation::Next next = operation_.next;
    ASSERT_TRUE(next);
    now_ += operation_.delay;
    result.now = now_;
    operation_ = next(result);
  }
  void Answer(std::string body) { Next({.body = std::move(body)}); }
  void Refuse(Error error) { Next({.error = std::move(error)}); }
  void Wake() { Next({}); }

  static std::string VolumeJson(const std::string& version, const std::string& claim_uid) {
    return R"({"metadata":{"name":"pv","uid":"uid-pv","resourceVersion":")" + version + R"("},"spec":{)" +
           (claim_uid.empty() ? "" : R"("claimRef":{"uid":")" + claim_uid + R"("})") + "}}";
  }
  static std::string ClaimJson(const std::string& version, const std::string& node) {
    return R"({"metadata":{"name":"made","uid":"uid-made","resourceVersion":")" + version + R"(","annotations":{)" +
           (node.empty() ? "" : R"("volume.kubernetes.io/selected-node":")" + node + "\"") + "}}}";
  }

  void ShowVolume(std::string version = "11") {
    cluster_.Set(ClaimedBy(MakeVolume("pv").Version(std::move(version)), "data", "uid-data"));
  }
  void ShowBound(std::string claim, std::string volume, std::string version = "12") {
    ClaimBuilder builder = Bound(MakeClaim(std::move(claim)).Version(std::move(version)), std::move(volume));
    cluster_.Set(builder.Annotate(kSelectedNodeAnnotation, "n1"));
  }
  std::size_t assumed_count() {
    return cluster_.plugin_state().sources().volumes->assumed_count() +
           cluster_.plugin_state().sources().claims->assumed_count();
  }

  VolumeCluster cluster_{{MakeNode("n1").Label("kubernetes.io/hostname", "n1")},
                         {.bind_timeout_seconds = 10, .shape = {}}};
  framework::PodInfoPtr pod_;
  Operation operation_;
  Time now_{seconds(1000)};

 private:
  static std::string Path(const framework::ObjectRef& object) {
    return object.resource + "/" + (object.namespace_name.empty() ? "" : object.namespace_name + "/") + object.name;
  }
};

TEST_F(BindTest, BindsAVolume) {
  BeginData();
  ASSERT_EQ(Wants(), "patch persistentvolumes/pv");
  EXPECT_EQ(
      Body(),
      R"({"metadata":{"uid":"uid-pv","resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":)"
      R"("yes"}},"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"default",)"
      R"("name":"data","uid":"uid-data","resourceVersion":"7"}}})");
  Answer(VolumeJson("11", "uid-data"));
  ASSERT_EQ(Wants(), "wait 1s");
  Wake();  // the store still shows the old volume
  ASSERT_EQ(Wants(), "wait 1s");
  ShowVolume();
  EXPECT_EQ(assumed_count(), 0u);
  Wake();  // the controller has not bound the claim yet
  ASSERT_EQ(Wants(), "wait 1s");
  ShowBound("data", "pv");
  Wake();
  EXPECT_EQ(Wants(), "ok");
  EXPECT_TRUE(cluster_.handle.counted->Keys("scheduler_").empty());
  EXPECT_EQ(cluster_.plugin_state().reservation_count(), 0u);
}

TEST_F(BindTest, HasAVolumeMade) {
  BeginMade();
  ASSERT_EQ(Wants(), "patch persistentvolumeclaims/default/made");
  EXPECT_EQ(
      Body(),
      R"({"metadata":{"uid":"uid-made","resourceVersion":"8","annotations":{"volume.kubernetes.io/selected-node":)"
      R"("n1"}}})");
  Answer(ClaimJson("11", "n1"));
  Wake();  // the store still shows the old claim
  ASSERT_EQ(Wants(), "wait 1s");
  cluster_.Set(MakeClaim("made").Version("11").Annotate(kSelectedNodeAnnotation, "n1"));
  Wake();
  ASSERT_EQ(Wants(), "wait 1s");
  ShowBound("made", "new");
  Wake();  // bound, but the watch has not brought the volume
  ASSERT_EQ(Wants(), "wait 1s");
  cluster_.Set(ClaimedBy(MakeVolume("new"), "made", "uid-made"));
  Wake();
  EXPECT_EQ(Wants(), "ok");
}

TEST_F(BindTest, WritesVolumesThenClaims) {
  Begin(MakePod("pod").Claim("made").Claim("data"));
  ASSERT_EQ(Wants(), "patch persistentvolumes/pv");
  Answer(VolumeJson("11", "uid-data"));
  ASSERT_EQ(Wants(), "patch persistentvolumeclaims/default/made");
  Answer(ClaimJson("12", "n1"));
  ShowVolume();
  ShowBound("data", "pv");
  Wake();
  ASSERT_EQ(Wants(), "wait 1s");
  ShowBound("made", "new");
  cluster_.Set(MakeVolume("new"));
  Wake();
  EXPECT_EQ(Wants(), "ok");
}

TEST_F(BindTest, AReservedVolumeIsWrittenAsWell) {
  cluster_.Set(ClaimedBy(MakeVolume("pv"), "data", "uid-data"));
  BeginData();
  ASSERT_EQ(Wants(), "patch persistentvolumes/pv");
  EXPECT_EQ(Body().find("bound-by-controller"), std::string::npos);
  EXPECT_EQ(assumed_count(), 0u);
}

TEST_F(BindTest, ARefusedWriteGivesUpWhatIsNotWritten) {
  Begin(MakePod("pod").Claim("made").Claim("data"));
  Answer(VolumeJson("11", "uid-data"));
  Refuse({ErrorCode::kConflict, "it has been modified"});
  EXPECT_EQ(Wants(), "Error: it has been modified");
  EXPECT_EQ(cluster_.handle.counted->Value("scheduler_volume_scheduling_stage_error_total,operation=bind"), 1);
  // The volume is written: it stays taken until the store shows it.
  EXPECT_EQ(assumed_count(), 1u);
  cluster_.plugin().Unreserve(*pod_, "n1");
  EXPECT_EQ(assumed_count(), 1u);
  ShowVolume();
  EXPECT_EQ(assumed_count(), 0u);
}

TEST_F(BindTest, ALostAnswerIsSettledByReading) {
  BeginData();
  Refuse(kLost);
  ASSERT_EQ(Wants(), "read persistentvolumes/pv");
  EXPECT_EQ(assumed_count(), 1u);
  Refuse({ErrorCode::kUnavailable, "down"});
  ASSERT_EQ(Wants(), "wait 1s");
  Wake();
  ASSERT_EQ(Wants(), "read persistentvolumes/pv");
  Answer(VolumeJson("11", "uid-data"));
  ASSERT_EQ(Wants(), "wait 1s");
  ShowVolume();
  ShowBound("data", "pv");
  Wake();
  EXPECT_EQ(Wants(), "ok");
}

TEST_F(BindTest, AWriteThatIsNotThereYetIsWrittenAgain) {
  BeginMade();
  Refuse(kLost);
  ASSERT_EQ(Wants(), "read persistentvolumeclaims/default/made");
  Answer(ClaimJson("8", ""));
  ASSERT_EQ(Wants(), "wait 1s");
  Wake();
  ASSERT_EQ(Wants(), "patch persistentvolumeclaims/default/made");
  // The first one arrived meanwhile, so that the second is refused.
  Refuse({ErrorCode::kConflict, "it has been modified"});
  ASSERT_EQ(Wants(), "read persistentvolumeclaims/default/made");
  Answer(ClaimJson("11", "n1"));
  EXPECT_EQ(Wants(), "wait 1s");
  EXPECT_EQ(assumed_count(), 1u);
}

TEST_F(BindTest, AnUnreadableAnswerIsALostOne) {
  BeginData();
  Answer("{");
  ASSERT_EQ(Wants(), "read persistentvolumes/pv");
  Answer("{}");
  ASSERT_EQ(Wants(), "wait 1s");
  Wake();
  Answer(VolumeJson("11", "uid-data"));
  EXPECT_EQ(Wants(), "wait 1s");
}

TEST_F(BindTest, AfterALostAnswer) {
  const std::string conflict =
      "Error: Operation cannot be fulfilled on persistentvolumes \"pv\": the object has been modified; please apply "
      "your changes to the latest version and try again";
  const struct {
    const char* name;
    framework::StepResult read;
    std::string want;
  } cases[] = {
      {"taken by another", {.body = VolumeJson("9", "uid-other")}, conflict},
      {"changed by another", {.body = VolumeJson("9", "")}, conflict},
      {"made anew", {.body = R"({"metadata":{"uid":"another","resourceVersion":"1"}})"}, conflict},
      {"deleted", {.error = Error{ErrorCode::kNotFound, "gone"}}, "Error: gone"},
  };
  for (const auto& c : cases) {
    BeginData();
    Refuse(kLost);
    Next(c.read);
    EXPECT_EQ(Wants(), c.want) << c.name;
    EXPECT_EQ(assumed_count(), 0u) << c.name;
    cluster_.plugin().Unreserve(*pod_, "n1");
  }
}

TEST_F(BindTest, AnUnknownOutcomeIsGivenUpInTheEnd) {
  BeginData();
  Refuse(kLost);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(Wants(), "read persistentvolumes/pv") << i;
    Refuse({ErrorCode::kUnavailable, "down"});
    Wake();
  }
  Refuse({ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(Wants(), "Error: down");

  cluster_.plugin().Unreserve(*pod_, "n1");
  BeginData();
  Refuse(kLost);
  now_ += seconds(10);
  Answer(VolumeJson("1", ""));
  EXPECT_EQ(Wants(), "Error: no answer to a write of persistentvolumes \"pv\"");
}

TEST_F(BindTest, TimesOut) {
  BeginData();
  now_ += seconds(5);  // the write took long, which does not count
  Answer(VolumeJson("11", "uid-data"));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(Wants(), "wait 1s") << i;
    Wake();
  }
  EXPECT_EQ(Wants(), "Error: binding volumes: context deadline exceeded");
}

TEST(Bind, WaitsNoLongerThanTheTimeout) {
  for (const auto& [timeout, want] : {std::pair(0, "0s"), std::pair(3, "1s")}) {
    VolumeCluster cluster({MakeNode("n1")}, {.bind_timeout_seconds = timeout, .shape = {}});
    cluster.Set(MakeVolume("pv"));
    cluster.Set(MakeClaim("data"));
    const auto pod = MakePod("pod").Claim("data").Info();
    ASSERT_EQ(cluster.Place(*pod, "n1"), "ok");
    Operation operation = cluster.plugin().PreBind(*pod);
    operation = operation.next({.body = R"({"metadata":{"uid":"uid-pv","resourceVersion":"2"}})"});
    EXPECT_EQ(FormatGoDuration(operation.delay), want);
  }
}

TEST_F(BindTest, FailsWhileItWaits) {
  const std::string mismatch =
      "Error: binding volumes: pv \"pv\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms";
  const struct {
    const char* name;
    std::function<void()> what;
    std::string want;
  } cases[] = {
      {"volume deleted", [&] { cluster_.Remove<api::PersistentVolume>("pv"); },
       "Error: binding volumes: failed to check binding: persistentvolumes \"pv\" not found"},
      {"claim deleted", [&] { cluster_.Remove<api::PersistentVolumeClaim>("default/data"); },
       "Error: binding volumes: failed to check binding: persistentvolumeclaims \"default/data\" not found"},
      {"volume given back", [&] { cluster_.Set(MakeVolume("pv").Version("12")); },
       "Error: binding volumes: ClaimRef got reset for pv \"pv\""},
      {"volume bound by name alone", [&] { cluster_.Set(ClaimedBy(MakeVolume("pv").Version("12"), "data", "")); },
       "Error: binding volumes: ClaimRef got reset for pv \"pv\""},
      {"volume elsewhere",
       [&] { cluster_.Set(OnNodes(ClaimedBy(MakeVolume("pv").Version("12"), "data", "uid-data"), {"n2"})); }, mismatch},
      {"node's label changed",
       [&] {
         cluster_.Set(OnNodes(ClaimedBy(MakeVolume("pv").Version("12"), "data", "uid-data"), {"n1"}));
         cluster_.Add(MakeNode("n1").Label("kubernetes.io/hostname", "other"));
       },
       mismatch},
      {"translation fails",
       [&] {
         cluster_.Set(ObjectBuilder<api::CsiNode>("n1").Annotate("storage.alpha.kubernetes.io/migrated-plugins",
                                                                 "kubernetes.io/aws-ebs"));
         cluster_.Set(ClaimedBy(MakeVolume("pv").Version("12"), "data", "uid-data").With([](auto& v) {
           v.spec.source.kind = api::VolumeKind::kAwsElasticBlockStore;
           v.spec.source.id = "aws://x";
         }));
       },
       "Error: binding volumes: failed to translate pv to csi: could not translate pv: failed to translate Kubernetes "
       "ID to EBS Volume ID Invalid format for AWS volume (aws://x)"},
      {"node gone", [&] { cluster_.table().RemoveNode("n1"); },
       "Error: binding volumes: failed to get node \"n1\": node \"n1\" not found"},
  };
  for (const auto& c : cases) {
    cluster_.Add(MakeNode("n1").Label("kubernetes.io/hostname", "n1"));
    cluster_.Remove<api::CsiNode>("n1");
    cluster_.Set(MakeVolume("pv"));
    cluster_.Set(MakeClaim("data").Version("7"));
    BeginData();
    Answer(VolumeJson("11", "uid-data"));
    c.what();
    Wake();
    EXPECT_EQ(Wants(), c.want) << c.name;
    cluster_.plugin().Unreserve(*pod_, "n1");
  }
}

TEST_F(BindTest, FailsWhileAVolumeIsMade) {
  const auto selected = [](ClaimBuilder claim) { return claim.Annotate(kSelectedNodeAnnotation, "n1"); };
  const struct {
    const char* name;
    std::function<void()> what;
    std::string want;
  } cases[] = {
      {"claim deleted", [&] { cluster_.Remove<api::PersistentVolumeClaim>("default/made"); },
       "Error: binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/made\" not found"},
      {"all annotations gone", [&] { cluster_.Set(MakeClaim("made").Version("12")); },
       "Error: binding volumes: selectedNode annotation reset for PVC \"made\""},
      {"annotation gone", [&] { cluster_.Set(MakeClaim("made").Version("12").Annotate("a", "b")); },
       "Error: binding volumes: provisioning failed for PVC \"made\""},
      {"another node", [&] { cluster_.Set(MakeClaim("made").Version("12").Annotate(kSelectedNodeAnnotation, "n2")); },
       "Error: binding volumes: provisioning failed for PVC \"made\""},
      {"made elsewhere",
       [&] {
         cluster_.Set(selected(Bound(MakeClaim("made").Version("12"), "new")));
         cluster_.Set(OnNodes(MakeVolume("new"), {"n2"}));
       },
       "Error: binding volumes: pv \"new\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms"},
  };
  for (const auto& c : cases) {
    cluster_.Set(MakeClaim("made").Version("8").With([](auto& o) { o.storage_class_name = "make"; }));
    BeginMade();
    Answer(ClaimJson("11", "n1"));
    c.what();
    Wake();
    EXPECT_EQ(Wants(), c.want) << c.name;
    cluster_.plugin().Unreserve(*pod_, "n1");
  }
}

TEST_F(BindTest, WithoutATableTheReservedNodeCounts) {
  cluster_.handle.table = nullptr;
  BeginData();
  Answer(VolumeJson("11", "uid-data"));
  ShowVolume();
  ShowBound("data", "pv");
  cluster_.table().RemoveNode("n1");
  Wake();
  EXPECT_EQ(Wants(), "ok");
}

TEST_F(BindTest, UnreserveInTheMiddleGivesUpWhatIsNotWritten) {
  BeginData();
  cluster_.plugin().Unreserve(*pod_, "n1");
  EXPECT_EQ(assumed_count(), 0u);
  EXPECT_EQ(cluster_.plugin_state().reservation_count(), 0u);
  // A new reservation of the pod is not touched by the old operation's end.
  const Operation old = operation_;
  BeginData();
  Operation ends = old.next({.body = VolumeJson("11", "uid-data"), .now = now_});
  ShowVolume();
  ShowBound("data", "pv");
  ends = ends.next({.now = now_ + seconds(1)});
  EXPECT_TRUE(ends.is_done());
  EXPECT_EQ(cluster_.plugin_state().reservation_count(), 1u);
}

}  // namespace
}  // namespace berth::plugins::volumes
