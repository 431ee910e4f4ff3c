// SPDX-License-Identifier: Apache-2.0
// PreBind, Unreserve and the background writes, step by step against a scripted API server.
#include "berth/plugins/dynamic_resources/claim_writes.h"

#include <gtest/gtest.h>

#include "berth/codec/json.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/dynamic_resources/claim_json.h"
#include "berth/plugins/dynamic_resources/device_testing.h"

namespace berth::plugins {
namespace {

using framework::Operation;
using framework::StepResult;
using testing::MakePod;

void MergeInto(codec::json::object& target, const codec::json::object& patch) {
  for (const auto& [key, change] : patch) {
    if (change.is_null()) {
      target.erase(key);
    } else if (change.is_object()) {
      if (!target[key].is_object()) target[key].emplace_object();
      MergeInto(target[key].as_object(), change.as_object());
    } else {
      target[key] = change;
    }
  }
}

// An API server for claims. Each request is noted as "METHOD name"; a case may let some fail.
class Server {
 public:
  explicit Server(DeviceCluster& cluster) : cluster_(cluster) {}

  // What the next requests meet; requests beyond these succeed.
  enum class Outcome { kWorks, kConflict, kLost, kWorksUnanswered, kRefused };
  std::vector<Outcome> outcomes;
  // Whether the watch shows changes at once.
  bool is_watched = true;
  std::vector<std::string> log;
  std::vector<Duration> waits;
  // Asked before each wait.
  std::function<void()> meanwhile = [] {};

  void Put(const DeviceClaims::Ptr& claim) {
    claims_[claim->metadata.name] = ToJson(*claim);
    cluster_.Set(claim);
  }
  DeviceClaims::Ptr Get(const std::string& name) { return Decode(claims_.at(name)); }
  // Somebody else changes the claim.
  void Touch(const std::string& name, const std::string& status = "{}") {
    codec::json::object patch;
    patch["status"] = codec::ParseJson(Json(status))->as_object();
    Store(name, patch);
  }
  void Show(const std::string& name) { cluster_.Set(Get(name)); }

  std::string Run(Operation operation) {
    for (int steps = 0; !operation.is_done(); ++steps) {
      if (steps == 200) return "no end";
      StepResult result;
      if (operation.writes.empty()) {
        if (operation.delay > Duration{0}) waits.push_back(operation.delay);
        meanwhile();
        cluster_.now += operation.delay;
      } else {
        Do(operation.writes.front(), result);
      }
      result.now = result.wall_now = cluster_.now;
      if (!operation.next) return result.error ? "Error: " + result.error->message : "ok";
      operation = Operation::Next(operation.next)(result);
    }
    return TestCluster::Describe(operation.status);
  }
  // Runs what the plugin has started, and what that starts.
  void RunStarted() {
    while (!cluster_.handle.started.empty()) {
      std::vector<Operation> started = std::move(cluster_.handle.started);
      cluster_.handle.started.clear();
      for (Operation& operation : started) (void)Run(std::move(operation));
    }
  }
  codec::json::object last_body;

