// SPDX-License-Identifier: Apache-2.0
// GET /metrics and /healthz over plain HTTP: --metrics-bind-address of the commands that have it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::app {

// What is wrong with the process; nullopt: it is well. Any thread.
using WhyUnhealthy = std::function<std::optional<std::string>()>;

// Serves on `io`, at the flag's "host:port", until it is destroyed, and says so in the log; null where the flag is not
// given (empty). `io` and `metrics` must outlive it. /healthz is answered with 200 "ok", or with 500 and what is wrong.
Expected<std::unique_ptr<net::HttpServer>> ServeMetrics(net::IoContext& io, const std::string& bind_address,
                                                        const metrics::PrometheusMetrics& metrics,
                                                        WhyUnhealthy why_unhealthy = {});

}  // namespace berth::app
