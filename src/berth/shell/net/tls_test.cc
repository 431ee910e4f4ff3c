// SPDX-License-Identifier: Apache-2.0
// HTTPS: what the client accepts, what it refuses and how it says so.
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/self_signed.h"
#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The certificates of all these tests.
struct Pki {
  Certificate authority{{.common_name = "authority", .is_authority = true}};
  Certificate other_authority{{.common_name = "other", .is_authority = true}};
  Certificate intermediate{{.common_name = "intermediate", .is_authority = true}, &authority};
  Certificate good{{.names = {"IP:127.0.0.1", "DNS:kube.example", "DNS:*.wild.example"}}, &authority};
  Certificate by_intermediate{{.names = {"IP:127.0.0.1"}}, &intermediate};
  Certificate expired{{.names = {"IP:127.0.0.1"}, .begins = std::chrono::hours(-48), .ends = std::chrono::hours(-24)},
                      &authority};
  Certificate not_yet{{.names = {"IP:127.0.0.1"}, .begins = std::chrono::hours(24), .ends = std::chrono::hours(48)},
                      &authority};
  Certificate other_address{{.names = {"IP:192.0.2.1"}}, &authority};
  Certificate nameless{{.common_name = "kube.example"}, &authority};
  Certificate self_signed{{.names = {"IP:127.0.0.1"}}};
  Certificate client{{.common_name = "berth"}, &authority};
  Certificate foreign_client{{.common_name = "stranger"}, &other_authority};
};

const Pki& GetPki() {
  static const Pki pki;
  return pki;
}

std::unique_ptr<HttpServer> MakeServer(IoContext& io, const TlsServerOptions& tls, Handler handler = EchoBody) {
  return MakeServer(io, std::move(handler), HttpServerOptions{.tls = tls});
}

std::unique_ptr<Transport> MakeClient(IoContext& io, std::uint16_t port, const TlsClientOptions& tls) {
  return MakeClient(io, "https://127.0.0.1:" + std::to_string(port), HttpClientOptions{.tls = tls});
}

TEST(TlsTest, Verification) {
  const Pki& pki = GetPki();
  const std::string ca = pki.authority.pem();
  struct Case {
    std::string name;
    const Certificate& certificate;
    TlsClientOptions tls;
    std::string want;  // empty: accepted
  };
  const std::vector<Case> cases = {
      {"by address", pki.good, {.ca_pem = ca}, ""},
      {"by another name", pki.good, {.ca_pem = ca, .server_name = "kube.example"}, ""},
      {"by a wildcard", pki.good, {.ca_pem = ca, .server_name = "a.wild.example"}, ""},
      {"several authorities", pki.good, {.ca_pem = pki.other_authority.pem() + ca}, ""},
      {"trusted intermediate", pki.by_intermediate, {.ca_pem = pki.intermediate.pem()}, ""},
      {"trusted itself", pki.self_signed, {.ca_pem = pki.self_signed.pem()}, ""},
      {"not verified", pki.expired, {.verify_peer = false}, ""},
      {"not verified by name", pki.other_address, {.ca_pem = ca, .verify_peer = false, .server_name = "x"}, ""},
      {"expired", pki.expired, {.ca_pem = ca}, "certificate has expired"},
      {"not yet valid", pki.not_yet, {.ca_pem = ca}, "certificate is not yet valid"},
      {"another address",
       pki.other_address,
       {.ca_pem = ca},
       "IP address mismatch: the server's certificate is not for 127.0.0.1"},
      {"another name",
       pki.good,
       {.ca_pem = ca, .server_name = "evil.example"},
       "hostname mismatch: the server's certificate is not for evil.example"},
      {"deep under a wildcard", pki.good, {.ca_pem = ca, .server_name = "a.b.wild.example"}, "hostname mismatch"},
      {"name in the subject only", pki.nameless, {.ca_pem = ca, .server_name = "kube.example"}, "hostname mismatch"},
      {"unknown authority", pki.good, {.ca_pem = pki.other_authority.pem()}, "unable to get local issuer certificate"},
      {"intermediate not sent", pki.by_intermediate, {.ca_pem = ca}, "unable to get local issuer certificate"},
      {"self-signed", pki.self_signed, {.ca_pem = ca}, "self-signed certificate"},
      {"the system's authorities", pki.good, {}, "unable to get local issuer certificate"},
  };
  for (const Case& c : cases) {
    IoContext io;
    const auto server = MakeServer(io, {c.certificate.pem(), c.certificate.key_pem(), ""});
    const auto client = MakeClient(io, server->port(), c.tls);
    const auto response = SendAndWait(*client, {"POST", "/", {}, "hello"});
    if (c.want.empty()) {
      ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
      EXPECT_EQ(response->body, "hello") << c.name;
    } else {
      ASSERT_FALSE(response.ok()) << c.name;
      EXPECT_THAT(response.error().message,
                  StartsWith("127.0.0.1:" + std::to_string(server->port()) + ": TLS handshake failed: " + c.want))
          << c.name;
      EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << c.name;
      EXPECT_FALSE(response.error().outcome_unknown) << c.name;
    }
  }
}

