// SPDX-License-Identifier: Apache-2.0
// How a pod reaches its API server: the service account's files, TLS with the roots in them, the token in each request,
// and what a rotated token changes.
#include <filesystem>
#include <future>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/client/test_files.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/test_certificates.h"

namespace berth::client {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The files as the kubelet keeps them: links through ..data, which is exchanged as a whole.
class ServiceAccount {
 public:
  void Mount(const std::string& token, const std::string& ca_pem) {
    const std::string version = "..version" + std::to_string(++versions_);
    folder_.Write(kFolder + version + "/token", token);
    folder_.Write(kFolder + version + "/ca.crt", ca_pem);
    folder_.Write(kFolder + version + "/namespace", "kube-system");
    std::filesystem::create_directory_symlink(version, folder_.Path(kFolder + "..data_tmp"));
    std::filesystem::rename(folder_.Path(kFolder + "..data_tmp"), folder_.Path(kFolder + "..data"));
    if (versions_ > 1) return;
    for (const std::string name : {"token", "ca.crt", "namespace"}) {
      std::filesystem::create_symlink("..data/" + name, folder_.Path(kFolder + name));
    }
  }
  const std::string& root() const { return folder_.path(); }

 private:
  const std::string kFolder = "var/run/secrets/kubernetes.io/serviceaccount/";
  TempFolder folder_;
  int versions_ = 0;
};

// A server over TLS that answers only requests with the token that it accepts now.
class Server {
 public:
  explicit Server(const net::Certificate& ca) {
    const net::Certificate certificate({.common_name = "kube", .names = {"IP:127.0.0.1"}}, &ca);
    net::HttpServerOptions options;
    options.tls = net::TlsServerOptions{certificate.pem(), certificate.key_pem(), ""};
    auto started = net::StartHttpServer(
        io_, std::move(options), [this](const net::Request& request, const auto& writer) { Handle(request, *writer); });
    BERTH_CHECK(started.ok());
    server_ = std::move(started).value();
  }
  ~Server() {
    server_.reset();
    io_.Stop();
  }

  std::string port() const { return std::to_string(server_->port()); }
  void Accept(const std::string& token) {
    const std::lock_guard lock(mutex_);
    accepted_ = "Bearer " + token;
  }
  // The Authorization of each request, in order.
  std::vector<std::string> Shown() {
    const std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  void Handle(const net::Request& request, net::ResponseWriter& writer) {
    const std::string authorization(request.Get("Authorization"));
    const std::lock_guard lock(mutex_);
    shown_.push_back(authorization);
    if (authorization == accepted_) {
      writer.Send({200, {}, request.method + ' ' + request.target});
    } else {
      writer.Send({401, {}, R"({"kind":"Status","message":"Unauthorized"})"});
    }
  }

  net::IoContext io_;
  std::mutex mutex_;
  std::string accepted_;            // guarded by mutex_
  std::vector<std::string> shown_;  // guarded by mutex_
  std::unique_ptr<net::HttpServer> server_;
};

// From the configuration to requests, as `berth run` puts it together.
class Client {
 public:
  Client(const ClientConfig& config, const Clock& clock)
      : loop_(io_, clock),
        transport_(MakeTransport(io_, config).value()),
        rest_(loop_, *transport_, config.credentials, 1) {}
  ~Client() { io_.Stop(); }

  Expected<net::Response> Send(net::Request request) { return rest_.DoSync(std::move(request), {.tries = 1}); }

  // A watch, from its request to its end.
  Expected<void> Watch() {
    std::promise<Expected<void>> ended;
    RestStreamCallbacks callbacks;
    callbacks.on_end = [&ended](Expected<void> result) { ended.set_value(std::move(result)); };
    const auto stream = rest_.Stream({"GET", "/api/v1/pods?watch=true", {}, {}}, {}, std::move(callbacks));
    return ended.get_future().get();
  }

