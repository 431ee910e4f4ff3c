// SPDX-License-Identifier: Apache-2.0
// The client over real sockets: kubeconfig, TLS, credentials, list, watch and writes against a small server.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/base64.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/test_certificates.h"

namespace berth::client {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

struct Thing {
  std::string name;
};

// Serves /api/v1/things: two pages, and a watch whose bytes the test writes.
class Server {
 public:
  explicit Server(const net::Certificate& ca) {
    const net::Certificate certificate({.common_name = "kube", .names = {"IP:127.0.0.1"}}, &ca);
    net::HttpServerOptions options;
    options.tls = net::TlsServerOptions{certificate.pem(), certificate.key_pem(), ca.pem()};
    auto started = net::StartHttpServer(
        io_, std::move(options), [this](net::Request request, auto writer) { Handle(request, std::move(writer)); });
    EXPECT_TRUE(started.ok());
    server_ = std::move(started).value();
  }
  ~Server() {
    server_.reset();
    io_.Stop();
  }

  std::string address() const { return server_->address(); }
  void WaitForWatch(std::size_t number) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(60), [&] { return watches_.size() >= number; }));
  }
  void Write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    watches_.back()->Write(line);
  }
  void EndWatch() {
    const std::lock_guard lock(mutex_);
    watches_.back()->End();
  }
  std::vector<std::string> Seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void Handle(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer) {
    const std::string authorization(request.Get("Authorization"));
    const std::lock_guard lock(mutex_);
    seen_.push_back(request.method + ' ' + request.target);
    const std::string& target = request.target;
    const std::string list = R"({"kind":"List","metadata":{"resourceVersion":"5")";
    if (authorization != "Bearer secret") {
      writer->Send({401, {}, R"({"kind":"Status","message":"who are you?"})"});
    } else if (target.find("watch=true") != std::string::npos) {
      writer->StartStream({200, {{"Content-Type", "application/json"}}, ""});
      watches_.push_back(std::move(writer));
      changed_.notify_all();
    } else if (target.find("continue=") != std::string::npos) {
      writer->Send({200, {}, list + R"(},"items":[{"metadata":{"name":"b","resourceVersion":"2"}}]})"});
    } else if (target.starts_with("/api/v1/things")) {
      writer->Send({200, {}, list + R"(,"continue":"x"},"items":[{"metadata":{"name":"a","resourceVersion":"1"}}]})"});
    } else {
      writer->Send({409, {}, R"({"kind":"Status","reason":"Conflict","message":"already assigned"})"});
    }
  }

  net::IoContext io_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> seen_;
  std::vector<std::shared_ptr<net::ResponseWriter>> watches_;
  std::unique_ptr<net::HttpServer> server_;
};

// Answers each request with a list in JSON that never ends, and counts what is taken of it. An answer of which more has
// been taken than anybody may waits until it is given up: what the sockets hold is not counted then.
class EndlessServer {
 public:
  static constexpr std::size_t kListBytesMax = std::size_t{8} << 20;

  EndlessServer() {
    auto started = net::StartHttpServer(
        io_, {}, [this](const net::Request& /*request*/, auto writer) { Begin(std::move(writer)); });
    EXPECT_TRUE(started.ok());
    server_ = std::move(started).value();
  }
  ~EndlessServer() {
    server_.reset();
    io_.Stop();
  }

  std::string url() const { return "http://" + server_->address(); }
  // The most bytes of answers that were open at the same time.
  std::size_t taken_at_once() const { return taken_at_once_; }
  int answers() const { return answers_; }

 private:
  void Begin(std::shared_ptr<net::ResponseWriter> writer) {
    const int id = answers_++;
    writer->OnClosed([this, id] {
      io_.Post([this, id] {
        taken_.erase(id);
        waiting_.erase(id);
      });
    });
    writer->StartStream({200, {{"Content-Type", "application/json"}}, ""});
    writer->Write(R"({"kind":"ThingList","metadata":{"resourceVersion":"5"},"items":[)");
    taken_[id] = 0;
    Pour(id, std::move(writer), 0);
  }