TEST(TlsTest, ChainFromTheServer) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server =
      MakeServer(io, {pki.by_intermediate.pem() + pki.intermediate.pem(), pki.by_intermediate.key_pem(), ""});
  const auto client = MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()});
  const auto response = SendAndWait(*client, {"GET", "/"});
  ASSERT_TRUE(response.ok()) << response.error().message;

  // A server that sends its self-signed root along, and a client that does not know it.
  const auto with_root = MakeServer(io, {pki.good.pem() + pki.authority.pem(), pki.good.key_pem(), ""});
  const auto stranger = MakeClient(io, with_root->port(), {.ca_pem = pki.other_authority.pem()});
  const auto refused = SendAndWait(*stranger, {"GET", "/"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("self-signed certificate in certificate chain"));
}

TEST(TlsTest, ClientCertificates) {
  const Pki& pki = GetPki();
  using Pems = Expected<std::pair<std::string, std::string>>;
  struct Case {
    std::string name;
    std::function<Pems()> pems;
    std::string want;  // empty: accepted
    bool outcome_unknown = false;
  };
  const std::vector<Case> cases = {
      {"good", [&] { return Pems(std::pair(pki.client.pem(), pki.client.key_pem())); }, ""},
      {"none", {}, "tlsv13 alert certificate required", true},
      {"empty", [] { return Pems(std::pair(std::string(), std::string())); }, "tlsv13 alert certificate required",
       true},
      {"of another authority", [&] { return Pems(std::pair(pki.foreign_client.pem(), pki.foreign_client.key_pem())); },
       "alert unknown ca", true},
      {"another one's key", [&] { return Pems(std::pair(pki.client.pem(), pki.good.key_pem())); },
       "client key: the private key does not belong to the first certificate"},
      {"no certificate", [&] { return Pems(std::pair(std::string("x"), pki.client.key_pem())); },
       "client certificate: not PEM certificates (BEGIN CERTIFICATE)"},
      {"no key", [&] { return Pems(std::pair(pki.client.pem(), std::string())); },
       "client key: not an unencrypted PEM private key (BEGIN PRIVATE KEY)"},
      {"unreadable", [] { return Pems(InvalidError("open client.crt: no such file")); },
       "reading the client certificate: open client.crt: no such file"},
      {"not there", [] { return Pems(Error{ErrorCode::kNotFound, "client.crt: no such file"}); },
       "reading the client certificate: client.crt: no such file"},
  };
  for (const Case& c : cases) {
    IoContext io;
    const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem(), pki.authority.pem()});
    const auto client =
        MakeClient(io, server->port(), {.ca_pem = pki.authority.pem(), .client_certificate_pem = c.pems});
    const auto response = SendAndWait(*client, {"POST", "/", {}, "x"});
    EXPECT_EQ(response.ok(), c.want.empty()) << c.name << (response.ok() ? "" : ": " + response.error().message);
    if (!response.ok()) {
      EXPECT_THAT(response.error().message, StartsWith("127.0.0.1:" + std::to_string(server->port()) + ": ")) << c.name;
      EXPECT_THAT(response.error().message, HasSubstr(c.want)) << c.name;
      // In TLS 1.3 the refusal comes after the client has begun to send.
      EXPECT_EQ(response.error().outcome_unknown, c.outcome_unknown) << c.name;
      // Files may be replaced at this moment; and "not found" would be taken for an object's.
      EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << c.name;
    }
  }
}

