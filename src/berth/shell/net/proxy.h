// SPDX-License-Identifier: Apache-2.0
// Proxies: the address of one, and which of those that the environment names a server is reached through, by the rules
// of Go's http.ProxyFromEnvironment (golang.org/x/net/http/httpproxy). Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::net {

struct Proxy {
  enum class Kind : std::uint8_t { kHttp, kHttps, kSocks5 };
  struct User {
    std::string name;
    std::string password;
  };

  Kind kind = Kind::kHttp;
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  std::optional<User> user;  // percent-decoded
  std::string shown;         // "http://host:port", for errors and logs: never with user or password
};

// SOCKS has lengths of one byte for names, users and passwords.
inline constexpr std::size_t kSocksTextBytesMax = 255;

// "http://[USER[:PASSWORD]@]HOST[:PORT]", or with https, socks5 or socks5h, which mean the same: the proxy looks names
// up. What follows the port is of no use and ignored, as Go does. The error shows neither user nor password.
Expected<Proxy> ParseProxy(std::string_view text);

// What the environment says about proxies. Of two variables the one in upper case counts, unless it is empty.
struct ProxyEnvironment {
  struct Variable {
    std::string name;  // for errors
    std::string text;  // empty: no proxy
  };
  Variable http;
  Variable https;
  std::string no_proxy;
  bool is_cgi = false;  // REQUEST_METHOD is set
};

// `env` gives environment variables (empty when unset).
ProxyEnvironment ReadProxyEnvironment(const std::function<std::string(std::string_view)>& env);

// The proxy on the way to the server of an http or https URL; none where the environment names none, for loopback
// hosts, and where NO_PROXY excludes the server. kInvalid when the value that counts is no proxy's address, or must not
// be trusted (HTTP_PROXY under CGI, where a client may set it).
Expected<std::optional<Proxy>> ProxyFor(const ProxyEnvironment& environment, std::string_view url);

}  // namespace berth::net
