// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_service.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/page/page_server.h"
#include "berth/page/page_testing.h"
#include "berth/shell/net/test_peers.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::page {
namespace {

using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using ::testing::StartsWith;
using whatif::kNow;

std::shared_ptr<const whatif::ClusterState> Shop() {
  auto state = whatif::StateOf({MakeNode("a").Allocatable("cpu", "2"), MakeNode("b").Allocatable("cpu", "2")},
                               {whatif::RunningPod("web", "web-1", "a").Request("cpu", "1"),
                                whatif::RunningPod("web", "web-2", "").Request("cpu", "4").Created(kNow)});
  state.read_at = kNow;
  return std::make_shared<const whatif::ClusterState>(std::move(state));
}

class PageServiceTest : public ::testing::Test {
 protected:
  PageServiceTest() {
    ClusterSource source;
    source.fixed = Shop();
    source.core_for = ask::DefaultCore;
    PageOptions options;
    options.version = "berth test";
    options.mode = "snapshot";
    options.as_of = kNow;
    options.epoch = 9;
    service_ = std::make_unique<PageService>(options, std::move(source), CoreSources{}, nullptr, nullptr, clock_);
    service_->Start();
  }

  net::Response Ask(net::Request request) {
    const auto writer = std::make_shared<AnswerPromise>();
    const auto target = net::ParseTarget(request.target);
    service_->Handle(std::move(request), *target, *net::PercentDecode(target->path, false), writer);
    return writer->Get();
  }
  net::Response Ask(const std::string& target) {
    net::Request request;
    request.target = target;
    return Ask(std::move(request));
  }
  net::Response Post(const std::string& path, const std::string& body) {
    net::Request request;
    request.method = "POST";
    request.target = "/ui/api/v1/" + path;
    request.body = body;
    return Ask(std::move(request));
  }
  codec::json::object Json(const std::string& path) {
    const net::Response response = Ask("/ui/api/v1/" + path);
    EXPECT_EQ(response.status, 200) << path << ": " << response.body;
    return codec::ParseJson(response.body)->as_object();
  }

