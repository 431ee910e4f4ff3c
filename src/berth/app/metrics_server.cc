// SPDX-License-Identifier: Apache-2.0
#include "berth/app/metrics_server.h"

#include <utility>

#include "berth/shell/metrics/text_format.h"

namespace berth::app {

Expected<std::unique_ptr<net::HttpServer>> StartMetricsServer(net::IoContext& io, const std::string& listen,
                                                              const metrics::PrometheusMetrics& metrics) {
  net::HttpServerOptions options;
  options.listen = listen;
  options.connections_max = 64;
  return net::StartHttpServer(
      io, std::move(options), [&metrics](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& to) {
        const bool is_known = request.target == "/metrics" || request.target.starts_with("/metrics?");
        if (request.method != "GET" || !is_known) {
          to->Send({is_known ? 405 : 404, {{"Content-Type", "text/plain"}}, "GET /metrics is all there is\n"});
          return;
        }
        to->Send({200, {{"Content-Type", metrics::kTextContentType}}, metrics.Text()});
      });
}

}  // namespace berth::app
