// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/channel.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "berth/base/text.h"
#include "berth/shell/net/named_certificates.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

// Enough for several TLS records of the largest size.
constexpr std::size_t kReadAheadBytes = std::size_t{64} << 10;

// Protocols in the format of ALPN: each with its length, the preferred one first.
constexpr unsigned char kHttp11[] = "\x08http/1.1";
constexpr unsigned char kHttp2OrHttp11[] = "\x02h2\x08http/1.1";

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct X509Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, BioFree>;
using X509Ptr = std::unique_ptr<X509, X509Free>;
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyFree>;

// Empties OpenSSL's error queue and returns the last reason in it.
std::string TakeOpensslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "unknown TLS error";
  ERR_clear_error();
  return text;
}

BioPtr MemoryBio(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), INT_MAX))));
}

// Every certificate of a PEM text, in its order; `what` names it in the error.
Expected<std::vector<X509Ptr>> ReadCertificates(const std::string& pem, std::string_view what) {
  std::vector<X509Ptr> certificates;
  const BioPtr bio = MemoryBio(pem);
  for (;;) {
    X509Ptr certificate(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    certificates.push_back(std::move(certificate));
  }
  const unsigned long code = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  const std::string reason = TakeOpensslReason();
  if (certificates.empty() || !is_end) {
    return InvalidError(std::string(what) + ": not PEM certificates (BEGIN CERTIFICATE): " + reason);
  }
  return certificates;
}

Expected<KeyPtr> ReadKey(const std::string& pem, std::string_view what) {
  // An encrypted key must fail instead of asking at the terminal.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  KeyPtr key(PEM_read_bio_PrivateKey(MemoryBio(pem).get(), nullptr, no_password, nullptr));
  const std::string reason = TakeOpensslReason();
  if (key == nullptr) {
    return InvalidError(std::string(what) + ": not an unencrypted PEM private key (BEGIN PRIVATE KEY): " + reason);
  }
  return key;
}

Expected<void> CheckPair(const std::vector<X509Ptr>& chain, EVP_PKEY* key, std::string_view what) {
  if (X509_check_private_key(chain.front().get(), key) == 1) return {};
  ERR_clear_error();
  return InvalidError(std::string(what) + ": the private key does not belong to the first certificate");
}

// A BIO over the socket: OpenSSL's own writes with write(2), which kills the process with SIGPIPE when the peer has
// gone.
int BioWrite(BIO* bio, const char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const auto sent = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int BioRead(BIO* bio, char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const auto received = ::recv(fd, data, static_cast<std::size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (received == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(received);
}

long BioControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* SocketBioMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth socket");
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, BioControl);
    return made;
  }();
  return method;
}

ssl_st* NewSslOver(const TlsContext& context, BIO* bio) {
  ssl_st* ssl = SSL_new(context.get());
  BERTH_CHECK(ssl != nullptr);
  SSL_set_bio(ssl, bio, bio);
  return ssl;
}

ssl_st* NewSsl(const TlsContext& context, int fd) {
  BIO* bio = BIO_new(SocketBioMethod());
  BERTH_CHECK(bio != nullptr);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return NewSslOver(context, bio);
}

// Makes a TLS connection inside another one, which the caller still owns.
ssl_st* NewSslInside(const TlsContext& context, ssl_st* outer) {
  BIO* bio = BIO_new(BIO_f_ssl());
  BERTH_CHECK(bio != nullptr);
  BIO_ctrl(bio, BIO_C_SET_SSL, BIO_NOCLOSE, outer);
  return NewSslOver(context, bio);
}

SSL_CTX* NewContext(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  BERTH_CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // Many peers close without close_notify. Content-Length and chunks show when a body is cut short; only a body that
  // ends with the connection does not.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  return context;
}

int ChooseHttp11(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                 unsigned int offered_size, void*) {
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(&selected, chosen_size, kHttp11, sizeof(kHttp11) - 1, offered, offered_size);
  *chosen = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// RFC 9113, 9.2 demands TLS 1.2 or later, and with 1.2 a suite with AEAD and an ephemeral key exchange.
bool SuitsHttp2(const SSL* ssl) {
  if (SSL_version(ssl) != TLS1_2_VERSION) return SSL_version(ssl) > TLS1_2_VERSION;
  const SSL_CIPHER* suite = SSL_get_pending_cipher(ssl);
  if (suite == nullptr || SSL_CIPHER_is_aead(suite) != 1) return false;
  const int exchange = SSL_CIPHER_get_kx_nid(suite);
  return exchange == NID_kx_ecdhe || exchange == NID_kx_dhe;
}

// The ALPN callback. OpenSSL has chosen version and cipher suite before it.
int ChooseHttp2OrHttp11(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                        const unsigned char* offered, unsigned int offered_size, void* user) {
  if (!SuitsHttp2(ssl)) return ChooseHttp11(ssl, chosen, chosen_size, offered, offered_size, user);
  unsigned char* selected = nullptr;
  const int result =
      SSL_select_next_proto(&selected, chosen_size, kHttp2OrHttp11, sizeof(kHttp2OrHttp11) - 1, offered, offered_size);
  *chosen = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

Expected<void> UseClientCertificate(SSL* ssl, const Expected<std::pair<std::string, std::string>>& pems) {
  if (!pems.ok()) return pems.error().Wrap("reading the client certificate");
  if (pems->first.empty() && pems->second.empty()) return {};
  BERTH_ASSIGN_OR_RETURN(const auto chain, ReadCertificates(pems->first, "client certificate"));
  BERTH_ASSIGN_OR_RETURN(const auto key, ReadKey(pems->second, "client key"));
  BERTH_RETURN_IF_ERROR(CheckPair(chain, key.get(), "client key"));
  bool ok = SSL_use_certificate(ssl, chain.front().get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) ok = ok && SSL_add1_chain_cert(ssl, chain[i].get()) == 1;
  if (!ok || SSL_use_PrivateKey(ssl, key.get()) != 1) return InvalidError("client certificate: " + TakeOpensslReason());
  return {};
}

Expected<void> AddRoots(SSL_CTX* context, const std::string& pem, std::string_view what) {
  BERTH_ASSIGN_OR_RETURN(const auto roots, ReadCertificates(pem, what));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& root : roots) X509_STORE_add_cert(store, root.get());
  // Every certificate of the bundle is trusted, intermediate ones too, as in Go.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return {};
}

}  // namespace

std::string SystemErrorText(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty()) text[0] = LowerCase(text[0]);
  return text;
}

