// SPDX-License-Identifier: Apache-2.0
// HttpServer: HTTP/1.1 over Boost.Beast, plain or TLS, and with TLS HTTP/2 over nghttp2 for clients that offer it.
// Handlers are called on the IoContext's threads and must not block; they answer through the ResponseWriter at once or
// later, from any thread. They need not know which version is spoken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/io_context.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

// Exactly one of Send() or StartStream() is called for each request. A writer that is dropped unanswered sends 500.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  // Its headers that frame a message (Content-Length, Connection) are ignored, but that over HTTP/2 "Connection: close"
  // ends the connection after the requests that are under way, as Go's server does.
  virtual void Send(Response response) = 0;

  // Begins a chunked answer: sends the head of `response` (its body, if any, is the first chunk).
  virtual void StartStream(Response response) = 0;
  // Appends a chunk. False when the peer has gone or has fallen more than the server's stream_buffer_bytes_max behind
  // (the stream is then closed): stop writing.
  virtual bool Write(std::string_view bytes) = 0;
  // Bytes written but not yet taken by the peer's connection: writers of long streams pause on it. Any thread.
  virtual std::size_t BufferedBytes() const { return 0; }
  virtual void End() = 0;
  // Ends a stream without its end: what the peer has not taken is dropped at once, and the peer sees that the stream is
  // not whole. In the place of End().
  virtual void Abort() { End(); }
  // Called once when the peer goes away or the stream ends, on the server's thread. Set before the first Write.
  virtual void OnClosed(std::function<void()> closed) = 0;

  // The certificates (DER, the client's own first) that the peer has shown at the connection's beginning; null when it
  // has shown none. Nobody has verified them but where TlsServerOptions::client_ca_pem is set; that the peer has the
  // first one's key is certain. Any thread.
  virtual std::shared_ptr<const std::vector<std::string>> PeerCertificates() const { return nullptr; }
};

using Handler = std::function<void(Request request, std::shared_ptr<ResponseWriter> writer)>;

// A certificate for some of the names that a server is reached by.
struct NamedCertificate {
  std::string certificate_chain_pem;
  std::string private_key_pem;
  // Domains, "*.example.com" among them, and addresses for clients that ask for no name. Empty: those of the
  // certificate, as far as no other one is said to be for them.
  std::vector<std::string> names;
};

struct TlsServerOptions {
  std::string certificate_chain_pem;
  std::string private_key_pem;
  std::string client_ca_pem;  // not empty: clients must show a certificate that one of these roots has signed
  // Clients are asked for a certificate and need not show one; any is taken, and the handler decides what it is worth
  // (ResponseWriter::PeerCertificates). Not together with client_ca_pem.
  bool asks_for_client_certificate = false;
  // With asks_for_client_certificate: authorities whose names clients are told. Many show only a certificate of one of
  // these; without any they show what they have.
  std::string client_ca_hint_pem;
  // As Go names them: VersionTLS10 to VersionTLS13; empty: VersionTLS12.
  std::string min_version;
  // IANA's names, of TLS 1.2 and before: those of 1.3 are always on. Empty: OpenSSL's choice. Names that OpenSSL has no
  // suite for are left out, but one must remain.
  std::vector<std::string> cipher_suites;
  // IANA's numbers, as Go's CurveID: 23, 24, 25 (P-256, P-384, P-521), 29 (X25519). Empty: OpenSSL's choice. Others are
  // left out, but one must remain.
  std::vector<std::int32_t> curves;
  // HTTP/2 is spoken with who offers it; not over a cipher suite that HTTP/2 forbids.
  bool serves_http2 = true;
  // Shown in place of the certificate above to who asks for one of their names; the first that has the name counts.
  std::vector<NamedCertificate> named;
};

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // "host:port", "[::1]:port"; port 0 picks a free one
  bool shares_port = false;            // with other processes that do the same: the kernel spreads the connections
  std::optional<TlsServerOptions> tls;
  std::size_t request_body_bytes_max = std::size_t{3} << 20;  // as kube-apiserver; a longer one is answered with 413
  std::size_t header_bytes_max = std::size_t{64} << 10;
  // What all requests that are being received may hold together, beyond request_bytes_each of every one. A request that
  // would go beyond it is answered with 429 and Retry-After, and those that have been arriving for longer than
  // slow_request_time end.
  std::size_t requests_bytes_max = std::size_t{64} << 20;
  std::size_t request_bytes_each = std::size_t{64} << 10;
  Duration slow_request_time = std::chrono::seconds(2);
  // Bytes of whole answers, all connections together, that peers have not read; small ones do not count. Further ones
  // are refused (429), and peers that have read nothing for slow_request_time are cut off. Streams have a bound each.
  std::size_t answers_bytes_max = std::size_t{256} << 20;
  // From a request's first byte to its last.
  Duration request_timeout = std::chrono::seconds(30);
  int connections_max = 4096;
  // Requests at once on a connection over HTTP/2, as kube-apiserver. All bounds here that are for a request hold for
  // each of them, and `request_bytes_each` for all of a connection.
  std::uint32_t streams_max = 100;
  // Where one more than connections_max comes, the one that has been silent for longest, without a request under way,
  // is closed for it; else the new one is answered with 503.
  bool ends_silent_connections = false;
  std::size_t stream_buffer_bytes_max = std::size_t{64} << 20;
  Duration idle_timeout = std::chrono::seconds(120);  // keep-alive
  // The answer to a request that is no HTTP (400), too long (413), over header_bytes_max (431) or beyond
  // requests_bytes_max or answers_bytes_max (429); default: plain text.
  std::function<Response(int status, std::string_view message)> malformed;
};

class HttpServer {
 public:
  // Stops listening and closes every connection, over HTTP/2 with GOAWAY, which says which requests were not looked at;
  // returns when no handler runs any more. Writers may outlive it.
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  virtual std::string address() const = 0;  // "127.0.0.1:8001"

  // What new connections use from now on; those that are open keep what they have. On a failure nothing changes. Only
  // for a server that was started with TLS. Any thread.
  virtual Expected<void> ReplaceTls(const TlsServerOptions& tls) = 0;
};

// Fails with one clear line when the address does not parse or is in use, or the certificate does not load.
Expected<std::unique_ptr<HttpServer>> StartHttpServer(IoContext& io, HttpServerOptions options, Handler handler);

}  // namespace berth::net
