// SPDX-License-Identifier: Apache-2.0
#include "berth/app/metrics_server.h"

#include <utility>

#include "berth/base/log.h"
#include "berth/shell/metrics/text_format.h"
#include "berth/shell/serving/gzip.h"

namespace berth::app {

namespace {

net::Response Text(int status, std::string text) { return {status, {{"Content-Type", "text/plain"}}, std::move(text)}; }

}  // namespace

Expected<std::unique_ptr<net::HttpServer>> ServeMetrics(net::IoContext& io, const std::string& bind_address,
                                                        const metrics::PrometheusMetrics& metrics,
                                                        WhyUnhealthy why_unhealthy) {
  if (bind_address.empty()) return std::unique_ptr<net::HttpServer>();
  net::HttpServerOptions options;
  options.listen = bind_address;
  options.connections_max = 64;
  auto served = net::StartHttpServer(
      io, std::move(options),
      [&metrics, why_unhealthy = std::move(why_unhealthy)](const net::Request& request,
                                                           const std::shared_ptr<net::ResponseWriter>& to) {
        const std::string path = request.target.substr(0, request.target.find('?'));
        const bool is_known = path == "/metrics" || path == "/healthz";
        if (request.method != "GET" || !is_known)
          return to->Send(Text(is_known ? 405 : 404, "GET /metrics and GET /healthz are all there is\n"));
        if (path == "/metrics") {
          return to->Send(
              serving::Compressed(request, {200, {{"Content-Type", metrics::kTextContentType}}, metrics.Text()}));
        }
        const auto why = why_unhealthy ? why_unhealthy() : std::nullopt;
        to->Send(why ? Text(500, *why + "\n") : Text(200, "ok"));
      });
  if (!served.ok()) return served.error().Wrap("--metrics-bind-address");
  log::Info("app", "Serving metrics", {{"url", "http://" + (*served)->address() + "/metrics"}});
  return served;
}

}  // namespace berth::app
