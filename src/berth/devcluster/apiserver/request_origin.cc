// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/request_origin.h"

#include <algorithm>
#include <string_view>

#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {
namespace {

objects::StatusError Refusal(std::string message) {
  return {.code = 403, .reason = "Forbidden", .message = std::move(message)};
}

// "example.com:8001" and "[::1]:8001" without the port and the brackets.
std::string HostOf(std::string_view authority) {
  if (authority.starts_with('[')) return std::string(authority.substr(1, authority.find(']') - 1));
  return std::string(authority.substr(0, authority.find(':')));
}

bool IsOurs(const std::string& host, std::span<const std::string> host_names) {
  if (net::IsIpAddress(host) || net::EqualsIgnoreCase(host, "localhost")) return true;
  return std::any_of(host_names.begin(), host_names.end(),
                     [&](const std::string& name) { return net::EqualsIgnoreCase(host, name); });
}

}  // namespace

std::optional<objects::StatusError> RefuseForeignOrigin(const net::Request& request,
                                                        std::span<const std::string> host_names) {
  const std::string_view host = request.Get("Host");
  if (!host.empty() && !IsOurs(HostOf(host), host_names)) {
    return Refusal("this server is not known as \"" + HostOf(host) +
                   "\": use its address, or start it with --host-name " + HostOf(host));
  }
  const std::string_view origin = request.Get("Origin");
  if (origin.empty() || origin == "http://" + std::string(host) || origin == "https://" + std::string(host)) {
    return std::nullopt;
  }
  return Refusal("requests from pages of another origin (\"" + std::string(origin) + "\") are not answered");
}

}  // namespace berth::apiserver