TEST(TlsTest, ClientCertificateIsAskedForAtEachConnection) {
  const Pki& pki = GetPki();
  IoContext io;
  HttpServerOptions options{.tls = TlsServerOptions{pki.good.pem(), pki.good.key_pem(), pki.authority.pem()}};
  options.tls->serves_http2 = false;  // a stream has a connection of its own, and a refused request is not sent again
  const auto server = MakeServer(
      io,
      [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        if (request.target == "/stream") {
          writer->StartStream({200});
          writer->End();
        } else {
          writer->Send({200});
        }
      },
      options);
  std::atomic<int> asked{0};
  std::atomic<bool> is_rotated{false};
  const auto client =
      MakeClient(io, server->port(),
                 {.ca_pem = pki.authority.pem(), .client_certificate_pem = [&] {
                    ++asked;
                    const Certificate& certificate = is_rotated ? pki.client : pki.foreign_client;
                    return Expected<std::pair<std::string, std::string>>({certificate.pem(), certificate.key_pem()});
                  }});
  EXPECT_FALSE(SendAndWait(*client, {"GET", "/"}).ok());
  is_rotated = true;
  EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_EQ(asked, 2);
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/stream"}, {}, recorder.Callbacks());
  EXPECT_TRUE(recorder.WaitForEnd().ends[0].ok());
  EXPECT_EQ(asked, 3);
}

// A server that asks takes any certificate, or none, and hands it up.
TEST(TlsTest, ClientCertificateIsHandedUp) {
  const Pki& pki = GetPki();
  IoContext io;
  TlsServerOptions tls{pki.good.pem(), pki.good.key_pem()};
  tls.asks_for_client_certificate = true;
  tls.client_ca_hint_pem = pki.authority.pem();
  const auto server = MakeServer(io, tls, [](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    const auto shown = writer->PeerCertificates();
    writer->Send({200, {}, shown == nullptr ? "none" : std::to_string(shown->size()) + ":" + shown->front()});
  });
  struct Case {
    std::string name;
    const Certificate* certificate;
    std::string chain;
    std::string want_begin;
  };
  // OpenSSL's client adds the authority, which it trusts, where no chain is given.
  const Case cases[] = {{"none", nullptr, "", "none"},
                        {"of the authority", &pki.client, "", "2:"},
                        {"with its chain", &pki.client, pki.intermediate.pem(), "2:"},
                        {"a stranger's", &pki.foreign_client, "", "1:"},
                        {"expired", &pki.expired, "", "2:"}};
  for (const Case& c : cases) {
    TlsClientOptions options{.ca_pem = pki.authority.pem()};
    if (c.certificate != nullptr) {
      options.client_certificate_pem = [&c] {
        return Expected<std::pair<std::string, std::string>>(
            {c.certificate->pem() + c.chain, c.certificate->key_pem()});
      };
    }
    const auto client = MakeClient(io, server->port(), options);
    for (int i = 0; i < 2; ++i) {
      const auto response = SendAndWait(*client, {"GET", "/"});
      ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
      EXPECT_THAT(response->body, StartsWith(c.want_begin)) << c.name;
      // Names are plain bytes in DER.
      if (c.certificate == &pki.foreign_client) {
        EXPECT_THAT(response->body, HasSubstr("stranger"));
      }
    }
  }
}

TEST(TlsTest, CertificateIsReplacedForNewConnections) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem()});
  const auto old_client = MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()});
  EXPECT_TRUE(SendAndWait(*old_client, {"GET", "/"}).ok());
  const auto mismatch = server->ReplaceTls({pki.good.pem(), pki.self_signed.key_pem()});
  ASSERT_FALSE(mismatch.ok());
  EXPECT_THAT(mismatch.error().message, HasSubstr("the private key does not belong to the first certificate"));
  EXPECT_TRUE(SendAndWait(*MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()}), {"GET", "/"}).ok());
  ASSERT_TRUE(server->ReplaceTls({pki.self_signed.pem(), pki.self_signed.key_pem()}).ok());
  EXPECT_FALSE(SendAndWait(*MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()}), {"GET", "/"}).ok());
  EXPECT_TRUE(SendAndWait(*MakeClient(io, server->port(), {.ca_pem = pki.self_signed.pem()}), {"GET", "/"}).ok());
  EXPECT_TRUE(SendAndWait(*old_client, {"GET", "/"}).ok());  // its connection is open
}

