// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/pod_resources.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PodJson(const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"namespace":"default","name":"web","uid":"1","resourceVersion":"5"},"spec":)" + spec +
         R"(,"status":)" + status + "}";
}

PodResourceLines Decode(const std::string& json) {
  codec::JsonReader reader;
  const auto element = reader.Parse(json);
  BERTH_CHECK(element.ok(), json);
  const auto lines = DecodePodResources(*element);
  BERTH_CHECK(lines.ok(), lines.ok() ? "" : lines.error().message);
  return **lines;
}

std::string Line(const std::string& resource, const std::string& unit, const std::string& value) {
  return R"(namespace="default",node="n1",pod="web",priority="10",resource=")" + resource +
         R"(",scheduler="default-scheduler",unit=")" + unit + R"("} )" + value;
}

TEST(PodResourcesTest, SumsAsUpstream) {
  const PodResourceLines pod = Decode(PodJson(R"({"nodeName":"n1","schedulerName":"default-scheduler","priority":10,
      "overhead":{"memory":"1Mi","ephemeral-storage":"1"},
      "containers":[
        {"resources":{"requests":{"cpu":"100m","memory":"1Mi","nvidia.com/gpu":"2","pods":"0"},"limits":{"cpu":2}}},
        {"resources":{"requests":{"cpu":"50m","attachable-volumes-x":"1","hugepages-2Mi":"2Mi"},"limits":{"memory":"3Mi"}}}],
      "initContainers":[
        {"restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}},
        {"resources":{"requests":{"cpu":"1","memory":"1Ki"},"limits":{"cpu":"1"}}}]})"));
  EXPECT_THAT(pod.requests,
              ElementsAre(Line("attachable-volumes-x", "integer", "1"), Line("cpu", "cores", "1.01"),
                          Line("ephemeral-storage", "bytes", "1"), Line("hugepages-2Mi", "bytes", "2.097152e+06"),
                          Line("memory", "bytes", "2.097152e+06"), Line("nvidia.com/gpu", "", "2")));
  EXPECT_THAT(pod.limits, ElementsAre(Line("cpu", "cores", "2"), Line("memory", "bytes", "4.194304e+06")));
}

TEST(PodResourcesTest, PodLevelResourcesStandInPlaceOfTheContainers) {
  const PodResourceLines pod = Decode(PodJson(R"({"nodeName":"n1","schedulerName":"default-scheduler","priority":10,
      "resources":{"requests":{"cpu":"3","example.com/x":"7"},"limits":{"memory":"1Mi"}},
      "containers":[{"resources":{"requests":{"cpu":"1"}}}]})"));
  EXPECT_THAT(pod.requests, ElementsAre(Line("cpu", "cores", "3")));
  EXPECT_THAT(pod.limits, ElementsAre(Line("memory", "bytes", "1.048576e+06")));
}

TEST(PodResourcesTest, PodsThatHaveEndedCountNoMore) {
  const std::string spec = R"("containers":[{"resources":{"requests":{"cpu":"1"}}}]})";
  EXPECT_THAT(Decode(PodJson(R"({"nodeName":"n1",)" + spec, R"({"phase":"Succeeded"})")).requests, IsEmpty());
  EXPECT_THAT(Decode(PodJson(R"({"nodeName":"n1",)" + spec, R"({"phase":"Failed"})")).requests, IsEmpty());
  EXPECT_THAT(
      Decode(PodJson("{" + spec, R"({"phase":"Failed"})")).requests,
      ElementsAre(R"(namespace="default",node="",pod="web",priority="",resource="cpu",scheduler="",unit="cores"} 1)"));
}

class PodResourcesWatchTest : public ::testing::Test {
 protected:
  using Answer = std::shared_ptr<std::optional<Expected<std::string>>>;
  Answer Ask() {
    auto answer = std::make_shared<std::optional<Expected<std::string>>>();
    resources_->Ask([answer](Expected<std::string> text) { answer->emplace(std::move(text)); });
    loop_.Run();
    return answer;
  }
  void AnswerList() {
    transport_.Next()->Answer(200,
                              R"({"metadata":{"resourceVersion":"5"},"items":[)" +
                                  PodJson(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})") + "]}",
                              {{"Content-Type", "application/json"}});
    loop_.Run();
  }

  client::FakeLoop loop_;
  client::FakeTransport transport_;
  client::RestClient rest_{loop_, transport_, nullptr, 1};
  std::optional<PodResources> resources_{std::in_place, rest_};
};

TEST_F(PodResourcesWatchTest, PodsAreWatchedWhileSomebodyAsks) {
  EXPECT_THAT(transport_.all_targets, IsEmpty());
  const Answer first = Ask();
  EXPECT_FALSE(first->has_value());
  AnswerList();
  ASSERT_TRUE(first->has_value());
  EXPECT_THAT(***first, HasSubstr("# TYPE kube_pod_resource_request gauge\nkube_pod_resource_request{namespace="));
  EXPECT_EQ(transport_.LiveStreams(), 1U);
  loop_.Advance(PodResources::kIdleMax - std::chrono::seconds(1));
  EXPECT_TRUE(Ask()->has_value());
  loop_.Advance(PodResources::kIdleMax - std::chrono::seconds(1));
  EXPECT_GE(transport_.LiveStreams(), 1U);
  loop_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(transport_.LiveStreams(), 0U);
  EXPECT_FALSE(Ask()->has_value());
}

TEST_F(PodResourcesWatchTest, WhoWaitsForTheFirstListIsBounded) {
  std::vector<Answer> waiting;
  for (std::size_t i = 0; i < PodResources::kWaitingMax; ++i) waiting.push_back(Ask());
  const Answer refused = Ask();
  ASSERT_TRUE(refused->has_value());
  EXPECT_FALSE((**refused).ok());
  loop_.Advance(PodResources::kListTimeMax);
  for (const Answer& each : waiting) {
    ASSERT_TRUE(each->has_value());
    EXPECT_EQ((**each).error().code, ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace berth::serving
