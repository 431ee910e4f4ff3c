// SPDX-License-Identifier: Apache-2.0
// Answers that come from something between a scheduler and its API server, or from a server that fails: in the words of
// real ones. Stateless.
#pragma once

#include <string_view>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/shell/net/transport.h"

namespace berth::program_sim {

// A Status. `retry_after` in seconds; 0: the header is left out.
net::Response StatusAnswer(int code, std::string_view reason, std::string_view message, int retry_after = 0);

// A 5xx, with the body of a proxy or of an API server.
net::Response ServerError(Random& random);

// Of an admission webhook that hangs until its timeout, or until three of them. `held`, which may be null, gets how
// long.
net::Response Hang(Random& random, Duration* held);

// Of one that refuses (mode 0), cannot be called (1), or hangs (2).
net::Response WebhookAnswer(int mode, Random& random, Duration* held);

}  // namespace berth::program_sim