 private:
  static DeviceClaims::Ptr Decode(const codec::json::object& claim) {
    return DecodeOrDie(&api::DecodeResourceClaim, codec::WriteJson(claim));
  }
  void Store(const std::string& name, const codec::json::object& patch) {
    codec::json::object& claim = claims_[name];
    MergeInto(claim, patch);
    claim["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  }

  void Do(const framework::ApiWrite& write, StepResult& result) {
    Outcome outcome = Outcome::kWorks;
    if (!outcomes.empty()) {
      outcome = outcomes.front();
      outcomes.erase(outcomes.begin());
    }
    if (outcome != Outcome::kWorks && outcome != Outcome::kWorksUnanswered) {
      log.push_back(outcome == Outcome::kConflict ? "conflict" : outcome == Outcome::kLost ? "lost" : "refused");
      result.error = Error{outcome == Outcome::kConflict ? ErrorCode::kConflict : ErrorCode::kTimeout, "failed"};
      if (outcome == Outcome::kRefused) result.error = Error{ErrorCode::kForbidden, "forbidden"};
      result.error->outcome_unknown = outcome == Outcome::kLost;
      return;
    }
    result.body = Answer(write, result);
    if (outcome == Outcome::kWorks) return;
    log.back() += " (unanswered)";
    result.body.clear();
    result.error = Error{ErrorCode::kTimeout, "no answer"};
    result.error->outcome_unknown = true;
  }

  std::string Answer(const framework::ApiWrite& write, StepResult& result) {
    if (const auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
      last_body = codec::ParseJson(patch->body)->as_object();
      const std::string& name = patch->object.name;
      log.push_back("PATCH " + name + (patch->subresource.empty() ? "" : "/" + patch->subresource));
      if (patch->object.resource != "resourceclaims") return "{}";
      if (patch->type == framework::PatchType::kStrategicMerge) {
        last_body.erase("metadata");
        codec::json::object patched = claims_.at(name);
        patched["status"].as_object().erase("reservedFor");
        claims_[name] = patched;
        return codec::WriteJson(patched);
      }
      const auto& metadata = last_body.at("metadata").as_object();
      if (metadata.at("resourceVersion") != claims_.at(name).at("metadata").at("resourceVersion")) {
        log.back() += " (conflict)";
        result.error = Error{ErrorCode::kConflict, "the object has been modified"};
        return {};
      }
      Store(name, last_body);
      if (is_watched) Show(name);
      return codec::WriteJson(claims_.at(name));
    }
    if (const auto* create = std::get_if<framework::ObjectCreate>(&write)) {
      last_body = codec::ParseJson(create->body)->as_object();
      log.push_back("POST");
      codec::json::object claim = last_body;
      claim["metadata"].as_object()["name"] = "made";
      claim["metadata"].as_object()["uid"] = "uid-made";
      claims_["made"] = claim;
      Store("made", {});
      if (is_watched) Show("made");
      return codec::WriteJson(claims_.at("made"));
    }
    if (const auto* removal = std::get_if<framework::ObjectDelete>(&write)) {
      log.push_back("DELETE " + removal->object.name);
      claims_.erase(removal->object.name);
      return "{}";
    }
    const auto& read = std::get<framework::ObjectRead>(write);
    log.push_back("GET " + read.object.name);
    const auto it = claims_.find(read.object.name);
    if (it == claims_.end()) {
      result.error = Error{ErrorCode::kNotFound, "not found"};
      return {};
    }
    return codec::WriteJson(it->second);
  }

  DeviceCluster& cluster_;
  std::map<std::string, codec::json::object> claims_;
  int version_ = 100;
};

using Outcome = Server::Outcome;
using Log = std::vector<std::string>;

class ClaimWritesTest : public ::testing::Test {
 protected:
  ClaimWritesTest() { cluster_.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}")); }

  std::string PreBind(const framework::PodInfo& pod) {
    EXPECT_TRUE(cluster_.plugin.PreBindPreFlight(pod).IsSuccess());
    return server_.Run(cluster_.plugin.PreBind(pod));
  }
  // Pod "p" with claim "x", reserved on n1.
  framework::PodInfoPtr ReserveX() {
    server_.Put(MakeClaim("x", Requests(Exactly())));
    return cluster_.Reserve(PodWith("p", {"x"}));
  }
  bool IsTaken() const {
    const DeviceUsage* usage =
        DeviceState::Of(const_cast<testing::FakeHandle&>(cluster_.handle))->claims.UsageOf("d/s/a");
    return usage != nullptr && usage->IsAllocated();
  }
  bool IsPending(const char* uid = "uid-x") {
    return DeviceState::Of(cluster_.handle)->claims.PendingAllocation(uid) != nullptr;
  }

  DeviceCluster cluster_;
  Server server_{cluster_};
};

TEST_F(ClaimWritesTest, AllocatesAndReserves) {
  const auto pod = ReserveX();
  server_.is_watched = false;
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, (Log{"PATCH x", "PATCH x/status"}));
  EXPECT_EQ(codec::WriteJson(server_.last_body),
            "{\"metadata\":{\"uid\":\"uid-x\",\"resourceVersion\":\"101\"},\"status\":{\"allocation\":{\"devices\":{"
            "\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"s\",\"device\":\"a\"}]},\"nodeSelector\":{"
            "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":["
            "\"n1\"]}]}]},\"allocationTimestamp\":\"" +
                FormatRfc3339(cluster_.now) +
                "\"},\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"uid-default-p\"}]}}");
  const auto claim = server_.Get("x");
  EXPECT_EQ(claim->finalizers, std::vector<std::string>{"resource.kubernetes.io/delete-protection"});
  EXPECT_TRUE(IsReservedFor(*claim, *pod));
  // The watch has shown nothing yet, and the device is taken all the same.
  EXPECT_FALSE(IsPending());
  EXPECT_TRUE(IsTaken());
  EXPECT_TRUE(cluster_.plugin.PreBindPreFlight(*pod).IsSkip());  // nothing is left to do
}

TEST_F(ClaimWritesTest, ReservesAnAllocatedClaimForOneMore) {
  const std::string used = Allocated("s", {"a"}) + ", " + ReservedFor("other");
  server_.Put(MakeClaim("x", Requests(Exactly()), used));
  const auto pod = cluster_.Reserve(PodWith("p", {"x"}));
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, Log{"PATCH x/status"});
  EXPECT_EQ(server_.Get("x")->reserved_for.size(), 2U);
  // An allocation is immutable, so that one from before there were timestamps stays without.
  EXPECT_FALSE(server_.Get("x")->allocation->allocation_timestamp);
  // Once reserved, there is nothing to write.
  server_.log.clear();
  const auto again = cluster_.Reserve(PodWith("p", {"x"}));
  EXPECT_EQ(PreBind(*again), "ok");
  EXPECT_TRUE(server_.log.empty());
}

TEST_F(ClaimWritesTest, ConflictsAreTriedAgain) {
  const auto pod = ReserveX();
  server_.Touch("x");
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, (Log{"PATCH x (conflict)", "GET x", "PATCH x", "PATCH x/status"}));
  EXPECT_TRUE(IsReservedFor(*server_.Get("x"), *pod));
}

TEST_F(ClaimWritesTest, EndlessConflictsEnd) {
  const auto pod = ReserveX();
  for (int i = 0; i < 5; ++i) {
    server_.outcomes.push_back(Outcome::kConflict);
    server_.outcomes.push_back(Outcome::kWorks);  // the read
  }
  EXPECT_EQ(PreBind(*pod), "Error: add finalizer to claim default/x: failed");
  EXPECT_EQ(std::count(server_.log.begin(), server_.log.end(), "conflict"), 5);
  EXPECT_FALSE(IsPending());
}

TEST_F(ClaimWritesTest, Failures) {
  const auto fails = [](const std::function<void(Server&)>& before, std::vector<Outcome> outcomes) {
    DeviceCluster cluster;
    cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
    Server server(cluster);
    server.Put(MakeClaim("x", Requests(Exactly())));
    const auto pod = cluster.Reserve(PodWith("p", {"x"}));
    before(server);
    server.outcomes = std::move(outcomes);
    const std::string result = server.Run(cluster.plugin.PreBind(*pod));
    cluster.plugin.Unreserve(*pod, "n1");
    EXPECT_EQ(DeviceState::Of(cluster.handle)->claims.PendingAllocation("uid-x"), nullptr) << result;
    return result;
  };
  const auto nothing = [](Server&) {};
  EXPECT_EQ(fails(nothing, {Outcome::kRefused}), "Error: add finalizer to claim default/x: forbidden");
  EXPECT_EQ(fails(nothing, {Outcome::kWorks, Outcome::kRefused}),
            "Error: add allocation and reservation to claim default/x: forbidden");
  EXPECT_EQ(fails([](Server& s) { s.Touch("x", "{'allocation': {'devices': {}}}"); }, {}),
            "Error: claim default/x got allocated elsewhere in the meantime");
  EXPECT_EQ(fails(
                [](Server& s) {
                  s.Put(MakeClaim("x", Requests(Exactly()), "", "'deletionTimestamp': '2026-01-01T00:00:00Z'"));
                  s.Touch("x");
                },
                {}),
            "Error: claim default/x got deleted in the meantime");
  EXPECT_EQ(fails(nothing, {Outcome::kConflict, Outcome::kRefused, Outcome::kRefused, Outcome::kRefused,
                            Outcome::kRefused, Outcome::kRefused, Outcome::kRefused, Outcome::kRefused,
                            Outcome::kRefused, Outcome::kRefused, Outcome::kRefused, Outcome::kRefused}),
            "Error: get updated claim default/x after conflict: forbidden");
}

TEST_F(ClaimWritesTest, DeallocatedMeanwhile) {
  server_.Put(MakeClaim("x", Requests(Exactly()), Allocated("s", {"a"})));
  const auto pod = cluster_.Reserve(PodWith("p", {"x"}));
  server_.Touch("x", "{'allocation': null}");
  EXPECT_EQ(PreBind(*pod), "Error: claim default/x got deallocated elsewhere in the meantime");
}

TEST_F(ClaimWritesTest, LostAnswersAreSettledByReading) {
  const auto pod = ReserveX();
  // The finalizer's patch is lost; the status patch takes effect, and no answer arrives.
  server_.outcomes = {Outcome::kLost, Outcome::kWorks, Outcome::kWorks, Outcome::kWorksUnanswered};
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, (Log{"lost", "GET x", "PATCH x", "PATCH x/status (unanswered)", "GET x"}));
  EXPECT_EQ(server_.Get("x")->reserved_for.size(), 1U);
  EXPECT_TRUE(IsTaken());
}

TEST_F(ClaimWritesTest, APodThatIsCancelledWhileItsClaimIsWritten) {
  const auto pod = ReserveX();
  Operation operation = cluster_.plugin.PreBind(*pod);
  // On to the status patch, which is sent and never answered, because the binding cycle ends.
  while (operation.writes.empty() || std::get<framework::ObjectPatch>(operation.writes.front()).subresource.empty()) {
    StepResult result;
    result.now = result.wall_now = cluster_.now;
    if (!operation.writes.empty()) {
      server_.Touch("x");
      auto claim = std::make_shared<api::ResourceClaim>(*server_.Get("x"));
      claim->finalizers = {"resource.kubernetes.io/delete-protection"};
      server_.Put(claim);
      result.body = codec::WriteJson(ToJson(*claim));
    }
    operation = Operation::Next(operation.next)(result);
  }
  cluster_.plugin.Unreserve(*pod, "n1");
  EXPECT_TRUE(IsPending());  // it may still take effect
  server_.Touch("x", "{" + Allocated("s", {"a"}) + ", " + ReservedFor("uid-default-p") + "}");
  server_.RunStarted();
  EXPECT_EQ(server_.log, (Log{"GET x", "PATCH x/status"}));
  EXPECT_TRUE(server_.Get("x")->reserved_for.empty());
  EXPECT_FALSE(IsPending());
  EXPECT_TRUE(IsTaken());  // by the claim, which is allocated
  EXPECT_EQ(cluster_.handle.activated, std::vector<std::string>{"uid-default-p"});
}

TEST_F(ClaimWritesTest, UnreserveGivesTheReservationBack) {
  const auto pod = ReserveX();
  EXPECT_EQ(PreBind(*pod), "ok");
  server_.log.clear();
  cluster_.plugin.Unreserve(*pod, "n1");
  ASSERT_EQ(cluster_.handle.started.size(), 1U);
  const auto& patch = std::get<framework::ObjectPatch>(cluster_.handle.started.front().writes.front());
  EXPECT_EQ(patch.type, framework::PatchType::kStrategicMerge);
  EXPECT_EQ(patch.body,
            "{\"metadata\":{\"uid\":\"uid-x\"},\"status\":{\"reservedFor\":[{\"$patch\":\"delete\","
            "\"uid\":\"uid-default-p\"}]}}");
}

TEST_F(ClaimWritesTest, WaitsForBindingConditions) {
  cluster_.Set(MakeSlice("s", "'nodeName': 'n1'",
                         "{'name': 'a', 'bindingConditions': ['ready'], 'bindingFailureConditions': ['broken']}"));
  const auto prepared = [](const std::string& type, const std::string& more = "") {
    return "{'devices': [{'driver': 'd', 'pool': 's', 'device': 'a', 'conditions': [{'type': '" + type +
           "', 'status': 'True'" + more + "}]}]}";
  };
  auto pod = ReserveX();
  int waited = 0;
  server_.meanwhile = [&] {
    if (++waited == 3) {
      server_.Touch("x", prepared("ready"));
      server_.Show("x");
    }
  };
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.waits, (std::vector<Duration>{std::chrono::seconds(5), std::chrono::seconds(5)}));
  ASSERT_EQ(cluster_.handle.events.size(), 1U);
  EXPECT_EQ(cluster_.handle.events.front().reason, "BindingConditionsPending");
  EXPECT_EQ(cluster_.handle.events.front().note, "waiting for binding conditions for device on node n1");
  EXPECT_FALSE(cluster_.handle.events.front().is_warning);
  const std::string labels = ",profile=default-scheduler,driver=d,status=success";
  EXPECT_EQ(cluster_.handle.counted->Value("scheduler_dra_bindingconditions_allocations_total" + labels), 1);
  EXPECT_EQ(cluster_.handle.counted->Observed("scheduler_dra_bindingconditions_wait_duration_seconds" + labels),
            std::vector<double>{10});
}