TEST(TlsTest, CertificatesForNames) {
  const Certificate own{{.common_name = "own", .names = {"DNS:own.example", "DNS:both.example", "IP:127.0.0.1"}}};
  const Certificate first{{.common_name = "first", .names = {"DNS:*.first.example", "DNS:deep.own.example"}}};
  const Certificate second{{.common_name = "second.example", .names = {"DNS:x.first.example", "DNS:second.example"}}};
  const Certificate third{{.names = {"DNS:x.first.example", "DNS:second.example", "DNS:third.example"}}};
  const Certificate by_address{{.names = {"IP:127.0.0.2"}}};
  TlsServerOptions tls{own.pem(), own.key_pem()};
  tls.named = {{first.pem(), first.key_pem(), {"*.first.example"}},
               {second.pem(), second.key_pem(), {}},
               {third.pem(), third.key_pem(), {"second.example", "third.example"}},
               {by_address.pem(), by_address.key_pem(), {"127.0.0.2"}}};
  IoContext io;
  const auto server = MakeServer(io, EchoBody, HttpServerOptions{.listen = "0.0.0.0:0", .tls = tls});
  struct Case {
    std::string name;
    const Certificate& shown;
    std::string host = "127.0.0.1";
  };
  const std::vector<Case> cases = {
      {"", own},
      {"own.example", own},
      {"A.first.EXAMPLE", first},
      // The name in full, though only a certificate says so, before a pattern that is given.
      {"x.first.example", second},
      {"second.example", third},  // given, before what a certificate says
      {"third.example", third},
      {"deep.own.example", first},  // nobody has named it, but it is for it
      {"", by_address, "127.0.0.2"},
  };
  for (const Case& c : cases) {
    HttpClientOptions options;
    options.tls = TlsClientOptions{.ca_pem = c.shown.pem(), .server_name = c.name};
    const auto client = MakeClient(io, "https://" + c.host + ':' + std::to_string(server->port()), options);
    const auto response = SendAndWait(*client, {"GET", "/"});
    EXPECT_TRUE(response.ok()) << c.name << ": " << response.error().message;
  }
  const auto stranger = MakeClient(io, server->port(), {.ca_pem = own.pem(), .server_name = "unknown.example"});
  EXPECT_THAT(SendAndWait(*stranger, {"GET", "/"}).error().message, HasSubstr("hostname mismatch"))
      << "the server's own is shown to who asks for what nobody is";
  tls.named.front().private_key_pem = own.key_pem();
  const auto mismatch = server->ReplaceTls(tls);
  ASSERT_FALSE(mismatch.ok());
  EXPECT_THAT(mismatch.error().message, HasSubstr("the private key does not belong to the first certificate"));
}

// The answer of a server with TLS to a `request` in plain text; empty: it closed the connection.
std::string AnswerToPlain(std::uint16_t port, std::string_view request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char bytes[256];
  for (ssize_t size = 0; (size = recv(fd, bytes, sizeof bytes, 0)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(size));
  close(fd);
  return answer;
}

// As Go's server, word for word.
TEST(TlsTest, PlainHttpGetsAnAnswerThatSaysSo) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem()});
  const std::string answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
  EXPECT_EQ(AnswerToPlain(server->port(), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), answer);
  EXPECT_EQ(AnswerToPlain(server->port(), "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"), answer);
  EXPECT_THAT(AnswerToPlain(server->port(), "GETTING nowhere\r\n\r\n"), Not(HasSubstr("400")));
  EXPECT_TRUE(SendAndWait(*MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()}), {"GET", "/"}).ok());
}

