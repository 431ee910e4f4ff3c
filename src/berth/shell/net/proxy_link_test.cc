// SPDX-License-Identifier: Apache-2.0
// The HTTP client behind proxies, over sockets: all kinds of proxies and servers, and proxies that do wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/test_http2_peer.h"
#include "berth/shell/net/test_peers.h"
#include "berth/shell/net/test_proxy.h"

namespace berth::net {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

struct Pki {
  Certificate authority{{.common_name = "authority", .is_authority = true}};
  Certificate other_authority{{.common_name = "other", .is_authority = true}};
  Certificate server{{.names = {"DNS:kube.example"}}, &authority};
  Certificate proxy{{.names = {"IP:127.0.0.1"}}, &authority};
  Certificate other_proxy{{.names = {"IP:127.0.0.1"}}, &other_authority};
};

const Pki& GetPki() {
  static const Pki pki;
  return pki;
}

Proxy ProxyOf(const std::string& url) {
  auto proxy = ParseProxy(url);
  BERTH_CHECK(proxy.ok(), url);
  return *std::move(proxy);
}

HttpClientOptions Through(const std::string& proxy_url) {
  HttpClientOptions options;
  options.tls = TlsClientOptions{.ca_pem = GetPki().authority.pem()};
  options.proxy = ProxyOf(proxy_url);
  return options;
}

// Answers with what was asked; "/stream" in two pieces.
void Echo(const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
  if (request.target.ends_with("/stream")) {
    writer->StartStream({200});
    writer->Write("one,");
    writer->Write("two");
    writer->End();
    return;
  }
  Response response{200, {}, request.method + " " + request.target + "\n"};
  for (const Header& header : request.headers) response.body += header.name + ": " + header.value + "\n";
  writer->Send(std::move(response));
}

std::unique_ptr<HttpServer> MakeTlsServer(IoContext& io, Handler handler = Echo, bool serves_http2 = true) {
  HttpServerOptions options;
  options.tls = TlsServerOptions{GetPki().server.pem(), GetPki().server.key_pem(), ""};
  options.tls->serves_http2 = serves_http2;
  options.request_body_bytes_max = std::size_t{32} << 20;
  return MakeServer(io, std::move(handler), options);
}

TEST(ProxyLinkTest, TunnelsToATlsServer) {
  struct Case {
    std::string name;
    std::string scheme;
    std::string user;
    FakeProxy::Options proxy;
    std::string want_asked;
  };
  const std::string head = "CONNECT kube.example:6443 HTTP/1.1\r\nHost: kube.example:6443\r\n";
  const Case cases[] = {
      {"CONNECT", "http", "", {}, head + "\r\n"},
      {"with a password", "http", "us:p%40ss@", {}, head + "Proxy-Authorization: Basic dXM6cEBzcw==\r\n\r\n"},
      {"TLS to the proxy",
       "https",
       "us:p@",
       {.certificate = &GetPki().proxy},
       head + "Proxy-Authorization: Basic "
              "dXM6cA==\r\n\r\n"},
      {"SOCKS", "socks5", "", {.is_socks = true}, "kube.example:6443"},
      {"SOCKS with a password", "socks5h", "us:p%40ss@", {.is_socks = true}, "us:p@ss kube.example:6443"},
  };
  const auto go_through = [](const Case& c, bool has_http2) {
    IoContext io;
    const auto server = MakeTlsServer(io, Echo, has_http2);
    FakeProxy proxy(server->port(), c.proxy);
    const auto client = MakeClient(io, "https://kube.example:6443/prefix",
                                   Through(c.scheme + "://" + c.user + "127.0.0.1:" + std::to_string(proxy.port())));
    for (int i = 0; i < 2; ++i) {
      const auto response = SendAndWait(*client, {"GET", "/x"});
      ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
      EXPECT_EQ(response->body, "GET /prefix/x\nHost: kube.example:6443\n") << c.name;
    }
    EXPECT_THAT(proxy.asked(), ElementsAre(c.want_asked)) << c.name;
    // On HTTP/1.1 a watch has a connection, and a tunnel, of its own.
    StreamRecorder recorder;
    const auto stream = client->Stream({"GET", "/stream"}, {}, recorder.Callbacks());
    const StreamLog log = recorder.WaitForEnd();
    ASSERT_TRUE(log.ends[0].ok()) << c.name << ": " << log.ends[0].error().message;
    EXPECT_EQ(log.bytes, "one,two") << c.name;
    EXPECT_THAT(proxy.asked(), AllOf(SizeIs(has_http2 ? 1 : 2), Each(c.want_asked))) << c.name;
  };
  for (const Case& c : cases) {
    go_through(c, false);
    go_through(c, true);
  }
}

// Several records at once, both ways: what TLS has read already must not be waited for.
TEST(ProxyLinkTest, LargeBodiesThroughTlsInTls) {
  IoContext io;
  const auto server = MakeTlsServer(io, EchoBody);
  FakeProxy proxy(server->port(), {.certificate = &GetPki().proxy});
  const auto client =
      MakeClient(io, "https://kube.example", Through("https://127.0.0.1:" + std::to_string(proxy.port())));
  const std::string body = LargeBody(std::size_t{5} << 20);
  for (const std::size_t size : {body.size(), std::size_t{16383}, std::size_t{16385}, std::size_t{100000}}) {
    const auto response = SendAndWait(*client, {"POST", "/", {}, body.substr(0, size)});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_TRUE(response->body == body.substr(0, size));
  }
  EXPECT_THAT(proxy.asked(), SizeIs(1));
}

TEST(ProxyLinkTest, Http2ThroughATunnel) {
  for (const bool has_tls : {false, true}) {
    Http2Peer peer([](const Request& request, int) {
      return Http2Peer::Answer{.status = 200, .headers = {}, .body = request.target};
    });
    FakeProxy proxy(peer.port(), {.certificate = has_tls ? &GetPki().proxy : nullptr});
    IoContext io;
    HttpClientOptions options =
        Through((has_tls ? "https" : "http") + ("://127.0.0.1:" + std::to_string(proxy.port())));
    options.tls->ca_pem = peer.ca_pem() + GetPki().authority.pem();
    const auto client = MakeClient(io, "https://127.0.0.1:6443", options);
    for (int i = 0; i < 3; ++i) {
      const auto response = SendAndWait(*client, {"GET", "/" + std::to_string(i)});
      ASSERT_TRUE(response.ok()) << response.error().message;
      EXPECT_EQ(response->body, "/" + std::to_string(i));
    }
    StreamRecorder recorder;
    const auto stream = client->Stream({"GET", "/stream"}, {}, recorder.Callbacks());
    EXPECT_EQ(recorder.WaitForEnd().bytes, "/stream");
    EXPECT_THAT(proxy.asked(), SizeIs(1));  // one connection for all
  }
}

// A server without TLS: the proxy gets the requests, and sends them on.
TEST(ProxyLinkTest, AsksTheProxyForAPlainServer) {
  IoContext io;
  struct Case {
    std::string name;
    std::string user;
    std::string url;
    std::string want;
  };
  const Case cases[] = {
      {"plain", "", "http://kube.example:8080",
       "GET http://kube.example:8080/x?y HTTP/1.1\r\nHost: kube.example:8080\r\n\r\n"},
      {"default port, prefix and password", "u:p@", "http://kube.example/prefix/",
       "GET http://kube.example/prefix/x?y HTTP/1.1\r\nHost: kube.example\r\nProxy-Authorization: Basic dTpw\r\n\r\n"},
  };
  for (const Case& c : cases) {
    Watched<std::string> head;
    RawServer proxy([&](RawSocket& socket, int) {
      const std::string request = socket.ReadRequest();
      head.Update([&](std::string& text) { text = request; });
      socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    });
    const auto client =
        MakeClient(io, c.url, Through("http://" + c.user + "127.0.0.1:" + std::to_string(proxy.port())));
    const auto response = SendAndWait(*client, {"GET", "/x?y"});
    ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
    EXPECT_EQ(response->body, "hi") << c.name;
    EXPECT_EQ(head.Get(), c.want) << c.name;
    StreamRecorder recorder;
    const auto stream = client->Stream({"GET", "/x?y"}, {}, recorder.Callbacks());
    EXPECT_EQ(recorder.WaitForEnd().bytes, "hi") << c.name;
    EXPECT_EQ(head.Get(), c.want) << c.name;
  }
}

TEST(ProxyLinkTest, PlainServersBehindOtherProxies) {
  IoContext io;
  // SOCKS: a tunnel, in which a request is as without.
  const auto server = MakeServer(io, Echo);
  FakeProxy socks(server->port(), {.is_socks = true});
  const auto by_socks =
      MakeClient(io, "http://kube.example:8080", Through("socks5://u:p@127.0.0.1:" + std::to_string(socks.port())));
  const auto response = SendAndWait(*by_socks, {"GET", "/x"});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "GET /x\nHost: kube.example:8080\n");
  EXPECT_THAT(socks.asked(), ElementsAre("u:p kube.example:8080"));
  // TLS to the proxy: a server of our own that takes absolute targets.
  HttpServerOptions options;
  options.tls = TlsServerOptions{GetPki().proxy.pem(), GetPki().proxy.key_pem(), ""};
  const auto proxy = MakeServer(io, Echo, options);
  const auto by_tls =
      MakeClient(io, "http://kube.example:8080", Through("https://127.0.0.1:" + std::to_string(proxy->port())));
  const auto forwarded = SendAndWait(*by_tls, {"GET", "/x"});
  ASSERT_TRUE(forwarded.ok()) << forwarded.error().message;
  EXPECT_EQ(forwarded->body, "GET http://kube.example:8080/x\nHost: kube.example:8080\n");
}