TEST_F(ClaimWritesTest, DevicesWithoutConditionsHaveNothingToCount) {
  EXPECT_EQ(PreBind(*ReserveX()), "ok");
  EXPECT_TRUE(cluster_.handle.counted->Keys("scheduler_").empty());
}

TEST_F(ClaimWritesTest, BindingConditionsThatFailOrTakeTooLong) {
  const auto result = [](const std::string& status) {
    DeviceCluster cluster;
    cluster.Set(MakeSlice("s", "'nodeName': 'n1'",
                          "{'name': 'a', 'bindingConditions': ['ready'], 'bindingFailureConditions': ['broken']}"));
    Server server(cluster);
    server.Put(MakeClaim("x", Requests(Exactly())));
    const auto pod = cluster.Reserve(PodWith("p", {"x"}));
    int waited = 0;
    server.meanwhile = [&] {
      if (++waited != 2 || status.empty()) return;
      if (status == "gone") {
        cluster.RemoveClaim("x");
        return;
      }
      server.Touch("x", status);
      server.Show("x");
    };
    const Time begin = cluster.now;
    const std::string text = server.Run(cluster.plugin.PreBind(*pod));
    EXPECT_LE(cluster.now - begin, std::chrono::seconds(605));
    const testing::FakeMetrics& counted = *cluster.handle.counted;
    const std::vector<std::string> keys = counted.Keys("scheduler_");
    EXPECT_EQ(keys.size(), 2U);
    const std::string labels = keys.empty() ? "" : keys.front().substr(keys.front().find(','));
    EXPECT_EQ(counted.Value("scheduler_dra_bindingconditions_allocations_total" + labels), 1);
    EXPECT_EQ(counted.Observed("scheduler_dra_bindingconditions_wait_duration_seconds" + labels).size(), 1U);
    return text + " (" + labels.substr(labels.rfind('=') + 1) + ")";
  };
  EXPECT_EQ(
      result("{'devices': [{'driver': 'd', 'pool': 's', 'device': 'a', 'conditions': [{'type': 'broken', 'status': "
             "'True', 'reason': 'Why', 'message': 'a \\'b\\''}]}]}"),
      "Error: device binding failed: claim=x, reason=Why, message=\"a \\\"b\\\"\" (failure)");
  EXPECT_EQ(result(""), "Error: device binding timeout: context deadline exceeded (timeout)");
  EXPECT_EQ(result("gone"), "Error: could not find ResourceClaim \"default/x\" (error)");
  EXPECT_EQ(result("{'allocation': {'allocationTimestamp': '2020-01-01T00:00:00Z'}}"),
            "Error: device binding timeout: claim=x (timeout)");
}