Expected<std::shared_ptr<const TlsContext>> TlsContext::MakeClient(const TlsClientOptions& options) {
  const auto context = std::make_shared<const TlsContext>(NewContext(TLS_client_method()));
  if (!options.ca_pem.empty()) {
    BERTH_RETURN_IF_ERROR(AddRoots(context->get(), options.ca_pem, "certificate authority"));
  }
  const bool wants_system_roots = options.ca_pem.empty() ? options.verify_peer : options.adds_system_roots;
  if (wants_system_roots && SSL_CTX_set_default_verify_paths(context->get()) != 1) {
    return InvalidError("the system's trusted certificates could not be loaded: " + TakeOpensslReason());
  }
  SSL_CTX_set_verify(context->get(), options.verify_peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options.offers_http2) {
    SSL_CTX_set_alpn_protos(context->get(), kHttp2OrHttp11, sizeof(kHttp2OrHttp11) - 1);
  } else {
    SSL_CTX_set_alpn_protos(context->get(), kHttp11, sizeof(kHttp11) - 1);
  }
  return context;
}

namespace {

Expected<void> SetMinVersion(SSL_CTX* context, const std::string& name) {
  static constexpr std::pair<std::string_view, int> kVersions[] = {{"", TLS1_2_VERSION},
                                                                   {"VersionTLS10", TLS1_VERSION},
                                                                   {"VersionTLS11", TLS1_1_VERSION},
                                                                   {"VersionTLS12", TLS1_2_VERSION},
                                                                   {"VersionTLS13", TLS1_3_VERSION}};
  for (const auto& [known, version] : kVersions) {
    if (name != known) continue;
    // OpenSSL's default security level forbids what versions below 1.2 need.
    if (version < TLS1_2_VERSION) SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, version);
    return {};
  }
  return InvalidError("TLS version \"" + name + "\": should be one of VersionTLS10 to VersionTLS13");
}

