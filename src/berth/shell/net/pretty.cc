// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/pretty.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace berth::net {
namespace {

constexpr std::array<std::string_view, 6> kYes = {"1", "t", "T", "true", "TRUE", "True"};
constexpr std::array<std::string_view, 3> kReaders = {"curl", "Wget", "Mozilla/5.0"};

}  // namespace

bool WantsPretty(const Request& request, const Target& target) {
  if (const std::string_view pretty = target.Query("pretty"); !pretty.empty()) {
    return std::find(kYes.begin(), kYes.end(), pretty) != kYes.end();
  }
  const std::string_view agent = request.Get("User-Agent");
  return std::any_of(kReaders.begin(), kReaders.end(),
                     [agent](std::string_view reader) { return agent.starts_with(reader); });
}

}  // namespace berth::net