class ExtendedClaimTest : public ClaimWritesTest {
 protected:
  ExtendedClaimTest() { cluster_.Set(MakeClass("c", "'extendedResourceName': 'example.com/gpu'")); }
  // Of claims, with success and with failure; -1: not counted.
  std::vector<double> Creations() const {
    const std::string name = "scheduler_resourceclaim_creates_total,status=";
    return {cluster_.handle.counted->Value(name + "success"), cluster_.handle.counted->Value(name + "failure")};
  }
  framework::PodInfoPtr ReserveExtended() { return cluster_.Reserve(MakePod("p").Request("example.com/gpu", "1")); }
};

TEST_F(ExtendedClaimTest, IsCreatedAllocatedAndNamedInThePod) {
  const auto pod = ReserveExtended();
  codec::json::object created;
  server_.is_watched = false;
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, (Log{"POST", "PATCH made", "PATCH made/status", "PATCH p/status"}));
  EXPECT_EQ(Creations(), (std::vector<double>{1, -1}));
  EXPECT_EQ(codec::WriteJson(server_.last_body),
            "{\"metadata\":{\"uid\":\"uid-default-p\"},\"status\":{\"extendedResourceClaimStatus\":{"
            "\"requestMappings\":[{\"containerName\":\"c\",\"resourceName\":\"example.com/gpu\",\"requestName\":"
            "\"container-0-request-0\"}],\"resourceClaimName\":\"made\"}}}");
  EXPECT_TRUE(IsTaken());
  server_.Show("made");
  server_.RunStarted();
  EXPECT_TRUE(IsTaken());
  // The pod cannot be bound after all: the claim goes.
  server_.log.clear();
  cluster_.plugin.Unreserve(*pod, "n1");
  server_.RunStarted();
  EXPECT_EQ(server_.log, (Log{"PATCH made", "DELETE made"}));
}

