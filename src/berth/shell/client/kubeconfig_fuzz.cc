// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a kubeconfig, and as what a credential plugin prints. Files that it names are looked up
// below a folder that does not exist, and no plugin is run: that happens with the first request only.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "berth/shell/client/kubeconfig.h"

namespace {

class FixedClock final : public berth::Clock {
 public:
  berth::Time Now() const override { return berth::Time(std::chrono::hours(24 * 365 * 56)); }
};

bool IsOneLine(const berth::Error& error) {
  return !error.message.empty() && error.message.find('\n') == std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const FixedClock clock;
  for (const char* master : {"", "http://127.0.0.1:8001"}) {
    const auto config = berth::client::ParseKubeconfig(text, {.path = "/nonexistent/config", .master = master}, clock);
    if (config.ok() ? config->credentials == nullptr || config->server.empty() : !IsOneLine(config.error()))
      std::abort();
  }
  const auto credential = berth::client::ParseExecCredential(text, "client.authentication.k8s.io/v1");
  if (!credential.ok() && !IsOneLine(credential.error())) std::abort();
  return 0;
}
