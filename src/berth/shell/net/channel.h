// SPDX-License-Identifier: Apache-2.0
// Channel: a TCP connection, plain or TLS, as steps that never wait; the owner waits for readiness in between. OpenSSL
// stays behind it. For the sources of this folder; used on its loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "berth/base/expected.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/http_server.h"

struct ssl_ctx_st;
struct ssl_st;

namespace berth::net {

// What connections of one client or server share: trusted roots, versions, the server's certificate. Immutable.
class TlsContext {
 public:
  // kInvalid with one line when a PEM does not parse.
  static Expected<std::shared_ptr<const TlsContext>> MakeClient(const TlsClientOptions& options);
  static Expected<std::shared_ptr<const TlsContext>> MakeServer(const TlsServerOptions& options);

  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

// The TlsContext of each new connection of a client: another one when its trusted roots have changed. Used on its
// loop's thread only.
class ClientTlsContexts {
 public:
  // `first` is what TlsContext::MakeClient has made of the options.
  ClientTlsContexts(TlsClientOptions options, std::shared_ptr<const TlsContext> first)
      : options_(std::move(options)), current_(std::move(first)) {}

  std::shared_ptr<const TlsContext> Now();

 private:
  TlsClientOptions options_;  // ca_pem: what current_ was made of
  std::shared_ptr<const TlsContext> current_;
};

class Channel {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

  enum class Outcome : std::uint8_t { kDone, kWantRead, kWantWrite, kEof, kFailed };
  struct Step {
    Outcome outcome;
    std::size_t bytes = 0;
  };

  explicit Channel(boost::asio::io_context& io) : socket_(io.get_executor()) {}
  ~Channel() { Close(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Socket& socket() { return socket_; }
  bool is_tls() const { return ssl_ != nullptr; }
  // Offers HTTP/2. To be called before the handshake of a client.
  void OfferHttp1Only();
  // After the handshake: whether both sides have agreed on HTTP/2.
  bool is_http2() const;
  // For a connection that is never idle for long: TLS keeps its buffers, and reads as much at once as they hold.
  void KeepBuffers();

  // After connecting or accepting: no delay, no blocking, and a peer that is gone without a word is noticed within half
  // a minute.
  Expected<void> Prepare();

  // Makes it a TLS channel; the Handshake steps follow. `name` is the host name or address to verify, and is sent as
  // SNI. A second call after a handshake makes TLS inside TLS, to the server behind a proxy.
  Expected<void> StartClientTls(const TlsContext& context, const TlsClientOptions& options, const std::string& name);
  Expected<void> StartServerTls(const TlsContext& context);

  Step Handshake();
  // After the handshake of a server: what the peer has shown (DER), its own certificate first; else empty.
  std::vector<std::string> PeerCertificates() const;
  Step Read(char* data, std::size_t size);
  Step Write(std::string_view bytes);

  // True while TLS holds bytes that it has already read, of which the socket's readiness says nothing.
  bool HasBufferedInput() const;
  // True between messages if nothing has arrived, neither bytes nor the end. One system call.
  bool IsQuiet();

  // What went wrong in the step that failed, in one line without the peer's address.
  const std::string& failure() const { return failure_; }

  // Sends TLS's close_notify and ends our side. The peer's bytes may still be read.
  void ShutdownWrite();
  // Idempotent. Waits in progress end with operation_aborted.
  void Close();

 private:
  Step TlsResult(int result, std::string_view doing);
  Step SystemResult(int error, Outcome would_block);

  Socket socket_;
  ssl_st* ssl_ = nullptr;
  ssl_st* outer_ = nullptr;  // the TLS connection to an https:// proxy, around ssl_
  std::string verified_name_;
  bool is_tls_established_ = false;
  bool is_tls_broken_ = false;
  std::string failure_;
};

// The text of an errno value as Go users know it: "connection refused".
std::string SystemErrorText(int error);

}  // namespace berth::net