TEST_F(ExtendedClaimTest, ARefusedCreation) {
  const auto pod = ReserveExtended();
  server_.outcomes = {Outcome::kRefused};
  EXPECT_EQ(PreBind(*pod), "Error: create claim for extended resources default/: forbidden");
  EXPECT_EQ(Creations(), (std::vector<double>{-1, 1}));
}

TEST_F(ExtendedClaimTest, TheBody) {
  const auto pod = ReserveExtended();
  Operation operation = cluster_.plugin.PreBind(*pod);
  StepResult result;
  operation = Operation::Next(operation.next)(result);
  const auto& create = std::get<framework::ObjectCreate>(operation.writes.front());
  EXPECT_EQ(create.body,
            "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{\"namespace\":\"default\","
            "\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},\"ownerReferences\":[{"
            "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"uid-default-p\",\"controller\":true}],"
            "\"generateName\":\"p-extended-resources-\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":"
            "\"container-0-request-0\",\"exactly\":{\"deviceClassName\":\"c\",\"allocationMode\":\"ExactCount\","
            "\"count\":1}}]}}}");
}

TEST_F(ExtendedClaimTest, AClaimThatIsNeverSeenDoesNotHoldItsDevicesForEver) {
  const auto pod = ReserveExtended();
  server_.is_watched = false;
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_TRUE(IsTaken());
  server_.RunStarted();  // two minutes
  EXPECT_EQ(server_.waits, std::vector<Duration>{std::chrono::seconds(120)});
  EXPECT_FALSE(IsTaken());
}

TEST_F(ExtendedClaimTest, ALostCreationIsFoundByTheWatch) {
  auto pod = ReserveExtended();
  server_.outcomes = {Outcome::kWorksUnanswered};
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_EQ(server_.log, (Log{"POST (unanswered)", "PATCH made", "PATCH made/status", "PATCH p/status"}));
  EXPECT_TRUE(IsTaken());
  EXPECT_EQ(Creations(), (std::vector<double>{1, -1}));
}

TEST_F(ExtendedClaimTest, ALostCreationThatNeverHappened) {
  const auto pod = ReserveExtended();
  server_.outcomes = {Outcome::kLost};
  EXPECT_EQ(PreBind(*pod), "Error: create claim for extended resources default/: no answer");
  EXPECT_EQ(server_.waits.size(), 10U);
  EXPECT_EQ(Creations(), (std::vector<double>{-1, 1}));
  cluster_.plugin.Unreserve(*pod, "n1");
  EXPECT_FALSE(IsTaken());
  EXPECT_TRUE(cluster_.handle.started.empty());
}

TEST_F(ExtendedClaimTest, DevicePluginsNeedNoClaim) {
  cluster_.nodes.Add(testing::MakeNode("plugin").Allocatable("example.com/gpu", "4"));
  const auto pod = cluster_.Reserve(MakePod("p").Request("example.com/gpu", "1"), "plugin");
  EXPECT_EQ(PreBind(*pod), "ok");
  EXPECT_TRUE(server_.log.empty());
}

TEST_F(ExtendedClaimTest, BesideClaimsOfTheUserDevicePluginsDoNotWork) {
  // As upstream, which has no mappings to write then, and fails.
  cluster_.nodes.Add(testing::MakeNode("plugin").Allocatable("example.com/gpu", "4"));
  cluster_.Set(MakeSlice("t", "'nodeName': 'plugin'", "{'name': 'a'}"));
  server_.Put(MakeClaim("x", Requests(Exactly())));
  const auto pod = cluster_.Reserve(PodWith("p", {"x"}).Request("example.com/gpu", "1"), "plugin");
  EXPECT_EQ(PreBind(*pod),
            "Error: nil or empty request mappings, no update of pod default/p ExtendedResourceClaimStatus");
}

TEST_F(ExtendedClaimTest, UnreserveBeforeAnythingWasWritten) {
  const auto pod = ReserveExtended();
  EXPECT_TRUE(IsTaken());
  cluster_.plugin.Unreserve(*pod, "n1");
  cluster_.plugin.Unreserve(*pod, "n1");
  EXPECT_FALSE(IsTaken());
  EXPECT_TRUE(cluster_.handle.started.empty());
}

TEST(DeleteClaim, ConflictsAreTriedAgain) {
  DeviceCluster cluster;
  Server server(cluster);
  server.Put(MakeClaim("x", "", "", "'finalizers': ['resource.kubernetes.io/delete-protection']"));
  const auto claim = server.Get("x");
  server.Touch("x");
  EXPECT_EQ(server.Run(DeleteClaim(claim)), "ok");
  EXPECT_EQ(server.log, (Log{"PATCH x (conflict)", "GET x", "PATCH x", "DELETE x"}));
}

