// SPDX-License-Identifier: Apache-2.0
// What is read from an API server whose answers the test writes.
#include "berth/whatif/cluster_reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/whatif/state_builder.h"

namespace berth::whatif {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Answer {
  int status = 200;
  std::string body;
};

std::string ListOf(const std::vector<std::string>& objects, const std::string& next = "") {
  std::string items;
  for (const std::string& object : objects) items += (items.empty() ? "" : ",") + object;
  return R"({"metadata":{"resourceVersion":"7","continue":")" + next + R"("},"items":[)" + items + "]}";
}

std::string Named(const std::string& name, const std::string& namespace_name = "") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":")" + namespace_name + R"("}})";
}

Answer Refused(int status, const std::string& reason, const std::string& message) {
  return {status, R"({"kind":"Status","status":"Failure","reason":")" + reason + R"(","message":")" + message +
                      R"(","code":)" + std::to_string(status) + "}"};
}

// "+Pod" for an object of the kind, "-Pod" for a list that starts over.
class RecordingSink final : public ObjectSink {
 public:
  Expected<void> Take(std::size_t kind, const simdjson::dom::element&) override {
    calls.push_back("+" + std::string(KindInfo(kind).name));
    if (calls.size() == fails_after) return Error{ErrorCode::kTooLarge, "the disk is full"};
    return {};
  }
  Expected<void> RestartList(std::size_t kind) override {
    calls.push_back("-" + std::string(KindInfo(kind).name));
    return {};
  }
  std::vector<std::string> calls;
  std::size_t fails_after = 0;
};

class ClusterReaderTest : public ::testing::Test {
 protected:
  ClusterReaderTest() {
    transport.on_send = [this](client::FakeTransport::Call& call) {
      targets.push_back(call.request.target);
      const auto [status, body] = AnswerTo(call.request.target);
      call.Answer(status, body);
    };
    options.source = "https://server";
    options.is_interrupted = [this] {
      loop.Advance(std::chrono::minutes(1));  // past any wait for another try
      return false;
    };
  }

  // Each path gives its answers one after the other; paths that nobody has named list nothing.
  Answer AnswerTo(const std::string& target) {
    const std::string path = target.substr(0, target.find('?'));
    auto& left = answers[path];
    if (left.empty()) return {200, path == "/version" ? R"({"gitVersion":"v1.36.3"})" : ListOf({})};
    const Answer answer = left.front();
    left.erase(left.begin());
    return answer;
  }

  Expected<ClusterState> Read() { return ReadCluster(rest, loop, options); }

  client::FakeLoop loop;
  client::FakeTransport transport;
  client::RestClient rest{loop, transport, nullptr, 1};
  ClusterReadOptions options;
  std::map<std::string, std::vector<Answer>> answers;
  std::vector<std::string> targets;
};