TEST(TlsTest, SelfSigned) {
  const auto pair = MakeSelfSigned(
      {.common_name = "localhost@1", .names = {"DNS:localhost", "IP:127.0.0.1"}, .now = SystemClock().WallNow()});
  ASSERT_TRUE(pair.ok());
  IoContext io;
  const auto server = MakeServer(io, {pair->first, pair->second});
  for (const char* name : {"", "localhost"}) {
    const auto client = MakeClient(io, server->port(), {.ca_pem = pair->first, .server_name = name});
    EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok()) << name;
  }
  const auto other = MakeClient(io, server->port(), {.ca_pem = pair->first, .server_name = "elsewhere"});
  EXPECT_FALSE(SendAndWait(*other, {"GET", "/"}).ok());
}

TEST(TlsTest, VersionsSuitesAndCurves) {
  const Pki& pki = GetPki();
  struct Case {
    std::string min_version;
    std::vector<std::string> suites;
    std::vector<std::int32_t> curves;
    std::string want;  // empty: taken
  };
  const Case cases[] = {
      {"VersionTLS10", {}, {}, ""},
      {"VersionTLS13", {}, {}, ""},
      {"VersionTLS14", {}, {}, "TLS version \"VersionTLS14\""},
      {"", {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_UNKNOWN_WITH_NOTHING"}, {}, ""},
      {"", {"TLS_AES_128_GCM_SHA256"}, {}, ""},
      {"", {"TLS_UNKNOWN_WITH_NOTHING"}, {}, "none of TLS_UNKNOWN_WITH_NOTHING is known"},
      {"", {}, {29, 4588}, ""},
      {"", {}, {4588}, "TLS curves"},
  };
  for (const Case& c : cases) {
    IoContext io;
    HttpServerOptions options;
    options.tls = TlsServerOptions{pki.good.pem(), pki.good.key_pem()};
    options.tls->min_version = c.min_version;
    options.tls->cipher_suites = c.suites;
    options.tls->curves = c.curves;
    const auto server = StartHttpServer(
        io, options, [](const Request&, const std::shared_ptr<ResponseWriter>& writer) { writer->Send({200}); });
    ASSERT_EQ(server.ok(), c.want.empty()) << c.want;
    if (!server.ok()) {
      EXPECT_THAT(server.error().message, HasSubstr(c.want));
      continue;
    }
    const auto client = MakeClient(io, (*server)->port(), {.ca_pem = pki.authority.pem()});
    EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  }
}

// The cluster gets another authority, and its file changes a while before the servers do, or after.
TEST(TlsTest, AuthoritiesAreAskedForAtEachConnection) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem(), ""});
  std::mutex mutex;
  Expected<std::string> file = pki.other_authority.pem();
  TlsClientOptions tls{.ca_pem = pki.other_authority.pem()};
  tls.ca_pem_now = [&] {
    const std::lock_guard lock(mutex);
    return file;
  };
  const auto client = MakeClient(io, server->port(), tls);
  const auto write = [&](Expected<std::string> content) {
    const std::lock_guard lock(mutex);
    file = std::move(content);
  };
  EXPECT_FALSE(SendAndWait(*client, {"GET", "/"}).ok());
  write(InvalidError("half written"));
  EXPECT_FALSE(SendAndWait(*client, {"GET", "/"}).ok());
  write(std::string("-----BEGIN CERT"));
  EXPECT_FALSE(SendAndWait(*client, {"GET", "/"}).ok());
  write(pki.authority.pem());
  const auto response = SendAndWait(*client, {"GET", "/"});
  EXPECT_TRUE(response.ok()) << response.error().message;
}

TEST(TlsTest, LargeBodiesBothWays) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem(), ""});
  const auto client = MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()});
  const std::string body = LargeBody(std::size_t{2} << 20);
  for (int i = 0; i < 3; ++i) {
    const auto response = SendAndWait(*client, {"POST", "/", {}, body});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_TRUE(response->body == body);
  }
}

