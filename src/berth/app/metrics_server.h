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

// Serves on `io`, at "host:port", until it is destroyed. `io` and `metrics` must outlive it.
Expected<std::unique_ptr<net::HttpServer>> StartMetricsServer(net::IoContext& io, const std::string& listen,
                                                              const metrics::PrometheusMetrics& metrics);

}  // namespace berth::app
