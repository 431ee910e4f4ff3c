// SPDX-License-Identifier: Apache-2.0
// A server's certificate that nobody has signed, for a server that was given none. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::net {

struct SelfSignedOptions {
  std::string common_name;
  std::vector<std::string> names;  // "DNS:localhost", "IP:127.0.0.1"; at least one
  Time now;                        // of the wall clock; valid from an hour before
  Duration validity = std::chrono::hours(24 * 365);
};

// Certificate and key, PEM; a key of P-256.
Expected<std::pair<std::string, std::string>> MakeSelfSigned(const SelfSignedOptions& options);

}  // namespace berth::net