TEST(ClaimJson, RoundTrip) {
  const std::string text =
      "{'metadata': {'name': 'x', 'namespace': 'n', 'uid': 'u', 'resourceVersion': '7', 'labels': {'a': 'b'}, "
      "'annotations': {'c': 'd'}, 'creationTimestamp': '2026-01-01T00:00:00Z', 'finalizers': ['f'], 'ownerReferences': "
      "[{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': 'v', 'controller': true}]}, 'spec': {'devices': "
      "{'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': 2, "
      "'adminAccess': true, 'selectors': [{'cel': {'expression': 'true'}}], 'tolerations': [{'key': 'k', 'operator': "
      "'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 5}], 'capacity': {'requests': {'m': '1Gi'}}}}, {'name': "
      "'q', 'firstAvailable': [{'name': 's', 'deviceClassName': 'c', 'allocationMode': 'All'}]}], 'constraints': "
      "[{'requests': ['r'], 'matchAttribute': 'd/a'}, {'distinctAttribute': 'd/b'}], 'config': [{'requests': ['r'], "
      "'opaque': {'driver': 'd', 'parameters': {'k': [1, 2]}}}]}}, 'status': {'allocation': {'allocationTimestamp': "
      "'2026-01-02T00:00:00Z', 'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'z', 'operator': "
      "'NotIn', 'values': ['a']}], 'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['n']}]}]}, "
      "'devices': {'results': [{'request': 'r', 'driver': 'd', 'pool': 'p', 'device': 'a', 'adminAccess': true, "
      "'bindingConditions': ['b'], 'bindingFailureConditions': ['g'], 'shareID': 's', 'consumedCapacity': {'m': "
      "'1500m'}, 'tolerations': [{'key': 'k', 'operator': 'Equal', 'value': 'v'}]}], 'config': [{'source': "
      "'FromClass', "
      "'requests': ['r'], 'opaque': {'driver': 'd', 'parameters': {}}}]}}, 'reservedFor': [{'resource': 'pods', "
      "'name': "
      "'p', 'uid': 'v'}], 'devices': [{'driver': 'd', 'pool': 'p', 'device': 'a', 'conditions': [{'type': 'b', "
      "'status': "
      "'True', 'reason': 'R', 'message': 'm'}]}]}}";
  const auto claim = DecodeOrDie(&api::DecodeResourceClaim, text);
  const auto again = DecodeOrDie(&api::DecodeResourceClaim, codec::WriteJson(ToJson(*claim)));
  EXPECT_EQ(again->spec, claim->spec);
  EXPECT_EQ(again->allocation, claim->allocation);
  EXPECT_EQ(again->reserved_for, claim->reserved_for);
  EXPECT_EQ(again->devices, claim->devices);
  EXPECT_EQ(again->finalizers, claim->finalizers);
  EXPECT_EQ(again->owners, claim->owners);
  EXPECT_EQ(again->metadata.controller, claim->metadata.controller);
  EXPECT_EQ(again->metadata.labels, claim->metadata.labels);
  EXPECT_EQ(again->metadata.annotations, claim->metadata.annotations);
  EXPECT_EQ(again->metadata.creation_time, claim->metadata.creation_time);
  EXPECT_EQ(again->metadata.resource_version, "7");
}

TEST(ClaimJson, Quantities) {
  for (const char* text : {"0", "1", "10", "100", "1k", "1500", "80Gi", "10G", "1500m", "1u", "1n", "-5", "-3Mi"}) {
    EXPECT_EQ(QuantityText(*api::Quantity::Parse(text)), text);
  }
  EXPECT_EQ(QuantityText(*api::Quantity::Parse("1024")), "1Ki");
  EXPECT_EQ(QuantityText(*api::Quantity::Parse("0.5")), "500m");
}

// PodGroup g of namespace default, whose pods p0, p1 ... have claim x.
class GroupClaimsTest : public ClaimWritesTest {
 protected:
  GroupClaimsTest() {
    framework::Release release = framework::ReleaseOf(37);
    release.has_pod_groups = true;
    release.has_pod_group_claims = true;
    cluster_.handle.SetRelease(release);
    cluster_.handle.groups = &groups_;
    SetGroup("g");
    server_.Put(MakeClaim("x", Requests(Exactly())));
  }

  void SetGroup(const std::string& name, std::vector<api::PodGroupResourceClaim> claims = {}) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = name;
    group->metadata.namespace_name = "default";
    group->metadata.uid = "uid-" + name;
    group->resource_claims = std::move(claims);
    cluster_.Set(std::shared_ptr<const api::PodGroup>(std::move(group)));
  }
  static testing::PodBuilder Member(int i, const std::string& group = "g") {
    return PodWith("p" + std::to_string(i), {"x"}).InGroup(group);
  }
  std::string Reservations() {
    std::string text;
    const auto claim = server_.Get("x");
    for (const api::ClaimConsumer& consumer : claim->reserved_for)
      text += (text.empty() ? "" : " ") + consumer.resource + "/" + consumer.uid;
    return text;
  }

  cache::PodGroupStates groups_{cluster_.handle.store, false};
};

constexpr const char* kInProcess =
    "UnschedulableAndUnresolvable: resource claim default/x is in the process of being allocated";

TEST_F(GroupClaimsTest, PodsOfACycleShareWhatOneOfThemGot) {
  const auto first = cluster_.Reserve(Member(0));
  EXPECT_EQ(cluster_.Filter(*Member(1).Info(), "n2"),
            "UnschedulableAndUnresolvable: resourceclaim not available on the node");
  const auto second = cluster_.Reserve(Member(1));
  EXPECT_EQ(cluster_.PreFilter(*PodWith("single", {"x"}).Info()), kInProcess);
  SetGroup("other");
  EXPECT_EQ(cluster_.PreFilter(*Member(2, "other").Info()), kInProcess);
  EXPECT_EQ(PreBind(*first), "ok");
  EXPECT_EQ(PreBind(*second), "ok");
  EXPECT_EQ(server_.log, (Log{"PATCH x", "PATCH x/status", "PATCH x/status"})) << "allocated once";
  EXPECT_EQ(Reservations(), "pods/uid-default-p0 pods/uid-default-p1");
  EXPECT_FALSE(IsPending());
}

