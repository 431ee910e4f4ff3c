// SPDX-License-Identifier: Apache-2.0
#include "berth/app/metrics_server.h"

#include <utility>

#include "berth/base/log.h"
#include "berth/shell/metrics/text_format.h"

namespace berth::app {

Expected<std::unique_ptr<net::HttpServer>> ServeMetrics(net::IoContext& io, const std::string& bind_address,
                                                        const metrics::PrometheusMetrics& metrics) {
  if (bind_address.empty()) return std::unique_ptr<net::HttpServer>();
  net::HttpServerOptions options;
  options.listen = bind_address;
  options.connections_max = 64;
  auto served = net::StartHttpServer(
      io, std::move(options), [&metrics](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& to) {
        const bool is_known = request.target == "/metrics" || request.target.starts_with("/metrics?");
        if (request.method != "GET" || !is_known) {
          to->Send({is_known ? 405 : 404, {{"Content-Type", "text/plain"}}, "GET /metrics is all there is\n"});
          return;
        }
        to->Send({200, {{"Content-Type", metrics::kTextContentType}}, metrics.Text()});
      });
  if (!served.ok()) return served.error().Wrap("--metrics-bind-address");
  log::Info("app", "Serving metrics", {{"url", "http://" + (*served)->address() + "/metrics"}});
  return served;
}

}  // namespace berth::app