Expected<void> SetCipherSuites(SSL_CTX* context, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string list;
  bool names_tls13 = false;
  for (const std::string& name : names) {
    // Suites of TLS 1.3 do not name a key exchange. They cannot be chosen, as in Go.
    names_tls13 = names_tls13 || (name.starts_with("TLS_") && name.find("_WITH_") == std::string::npos);
    const std::string_view own_name = OPENSSL_cipher_name(name.c_str());
    if (own_name == "(NONE)" || name.find("_WITH_") == std::string::npos) continue;
    list.append(list.empty() ? "" : ":").append(own_name);
  }
  if (list.empty() && names_tls13) return {};
  if (!list.empty() && SSL_CTX_set_cipher_list(context, list.c_str()) == 1) return {};
  ERR_clear_error();
  return InvalidError("TLS cipher suites: none of " + names.front() + (names.size() > 1 ? ", ..." : "") +
                      " is known to this build of OpenSSL");
}

Expected<void> SetCurves(SSL_CTX* context, const std::vector<std::int32_t>& numbers) {
  if (numbers.empty()) return {};
  std::string list;
  for (const std::int32_t number : numbers) {
    const char* name = number == 23   ? "P-256"
                       : number == 24 ? "P-384"
                       : number == 25 ? "P-521"
                       : number == 29 ? "X25519"
                                      : nullptr;
    if (name != nullptr) list.append(list.empty() ? "" : ":").append(name);
  }
  // The macro SSL_CTX_set1_groups_list has an old-style cast.
  if (!list.empty() && SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, list.data()) == 1) return {};
  ERR_clear_error();
  return InvalidError("TLS curves: none of those given is known; should be of 23, 24, 25 and 29");
}

int TakeAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

// Asks for a certificate and accepts any.
Expected<void> AskForCertificate(SSL_CTX* context, const std::string& hint_pem) {
  if (!hint_pem.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto roots, ReadCertificates(hint_pem, "client certificate authority"));
    for (const auto& root : roots) SSL_CTX_add_client_CA(context, root.get());
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, TakeAnyCertificate, nullptr);
  return {};
}

}  // namespace

