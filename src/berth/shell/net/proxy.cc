// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/proxy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include <arpa/inet.h>

#include "berth/base/text.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

// What should be a proxy's URL, for an error's one line. All that may be a user or a password is left out: everything
// before the last @, wherever that is, and what follows the port.
std::string Shown(std::string_view text) {
  constexpr std::size_t kShownMax = 100;
  std::string scheme;
  if (const auto separator = text.find("://"); separator != std::string_view::npos) {
    scheme = text.substr(0, separator + 3);
    text.remove_prefix(separator + 3);
  }
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) text.remove_prefix(at + 1);
  text = text.substr(0, text.find_first_of("/?#"));
  // Before the scheme there is nothing but the scheme, unless the text is no URL at all.
  if (scheme.find('@') != std::string::npos) scheme.clear();
  std::string shown = "\"";
  for (const char c : (scheme + std::string(text)).substr(0, kShownMax)) shown += c >= ' ' && c < 0x7f ? c : '?';
  return shown + '"';
}

// Whether the text is valid as a user or password, as in Go's net/url. Other characters must be percent-encoded.
bool IsUserText(std::string_view text) {
  static constexpr std::string_view kMarks = "-._:~!$&'()*+,;=%@";
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || kMarks.find(c) != std::string_view::npos; });
}

struct Scheme {
  std::string_view name;
  Proxy::Kind kind;
  std::uint16_t port;
};
constexpr Scheme kSchemes[] = {{"http", Proxy::Kind::kHttp, 80},
                               {"https", Proxy::Kind::kHttps, 443},
                               {"socks5", Proxy::Kind::kSocks5, 1080},
                               {"socks5h", Proxy::Kind::kSocks5, 1080}};

// An IPv4 address as the IPv6 address that stands for it.
using Address = std::array<std::uint8_t, 16>;
constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedPrefixBits = 96;

bool IsV4(const Address& address) { return std::memcmp(address.data(), kMappedPrefix, sizeof(kMappedPrefix)) == 0; }

bool IsLoopback(const Address& address) {
  constexpr Address kV6Loopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return IsV4(address) ? address[12] == 127 : address == kV6Loopback;
}

std::optional<Address> ParseAddress(const std::string& text) {
  Address address{};
  if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  std::memcpy(address.data(), kMappedPrefix, sizeof(kMappedPrefix));
  if (::inet_pton(AF_INET, text.c_str(), address.data() + sizeof(kMappedPrefix)) == 1) return address;
  return std::nullopt;
}

// "010.0.0.0" is 10.0.0.0 to client-go (ParseCIDRSloppy of k8s.io/utils/net), as it was to Go before 1.17.
std::string WithoutLeadingZeros(std::string_view octets) {
  std::string text;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    const bool begins =
        i == 0 || octets[i - 1] == '.' || (octets[i - 1] == '0' && (text.empty() || text.back() == '.'));
    const bool goes_on = i + 1 < octets.size() && IsDigit(octets[i + 1]);
    if (!(octets[i] == '0' && begins && goes_on)) text += octets[i];
  }
  return text;
}

struct Block {
  Address address;  // bits behind the prefix are zero
  unsigned bits;

  bool Contains(const Address& other) const {
    if (IsV4(address) != IsV4(other)) return false;
    for (unsigned bit = 0; bit < bits; bit += 8) {
      const unsigned kept = std::min(8U, bits - bit);
      const unsigned mask = 0xffU << (8 - kept) & 0xffU;
      if (((address[bit / 8] ^ other[bit / 8]) & mask) != 0) return false;
    }
    return true;
  }
};

std::optional<Block> ParseBlock(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const bool is_v4 = text.substr(0, slash).find(':') == std::string_view::npos;
  const auto address =
      ParseAddress(is_v4 ? WithoutLeadingZeros(text.substr(0, slash)) : std::string(text.substr(0, slash)));
  const std::string_view length = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, problem] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!address || problem != std::errc() || end != length.data() + length.size()) return std::nullopt;
  if (bits > (is_v4 ? 32U : 128U)) return std::nullopt;
  Block block{*address, is_v4 ? kMappedPrefixBits + bits : bits};
  for (unsigned bit = block.bits; bit < 128; ++bit) {
    block.address[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> bit % 8));
  }
  return block;
}