TEST_F(GroupClaimsTest, OnceOneIsBoundOthersHaveToWait) {
  const auto first = cluster_.Reserve(Member(0));
  const framework::Operation binding = cluster_.plugin.PreBind(*first);
  EXPECT_EQ(cluster_.PreFilter(*Member(1).Info()), kInProcess);
}

TEST_F(GroupClaimsTest, TheLastOneThatGivesUpFreesTheDevice) {
  const auto first = cluster_.Reserve(Member(0));
  const auto second = cluster_.Reserve(Member(1));
  cluster_.plugin.Unreserve(*first, "n1");
  EXPECT_TRUE(IsTaken());
  EXPECT_EQ(PreBind(*second), "ok");
  EXPECT_EQ(Reservations(), "pods/uid-default-p1");
  cluster_.RemoveClaim("x");
  server_.Put(MakeClaim("x", Requests(Exactly())));
  const auto third = cluster_.Reserve(Member(2));
  const auto fourth = cluster_.Reserve(Member(3));
  cluster_.plugin.Unreserve(*third, "n1");
  cluster_.plugin.Unreserve(*fourth, "n1");
  EXPECT_FALSE(IsPending());
  EXPECT_FALSE(IsTaken());
}

TEST_F(GroupClaimsTest, OneThatFailsLeavesItToTheOthers) {
  const auto first = cluster_.Reserve(Member(0));
  const auto second = cluster_.Reserve(Member(1));
  server_.outcomes = {Outcome::kRefused};
  EXPECT_EQ(PreBind(*first), "Error: add finalizer to claim default/x: forbidden");
  cluster_.plugin.Unreserve(*first, "n1");
  EXPECT_TRUE(IsTaken());
  EXPECT_EQ(PreBind(*second), "ok");
  EXPECT_EQ(Reservations(), "pods/uid-default-p1");
}

TEST_F(GroupClaimsTest, TheyWriteOneAfterTheOther) {
  const auto first = cluster_.Reserve(Member(0));
  auto turn = DeviceState::Of(cluster_.handle)->claims.TakeWriteTurn("uid-x");
  int steps = 0;
  server_.meanwhile = [&] {
    if (++steps == 3) turn = nullptr;
  };
  EXPECT_EQ(PreBind(*first), "ok");
  EXPECT_EQ(server_.waits.size(), 2U) << "until the other one had written";
}

TEST_F(GroupClaimsTest, AClaimOfTheGroupIsReservedForTheGroup) {
  SetGroup("g", {{"c-x", "x", std::nullopt}, {"else", "x", std::nullopt}});
  const auto first = cluster_.Reserve(Member(0));
  const auto second = cluster_.Reserve(Member(1));
  EXPECT_EQ(PreBind(*first), "ok");
  EXPECT_EQ(PreBind(*second), "ok");
  EXPECT_EQ(server_.log, (Log{"PATCH x", "PATCH x/status"})) << "nothing is left to write for the second";
  EXPECT_EQ(Reservations(), "podgroups/uid-g");
  EXPECT_EQ(server_.Get("x")->reserved_for[0], (api::ClaimConsumer{"scheduling.k8s.io", "podgroups", "g", "uid-g"}));
  // A pod that goes takes nothing from the others.
  cluster_.plugin.Unreserve(*second, "n1");
  EXPECT_TRUE(cluster_.handle.started.empty());
}

// Whoever writes first, and whoever is accepted as a user by then.
TEST_F(GroupClaimsTest, AMemberThatNamesTheClaimOtherwiseIsItsConsumerToo) {
  SetGroup("g", {{"c-x", "x", std::nullopt}});
  const auto first = cluster_.Reserve(Member(0));
  const auto second =
      cluster_.Reserve(testing::MakePod("p1").InGroup("g").ResourceClaim({"private", "x", std::nullopt}));
  EXPECT_EQ(PreBind(*first), "ok");
  EXPECT_EQ(PreBind(*second), "ok");
  EXPECT_EQ(Reservations(), "podgroups/uid-g pods/uid-default-p1");
  // What is reserved for the group when the pod is decided is reserved for the pod.
  const auto third =
      cluster_.Reserve(testing::MakePod("p2").InGroup("g").ResourceClaim({"private", "x", std::nullopt}));
  EXPECT_EQ(PreBind(*third), "ok");
  EXPECT_EQ(Reservations(), "podgroups/uid-g pods/uid-default-p1");
}

TEST_F(GroupClaimsTest, OnlyTheSameClaimIsTheGroups) {
  for (const std::vector<api::PodGroupResourceClaim>& claims :
       {std::vector<api::PodGroupResourceClaim>{{"other", "x", std::nullopt}},
        {{"c-x", "y", std::nullopt}},
        {{"c-x", std::nullopt, "x"}}}) {
    SetGroup("g", claims);
    EXPECT_EQ(ConsumerOf(*Member(0).Info(), 0, groups_.FindPodGroup({"default", "g", false})).resource, "pods");
  }
}