Expected<std::shared_ptr<const TlsContext>> TlsContext::MakeServer(const TlsServerOptions& options) {
  const auto context = std::make_shared<const TlsContext>(NewContext(TLS_server_method()));
  BERTH_ASSIGN_OR_RETURN(const auto chain, ReadCertificates(options.certificate_chain_pem, "server certificate"));
  BERTH_ASSIGN_OR_RETURN(const auto key, ReadKey(options.private_key_pem, "server key"));
  BERTH_RETURN_IF_ERROR(CheckPair(chain, key.get(), "server key"));
  bool ok = SSL_CTX_use_certificate(context->get(), chain.front().get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i)
    ok = ok && SSL_CTX_add1_chain_cert(context->get(), chain[i].get()) == 1;
  if (!ok || SSL_CTX_use_PrivateKey(context->get(), key.get()) != 1) {
    return InvalidError("server certificate: " + TakeOpensslReason());
  }
  if (!options.client_ca_pem.empty()) {
    BERTH_RETURN_IF_ERROR(AddRoots(context->get(), options.client_ca_pem, "client certificate authority"));
    SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  if (options.asks_for_client_certificate) {
    BERTH_CHECK(options.client_ca_pem.empty(), "either TLS verifies client certificates, or the handler does");
    BERTH_RETURN_IF_ERROR(AskForCertificate(context->get(), options.client_ca_hint_pem));
  }
  BERTH_RETURN_IF_ERROR(SetMinVersion(context->get(), options.min_version));
  BERTH_RETURN_IF_ERROR(SetCipherSuites(context->get(), options.cipher_suites));
  BERTH_RETURN_IF_ERROR(SetCurves(context->get(), options.curves));
  SSL_CTX_set_options(context->get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context->get(), 0);
  SSL_CTX_set_alpn_select_cb(context->get(), options.serves_http2 ? ChooseHttp2OrHttp11 : ChooseHttp11, nullptr);
  if (!options.named.empty()) {
    auto named = std::make_unique<NamedCertificates>();
    for (const NamedCertificate& each : options.named) {
      // SSL_set_SSL_CTX replaces the cipher suites of a connection, too, so the other context has the same options.
      TlsServerOptions same = options;
      same.named.clear();
      same.certificate_chain_pem = each.certificate_chain_pem;
      same.private_key_pem = each.private_key_pem;
      BERTH_ASSIGN_OR_RETURN(auto other, MakeServer(same));
      named->Add(std::move(other), each.names);
    }
    NamedCertificates::Attach(std::move(named), context->get());
  }
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::shared_ptr<const TlsContext> ClientTlsContexts::Now() {
  if (!options_.ca_pem_now) return current_;
  auto pem = options_.ca_pem_now();
  // A file may be missing or incomplete while it is being replaced.
  if (!pem.ok() || *pem == options_.ca_pem) return current_;
  TlsClientOptions changed = options_;
  changed.ca_pem = *std::move(pem);
  auto context = TlsContext::MakeClient(changed);
  if (!context.ok()) return current_;
  options_ = std::move(changed);
  current_ = *std::move(context);
  return current_;
}

namespace {

// Turns on TCP keep-alive: probes begin after kIdleS seconds of silence, and the connection ends kIntervalS * kProbes
// seconds later. Bytes that are not acknowledged end it after the same time. If the kernel refuses the options, the
// time-outs of requests and streams remain.
void SetLiveness(int socket) {
  constexpr int kIdleS = 10;
  constexpr int kIntervalS = 5;
  constexpr int kProbes = 3;
  const auto set = [socket](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kIntervalS);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, (kIdleS + kIntervalS * kProbes) * 1000);
}

}  // namespace

Expected<void> Channel::Prepare() {
  boost::system::error_code ec;
  socket_.non_blocking(true, ec);
  if (!ec) socket_.set_option(boost::asio::ip::tcp::no_delay(true), ec);
  if (!ec) SetLiveness(socket_.native_handle());
  if (!ec) ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
  if (ec) return Error{ErrorCode::kUnavailable, SystemErrorText(ec.value())};
  return {};
}

Expected<void> Channel::StartClientTls(const TlsContext& context, const TlsClientOptions& options,
                                       const std::string& name) {
  if (ssl_ == nullptr) {
    ssl_ = NewSsl(context, socket_.native_handle());
  } else {
    BERTH_CHECK(outer_ == nullptr && is_tls_established_ && !is_tls_broken_);
    outer_ = ssl_;
    ssl_ = NewSslInside(context, outer_);
    is_tls_established_ = false;
  }
  const bool is_ip = IsIpAddress(name);
  bool ok = true;
  if (!is_ip) {
    // The macro SSL_set_tlsext_host_name has an old-style cast.
    ok = SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name.c_str())) == 1;
  }
  if (options.verify_peer) {
    verified_name_ = name;
    X509_VERIFY_PARAM* param = SSL_get0_param(ssl_);
    // As Go does: the subject's common name says nothing, and a wildcard stands for one whole label.
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ok = ok && (is_ip ? X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str())
                      : X509_VERIFY_PARAM_set1_host(param, name.data(), name.size())) == 1;
  }
  if (!ok) {
    ERR_clear_error();
    return InvalidError("\"" + name + "\" is no name that TLS could verify");
  }
  if (options.client_certificate_pem) {
    if (const auto used = UseClientCertificate(ssl_, options.client_certificate_pem()); !used.ok()) {
      // kUnavailable, since this is not an answer to the request, and a file that is being replaced will soon be
      // complete.
      Error error = used.error();
      error.code = ErrorCode::kUnavailable;
      return error;
    }
  }
  SSL_set_connect_state(ssl_);
  return {};
}

Expected<void> Channel::StartServerTls(const TlsContext& context) {
  ssl_ = NewSsl(context, socket_.native_handle());
  SSL_set_accept_state(ssl_);
  return {};
}

Channel::Step Channel::TlsResult(int result, std::string_view doing) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ: return {Outcome::kWantRead};
    case SSL_ERROR_WANT_WRITE: return {Outcome::kWantWrite};
    case SSL_ERROR_ZERO_RETURN: return {Outcome::kEof};
    case SSL_ERROR_SYSCALL:
      is_tls_broken_ = true;
      ERR_clear_error();
      if (system_error == 0) return {Outcome::kEof};
      failure_ = SystemErrorText(system_error);
      return {Outcome::kFailed};
    default: break;
  }
  is_tls_broken_ = true;
  const unsigned long code = ERR_peek_last_error();
  const bool is_wrong_version = ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER;
  const bool is_verify_failure =
      ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  std::string reason = TakeOpensslReason();
  if (is_verify_failure) {
    const long verdict = SSL_get_verify_result(ssl_);
    reason = X509_verify_cert_error_string(verdict);
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      reason += ": the server's certificate is not for " + verified_name_;
    }
  } else if (is_wrong_version && !is_tls_established_) {
    reason += ": the server does not speak TLS here, is it http:// instead of https://?";
  }
  failure_ = std::string(doing) + ": " + reason;
  return {Outcome::kFailed};
}

