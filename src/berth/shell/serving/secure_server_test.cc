// SPDX-License-Identifier: Apache-2.0
// The whole over real TLS on loopback: a server, an API server that the test plays, and clients of several kinds.
#include "berth/shell/serving/secure_server.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string_view>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "berth/shell/net/http_client.h"
#include "berth/shell/net/test_certificates.h"

namespace berth::serving {
namespace {

using net::Certificate;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// No wait in a test that goes well comes near it.
constexpr std::chrono::seconds kPatience(20);

// The API server: knows two tokens and one ConfigMap, and lets "reader" see everything. It hangs on request.
class ReviewServer {
 public:
  explicit ReviewServer(std::string client_ca) : client_ca_(std::move(client_ca)) {
    auto server = net::StartHttpServer(
        io_, {}, [this](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
          Answer(request, writer);
        });
    BERTH_CHECK(server.ok());
    server_ = *std::move(server);
  }
  ~ReviewServer() {
    server_.reset();
    io_.Stop();
  }

  client::ClientConfig Config() const {
    client::ClientConfig config;
    config.server = "http://" + server_->address();
    return config;
  }
  void Hang() { is_hanging_ = true; }
  int reviews() const { return reviews_.load(); }

 private:
  void Answer(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    const auto json = [&writer](int status, std::string body) {
      writer->Send({status, {{"Content-Type", "application/json"}}, std::move(body)});
    };
    const bool is_token = request.target.find("tokenreviews") != std::string::npos;
    if (is_token || request.target.find("subjectaccessreviews") != std::string::npos) {
      ++reviews_;
      if (is_hanging_) {
        const std::lock_guard lock(mutex_);
        held_.push_back(writer);
        return;
      }
    }
    if (is_token) {
      for (const char* user : {"reader", "nobody"}) {
        if (request.body.find("\"token\":\"" + std::string(user) + "\"") == std::string::npos) continue;
        json(201, R"({"status":{"authenticated":true,"user":{"username":")" + std::string(user) + R"("}}})");
        return;
      }
      json(201, R"({"status":{"authenticated":false}})");
    } else if (request.target.find("subjectaccessreviews") != std::string::npos) {
      const bool is_reader = request.body.find("\"user\":\"reader\"") != std::string::npos;
      json(201, is_reader ? R"({"status":{"allowed":true}})" : R"({"status":{"allowed":false}})");
    } else if (request.target.find("watch=") != std::string::npos) {
      const std::lock_guard lock(mutex_);
      writer->StartStream({200, {{"Content-Type", "application/json"}}, {}});
      held_.push_back(writer);
    } else {
      codec::json::object map;
      map["metadata"] = {{"namespace", "kube-system"},
                         {"name", "extension-apiserver-authentication"},
                         {"uid", "1"},
                         {"resourceVersion", "1"}};
      codec::json::object data;
      data["client-ca-file"] = client_ca_;
      map["data"] = data;
      codec::json::object list;
      list["metadata"] = codec::ParseJson(R"({"resourceVersion":"1"})").value();
      list["items"] = codec::json::array{map};
      json(200, codec::WriteJson(list));
    }
  }

  const std::string client_ca_;
  std::atomic<bool> is_hanging_{false};
  std::atomic<int> reviews_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<net::ResponseWriter>> held_;  // guarded by mutex_
  net::IoContext io_;
  std::unique_ptr<net::HttpServer> server_;
};

class SecureServerTest : public ::testing::Test {
 protected:
  SecureServerTest() {
    options_.serving.bind_address = "127.0.0.1";
    options_.serving.port = FreePort();
    options_.authentication_server = api_.Config();
    options_.authorization_server = api_.Config();
    state_.metrics_text = [this] { return metrics_; };
  }

  static int FreePort() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    BERTH_CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    BERTH_CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    ::close(fd);
    return ntohs(address.sin_port);
  }

  std::string File(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    // As a volume's files are replaced: in one step.
    std::ofstream(path + ".new") << content;
    std::filesystem::rename(path + ".new", path);
    return path;
  }

