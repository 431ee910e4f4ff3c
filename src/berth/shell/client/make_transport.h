// SPDX-License-Identifier: Apache-2.0
// The HTTP client that a kubeconfig describes. Apart from kubeconfig.h, so that reading a kubeconfig does not need the
// HTTP client. Any thread.
#pragma once

#include <memory>

#include "berth/base/expected.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/net/transport.h"

namespace berth::client {

// `io` must outlive it.
Expected<std::unique_ptr<net::Transport>> MakeTransport(net::IoContext& io, const ClientConfig& config,
                                                        int connections_max = 64);

}  // namespace berth::client
