// SPDX-License-Identifier: Apache-2.0
#include "berth/app/process_tracing.h"

#include <utility>

#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/base/version.h"
#include "berth/codec/yaml_lines.h"
#include "berth/shell/client/file.h"
#include "berth/shell/tracing/trace_exporter.h"
#include "berth/shell/tracing/tracing_config.h"

namespace berth::app {
namespace {

constexpr std::string_view kFlag = "--tracing-config-file ";

Expected<std::unique_ptr<net::Transport>> ClientOf(net::IoContext& io, const tracing::TracingConfig& config) {
  net::HttpClientOptions client;
  client.base_url = config.url;
  client.connections_max = 1;
  if (config.url.starts_with("https://")) client.tls.emplace();  // the system's authorities
  client.speaks_http2_without_tls = config.protocol == tracing::OtlpProtocol::kGrpc;
  // gRPC's client of Kubernetes uses no proxy without TLS either.
  if (client.speaks_http2_without_tls) return net::MakeHttpClient(io, std::move(client));
  return MakeOutsideClient(io, std::move(client));
}

}  // namespace

Expected<std::unique_ptr<ProcessTracing>> ProcessTracing::Make(const std::string& file, const std::string& service,
                                                               const Clock& clock, framework::Metrics& metrics) {
  const auto text = client::ReadSmallFile(file);
  if (!text.ok()) return Error{text.error().code, std::string(kFlag) + text.error().message};
  const auto config = tracing::ParseTracingConfiguration(*text);
  if (!config.ok()) return codec::InFile(std::string(kFlag) + file, *text, config.error());
  if (config->per_million == 0) {
    log::Warning("tracing", "Nothing is traced: samplingRatePerMillion is 0 or not set", {{"file", file}});
    return std::unique_ptr<ProcessTracing>();
  }
  std::unique_ptr<ProcessTracing> made(new ProcessTracing(clock));
  auto transport = ClientOf(made->io_, *config);
  if (!transport.ok()) return transport.error().Wrap(std::string(kFlag) + file + ": endpoint");
  tracing::TraceExporterOptions exporter;
  exporter.resource = {
      {"service.name", service}, {"service.version", std::string(Version())}, {"host.name", HostName()}};
  exporter.version = std::string(Version());
  exporter.seed = RandomSeed();
  made->per_million_ = config->per_million;
  // Ids of spans differ between runs with the same --seed.
  made->tracer_ =
      std::make_unique<tracing::Tracer>(config->per_million, RandomSeed(), clock,
                                        std::make_unique<tracing::TraceExporter>(
                                            made->loop_, std::move(*transport), *config, std::move(exporter), metrics));
  log::Info("tracing", "Traces are sent", {{"collector", config->url}, {"perMillion", config->per_million}});
  return made;
}

ProcessTracing::~ProcessTracing() { io_.Stop(); }

void ProcessTracing::End() {
  if (const std::size_t left = tracer_->Flush(kEndMax); left > 0)
    log::Warning("tracing", "Spans were not exported before the end", {{"count", left}});
}

}  // namespace berth::app