  void Start() {
    auto server = SecureServer::Start(options_, state_, clock_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }

  std::unique_ptr<net::Transport> Client(const Certificate* certificate = nullptr, const std::string& ca = {},
                                         const std::string& server_name = {}) {
    net::HttpClientOptions options;
    options.base_url = "https://127.0.0.1:" + std::to_string(server_->port());
    options.tls.emplace();
    options.tls->verify_peer = !ca.empty();
    options.tls->ca_pem = ca;
    options.tls->server_name = server_name;
    if (certificate != nullptr) {
      options.tls->client_certificate_pem = [certificate] {
        return Expected<std::pair<std::string, std::string>>({certificate->pem(), certificate->key_pem()});
      };
    }
    auto client = net::MakeHttpClient(io_, options);
    BERTH_CHECK(client.ok());
    return *std::move(client);
  }

  static Expected<net::Response> Get(net::Transport& client, const std::string& target, const std::string& token = {}) {
    auto answer = std::make_shared<std::promise<Expected<net::Response>>>();
    net::Request request{"GET", target, {}, {}};
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
    client.Send(std::move(request), {.timeout = kPatience},
                [answer](Expected<net::Response> response) { answer->set_value(std::move(response)); });
    return answer->get_future().get();
  }
  static std::string Brief(const Expected<net::Response>& response) {
    return response.ok() ? std::to_string(response->status) + " " + response->body : response.error().message;
  }

  const Certificate authority_{{.common_name = "authority", .is_authority = true}};
  const Certificate admin_{{.common_name = "reader"}, &authority_};
  const Certificate stranger_{{.common_name = "stranger"}};
  const std::filesystem::path folder_ = [] {
    std::string name = ::testing::TempDir() + "/serving.XXXXXX";
    BERTH_CHECK(::mkdtemp(name.data()) != nullptr);
    return std::filesystem::path(name);
  }();
  ReviewServer api_{authority_.pem()};
  SystemClock clock_;
  std::string metrics_ = "a 1\n";
  SecureServerOptions options_;
  ServedState state_;
  std::unique_ptr<SecureServer> server_;
  net::IoContext io_;
};

TEST_F(SecureServerTest, WhoMaySeeWhat) {
  options_.authentication.token_cache_ttl = std::chrono::minutes(10);
  options_.authorization.authorized_ttl = std::chrono::minutes(10);
  Start();
  const auto anybody = Client();
  EXPECT_EQ(Brief(Get(*anybody, "/healthz")), "200 ok");
  EXPECT_EQ(Brief(Get(*anybody, "/livez?verbose")), "200 [+]ping ok\nlivez check passed\n");
  EXPECT_THAT(Brief(Get(*anybody, "/met%72ics?x=y")),
              HasSubstr(R"(forbidden: User \"system:anonymous\" cannot get path \"/metrics\")"));
  EXPECT_THAT(Brief(Get(*anybody, "/metrics", "unknown")), StartsWith("401 {"));
  EXPECT_THAT(Brief(Get(*anybody, "/healthz", "unknown")), StartsWith("401 {"));
  EXPECT_THAT(Brief(Get(*anybody, "/metrics", "nobody")), HasSubstr(R"(User \"nobody\" cannot get)"));
  EXPECT_EQ(Brief(Get(*anybody, "/metrics", "reader")), "200 a 1\n");
  EXPECT_EQ(Brief(Get(*anybody, "/nothing", "reader")), "404 404 page not found\n");
  const auto answer = Get(*anybody, "/healthz");
  EXPECT_EQ(answer->Get("Cache-Control"), "no-cache, private");
  const int asked = api_.reviews();
  EXPECT_EQ(Brief(Get(*anybody, "/metrics", "reader")), "200 a 1\n");
  EXPECT_EQ(api_.reviews(), asked);

  EXPECT_EQ(Brief(Get(*Client(&admin_), "/metrics")), "200 a 1\n");
  EXPECT_THAT(Brief(Get(*Client(&stranger_), "/metrics")), StartsWith("401 {"));
  EXPECT_EQ(Brief(Get(*Client(&stranger_), "/metrics", "reader")), "200 a 1\n");
}

TEST_F(SecureServerTest, WithoutServersNobodyIsKnown) {
  options_.authentication_server.reset();
  options_.authorization_server.reset();
  Start();
  const auto client = Client(&admin_);
  EXPECT_EQ(Brief(Get(*client, "/healthz", "reader")), "200 ok");
  EXPECT_THAT(Brief(Get(*client, "/metrics", "reader")), HasSubstr(R"(User \"system:anonymous\" cannot)"));
}

TEST_F(SecureServerTest, CertificateFilesAreReadAgainWhenTheyChange) {
  const Certificate first({.names = {"IP:127.0.0.1"}}, &authority_);
  const Certificate other({.common_name = "other", .names = {"IP:127.0.0.1"}});
  options_.serving.cert_file = File("tls.crt", first.pem());
  options_.serving.key_file = File("tls.key", first.key_pem());
  Start();
  EXPECT_EQ(Brief(Get(*Client(nullptr, authority_.pem()), "/healthz")), "200 ok");
  // One file before the other: until they fit, the old pair stays.
  ::testing::internal::CaptureStderr();
  File("tls.crt", other.pem());
  // Two looks at the files, of which the first one tells.
  const auto until = std::chrono::steady_clock::now() + 2 * SecureServer::kFilesPeriod + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < until)
    EXPECT_EQ(Brief(Get(*Client(nullptr, authority_.pem()), "/healthz")), "200 ok");
  const std::string log = ::testing::internal::GetCapturedStderr();
  constexpr std::string_view kMessage = "The serving certificate was not read again";
  const std::size_t first_line = log.find(kMessage);
  EXPECT_NE(first_line, std::string::npos) << log;
  EXPECT_THAT(log, HasSubstr("the private key does not belong to the first certificate"));
  EXPECT_EQ(log.rfind(kMessage), first_line) << log;
  File("tls.key", other.key_pem());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string got;
  while (got != "200 ok" && std::chrono::steady_clock::now() < deadline)
    got = Brief(Get(*Client(nullptr, other.pem()), "/healthz"));
  EXPECT_EQ(got, "200 ok");
}

TEST_F(SecureServerTest, CertificatesForNamesAreReadAgainToo) {
  const Certificate own({.names = {"IP:127.0.0.1"}});
  const Certificate first({.names = {"DNS:first.example"}});
  const Certificate renewed({.names = {"DNS:first.example"}});
  options_.serving.cert_file = File("tls.crt", own.pem());
  options_.serving.key_file = File("tls.key", own.key_pem());
  options_.serving.named_certificates = {{File("first.crt", first.pem()), File("first.key", first.key_pem()), {}}};
  Start();
  EXPECT_EQ(Brief(Get(*Client(nullptr, own.pem()), "/healthz")), "200 ok");
  EXPECT_EQ(Brief(Get(*Client(nullptr, first.pem(), "first.example"), "/healthz")), "200 ok");
  File("first.key", renewed.key_pem());
  File("first.crt", renewed.pem());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string got;
  while (got != "200 ok" && std::chrono::steady_clock::now() < deadline)
    got = Brief(Get(*Client(nullptr, renewed.pem(), "first.example"), "/healthz"));
  EXPECT_EQ(got, "200 ok");
  // One that cannot be read keeps no other one from being renewed.
  std::filesystem::remove(folder_ / "first.key");
  const Certificate later({.names = {"IP:127.0.0.1"}});
  File("tls.key", later.key_pem());
  File("tls.crt", later.pem());
  got.clear();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (got != "200 ok" && std::chrono::steady_clock::now() < end)
    got = Brief(Get(*Client(nullptr, later.pem()), "/healthz"));
  EXPECT_EQ(got, "200 ok");
}

TEST_F(SecureServerTest, SharesItsPortOnRequest) {
  options_.serving.shares_port = true;
  Start();
  const auto beside = SecureServer::Start(options_, state_, clock_);
  EXPECT_TRUE(beside.ok()) << beside.error().message;
}

TEST_F(SecureServerTest, DirectoryOfItsOwn) {
  options_.serving.cert_dir = folder_ / "certificates";
  Start();
  std::ifstream file(folder_ / "certificates" / "kube-scheduler.crt");
  const std::string pem{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(Brief(Get(*Client(nullptr, pem), "/healthz")), "200 ok");
  server_.reset();
  Start();  // The same again.
  EXPECT_EQ(Brief(Get(*Client(nullptr, pem), "/healthz")), "200 ok");
}

TEST_F(SecureServerTest, StartsThatCannotWorkSayWhy) {
  const auto failure = [this] {
    const auto server = SecureServer::Start(options_, state_, clock_);
    return server.ok() ? "started" : server.error().message;
  };
  Start();
  EXPECT_THAT(failure(), HasSubstr("--secure-port: listen 127.0.0.1:"));
  EXPECT_THAT(failure(), HasSubstr("address already in use"));
  server_.reset();
  const Certificate other({.common_name = "other"});
  options_.serving.cert_file = File("tls.crt", authority_.pem());
  EXPECT_THAT(failure(), HasSubstr("--tls-cert-file is given without --tls-private-key-file"));
  options_.serving.key_file = File("tls.key", other.key_pem());
  EXPECT_THAT(failure(), HasSubstr("the private key does not belong to the first certificate"));
  options_.serving.key_file = folder_ / "none";
  EXPECT_THAT(failure(), HasSubstr("none: no such file or directory"));
  options_.serving.cert_file.clear();
  options_.serving.key_file.clear();
  options_.authentication.tolerate_lookup_failure = false;
  options_.authentication_server->server = "http://127.0.0.1:1";
  EXPECT_THAT(failure(), HasSubstr("--authentication-tolerate-lookup-failure=false: the ConfigMap "));
  options_.authentication.tolerate_lookup_failure = true;
  Start();
  EXPECT_EQ(Brief(Get(*Client(), "/healthz")), "200 ok");
  EXPECT_THAT(Brief(Get(*Client(), "/metrics", "reader")), StartsWith("401 {"));
}

// An API server that hangs, peers that say nothing and one that never reads: others are answered all the same.
TEST_F(SecureServerTest, OthersAreAnsweredAllTheSame) {
  metrics_.assign(std::size_t{8} << 20, 'x');
  // Longer than a machine that has much to do needs for this test.
  options_.authentication.token_cache_ttl = std::chrono::minutes(10);
  options_.authorization.authorized_ttl = std::chrono::minutes(10);
  Start();
  const auto client = Client();
  EXPECT_EQ(Get(*client, "/metrics", "reader")->body.size(), metrics_.size());
  api_.Hang();
  std::vector<std::unique_ptr<net::Transport>> waiting;
  std::atomic<int> ended{0};
  for (int i = 0; i < 200; ++i) {
    if (i % 50 == 0) waiting.push_back(Client());
    net::Request request{"GET", "/metrics", {{"Authorization", "Bearer token-" + std::to_string(i)}}, {}};
    waiting.back()->Send(std::move(request), {.timeout = kPatience}, [&ended](const Expected<net::Response>& response) {
      EXPECT_TRUE(!response.ok() || response->status == 429 || response->status == 401);
      ++ended;
    });
  }
  std::vector<int> silent;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(server_->port());
  for (int i = 0; i < 500; ++i) {
    silent.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(Brief(Get(*Client(), "/livez")), "200 ok");
  EXPECT_EQ(Get(*client, "/metrics", "reader")->status, 200);  // still known
  for (const int fd : silent) ::close(fd);
  waiting.clear();
  EXPECT_EQ(ended.load(), 200);
}

}  // namespace
}  // namespace berth::serving