TEST_F(ClusterReaderTest, ReadsNodesPodsAndEveryKind) {
  answers["/api/v1/nodes"] = {{200, ListOf({Named("n1"), Named("n2")})}};
  answers["/api/v1/pods"] = {{200, ListOf({Named("p1", "a")}, "more")}, {200, ListOf({Named("p2", "b")})}};
  std::size_t objects = 0;
  options.reads_quotas = true;
  // Groups of pods are not read: an answer is there, and nobody asks.
  const auto is_read = [](std::size_t kind) { return !KindInfo(kind).resource.ends_with("podgroups"); };
  for (std::size_t kind = 2; kind < kKindCount; ++kind) {
    answers[KindPath(kind)] = {{200, ListOf({Named("x", "a")})}};
    if (is_read(kind)) ++objects;
  }
  std::vector<std::string> progress;
  options.progress = [&](std::string_view what, std::size_t count) {
    if (what == "pods") progress.push_back(std::to_string(count));
  };
  const auto state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->nodes.size(), 2u);
  EXPECT_EQ(state->nodes[1]->metadata.name, "n2");
  ASSERT_EQ(state->pods.size(), 2u);
  EXPECT_EQ(state->pods[1]->metadata.name, "p2");
  ASSERT_EQ(state->objects.size() + state->admission.size(), objects);
  ASSERT_EQ(state->admission.size(), kKindCount - kAdmissionKinds);
  for (std::size_t i = 0; i < state->admission.size(); ++i)
    EXPECT_EQ(state->admission[i].kind, KindInfo(kAdmissionKinds + i).name);
  std::size_t next = 0;
  for (std::size_t kind = 2; kind < kAdmissionKinds; ++kind) {
    if (!is_read(kind)) continue;
    EXPECT_EQ(static_cast<std::size_t>(framework::KindOf(state->objects[next++])), kind - 2);
  }
  EXPECT_EQ(state->source, "https://server");
  EXPECT_EQ(state->kubernetes_version, "v1.36.3");
  EXPECT_EQ(state->read_at, loop.WallNow());
  EXPECT_THAT(state->left_out, IsEmpty());
  EXPECT_THAT(progress, ElementsAre("1", "2"));
  EXPECT_THAT(targets, ::testing::Contains("/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3D"
                                           "Failed&limit=500&continue=more"));
  for (const std::string& target : targets) {
    EXPECT_THAT(target, ::testing::Not(HasSubstr("secrets")));
    EXPECT_THAT(target, ::testing::Not(HasSubstr("configmaps")));
  }
}

TEST_F(ClusterReaderTest, PodGroupsAreReadForThoseWhoDecideByThem) {
  const std::string path = "/apis/scheduling.k8s.io/v1beta1/podgroups";
  const auto is_asked = [&] {
    return std::ranges::any_of(targets, [&](const std::string& target) { return target.starts_with(path); });
  };
  ASSERT_TRUE(Read().ok());
  EXPECT_FALSE(is_asked());
  options.reads_pod_groups = true;
  answers[path] = {{200, ListOf({Named("g", "a")})}};
  auto state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->objects.size(), 1u);
  EXPECT_EQ(framework::KindOf(state->objects[0]), framework::ObjectKind::kPodGroup);
  EXPECT_THAT(targets, ::testing::Not(::testing::Contains(HasSubstr("compositepodgroups"))));
  options.reads_composite_pod_groups = true;
  answers[path] = {{200, ListOf({Named("g", "a")})}};
  answers["/apis/scheduling.k8s.io/v1beta1/compositepodgroups"] = {{200, ListOf({Named("top", "a")})}};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->objects.size(), 2u);
  // Older servers serve an older version of the same objects.
  answers[path] = {{200, ListOf({Named("g", "a")})}};
  answers["/apis/scheduling.k8s.io/v1beta1/compositepodgroups"] = {Refused(404, "NotFound", "no such path")};
  answers["/apis/scheduling.k8s.io/v1alpha3/compositepodgroups"] = {{200, ListOf({Named("top", "a")}, "more")},
                                                                    {200, ListOf({Named("side", "a")})}};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->objects.size(), 3u);
  EXPECT_THAT(state->left_out, IsEmpty());
  options.reads_composite_pod_groups = false;

  answers[path] = {Refused(404, "NotFound", "no such path")};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->left_out, ElementsAre("podgroups: not served: no such path"));
  answers[path] = {Refused(403, "Forbidden", "podgroups is forbidden")};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->left_out, ElementsAre("podgroups: forbidden: podgroups is forbidden"));
  // A snapshot reads them wherever they are: most clusters do not have them, and lack nothing.
  RecordingSink sink;
  options.sink = &sink;
  answers[path] = {Refused(404, "NotFound", "no such path")};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->left_out, IsEmpty());
}

