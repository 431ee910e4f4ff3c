// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/url.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

#include <arpa/inet.h>

#include "berth/base/shown_url.h"
#include "berth/base/text.h"

namespace berth::net {
namespace {

bool IsUnreserved(char c) { return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool HasControlOrSpace(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c <= ' ') || c == 0x7f; });
}

// A port's digits; false when they are none or beyond 65535.
bool ParsePort(std::string_view text, std::uint16_t& port) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > 65535) return false;
  port = static_cast<std::uint16_t>(value);
  return true;
}

// Splits "host", "host:port", "[v6]", "[v6]:port"; `port` stays empty when there is none. False when it is none of
// them.
bool SplitAuthority(std::string_view text, std::string_view& host, std::string_view& port, bool& has_port) {
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return false;
    host = text.substr(1, close - 1);
    if (host.find(':') == std::string_view::npos) return false;
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (host.find_first_of("[]") != std::string_view::npos) return false;
  }
  has_port = !rest.empty();
  if (!has_port) return true;
  if (rest.front() != ':') return false;
  port = rest.substr(1);
  return port.find(':') == std::string_view::npos;
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

Expected<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '+' && plus_is_space) {
      decoded += ' ';
    } else if (c != '%') {
      decoded += c;
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return InvalidError("invalid URL escape " + Quoted(text.substr(i, 3)) +
                            ": % must be followed by two hex digits");
      }
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::string_view Target::Query(std::string_view key) const {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return {};
}

bool Target::Has(std::string_view key) const {
  return std::any_of(query.begin(), query.end(), [key](const auto& parameter) { return parameter.first == key; });
}

Expected<Target> ParseTarget(std::string_view target) {
  const std::string_view whole = target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoreCase(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    target.remove_prefix(std::min(target.size(), target.find_first_of("/?#")));
    break;
  }
  if (HasControlOrSpace(target)) {
    return InvalidError("invalid request target " + Quoted(whole) +
                        ": spaces and control characters must be percent-encoded");
  }
  if (target.find('#') != std::string_view::npos) {
    return InvalidError("invalid request target " + Quoted(whole) + ": a request has no fragment (#...)");
  }
  Target parsed;
  const auto question = target.find('?');
  const std::string_view path = target.substr(0, question);
  parsed.path = path.empty() && whole.size() != target.size() ? "/" : std::string(path);
  if (parsed.path.empty() || parsed.path.front() != '/') {
    return InvalidError("invalid request target " + Quoted(whole) + ": it must begin with /");
  }

  std::string_view rest = parsed.path;
  while (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  while (!rest.empty()) {
    const auto slash = rest.find('/');
    BERTH_ASSIGN_OR_RETURN(auto segment, PercentDecode(rest.substr(0, slash), false));
    parsed.segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }

  rest = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!rest.empty()) {
    const auto ampersand = rest.find('&');
    const std::string_view parameter = rest.substr(0, ampersand);
    if (!parameter.empty()) {
      if (parsed.query.size() == kQueryParametersMax) {
        return Error{ErrorCode::kTooLarge,
                     "request target has more than " + std::to_string(kQueryParametersMax) + " query parameters"};
      }
      const auto equals = parameter.find('=');
      BERTH_ASSIGN_OR_RETURN(auto key, PercentDecode(parameter.substr(0, equals), true));
      std::string value;
      if (equals != std::string_view::npos) {
        BERTH_ASSIGN_OR_RETURN(value, PercentDecode(parameter.substr(equals + 1), true));
      }
      parsed.query.emplace_back(std::move(key), std::move(value));
    }
    if (ampersand == std::string_view::npos) break;
    rest.remove_prefix(ampersand + 1);
  }
  return parsed;
}

std::string ShownUrl(std::string_view text) { return berth::ShownUrl(text); }

Expected<Url> ParseUrl(std::string_view text) {
  const auto fail = [text](std::string_view why) {
    return InvalidError("invalid URL " + Quoted(ShownUrl(text)) + ": " + std::string(why));
  };
  if (HasControlOrSpace(text)) return fail("it has a space or a control character");
  const auto separator = text.find("://");
  if (separator == std::string_view::npos) return fail("it must begin with http:// or https://");
  Url url;
  if (EqualsIgnoreCase(text.substr(0, separator), "http")) {
    url.scheme = "http";
    url.port = 80;
  } else if (EqualsIgnoreCase(text.substr(0, separator), "https")) {
    url.scheme = "https";
    url.port = 443;
  } else {
    return fail("its scheme must be http or https");
  }
  const std::string_view rest = text.substr(separator + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) return fail("it must not have a query or a fragment");
  const auto slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.path = rest.substr(slash);
  if (authority.find('@') != std::string_view::npos) return fail("it must not have a user name; use the user's fields");

  auto place = ParseAuthority(authority, url.port);
  if (!place.ok()) return fail(place.error().message);
  BERTH_RETURN_IF_ERROR(PercentDecode(url.path, false));
  std::tie(url.host, url.port) = *std::move(place);
  return url;
}

Expected<std::pair<std::string, std::uint16_t>> ParseAuthority(std::string_view text, std::uint16_t port_default) {
  std::string_view host;
  std::string_view port_text;
  bool has_port = false;
  std::uint16_t port = port_default;
  if (!SplitAuthority(text, host, port_text, has_port))
    return InvalidError("its host must be NAME, NAME:PORT or [IPV6]:PORT");
  if (host.empty()) return InvalidError("it has no host");
  if (has_port && (!ParsePort(port_text, port) || port == 0))
    return InvalidError("its port must be a number from 1 to 65535");
  return std::pair<std::string, std::uint16_t>(host, port);
}

std::string JoinHostPort(std::string_view host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  std::string joined = is_v6 ? "[" : "";
  joined += host;
  if (is_v6) joined += ']';
  return joined + ':' + std::to_string(port);
}

Expected<std::pair<std::string, std::uint16_t>> SplitHostPort(std::string_view text) {
  std::string_view host;
  std::string_view port;
  bool has_port = false;
  std::uint16_t number = 0;
  if (HasControlOrSpace(text) || !SplitAuthority(text, host, port, has_port) || !has_port || !ParsePort(port, number)) {
    return InvalidError("invalid address " + Quoted(text) +
                        ": it must be HOST:PORT with a port up to 65535, for example 127.0.0.1:8001 or [::1]:8001");
  }
  return std::pair<std::string, std::uint16_t>(host, number);
}

bool IsIpAddress(const std::string& host) {
  in6_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

}  // namespace berth::net