TEST_F(GroupClaimsTest, AClaimThatWasMadeForTheGroupIsItsPods) {
  api::Pod object = testing::MakePod("p0").InGroup("g").ResourceClaim({"own", std::nullopt, "template"}).Build();
  object.status.resource_claim_statuses = {{"own", "made"}};
  cache::PodClasses classes;
  const framework::PodInfoPtr pod = classes.MakePodInfo(object);
  const auto error = [&](const std::string& owner) {
    cluster_.Set(MakeClaim("made", Requests(Exactly()), "",
                           "'ownerReferences': [{'apiVersion': '" + owner + "', 'uid': 'u', 'controller': true}]"));
    framework::Release release(37);
    release.has_pod_group_claims = true;
    return FindPodClaims(*pod, DeviceState::Of(cluster_.handle)->claims, release).error;
  };
  EXPECT_EQ(error("scheduling.k8s.io/v1beta1', 'kind': 'PodGroup', 'name': 'g"), "");
  EXPECT_EQ(error("scheduling.k8s.io/v2', 'kind': 'PodGroup', 'name': 'g"), "");
  const std::string refused =
      "ResourceClaim default/made was not created for Pod default/p0 (neither Pod nor PodGroup g is the owner)";
  EXPECT_EQ(error("scheduling.k8s.io/v1beta1', 'kind': 'PodGroup', 'name': 'h"), refused);
  EXPECT_EQ(error("other/v1', 'kind': 'PodGroup', 'name': 'g"), refused);
  EXPECT_EQ(FindPodClaims(*pod, DeviceState::Of(cluster_.handle)->claims).error,
            "ResourceClaim default/made was not created for Pod default/p0 (Pod is not owner)");
}

class NoDryRun final : public framework::PodGroupDryRun {
 public:
  explicit NoDryRun(const framework::NodeList& nodes) : nodes_(nodes) {}
  const framework::NodeList& nodes() const override { return nodes_; }
  Time wall_now() const override { return {}; }
  Time now() const override { return {}; }
  Time waiting_since() const override { return {}; }
  void RemovePod(const framework::PodInfoPtr&) override {}
  void RestorePod(const framework::PodInfoPtr&) override {}
  framework::Status TryGroup(framework::NodeRanking*) override { return {}; }
  const std::vector<framework::PodGroupAssignment>& assignments() const override { return assignments_; }
  bool DoAssignmentsFit() override { return true; }

 private:
  const framework::NodeList& nodes_;
  std::vector<framework::PodGroupAssignment> assignments_;
};

TEST_F(GroupClaimsTest, AGroupOfWhichNoPodWasTriedFailsAsUpstream) {
  const framework::PodGroupMember member{Member(0).Info(), nullptr, 1};
  NoDryRun dry_run(cluster_.nodes.table());
  EXPECT_EQ(TestCluster::Describe(cluster_.plugin.As<framework::PodGroupPostFilterPlugin>()
                                      .PodGroupPostFilter({"default", "g", false}, {&member, 1}, dry_run)
                                      .status),
            "Error: not found");
}

// The claim is allocated on n1, and n2 is the only node there is for the pod.
TEST_F(GroupClaimsTest, AGroupThatFitsNowhereGivesItsClaimsUp) {
  SetGroup("g", {{"c-x", "x", std::nullopt}});
  const std::string on_n1 =
      "'allocation': {'devices': {'results': [{'request': 'r', 'driver': 'd', 'pool': 's', 'device': 'a'}]}, "
      "'nodeSelector': {'nodeSelectorTerms': [{'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': "
      "['n1']}]}]}}, ";
  const auto reserved_for = [](const std::string& uid) {
    return "'reservedFor': [{'apiGroup': 'scheduling.k8s.io', 'resource': 'podgroups', 'name': 'g', 'uid': '" + uid +
           "'}]";
  };
  const auto pod = Member(0).Info();
  const auto answer = [&](const std::string& node) {
    (void)cluster_.Filter(*pod, node);
    const framework::PodGroupMember member{pod, &cluster_.nodes.state(), 1};
    NoDryRun dry_run(cluster_.nodes.table());
    return TestCluster::Describe(cluster_.plugin.As<framework::PodGroupPostFilterPlugin>()
                                     .PodGroupPostFilter({"default", "g", false}, {&member, 1}, dry_run)
                                     .status);
  };
  const std::string plain = "Unschedulable: deallocation and deletion of ResourceClaims completed";
  server_.Put(MakeClaim("x", Requests(Exactly()), on_n1 + reserved_for("uid-g")));
  EXPECT_EQ(answer("n2"), "Unschedulable: deallocation of PodGroup ResourceClaim completed");
  server_.RunStarted();
  EXPECT_FALSE(server_.Get("x")->allocation);
  EXPECT_EQ(Reservations(), "");

  // Where the claim is not what is in the way, the group no longer holds it.
  server_.Put(MakeClaim("x", Requests(Exactly()), on_n1 + reserved_for("uid-g")));
  EXPECT_EQ(answer("n1"), "UnschedulableAndUnresolvable: ResourceClaim unreserved for PodGroup");
  ASSERT_EQ(cluster_.handle.started.size(), 1U);
  cluster_.handle.started.clear();

  groups_.SetScheduled(Member(7).Node("n1").Info());
  EXPECT_EQ(answer("n2"), plain) << "a pod of the group runs with it";
  EXPECT_TRUE(cluster_.handle.started.empty());
}

}  // namespace
}  // namespace berth::plugins