  void Pour(int id, std::shared_ptr<net::ResponseWriter> writer, std::size_t written) {
    if (!taken_.contains(id)) return;
    if (writer->BufferedBytes() < kPiece && written <= kListBytesMax) {
      if (!writer->Write(piece_)) return;
      written += piece_.size();
    }
    const std::size_t taken = written - std::min(written, writer->BufferedBytes());
    taken_[id] = std::min(taken, kListBytesMax);
    std::size_t sum = 0;
    for (const auto& [other, bytes] : taken_) sum += bytes;
    taken_at_once_ = std::max(taken_at_once_.load(), sum);
    if (taken > kListBytesMax) {
      waiting_[id] = std::move(writer);
      return;
    }
    io_.Post([this, id, writer = std::move(writer), written]() mutable { Pour(id, std::move(writer), written); });
  }

  static constexpr std::size_t kPiece = std::size_t{512} << 10;

  net::IoContext io_;
  const std::string piece_ = [] {
    std::string text;
    while (text.size() < kPiece) text += R"({"metadata":{"name":"a","resourceVersion":"1"}},)";
    return text;
  }();
  // Of each open answer; on the loop's thread.
  std::map<int, std::size_t> taken_;
  std::map<int, std::shared_ptr<net::ResponseWriter>> waiting_;
  std::atomic<std::size_t> taken_at_once_{0};
  std::atomic<int> answers_{0};
  std::unique_ptr<net::HttpServer> server_;
};

class HttpTest : public ::testing::Test {
 protected:
  Expected<ClientConfig> Config(const net::Certificate& trusted, const std::string& token) {
    const net::Certificate me({.common_name = "me"}, &ca);
    return ParseKubeconfig(
        "current-context: m\ncontexts: [{name: m, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: \"https://" +
            server.address() + "\", certificate-authority-data: " + EncodeBase64(trusted.pem()) +
            "}}]\n"
            "users: [{name: u, user: {token: " +
            token + ", client-certificate-data: " + EncodeBase64(me.pem()) +
            ", client-key-data: " + EncodeBase64(me.key_pem()) + "}}]\n",
        {}, clock);
  }

  const SystemClock clock;
  const net::Certificate ca{{.common_name = "ca", .is_authority = true}};
  Server server{ca};
  net::IoContext io;
  IoEventLoop loop{io, clock};
};

TEST_F(HttpTest, ListsWatchesAndWrites) {
  const auto config = Config(ca, "secret");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto transport = MakeTransport(io, *config);
  ASSERT_TRUE(transport.ok()) << transport.error().message;
  RestClient rest(loop, **transport, config->credentials, 1);

  std::mutex mutex;
  std::condition_variable changed;
  std::string seen;
  const auto saw = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    seen += what + ' ';
    changed.notify_all();
  };
  const auto wait_for = [&](const std::string& want) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, seconds(60), [&] { return seen == want; }))
        << "want " << want << " got " << seen;
  };
  Informer<Thing>::Options options;
  options.name = "things";
  options.path = "/api/v1/things";
  options.backoff_min = std::chrono::milliseconds(1);
  options.decode = [](const simdjson::dom::element& element) -> Expected<std::shared_ptr<const Thing>> {
    return std::make_shared<const Thing>(
        Thing{std::string(codec::StringOrEmpty(*codec::FindMember(element, "metadata"), "name"))});
  };
  Informer<Thing>::Handler handler;
  handler.on_add = [&](auto o) { saw("+" + o->name); };
  handler.on_delete = [&](auto o) { saw("-" + o->name); };
  handler.on_synced = [&] { saw("synced"); };
  Informer<Thing> informer(rest, std::move(options), std::move(handler));
  informer.Start();
  server.WaitForWatch(1);
  wait_for("+a +b synced ");
  server.Write(R"({"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"6"}}})"
               "\n");
  wait_for("+a +b synced +c ");
  server.EndWatch();
  server.WaitForWatch(2);
  EXPECT_THAT(server.Seen().back(), HasSubstr("resourceVersion=6&"));
  server.Write(R"({"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"7"}}})"
               "\n");
  wait_for("+a +b synced +c -a ");

  ApiWriter writer(rest);
  std::optional<Error> error;
  writer.Bind({"default", "web-1", "uid-1"}, "n1", [&](Expected<void> result) {
    const std::lock_guard lock(mutex);
    error = result.ok() ? Error{} : result.error();
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, seconds(60), [&] { return error.has_value(); }));
    EXPECT_EQ(error->code, ErrorCode::kConflict);
    EXPECT_EQ(error->message, "already assigned");
  }
  informer.Stop();
  io.Stop();
}