// Go's net.SplitHostPort for an entry of NO_PROXY. None: there is no port, or the entry is neither.
std::optional<std::pair<std::string_view, std::string_view>> SplitEntry(std::string_view entry) {
  const auto colon = entry.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = entry.substr(0, colon);
  if (entry.front() == '[') {
    if (colon < 2 || entry[colon - 1] != ']') return std::nullopt;
    host = entry.substr(1, colon - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view port = entry.substr(colon + 1);
  if (host.find_first_of("[]") != std::string_view::npos || port.find_first_of("[]") != std::string_view::npos)
    return std::nullopt;
  return std::pair(host, port);
}

struct Server {
  std::string host;  // in lower case
  std::string port;
  std::optional<Address> address;
};

bool Excludes(std::string_view entry, const Server& server) {
  if (const auto block = ParseBlock(entry)) return server.address && block->Contains(*server.address);
  std::string_view host = entry;
  std::string_view port;
  if (const auto split = SplitEntry(entry)) std::tie(host, port) = *split;
  if (host.empty() || (!port.empty() && port != server.port)) return false;
  // An address has no brackets here: Go accepts brackets only with a port.
  if (const auto address = ParseAddress(std::string(host))) return server.address == address;
  if (server.address) return false;
  if (host.starts_with("*.")) host.remove_prefix(1);
  if (host.front() == '.') return server.host.ends_with(host);
  return server.host == host || server.host.ends_with('.' + std::string(host));
}

bool IsExcluded(std::string_view no_proxy, const Server& server) {
  for (std::string_view rest = no_proxy; !rest.empty();) {
    const auto comma = rest.find(',');
    const std::string entry = LowerCase(Trim(rest.substr(0, comma)));
    if (entry == "*" || (!entry.empty() && Excludes(entry, server))) return true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

// A variable may leave the scheme out: "proxy.example:3128".
Expected<Proxy> ParseVariable(const ProxyEnvironment::Variable& variable) {
  const bool has_scheme = variable.text.find("://") != std::string::npos;
  auto proxy = ParseProxy(has_scheme ? variable.text : "http://" + variable.text);
  if (!proxy.ok()) return InvalidError(variable.name + ": " + proxy.error().message);
  return proxy;
}

}  // namespace

Expected<Proxy> ParseProxy(std::string_view text) {
  const auto fail = [text](std::string_view why) {
    return InvalidError("invalid proxy URL " + Shown(text) + ": " + std::string(why));
  };
  if (std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c <= ' ') || c == 0x7f; })) {
    return fail("it has a space or a control character");
  }
  const auto separator = text.find("://");
  const std::string scheme_name = separator == std::string_view::npos ? "" : LowerCase(text.substr(0, separator));
  const auto* const scheme = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                          [&](const Scheme& known) { return known.name == scheme_name; });
  if (scheme == std::end(kSchemes)) {
    return fail("it must begin with http://, https://, socks5:// or socks5h://");
  }
  constexpr std::string_view kBadUser =
      "what of its user and password is no letter or digit must be percent-encoded (/ as %2F)";
  std::string_view authority = text.substr(separator + 3);
  const auto end = authority.find_first_of("/?#");
  // A password that has one of them: what stands before it would be taken for the proxy's host, and shown.
  if (end != std::string_view::npos && authority.find('@', end) != std::string_view::npos) return fail(kBadUser);
  authority = authority.substr(0, end);
  Proxy proxy;
  proxy.kind = scheme->kind;
  const auto at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    const auto colon = user.find(':');
    const std::string_view password = colon == std::string_view::npos ? std::string_view() : user.substr(colon + 1);
    auto name = PercentDecode(user.substr(0, colon), false);
    auto decoded = PercentDecode(password, false);
    if (!IsUserText(user) || !name.ok() || !decoded.ok()) return fail(kBadUser);
    proxy.user = Proxy::User{*std::move(name), *std::move(decoded)};
    authority.remove_prefix(at + 1);
  }
  if (authority.ends_with(':')) authority.remove_suffix(1);  // an empty port counts as none, as in Go
  auto place = ParseAuthority(authority, scheme->port);
  if (!place.ok()) return fail(place.error().message);
  std::tie(proxy.host, proxy.port) = *std::move(place);
  if (proxy.kind == Proxy::Kind::kSocks5 && proxy.user &&
      (proxy.user->name.empty() ||
       std::max(proxy.user->name.size(), proxy.user->password.size()) > kSocksTextBytesMax)) {
    return fail("SOCKS has room for a user of 1 to 255 bytes and a password of as many");
  }
  proxy.shown = scheme_name + "://" + JoinHostPort(proxy.host, proxy.port);
  return proxy;
}

ProxyEnvironment ReadProxyEnvironment(const std::function<std::string(std::string_view)>& env) {
  const auto either = [&env](std::string_view upper, std::string_view lower) {
    std::string text = env(upper);
    if (!text.empty()) return ProxyEnvironment::Variable{std::string(upper), std::move(text)};
    return ProxyEnvironment::Variable{std::string(lower), env(lower)};
  };
  return {.http = either("HTTP_PROXY", "http_proxy"),
          .https = either("HTTPS_PROXY", "https_proxy"),
          .no_proxy = either("NO_PROXY", "no_proxy").text,
          .is_cgi = !env("REQUEST_METHOD").empty()};
}

Expected<std::optional<Proxy>> ProxyFor(const ProxyEnvironment& environment, std::string_view url) {
  BERTH_ASSIGN_OR_RETURN(const Url server_url, ParseUrl(url));
  const bool is_https = server_url.scheme == "https";
  const ProxyEnvironment::Variable& variable = is_https ? environment.https : environment.http;
  if (variable.text.empty()) return std::optional<Proxy>();
  if (!is_https && environment.is_cgi) {
    return InvalidError(variable.name +
                        " is not used beside REQUEST_METHOD: under CGI a client may have set it; unset one of them");
  }
  const Server server{LowerCase(server_url.host), std::to_string(server_url.port), ParseAddress(server_url.host)};
  // Go knows only this spelling.
  if (server_url.host == "localhost" || (server.address && IsLoopback(*server.address))) return std::optional<Proxy>();
  if (IsExcluded(environment.no_proxy, server)) return std::optional<Proxy>();
  BERTH_ASSIGN_OR_RETURN(Proxy proxy, ParseVariable(variable));
  return std::optional<Proxy>(std::move(proxy));
}

}  // namespace berth::net
