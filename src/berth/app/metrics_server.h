// SPDX-License-Identifier: Apache-2.0
// GET /metrics over plain HTTP: --metrics-bind-address of the commands that have it.
#pragma once

#include <memory>
#include <string>

#include "berth/base/expected.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::app {

// Serves on `io`, at the flag's "host:port", until it is destroyed, and says so in the log; null where the flag is not
// given (empty). `io` and `metrics` must outlive it.
Expected<std::unique_ptr<net::HttpServer>> ServeMetrics(net::IoContext& io, const std::string& bind_address,
                                                        const metrics::PrometheusMetrics& metrics);

}  // namespace berth::app