TEST_F(ClusterReaderTest, QuotasAreReadForThoseWhoAskWhatIsAdmitted) {
  const std::string path = "/api/v1/resourcequotas";
  ASSERT_TRUE(Read().ok());
  EXPECT_THAT(targets, ::testing::Not(::testing::Contains(HasSubstr("resourcequotas"))));
  options.reads_quotas = true;
  answers[path] = {{200, ListOf({R"({"metadata":{"name":"q","namespace":"a","labels":{"x":"y"}},
      "spec":{"hard":{"pods":"2"},"scopes":["NotTerminating"]},"status":{"hard":{"pods":"2"},"used":{"pods":"1"}}})"})}};
  auto state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->admission.size(), 1u);
  EXPECT_EQ(state->admission[0].kind, "ResourceQuota");
  EXPECT_EQ(state->admission[0].namespace_name, "a");
  EXPECT_FALSE(state->admission[0].object.at("spec").as_object().contains("hard")) << "admission reads the status";
  EXPECT_EQ(state->admission[0].object.at("status").at("used").at("pods"), "1");
  answers[path] = {Refused(403, "Forbidden", "resourcequotas is forbidden")};
  state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->left_out, ElementsAre("resourcequotas: forbidden: resourcequotas is forbidden"));
}

TEST_F(ClusterReaderTest, TwoListsAreUnderWayAtATime) {
  std::vector<std::shared_ptr<client::FakeTransport::Call>> calls;
  transport.on_send = nullptr;
  std::size_t most = 0;
  options.is_interrupted = [&] {
    loop.Run();
    most = std::max(most, transport.Waiting());
    if (transport.Waiting() > 0) {
      const auto call = transport.Next();
      const auto [status, body] = AnswerTo(call->request.target);
      call->Answer(status, body);
      loop.Run();
    }
    return false;
  };
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(most, 3u) << "and /version";
}

