// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/client_settings.h"

#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

bool IsFramingHeader(std::string_view name) {
  return EqualsIgnoreCase(name, "Content-Length") || EqualsIgnoreCase(name, "Transfer-Encoding") ||
         EqualsIgnoreCase(name, "Connection");
}

}  // namespace

Expected<void> CheckRequest(const Request& request) {
  if (!IsToken(request.method)) return InvalidError("invalid HTTP method: it must be a word such as GET");
  if (!IsTargetText(request.target) || request.target.front() != '/') {
    return InvalidError("invalid request target: it must begin with / and have nothing that needs percent-encoding");
  }
  for (const Header& header : request.headers) {
    if (!IsToken(header.name) || !IsHeaderValue(header.value)) {
      return InvalidError("invalid header \"" + (IsToken(header.name) ? header.name : std::string("?")) +
                          "\": names are words, values have no line breaks or control characters");
    }
  }
  return {};
}

std::string SerializeRequest(const ClientSettings& settings, const Request& request) {
  std::size_t size =
      128 + settings.prefix.size() + settings.proxy_authorization.size() + request.target.size() + request.body.size();
  bool has_host = false;
  for (const Header& header : request.headers) {
    size += header.name.size() + header.value.size() + 4;
    has_host = has_host || EqualsIgnoreCase(header.name, "Host");
  }
  std::string wire;
  wire.reserve(size);
  wire.append(request.method).append(" ").append(settings.prefix).append(request.target).append(" HTTP/1.1\r\n");
  if (!has_host) wire.append("Host: ").append(settings.host).append("\r\n");
  if (!settings.proxy_authorization.empty()) {
    wire.append("Proxy-Authorization: ").append(settings.proxy_authorization).append("\r\n");
  }
  for (const Header& header : request.headers) {
    if (IsFramingHeader(header.name)) continue;
    wire.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD" && request.method != "DELETE")) {
    wire.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  wire.append("\r\n").append(request.body);
  return wire;
}

Error ProxyRefusal(const ClientSettings& settings) {
  const bool has_user = settings.options.proxy && settings.options.proxy->user;
  return Unavailable(settings.where + ": the proxy refused the request: 407 Proxy Authentication Required" +
                         (has_user ? "" : ": it wants a user and a password in its URL"),
                     false);
}

}  // namespace berth::net