 private:
  net::IoContext io_;
  IoEventLoop loop_;
  const std::unique_ptr<net::Transport> transport_;
  RestClient rest_;
};

class InClusterTest : public ::testing::Test {
 protected:
  Expected<ClientConfig> Config() {
    const std::map<std::string, std::string, std::less<>> variables = {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                                                                       {"KUBERNETES_SERVICE_PORT", server.port()}};
    return InClusterConfig([&](std::string_view name) { return variables.find(name)->second; }, account.root(), clock);
  }

  SettableClock clock;
  const net::Certificate ca{{.common_name = "ca", .is_authority = true}};
  ServiceAccount account;
  Server server{ca};
};

TEST_F(InClusterTest, ShowsItsTokenToTheServerOfTheCluster) {
  account.Mount("one", ca.pem());
  server.Accept("one");
  const auto config = Config();
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://127.0.0.1:" + server.port());
  EXPECT_EQ(config->namespace_name, "kube-system");
  EXPECT_THAT(config->warnings, IsEmpty());
  Client client(*config, clock);
  const auto answer = client.Send({"GET", "/version", {}, {}});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /version");
  EXPECT_TRUE(client.Watch().ok());
  EXPECT_THAT(server.Shown(), ElementsAre("Bearer one", "Bearer one"));
}

TEST_F(InClusterTest, ShowsItsTokenToNobodyElse) {
  const net::Certificate other({.common_name = "other", .is_authority = true});
  account.Mount("one", other.pem());
  const auto config = Config();
  ASSERT_TRUE(config.ok()) << config.error().message;
  Client client(*config, clock);
  const auto answer = client.Send({"GET", "/version", {}, {}});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("certificate"));
  EXPECT_THAT(server.Shown(), IsEmpty());
}

// The old token is still good then: the kubelet writes the new one long before.
TEST_F(InClusterTest, TakesUpARotatedTokenWithinAMinute) {
  account.Mount("one", ca.pem());
  server.Accept("one");
  const auto config = Config();
  ASSERT_TRUE(config.ok()) << config.error().message;
  Client client(*config, clock);
  EXPECT_TRUE(client.Send({"GET", "/version", {}, {}}).ok());
  account.Mount("two", ca.pem());
  clock.Advance(seconds(59));
  EXPECT_TRUE(client.Send({"GET", "/version", {}, {}}).ok());
  server.Accept("two");
  clock.Advance(seconds(1));
  EXPECT_TRUE(client.Send({"POST", "/api/v1/namespaces/default/pods/a/binding", {}, "{}"}).ok());
  EXPECT_THAT(server.Shown(), ElementsAre("Bearer one", "Bearer one", "Bearer two"));
}

TEST_F(InClusterTest, TakesUpARotatedTokenAtOnceWhenTheOldOneIsRefused) {
  account.Mount("one", ca.pem());
  server.Accept("one");
  const auto config = Config();
  ASSERT_TRUE(config.ok()) << config.error().message;
  Client client(*config, clock);
  EXPECT_TRUE(client.Send({"GET", "/version", {}, {}}).ok());
  account.Mount("two", ca.pem());
  server.Accept("two");
  EXPECT_TRUE(client.Send({"POST", "/api/v1/namespaces/default/pods/a/binding", {}, "{}"}).ok());
  account.Mount("three", ca.pem());
  server.Accept("three");
  // A watch is opened again by its owner.
  const auto refused = client.Watch();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnauthorized);
  EXPECT_TRUE(client.Watch().ok());
  EXPECT_THAT(server.Shown(), ElementsAre("Bearer one", "Bearer one", "Bearer two", "Bearer two", "Bearer three"));
}

// The file has no new token, so the refusal is the answer.
TEST_F(InClusterTest, ARefusedTokenWithoutASuccessorIsRefused) {
  account.Mount("one", ca.pem());
  const auto config = Config();
  ASSERT_TRUE(config.ok()) << config.error().message;
  Client client(*config, clock);
  const auto answer = client.Send({"GET", "/version", {}, {}});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(server.Shown(), ElementsAre("Bearer one"));
}

}  // namespace
}  // namespace berth::client