TEST_F(HttpTest, ListsWithoutEndAreGivenUpAndStayBelowOneBound) {
  constexpr std::size_t kKinds = 8;
  EndlessServer endless;
  ClientConfig config;
  config.server = endless.url();
  const auto transport = MakeTransport(io, config);
  ASSERT_TRUE(transport.ok()) << transport.error().message;
  for (const bool takes_protobuf : {false, true}) {
    SCOPED_TRACE(takes_protobuf);
    RestClient rest(loop, **transport, nullptr, 1,
                    {.lists_bytes_max = 2 * EndlessServer::kListBytesMax, .takes_protobuf = takes_protobuf});
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::string> failures;  // of each kind, the first
    std::vector<std::unique_ptr<Informer<Thing>>> informers;
    for (std::size_t i = 0; i < kKinds; ++i) {
      Informer<Thing>::Options options;
      options.name = "things" + std::to_string(i);
      options.path = "/api/v1/" + options.name;
      options.list_bytes_max = EndlessServer::kListBytesMax;
      options.decode = [](const simdjson::dom::element&) -> Expected<std::shared_ptr<const Thing>> {
        return std::make_shared<const Thing>();
      };
      options.decode_protobuf = [](std::string_view) -> Expected<std::shared_ptr<const Thing>> {
        return std::make_shared<const Thing>();
      };
      Informer<Thing>::Handler handler;
      handler.on_failure = [&, name = options.name](const Error& error) {
        const std::lock_guard lock(mutex);
        failures.try_emplace(name, error.message);
        changed.notify_all();
      };
      informers.push_back(std::make_unique<Informer<Thing>>(rest, std::move(options), std::move(handler)));
    }
    for (const auto& informer : informers) informer->Start();
    {
      std::unique_lock lock(mutex);
      ASSERT_TRUE(changed.wait_for(lock, seconds(60), [&] { return failures.size() == kKinds; }));
      for (const auto& [name, message] : failures)
        EXPECT_THAT(message, HasSubstr(std::to_string(EndlessServer::kListBytesMax))) << name;
    }
    for (const auto& informer : informers) informer->Stop();
    informers.clear();
    // All eight were asked for at once. Two may be read; two more may not be known to be given up yet.
    EXPECT_LE(endless.taken_at_once(), 4 * EndlessServer::kListBytesMax);
    EXPECT_GT(endless.taken_at_once(), EndlessServer::kListBytesMax) << "or nothing was tried";
  }
  io.Stop();
}

TEST_F(HttpTest, SaysWhyItGetsNoAnswer) {
  const net::Certificate other({.common_name = "other", .is_authority = true});
  struct Case {
    const char* name;
    Expected<ClientConfig> config;
    ErrorCode code;
    const char* message;
  };
  auto refused = Config(ca, "secret");
  ASSERT_TRUE(refused.ok());
  refused->server = "https://127.0.0.1:1";
  auto behind_a_proxy = Config(ca, "secret");
  ASSERT_TRUE(behind_a_proxy.ok());
  behind_a_proxy->proxy = net::ParseProxy("http://127.0.0.1:1").value();
  const Case cases[] = {
      {"wrong token", Config(ca, "wrong"), ErrorCode::kUnauthorized, "who are you?"},
      {"unknown authority", Config(other, "secret"), ErrorCode::kUnavailable, "certificate"},
      {"nobody there", refused, ErrorCode::kUnavailable, "connection refused"},
      {"no proxy there", behind_a_proxy, ErrorCode::kUnavailable, " through proxy http://127.0.0.1:1: dial tcp"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(c.config.ok()) << c.config.error().message;
    const auto transport = MakeTransport(io, *c.config);
    ASSERT_TRUE(transport.ok()) << transport.error().message;
    RestClient rest(loop, **transport, c.config->credentials, 1);
    const auto answer = rest.DoSync({"GET", "/version", {}, {}}, {.tries = 2});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, c.code);
    EXPECT_THAT(answer.error().message, HasSubstr(c.message));
    EXPECT_EQ(answer.error().message.find('\n'), std::string::npos);
  }
  io.Stop();
}

}  // namespace
}  // namespace berth::client
