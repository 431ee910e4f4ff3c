// SPDX-License-Identifier: Apache-2.0
// URLs and request targets: percent-coding, splitting, and nothing of sockets. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"

namespace berth::net {

// Everything but RFC 3986's unreserved characters (letters, digits, - . _ ~) becomes %XX, the slash too: fit for one
// path segment, or for a key or value of a query.
std::string PercentEncode(std::string_view text);

// kInvalid when a % is not followed by two hex digits. `plus_is_space` as in queries, never in paths.
Expected<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// Parameters of one query beyond which a target is refused.
inline constexpr std::size_t kQueryParametersMax = 1024;

// The target of a request line. Parameters keep their order and may repeat.
struct Target {
  std::string path;                   // as sent, still percent-encoded, without the query; begins with '/'
  std::vector<std::string> segments;  // of the path, decoded; slashes at its ends make none, "//" inside an empty one
  std::vector<std::pair<std::string, std::string>> query;  // decoded; "watch" alone has an empty value

  // The first value of `key`, or an empty view.
  std::string_view Query(std::string_view key) const;
  bool Has(std::string_view key) const;
};

// "/path?query", and the absolute form "http://host/path?query" whose host is dropped. A fragment is refused.
Expected<Target> ParseTarget(std::string_view target);

// Where a server is. The host of an IPv6 address is without brackets.
struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;
  std::uint16_t port = 0;  // the scheme's own when the text has none
  std::string path;        // still percent-encoded; empty, or begins with '/'
};

// An absolute http or https URL without user, query and fragment, as a kubeconfig's `server` has it.
Expected<Url> ParseUrl(std::string_view text);

// A URL, or what should be one, as messages and logs may show it: without user and password, and with "xxxxx" for the
// values of its query, but for parameters that are the Kubernetes API's. What might be a password is not shown either.
std::string ShownUrl(std::string_view text);

// The host and port of a URL's "host", "host:port", "[v6]" or "[v6]:port". The error says what is wrong, and not with
// what.
Expected<std::pair<std::string, std::uint16_t>> ParseAuthority(std::string_view text, std::uint16_t port_default);

// A host and port, "[...]" around an IPv6 address: "127.0.0.1:8001", "[::1]:443".
std::string JoinHostPort(std::string_view host, std::uint16_t port);

// Splits "host:port", for listen addresses. The port is required, 0 is allowed, and an empty host stays empty.
Expected<std::pair<std::string, std::uint16_t>> SplitHostPort(std::string_view text);

// Compares ASCII letters without case, as for header names and schemes.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// An IPv4 or IPv6 address, without brackets.
bool IsIpAddress(const std::string& host);

}  // namespace berth::net