  const SystemClock clock_;
  std::unique_ptr<PageService> service_;
};

TEST_F(PageServiceTest, Status) {
  const auto status = Json("status");
  EXPECT_EQ(status.at("mode").as_string(), "snapshot");
  EXPECT_EQ(status.at("scheduler").as_string(), "other");
  EXPECT_EQ(status.at("asOf").as_string(), "2030-01-01T00:00:00Z");
  EXPECT_EQ(status.at("epoch").to_number<int>(), 9);
  EXPECT_EQ(status.at("nodes").to_number<int>(), 2);
  EXPECT_EQ(status.at("pending").to_number<int>(), 1);
  EXPECT_EQ(codec::WriteJson(status.at("features")), R"(["simulate","can-drain","headroom","numbers"])");
  EXPECT_EQ(codec::WriteJson(status.at("schedulerNames")), R"(["default-scheduler"])");
}

TEST_F(PageServiceTest, FleetWithAnETag) {
  net::Request request;
  request.target = "/ui/api/v1/fleet";
  const net::Response frame = Ask(request);
  EXPECT_EQ(frame.Get("Content-Type"), "application/vnd.berth.fleet.v4");
  EXPECT_EQ(FrameReader(frame.body).Column<std::uint32_t>("pod.id").size(), 2U);
  request.headers.push_back({"If-None-Match", std::string(frame.Get("ETag"))});
  EXPECT_EQ(Ask(request).status, 304);
}

TEST_F(PageServiceTest, FleetAsTheReaderAcceptsIt) {
  net::Request request;
  request.target = "/ui/api/v1/fleet";
  const std::string plain = Ask(request).body;
  for (const char* const coding : {"gzip", "zstd"}) {
    request.headers = {{"Accept-Encoding", coding}};
    const net::Response packed = Ask(request);
    EXPECT_EQ(packed.Get("Content-Encoding"), coding);
    EXPECT_EQ(packed.Get("Vary"), "Accept-Encoding");
    EXPECT_NE(packed.body, plain);
  }
}

TEST_F(PageServiceTest, PodsOfSomeNodes) {
  const net::Response frame = Ask("/ui/api/v1/fleet");
  const std::uint32_t node = FrameReader(frame.body).Column<std::uint32_t>("node.id").front();
  const net::Response part = Ask("/ui/api/v1/fleet/pods?nodes=" + std::to_string(node));
  ASSERT_EQ(part.status, 200);
  EXPECT_EQ(FrameReader(part.body).Texts("pod.name"), std::vector<std::string>{"web-1"});
  for (const char* const wrong : {"", "a", "1,", "4294967295", "-1"})
    EXPECT_EQ(Ask("/ui/api/v1/fleet/pods?nodes=" + std::string(wrong)).status, 400) << wrong;
  std::string many = "0";
  for (std::size_t i = 0; i < Fleet::kPartNodesMax; ++i) many += ",0";
  EXPECT_EQ(Ask("/ui/api/v1/fleet/pods?nodes=" + many).status, 400);
}

TEST_F(PageServiceTest, SearchesPods) {
  EXPECT_EQ(Json("search?text=web").at("pods").as_array().size(), 2U);
  EXPECT_EQ(Json("search?text=web&limit=1").at("pods").as_array().size(), 1U);
  for (const char* const wrong : {"search", "search?text=a&limit=x", "search?text=a&limit=1000"})
    EXPECT_EQ(Ask("/ui/api/v1/" + std::string(wrong)).status, 400) << wrong;
}

TEST_F(PageServiceTest, ShowsTheReportOfBerthShadow) {
  EXPECT_EQ(Ask("/ui/api/v1/shadow").status, 404) << "it was given none";
  Expected<std::string> file = std::string(R"({"decisions":4,"differences":[]})");
  PageOptions options;
  options.shadow_report = [&] { return file; };
  ClusterSource source;
  source.fixed = Shop();
  service_ = std::make_unique<PageService>(options, std::move(source), CoreSources{}, nullptr, nullptr, clock_);
  EXPECT_THAT(codec::WriteJson(Json("status").at("features")), HasSubstr("\"shadow\""));
  EXPECT_EQ(Json("shadow").at("decisions").to_number<int>(), 4);
  file = std::string("{}");
  EXPECT_THAT(Ask("/ui/api/v1/shadow").body, HasSubstr("this is no report of berth shadow"));
  file = std::string("{");
  EXPECT_EQ(Ask("/ui/api/v1/shadow").status, 422);
  file = Error{ErrorCode::kNotFound, "/tmp/x: no such file"};
  EXPECT_EQ(Ask("/ui/api/v1/shadow").status, 404);
}

TEST_F(PageServiceTest, PendingPodsNodesAndNumbers) {
  const auto pending = Json("pending");
  EXPECT_EQ(pending.at("by").as_string(), "evaluation");
  EXPECT_EQ(pending.at("revision").to_number<int>(), 1);
  EXPECT_EQ(pending.at("classes").at(0).at("reasons").at(0).at("plugin").as_string(), "NodeResourcesFit");
  EXPECT_EQ(Json("pending").at("revision").to_number<int>(), 1) << "nothing has changed";
  const auto pod = Json("pods/default/web-2");
  EXPECT_EQ(pod.at("state").as_string(), "Refused");
  EXPECT_EQ(pod.at("page").at("owner").at("kind").as_string(), "Deployment");
  EXPECT_EQ(Json("nodes/a").at("pods").as_array().size(), 1U);
  EXPECT_EQ(Json("numbers").at("intervalSeconds").to_number<double>(), 2);
  EXPECT_EQ(Ask("/ui/api/v1/pods/default/web-9").status, 404);
  EXPECT_EQ(Ask("/ui/api/v1/pods/default/web-2?nodes=some").status, 400);
  EXPECT_EQ(Ask("/ui/api/v1/nodes/z").status, 404);
  EXPECT_EQ(Ask("/ui/api/v1/decisions").status, 404) << "nobody decides here";
}

TEST_F(PageServiceTest, Questions) {
  EXPECT_EQ(Post("can-drain", R"({"nodes":["a"]})").status, 200);
  EXPECT_EQ(Post("headroom", "{}").status, 200);
  EXPECT_EQ(Post("simulate", "{").status, 400);
  const net::Response wrong = Post("simulate", R"({"removeNodes":["z"]})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(wrong.body, HasSubstr("z"));
  EXPECT_EQ(Post("pending", "{}").status, 404);
}

TEST_F(PageServiceTest, RefusesWhatIsNoPartOfIt) {
  EXPECT_EQ(Ask("/ui").Get("Location"), "/ui/");
  EXPECT_EQ(Ask("/ui/api/v1/nothing").status, 404);
  EXPECT_EQ(Ask("/ui/api/v2/status").status, 404);
  EXPECT_EQ(Ask("/ui/../etc/passwd").status, 404);
  net::Request request;
  request.method = "DELETE";
  request.target = "/ui/api/v1/fleet";
  EXPECT_EQ(Ask(request).status, 405);
  EXPECT_TRUE(PageService::IsFile("/ui/"));
  EXPECT_TRUE(PageService::IsFile("/ui/app.js"));
  EXPECT_FALSE(PageService::IsFile("/ui/api/v1/fleet"));
}

TEST_F(PageServiceTest, EventsBegin) {
  const net::Response events = Ask("/ui/api/v1/events");
  EXPECT_EQ(events.Get("Content-Type"), "text/event-stream");
  EXPECT_THAT(events.body, StartsWith("event: hello\n"));
}

TEST_F(PageServiceTest, OnLoopbackOnlyTheLinkOpensIt) {
  const auto server = PageServer::Start({.key = "key", .session = "session"}, *service_);
  ASSERT_TRUE(server.ok()) << server.error().message;
  const std::string link = (*server)->Link();
  const std::string root = link.substr(0, link.find("/ui/"));
  net::IoContext io;
  const auto client = net::MakeClient(io, root);
  const auto get = [&](const std::string& target, const std::string& cookie) {
    net::Request request;
    request.target = target;
    if (!cookie.empty()) request.headers.push_back({"Cookie", cookie});
    return net::SendAndWait(*client, std::move(request));
  };
  EXPECT_EQ(get("/ui/api/v1/status", "")->status, 403);
  const auto first = get(link.substr(root.size()), "");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->status, 200);
  const std::string set_cookie(first->Get("Set-Cookie"));
  const std::string cookie = set_cookie.substr(0, set_cookie.find(';'));
  EXPECT_EQ(get("/ui/api/v1/status", cookie)->status, 200);
  const auto index = get("/ui/", cookie);
  EXPECT_EQ(index->status, 200);
  EXPECT_THAT(std::string(index->Get("Content-Security-Policy")), HasSubstr("script-src 'self'"));
  EXPECT_EQ(get("/ui/nothing.js", cookie)->status, 404);
  EXPECT_EQ(get("/elsewhere", cookie)->status, 404);
  net::Request large;
  large.method = "POST";
  large.target = "/ui/api/v1/simulate";
  large.headers.push_back({"Cookie", cookie});
  large.body = std::string(PageService::kBodyBytesMax + 1, ' ');
  EXPECT_EQ(net::SendAndWait(*client, std::move(large))->status, 413);
}

TEST(PageServerTest, IsForLoopbackAlone) {
  for (const char* const address : {"127.0.0.1:0", "[::1]:8400", "localhost:0", "127.0.0.2:1"})
    EXPECT_EQ(NotLoopback(address), "") << address;
  for (const char* const address :
       {"0.0.0.0:0", ":8400", "10.0.0.1:80", "127.evil.example:80", "example.com:80", "8400"})
    EXPECT_NE(NotLoopback(address), "") << address;
}

}  // namespace
}  // namespace berth::page