TEST_F(ClusterReaderTest, WhatCannotBeReadIsLeftOutOrEndsIt) {
  struct Case {
    const char* name;
    std::string path;
    std::vector<Answer> answers;
    std::string error;                  // empty: none
    std::vector<std::string> left_out;  // each a part of a line
  };
  const Answer forbidden = Refused(403, "Forbidden", "csinodes is forbidden: User u cannot list resource csinodes");
  std::vector<std::string> bad;
  for (std::size_t i = 0; i < 7; ++i)
    bad.push_back(R"({"metadata":{"name":"n)" + std::to_string(i) + R"("},"status":{"allocatable":{"cpu":"x"}}})");
  const std::vector<Case> cases = {
      {"forbidden kind",
       "/apis/storage.k8s.io/v1/csinodes",
       {forbidden},
       "",
       {"csinodes: forbidden: csinodes is forb"}},
      {"kind not served",
       "/apis/resource.k8s.io/v1/resourceslices",
       {Refused(404, "NotFound", "the server could not find the requested resource")},
       "",
       {"resourceslices: not served: the server could not"}},
      {"forbidden nodes",
       "/api/v1/nodes",
       {Refused(403, "Forbidden", "nodes is forbidden")},
       "listing nodes: nodes is forbidden; needed is the right to list nodes in the whole cluster: a ClusterRole "
       "with verbs [list], apiGroups [\"\"], resources [nodes]",
       {}},
      {"forbidden pods", "/api/v1/pods", {Refused(403, "Forbidden", "no")}, "the right to list pods", {}},
      {"broken server", "/api/v1/services", std::vector<Answer>(5, {500, "oops"}), "listing services: ", {}},
      {"no list", "/api/v1/services", {{200, "{}"}}, "listing services: the answer is no list", {}},
      {"no JSON", "/api/v1/services", {{200, "<html>"}}, "listing services: no JSON", {}},
      {"an object that does not decode",
       "/api/v1/nodes",
       {{200, ListOf({Named("n1"), bad[0]})}},
       "",
       {"nodes: Node n0: status.allocatable[cpu]: \"x\" is no quantity"}},
      {"many of them",
       "/api/v1/nodes",
       {{200, ListOf(bad)}},
       "",
       {"Node n0", "Node n1", "Node n2", "Node n3", "Node n4", "nodes: 2 more that could not be read"}},
      {"an object that spoils its page",
       "/api/v1/pods",
       {{200, ListOf({Named("p1", "a"), R"({"metadata":{"name":"p2","namespace":"b"},"x":nonsense})"}, "next")},
        {200, ListOf({Named("p3", "a")})}},
       "",
       {"pods: Pod b/p2: no JSON"}},
      {"expired pages",
       "/api/v1/pods",
       {{200, ListOf({Named("p1", "a")}, "next")},
        Refused(410, "Expired", "too old"),
        {200, ListOf({Named("p1", "a")}, "next")},
        Refused(410, "Expired", "too old")},
       "listing pods, whose pages expire before they are read: too old",
       {}},
      {"no version", "/version", {Refused(403, "Forbidden", "no")}, "", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    answers.clear();
    answers[c.path] = c.answers;
    const auto state = Read();
    if (!c.error.empty()) {
      ASSERT_FALSE(state.ok());
      EXPECT_THAT(state.error().message, HasSubstr(c.error));
      continue;
    }
    ASSERT_TRUE(state.ok()) << state.error().message;
    std::vector<::testing::Matcher<std::string>> lines;
    for (const std::string& part : c.left_out) lines.push_back(HasSubstr(part));
    EXPECT_THAT(state->left_out, ::testing::ElementsAreArray(lines));
  }
}

TEST_F(ClusterReaderTest, AListWhosePagesExpireStartsOver) {
  RecordingSink sink;
  options.sink = &sink;
  answers["/api/v1/pods"] = {{200, ListOf({Named("p1", "a"), Named("p2", "a")}, "next")},
                             Refused(410, "Expired", "too old"),
                             {200, ListOf({Named("p1", "a")}, "next")},
                             {200, ListOf({Named("p3", "a")})}};
  const auto state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->pods.size(), 2u);
  EXPECT_EQ(state->pods[0]->metadata.name, "p1");
  EXPECT_EQ(state->pods[1]->metadata.name, "p3");
  EXPECT_THAT(sink.calls, ElementsAre("+Pod", "+Pod", "-Pod", "+Pod", "+Pod"));
}

TEST_F(ClusterReaderTest, ASinkGetsWhatDecodesAndMayEndTheReading) {
  RecordingSink sink;
  options.sink = &sink;
  options.keeps_objects = false;
  const std::string bad = R"({"metadata":{"name":"n2"},"status":{"allocatable":{"cpu":"x"}}})";
  const std::string list = ListOf({Named("n1"), bad, Named("n3")});
  answers["/api/v1/nodes"] = {{200, list}};
  const auto state = Read();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->nodes, IsEmpty());
  EXPECT_EQ(state->left_out.size(), 1u);
  EXPECT_THAT(sink.calls, ElementsAre("+Node", "+Node"));

  sink.calls.clear();
  sink.fails_after = 1;
  answers["/api/v1/nodes"] = {{200, list}};
  const auto ended = Read();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().message, "the disk is full");
}

TEST_F(ClusterReaderTest, EndsWhenItIsInterruptedAndWhenAListHasNoEnd) {
  options.is_interrupted = [] { return true; };
  const auto interrupted = Read();
  ASSERT_FALSE(interrupted.ok());
  EXPECT_EQ(interrupted.error().code, ErrorCode::kCancelled);
  options.is_interrupted = [this] {
    loop.Run();
    return false;
  };
  options.pages_max = 3;
  answers["/api/v1/nodes"] = std::vector<Answer>(5, {200, ListOf({Named("n")}, "next")});
  const auto endless = Read();
  ASSERT_FALSE(endless.ok());
  EXPECT_THAT(endless.error().message, HasSubstr("listing nodes: the list has no end"));
}

}  // namespace
}  // namespace berth::whatif