TEST(ProxyLinkTest, CertificatesAreVerifiedAsWithoutAProxy) {
  const Pki& pki = GetPki();
  struct Case {
    std::string name;
    std::string url;
    const Certificate* proxy;
    TlsClientOptions tls;
    std::string want;  // empty: taken
  };
  const std::string ca = pki.authority.pem();
  const Case cases[] = {
      {"good", "https://kube.example", nullptr, {.ca_pem = ca}, ""},
      {"another name", "https://evil.example", nullptr, {.ca_pem = ca}, ": TLS handshake failed: hostname mismatch"},
      {"that of the option", "https://evil.example", nullptr, {.ca_pem = ca, .server_name = "kube.example"}, ""},
      {"unknown authority",
       "https://kube.example",
       nullptr,
       {.ca_pem = pki.other_authority.pem()},
       ": TLS handshake failed: unable to get local issuer certificate"},
      {"a proxy of the same authority", "https://kube.example", &pki.proxy, {.ca_pem = ca}, ""},
      {"the server's name is not the proxy's",
       "https://evil.example",
       &pki.proxy,
       {.ca_pem = ca, .server_name = "kube.example"},
       ""},
      {"a proxy that nobody vouches for",
       "https://kube.example",
       &pki.other_proxy,
       {.ca_pem = ca},
       ": to the proxy: TLS handshake failed: unable to get local issuer certificate"},
      {"a proxy with another's certificate",
       "https://kube.example",
       &pki.server,
       {.ca_pem = ca},
       ": to the proxy: TLS handshake failed: IP address mismatch"},
      {"insecure-skip-tls-verify is about the server",
       "https://evil.example",
       &pki.proxy,
       {.verify_peer = false},
       ": to the proxy: TLS handshake failed: unable to get local issuer certificate"},
  };
  for (const Case& c : cases) {
    IoContext io;
    const auto server = MakeTlsServer(io);
    FakeProxy proxy(server->port(), {.certificate = c.proxy});
    HttpClientOptions options =
        Through((c.proxy != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(proxy.port()));
    options.tls = c.tls;
    const auto client = MakeClient(io, c.url, options);
    const auto response = SendAndWait(*client, {"GET", "/"});
    ASSERT_EQ(response.ok(), c.want.empty()) << c.name << (response.ok() ? "" : ": " + response.error().message);
    if (!response.ok()) {
      EXPECT_THAT(response.error().message, HasSubstr(options.proxy->shown + c.want)) << c.name;
      EXPECT_FALSE(response.error().outcome_unknown) << c.name;
    }
  }
}

// Each gets one line that names the proxy and not its password, and leaves the client ready to try again.
TEST(ProxyLinkTest, ProxiesThatDoWrong) {
  struct Case {
    std::string name;
    std::string scheme;
    std::string answer;
    std::string want;
  };
  const Case cases[] = {
      {"407", "http", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno",
       "the proxy refused CONNECT: 407 Proxy Authentication Required"},
      {"403", "http", "HTTP/1.1 403 No\r\n\r\n", "the proxy refused CONNECT: 403 Forbidden"},
      {"502", "http", "HTTP/1.1 502 No\r\n\r\n", "the proxy refused CONNECT: 502 Bad Gateway"},
      {"nonsense", "http", "SSH-2.0-OpenSSH\r\n\r\n", "the proxy answered something that is not HTTP: "},
      {"no answer", "http", "", "the proxy closed the connection without a whole answer"},
      {"half an answer", "http", "HTTP/1.1 200 OK\r\n", "the proxy closed the connection without a whole answer"},
      {"an endless head", "http", "HTTP/1.1 200 OK\r\nA: " + std::string(1 << 20, 'x'),
       "the proxy's answer to CONNECT is longer than 65536 bytes"},
      {"bytes behind the answer", "http", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
       "the proxy sent bytes behind its answer to CONNECT, where the server never begins"},
      {"no tunnel behind the answer", "http", "HTTP/1.1 200 OK\r\n\r\n",
       "TLS handshake failed: the server closed the connection, does it speak TLS here?"},
      {"no SOCKS", "socks5", "HTTP/1.1 400 Bad Request\r\n\r\n", "the proxy does not speak SOCKS 5"},
      {"no TLS", "https", "HTTP/1.1 400 Bad Request\r\n\r\n",
       "to the proxy: TLS handshake failed: wrong version number: the server does not speak TLS here, is it http:// "
       "instead of https://?"},
  };
  for (const Case& c : cases) {
    RawServer proxy([&](RawSocket& socket, int) {
      if (c.scheme == "http") socket.ReadRequest();
      socket.Write(c.answer);
      socket.ShutdownWrite();
      socket.ReadToEnd();
    });
    IoContext io;
    const std::string where = "127.0.0.1:" + std::to_string(proxy.port());
    const auto client = MakeClient(io, "https://kube.example:6443", Through(c.scheme + "://user:secret@" + where));
    for (int i = 0; i < 2; ++i) {
      const auto response = SendAndWait(*client, {"POST", "/", {}, "x"});
      ASSERT_FALSE(response.ok()) << c.name;
      EXPECT_THAT(response.error().message,
                  StartsWith("kube.example:6443 through proxy " + c.scheme + "://" + where + ": " + c.want))
          << c.name;
      EXPECT_THAT(response.error().message, Not(AnyOf(HasSubstr("secret"), HasSubstr("\n")))) << c.name;
      EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << c.name;
      EXPECT_FALSE(response.error().outcome_unknown) << c.name;
      EXPECT_EQ(proxy.connections(), i + 1) << c.name;
    }
  }
}

TEST(ProxyLinkTest, ProxyThatIsNotThere) {
  IoContext io;
  const std::string where = "127.0.0.1:" + std::to_string(ClosedPort());
  const auto refused =
      SendAndWait(*MakeClient(io, "https://kube.example", Through("http://u:secret@" + where)), {"GET", "/"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "kube.example:443 through proxy http://" + where + ": dial tcp " + where + ": connection refused");
  const auto unknown =
      SendAndWait(*MakeClient(io, "https://kube.example", Through("http://proxy.invalid:1")), {"GET", "/"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message,
              StartsWith("kube.example:443 through proxy http://proxy.invalid:1: dial tcp: lookup proxy.invalid: "));
}

// The connect time-out is for all of it: a proxy that takes the connection and says nothing, one that does not go on
// after the answer, and a server behind it that does not.
TEST(ProxyLinkTest, ProxyThatSaysNothing) {
  struct Case {
    std::string name;
    std::string scheme;
    std::string answer;
    std::string want;
  };
  const Case cases[] = {
      {"nothing", "http", "", ": the proxy has not answered within 50ms"},
      {"half an answer", "http", "HTTP/1.1 200 OK\r\n", ": the proxy has not answered within 50ms"},
      {"no SOCKS", "socks5", "", ": the proxy has not answered within 50ms"},
      {"no TLS", "https", "", ": no connection within 50ms"},
      {"no server", "http", "HTTP/1.1 200 OK\r\n\r\n", ": no connection within 50ms"},
  };
  for (const Case& c : cases) {
    RawServer proxy([&](RawSocket& socket, int) {
      if (!c.answer.empty()) socket.ReadRequest();
      socket.Write(c.answer);
      socket.ReadToEnd();
    });
    IoContext io;
    HttpClientOptions options = Through(c.scheme + "://127.0.0.1:" + std::to_string(proxy.port()));
    options.connect_timeout = std::chrono::milliseconds(50);
    const auto response = SendAndWait(*MakeClient(io, "https://kube.example", options), {"GET", "/"});
    ASSERT_FALSE(response.ok()) << c.name;
    EXPECT_EQ(response.error().code, ErrorCode::kTimeout) << c.name;
    EXPECT_THAT(response.error().message, AllOf(HasSubstr(options.proxy->shown), EndsWith(c.want))) << c.name;
    EXPECT_FALSE(response.error().outcome_unknown) << c.name;
  }
}

// Where the proxy takes requests, its 407 is no answer of the server's.
TEST(ProxyLinkTest, ProxyThatRefusesARequest) {
  RawServer proxy([](RawSocket& socket, int) {
    socket.ReadRequest();
    socket.Write("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno");
  });
  IoContext io;
  const std::string shown = "http://127.0.0.1:" + std::to_string(proxy.port());
  const auto client = MakeClient(io, "http://kube.example:8080", Through(shown));
  const std::string want = "kube.example:8080 through proxy " + shown +
                           ": the proxy refused the request: 407 Proxy Authentication Required: it wants a user and a "
                           "password in its URL";
  const auto response = SendAndWait(*client, {"POST", "/", {}, "x"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().message, want);
  EXPECT_FALSE(response.error().outcome_unknown);
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  const StreamLog log = recorder.WaitForEnd();
  ASSERT_FALSE(log.ends[0].ok());
  EXPECT_EQ(log.ends[0].error().message, want);
  EXPECT_THAT(log.heads, SizeIs(0));
}

TEST(ProxyLinkTest, NameThatSocksHasNoRoomFor) {
  IoContext io;
  HttpClientOptions options = Through("socks5://127.0.0.1");
  options.base_url = "https://" + std::string(300, 'x');
  const auto client = MakeHttpClient(io, options);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().message, "\"xxxxxxxxxxxxxxxx...\" is longer than SOCKS has room for");
}

}  // namespace
}  // namespace berth::net
