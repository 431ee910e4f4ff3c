// SPDX-License-Identifier: Apache-2.0
// Proxies' URLs, and what a hostile proxy says: the first line is a URL, the rest the proxy's bytes, in pieces whose
// size the first of them says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/shell/net/proxy.h"
#include "berth/shell/net/proxy_handshake.h"

namespace berth::net {
namespace {

void Run(std::string_view input) {
  const std::string_view url = input.substr(0, input.find('\n'));
  input.remove_prefix(std::min(input.size(), url.size() + 1));
  const auto proxy = ParseProxy(url);
  if (!proxy.ok()) {
    BERTH_CHECK(proxy.error().message.find('\n') == std::string::npos);
    return;
  }
  BERTH_CHECK(!proxy->host.empty() && proxy->port != 0);
  const auto again = ParseProxy(proxy->shown);
  BERTH_CHECK(again.ok() && again->host == proxy->host && again->port == proxy->port && !again->user);

  ProxyEnvironment environment;
  environment.https = {"HTTPS_PROXY", std::string(url)};
  environment.no_proxy = input.substr(0, 200);
  static_cast<void>(ProxyFor(environment, "https://10.96.0.1:6443"));
  static_cast<void>(ProxyFor(environment, "https://kube.example"));

  ProxyHandshake handshake(*proxy, "kube.example", 6443);
  const std::size_t piece = input.empty() ? 1 : 1 + static_cast<unsigned char>(input.front());
  input.remove_prefix(std::min<std::size_t>(input.size(), 1));
  auto outcome = ProxyHandshake::Outcome::kNeedMore;
  while (!input.empty() && outcome == ProxyHandshake::Outcome::kNeedMore) {
    BERTH_CHECK(handshake.TakeOutput().size() <= 2 * 8192);
    outcome = handshake.Feed(input.substr(0, piece));
    input.remove_prefix(std::min(input.size(), piece));
  }
  BERTH_CHECK(handshake.problem().empty() == (outcome != ProxyHandshake::Outcome::kFailed));
  BERTH_CHECK(handshake.problem().find('\n') == std::string::npos);
}

}  // namespace
}  // namespace berth::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size <= 8192) berth::net::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