Channel::Step Channel::SystemResult(int error, Outcome would_block) {
  if (error == EAGAIN || error == EINTR) return {would_block};
  failure_ = SystemErrorText(error);
  return {Outcome::kFailed};
}

Channel::Step Channel::Handshake() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    is_tls_established_ = true;
    return {Outcome::kDone};
  }
  return TlsResult(result, "TLS handshake failed");
}

std::vector<std::string> Channel::PeerCertificates() const {
  std::vector<std::string> shown;
  if (ssl_ == nullptr || !is_tls_established_) return shown;
  const auto add = [&shown](const X509* certificate) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate, &der);
    if (size > 0) shown.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
  };
  const X509Ptr own(SSL_get1_peer_certificate(ssl_));
  if (own == nullptr) return shown;
  add(own.get());
  // On a server's side the chain lacks the peer's own certificate.
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl_);
  for (int i = 0; i < sk_X509_num(chain); ++i) add(sk_X509_value(chain, i));
  ERR_clear_error();
  return shown;
}

Channel::Step Channel::Read(char* data, std::size_t size) {
  if (ssl_ == nullptr) {
    const auto received = ::recv(socket_.native_handle(), data, size, 0);
    if (received > 0) return {Outcome::kDone, static_cast<std::size_t>(received)};
    if (received == 0) return {Outcome::kEof};
    return SystemResult(errno, Outcome::kWantRead);
  }
  if (is_tls_broken_) return {Outcome::kFailed};
  ERR_clear_error();
  errno = 0;
  std::size_t received = 0;
  const int result = SSL_read_ex(ssl_, data, size, &received);
  if (result == 1) return {Outcome::kDone, received};
  return TlsResult(result, "TLS failed");
}

Channel::Step Channel::Write(std::string_view bytes) {
  if (bytes.empty()) return {Outcome::kDone};
  if (ssl_ == nullptr) {
    const auto sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {Outcome::kDone, static_cast<std::size_t>(sent)};
    return SystemResult(errno, Outcome::kWantWrite);
  }
  if (is_tls_broken_) return {Outcome::kFailed};
  ERR_clear_error();
  errno = 0;
  std::size_t sent = 0;
  const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
  if (result == 1) return {Outcome::kDone, sent};
  return TlsResult(result, "TLS failed");
}

void Channel::OfferHttp1Only() { SSL_set_alpn_protos(ssl_, kHttp11, sizeof(kHttp11) - 1); }

bool Channel::is_http2() const {
  if (ssl_ == nullptr) return false;
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &chosen, &size);
  return std::string_view(reinterpret_cast<const char*>(chosen), size) == "h2";
}

void Channel::KeepBuffers() {
  if (ssl_ == nullptr) return;
  SSL_clear_mode(ssl_, SSL_MODE_RELEASE_BUFFERS);
  SSL_set_default_read_buffer_len(ssl_, kReadAheadBytes);
}

bool Channel::HasBufferedInput() const {
  return (ssl_ != nullptr && SSL_has_pending(ssl_) == 1) || (outer_ != nullptr && SSL_has_pending(outer_) == 1);
}

bool Channel::IsQuiet() {
  char byte = 0;
  if (ssl_ == nullptr) {
    const auto received = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK);
    return received < 0 && errno == EAGAIN;
  }
  ERR_clear_error();
  errno = 0;
  std::size_t received = 0;
  const int result = SSL_peek_ex(ssl_, &byte, 1, &received);
  return result != 1 && TlsResult(result, "TLS failed").outcome == Outcome::kWantRead;
}

void Channel::ShutdownWrite() {
  if (ssl_ != nullptr && is_tls_established_ && !is_tls_broken_) {
    SSL_shutdown(ssl_);
    if (outer_ != nullptr) SSL_shutdown(outer_);
    ERR_clear_error();
  }
  boost::system::error_code ignored;  // the peer may have closed before
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
}

void Channel::Close() {
  if (ssl_ != nullptr) {
    if (is_tls_established_ && !is_tls_broken_ && socket_.is_open()) SSL_shutdown(ssl_);
    SSL_free(ssl_);
    ssl_ = nullptr;
    SSL_free(outer_);  // freed after the inner connection, which sends its close_notify through it
    outer_ = nullptr;
    ERR_clear_error();
  }
  boost::system::error_code ignored;  // a failure changes nothing
  socket_.close(ignored);
}

}  // namespace berth::net
