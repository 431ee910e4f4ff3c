// SPDX-License-Identifier: Apache-2.0
// Answers of proxies and webhooks between a scheduler and its API server, and of a server that fails, in the words of
// real ones. Stateless.
#pragma once

#include <string_view>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/shell/net/transport.h"

namespace berth::program_sim {

// A Status. `retry_after` in seconds; 0: the header is left out.
net::Response StatusAnswer(int code, std::string_view reason, std::string_view message, int retry_after = 0);

// An answer 5xx, with the body of a proxy or of an API server.
net::Response ServerError(Random& random);

// The answer after an admission webhook has hung until its timeout, or three webhooks one after the other. Writes into
// `held`, unless it is null, how long that took.
net::Response Hang(Random& random, Duration* held);

// The answer for an admission webhook that refuses (mode 0), cannot be called (1), or hangs (2).
net::Response WebhookAnswer(int mode, Random& random, Duration* held);

}  // namespace berth::program_sim