TEST(TlsTest, ManyRequestsAndStreamsAtOnce) {
  const Pki& pki = GetPki();
  IoContext io(2);
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem(), ""},
                                 [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
                                   if (request.method == "POST") {
                                     writer->Send({201, {}, request.body});
                                     return;
                                   }
                                   writer->StartStream({200});
                                   for (int i = 0; i < 50; ++i) EXPECT_TRUE(writer->Write(std::string(5000, 'x')));
                                   writer->End();
                                 });
  const auto client = MakeClient(io, server->port(), {.ca_pem = pki.authority.pem()});
  Watched<int> answered;
  for (int i = 0; i < 200; ++i) {
    const std::string body = std::to_string(i);
    client->Send({"POST", "/", {}, body}, {}, [&answered, body](Expected<Response> response) {
      ASSERT_TRUE(response.ok()) << response.error().message;
      EXPECT_EQ(response->body, body);
      answered.Update([](int& n) { ++n; });
    });
  }
  std::vector<std::unique_ptr<StreamRecorder>> recorders;
  std::vector<std::unique_ptr<StreamHandle>> streams;
  for (int i = 0; i < 4; ++i) {
    recorders.push_back(std::make_unique<StreamRecorder>());
    streams.push_back(client->Stream({"GET", "/"}, {}, recorders.back()->Callbacks()));
  }
  for (auto& recorder : recorders) {
    const StreamLog log = recorder->WaitForEnd();
    EXPECT_TRUE(log.ends[0].ok());
    EXPECT_EQ(log.bytes.size(), 250'000U);
  }
  EXPECT_TRUE(answered.WaitFor([](int n) { return n == 200; }));
}

TEST(TlsTest, PeersThatDoNotSpeakTls) {
  struct Case {
    std::string name;
    std::string answer;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"plain HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n",
       "TLS handshake failed: wrong version number: the server does not speak TLS here, is it http:// instead of "
       "https://?"},
      {"closes", "", "TLS handshake failed: the server closed the connection, does it speak TLS here?"},
  };
  for (const Case& c : cases) {
    RawServer peer([&](RawSocket& socket, int) {
      socket.ReadUntil("http/1.1");  // In the client's greeting.
      socket.Write(c.answer);
      if (!c.answer.empty()) socket.ReadToEnd();
    });
    IoContext io;
    const auto client = MakeClient(io, peer.port(), {});
    const auto response = SendAndWait(*client, {"POST", "/"});
    ASSERT_FALSE(response.ok()) << c.name;
    EXPECT_EQ(response.error().message, "127.0.0.1:" + std::to_string(peer.port()) + ": " + c.want) << c.name;
    EXPECT_FALSE(response.error().outcome_unknown) << c.name;
  }
}

TEST(TlsTest, PlainHttpToATlsServer) {
  const Pki& pki = GetPki();
  IoContext io;
  const auto server = MakeServer(io, {pki.good.pem(), pki.good.key_pem(), ""});
  auto client = MakeHttpClient(io, {.base_url = "http://" + server->address()});
  ASSERT_TRUE(client.ok());
  const auto response = SendAndWait(**client, {"GET", "/"});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(response->body, "Client sent an HTTP request to an HTTPS server.\n");
}

TEST(TlsTest, IdleTlsConnectionIsReusedAndItsEndIsSeen) {
  const Pki& pki = GetPki();
  IoContext io;
  HttpServerOptions options;
  options.tls = TlsServerOptions{pki.good.pem(), pki.good.key_pem(), ""};
  const auto start = [&] {
    return StartHttpServer(io, options,
                           [](const Request&, const std::shared_ptr<ResponseWriter>& writer) { writer->Send({200}); });
  };
  auto server = start();
  ASSERT_TRUE(server.ok()) << server.error().message;
  std::atomic<int> asked{0};
  const auto client =
      MakeClient(io, (*server)->port(), {.ca_pem = pki.authority.pem(), .client_certificate_pem = [&] {
                                           ++asked;
                                           return Expected<std::pair<std::string, std::string>>({"", ""});
                                         }});
  EXPECT_TRUE(SendAndWait(*client, {"POST", "/"}).ok());
  EXPECT_TRUE(SendAndWait(*client, {"POST", "/"}).ok());
  EXPECT_EQ(asked, 1);
  // The server closes its connections and comes back at the same address.
  options.listen = (*server)->address();
  server->reset();
  server = start();
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_TRUE(SendAndWait(*client, {"POST", "/"}).ok());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace berth::net
