// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/proxy_handshake.h"

#include <utility>

#include <arpa/inet.h>

#include "berth/base/base64.h"
#include "berth/base/check.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

// RFC 1928 and, for user and password, RFC 1929.
constexpr char kSocksVersion = 5;
constexpr char kUserPasswordVersion = 1;
constexpr char kNoAuthentication = 0;
constexpr char kUserPassword = 2;
constexpr char kConnect = 1;
constexpr char kReserved = 0;
constexpr char kIpv4 = 1;
constexpr char kName = 3;
constexpr char kIpv6 = 4;
constexpr std::size_t kReplyHeadBytes = 4;
constexpr std::size_t kPortBytes = 2;

std::string WithLength(std::string_view text) {
  BERTH_CHECK(text.size() <= kSocksTextBytesMax, text.size());
  return static_cast<char>(static_cast<unsigned char>(text.size())) + std::string(text);
}

std::string SocksProblem(unsigned char code) {
  static constexpr std::string_view kProblems[] = {"",
                                                   "general failure",
                                                   "the connection is not allowed",
                                                   "network unreachable",
                                                   "host unreachable",
                                                   "connection refused",
                                                   "time to live expired",
                                                   "command not supported",
                                                   "address type not supported"};
  if (code < std::size(kProblems)) return std::string(kProblems[code]);
  return "failure " + std::to_string(code);
}

}  // namespace

std::string ProxyAuthorization(const Proxy& proxy) {
  if (!proxy.user) return "";
  return "Basic " + EncodeBase64(proxy.user->name + ':' + proxy.user->password);
}

ProxyHandshake::ProxyHandshake(const Proxy& proxy, std::string host, std::uint16_t port)
    : proxy_(proxy), host_(std::move(host)), port_(port), parser_(HttpParser::Kind::kResponse) {
  if (proxy_.kind == Proxy::Kind::kSocks5) {
    step_ = Step::kMethod;
    const std::string methods =
        proxy_.user ? std::string{kNoAuthentication, kUserPassword} : std::string(1, kNoAuthentication);
    output_ = kSocksVersion + WithLength(methods);
    return;
  }
  step_ = Step::kConnect;
  const std::string where = JoinHostPort(host_, port_);
  output_ = "CONNECT " + where + " HTTP/1.1\r\nHost: " + where + "\r\n";
  if (const std::string authorization = ProxyAuthorization(proxy_); !authorization.empty()) {
    output_ += "Proxy-Authorization: " + authorization + "\r\n";
  }
  output_ += "\r\n";
  // A successful answer has no body, whatever its headers say (RFC 9110, 9.3.6), and the body of a refusal is not read.
  parser_.Start({kProxyAnswerBytesMax, 0}, true);
}

std::string ProxyHandshake::TakeOutput() { return std::exchange(output_, {}); }

ProxyHandshake::Outcome ProxyHandshake::Feed(std::string_view bytes) {
  return step_ == Step::kConnect ? FeedConnect(bytes) : FeedSocks(bytes);
}

ProxyHandshake::Outcome ProxyHandshake::Fail(std::string problem) {
  problem_ = std::move(problem);
  return Outcome::kFailed;
}

ProxyHandshake::Outcome ProxyHandshake::FeedConnect(std::string_view bytes) {
  unread_ += bytes;
  std::size_t consumed = 0;
  const auto outcome = parser_.Feed(unread_, consumed);
  unread_.erase(0, consumed);
  switch (outcome) {
    case HttpParser::Outcome::kNeedMore: return Outcome::kNeedMore;
    case HttpParser::Outcome::kComplete: break;
    case HttpParser::Outcome::kHeaderTooLarge:
    case HttpParser::Outcome::kBodyTooLarge:
      return Fail("the proxy's answer to CONNECT is longer than " + std::to_string(kProxyAnswerBytesMax) + " bytes");
    case HttpParser::Outcome::kNotHttp:
    case HttpParser::Outcome::kCutShort:
      return Fail("the proxy answered something that is not HTTP: " + parser_.problem());
  }
  const int status = parser_.response().status;
  if (status != 200) {
    std::string problem = "the proxy refused CONNECT: " + std::to_string(status) + ' ';
    problem += ReasonPhrase(status);
    if (status == 407 && !proxy_.user) problem += ": it wants a user and a password in its URL";
    return Fail(std::move(problem));
  }
  if (!unread_.empty()) return Fail("the proxy sent bytes behind its answer to CONNECT, where the server never begins");
  return Outcome::kDone;
}

std::string ProxyHandshake::SocksRequest() const {
  std::string request{kSocksVersion, kConnect, kReserved};
  char address[16];
  if (::inet_pton(AF_INET, host_.c_str(), address) == 1) {
    request += kIpv4 + std::string(address, 4);
  } else if (::inet_pton(AF_INET6, host_.c_str(), address) == 1) {
    request += kIpv6 + std::string(address, 16);
  } else {
    request += kName + WithLength(host_);
  }
  return request + std::string{static_cast<char>(port_ >> 8), static_cast<char>(port_ & 0xff)};
}

ProxyHandshake::Outcome ProxyHandshake::FeedSocks(std::string_view bytes) {
  unread_ += bytes;
  const char version = step_ == Step::kAuthentication ? kUserPasswordVersion : kSocksVersion;
  if (!unread_.empty() && unread_[0] != version) return Fail("the proxy does not speak SOCKS 5");
  if (unread_.size() < 2) return Outcome::kNeedMore;
  const char said = unread_[1];
  std::size_t expected = 2;
  switch (step_) {
    case Step::kConnect: break;
    case Step::kMethod:
      if (said == kUserPassword && proxy_.user) {
        output_ = kUserPasswordVersion + WithLength(proxy_.user->name) + WithLength(proxy_.user->password);
        step_ = Step::kAuthentication;
      } else if (said == kNoAuthentication) {
        output_ = SocksRequest();
        step_ = Step::kReply;
      } else {
        return Fail(proxy_.user ? "the proxy takes neither a user with a password nor a client without one"
                                : "the proxy wants a user and a password in its URL");
      }
      break;
    case Step::kAuthentication:
      if (said != 0) return Fail("the proxy refused the user or the password");
      output_ = SocksRequest();
      step_ = Step::kReply;
      break;
    case Step::kReply:
      if (said != 0) return Fail("the proxy made no connection: " + SocksProblem(static_cast<unsigned char>(said)));
      if (unread_.size() <= kReplyHeadBytes) return Outcome::kNeedMore;
      // Skips the address that the proxy connects from.
      switch (unread_[kReplyHeadBytes - 1]) {
        case kIpv4: expected = kReplyHeadBytes + 4 + kPortBytes; break;
        case kIpv6: expected = kReplyHeadBytes + 16 + kPortBytes; break;
        case kName:
          expected = kReplyHeadBytes + 1 + static_cast<unsigned char>(unread_[kReplyHeadBytes]) + kPortBytes;
          break;
        default: return Fail("the proxy's answer has an address of an unknown kind");
      }
      if (unread_.size() < expected) return Outcome::kNeedMore;
      if (unread_.size() == expected) return Outcome::kDone;
      break;
  }
  if (unread_.size() > expected) return Fail("the proxy sent bytes behind its answer that nobody asked for");
  unread_.clear();
  return Outcome::kNeedMore;
}

}  // namespace berth::net
