// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/metered_transport.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace berth::client {
namespace {

const std::vector<double> kLatencyBuckets = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
const std::vector<double> kSizeBuckets = {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};

// "https://10.0.0.1:6443/prefix" is "10.0.0.1:6443".
std::string HostOfUrl(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return std::string(url.substr(0, url.find('/')));
}

HistogramFamily& AddHistogram(MetricRegistry& registry, const char* name, const char* help,
                              const std::vector<double>& buckets) {
  return registry.AddHistogram({name, help, {"verb", "host"}, buckets});
}

}  // namespace

struct MeteredTransport::Meter {
  // The metrics of one HTTP method.
  struct Cells {
    HistogramCell* duration = nullptr;
    HistogramCell* request_bytes = nullptr;
    HistogramCell* response_bytes = nullptr;
    std::map<int, CounterCell*> by_status;  // guarded by the meter's mutex
  };

  Meter(MetricRegistry& registry, std::string_view server, const Clock& with_clock)
      : clock(with_clock),
        host(HostOfUrl(server)),
        durations(AddHistogram(registry, "rest_client_request_duration_seconds",
                               "[ALPHA] Request latency in seconds. Broken down by verb, and host.", kLatencyBuckets)),
        request_sizes(AddHistogram(registry, "rest_client_request_size_bytes",
                                   "[ALPHA] Request size in bytes. Broken down by verb and host.", kSizeBuckets)),
        response_sizes(AddHistogram(registry, "rest_client_response_size_bytes",
                                    "[ALPHA] Response size in bytes. Broken down by verb and host.", kSizeBuckets)),
        requests(registry.AddCounter({"rest_client_requests_total",
                                      "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                                      {"code", "method", "host"}})),
        retries(registry.AddCounter({"rest_client_request_retries_total",
                                     "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
                                     {"code", "verb", "host"}})),
        rate_limit_waits(AddHistogram(
            registry, "rest_client_rate_limiter_duration_seconds",
            "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.", kLatencyBuckets)) {}

  Cells& Of(const std::string& method) {
    const std::lock_guard lock(mutex);
    Cells& cells = by_method[method];
    if (cells.duration == nullptr) {
      cells.duration = &durations.With({method, host});
      cells.request_bytes = &request_sizes.With({method, host});
      cells.response_bytes = &response_sizes.With({method, host});
    }
    return cells;
  }

  static std::string CodeOf(int status) { return status == 0 ? "<error>" : std::to_string(status); }

  // `status` is 0 if there was no answer.
  void CountAnswer(const std::string& method, Cells& cells, int status) {
    const std::lock_guard lock(mutex);
    CounterCell*& cell = cells.by_status[status];
    if (cell == nullptr) {
      cell = &requests.With({CodeOf(status), method, host});
    }
    cell->AddShared();
  }
  void CountRetry(const std::string& method, int status) { retries.With({CodeOf(status), method, host}).AddShared(); }

  const Clock& clock;
  const std::string host;
  HistogramFamily& durations;
  HistogramFamily& request_sizes;
  HistogramFamily& response_sizes;
  CounterFamily& requests;
  CounterFamily& retries;
  HistogramFamily& rate_limit_waits;
  std::mutex mutex;  // guards by_method and by_status
  std::map<std::string, Cells> by_method;
};

MeteredTransport::MeteredTransport(std::unique_ptr<net::Transport> transport, MetricRegistry& registry,
                                   std::string_view server, const Clock& clock)
    : transport_(std::move(transport)), meter_(std::make_shared<Meter>(registry, server, clock)) {}

MeteredTransport::~MeteredTransport() = default;

void MeteredTransport::Send(net::Request request, net::SendOptions options, Done done) {
  Meter::Cells& cells = meter_->Of(request.method);
  if (options.rate_limit_wait) {
    meter_->rate_limit_waits.With({request.method, meter_->host})
        .ObserveShared(std::chrono::duration<double>(*options.rate_limit_wait).count());
  }
  const Time began = meter_->clock.Now();
  const std::size_t request_bytes = request.body.size();
  std::string method = request.method;
  transport_->Send(std::move(request), options,
                   [meter = meter_, &cells, began, request_bytes, is_retry = options.is_retry,
                    method = std::move(method), done = std::move(done)](Expected<net::Response> result) {
                     cells.duration->ObserveShared(std::chrono::duration<double>(meter->clock.Now() - began).count());
                     cells.request_bytes->ObserveShared(static_cast<double>(request_bytes));
                     if (result.ok()) cells.response_bytes->ObserveShared(static_cast<double>(result->body.size()));
                     const int status = result.ok() ? result->status : 0;
                     meter->CountAnswer(method, cells, status);
                     if (is_retry) meter->CountRetry(method, status);
                     done(std::move(result));
                   });
}

// A watch is counted as one request, without a duration.
std::unique_ptr<net::StreamHandle> MeteredTransport::Stream(net::Request request, net::StreamOptions options,
                                                            net::StreamCallbacks callbacks) {
  Meter::Cells& cells = meter_->Of(request.method);
  const auto has_head = std::make_shared<bool>(false);  // no lock: callbacks of a stream come one after the other
  net::StreamCallbacks metered = callbacks;
  metered.on_head = [meter = meter_, &cells, method = request.method, has_head,
                     on_head = std::move(callbacks.on_head)](const net::Response& head) {
    *has_head = true;
    meter->CountAnswer(method, cells, head.status);
    if (on_head) on_head(head);
  };
  metered.on_end = [meter = meter_, &cells, method = request.method, has_head,
                    on_end = std::move(callbacks.on_end)](Expected<void> result) {
    if (!*has_head) meter->CountAnswer(method, cells, 0);
    if (on_end) on_end(std::move(result));
  };
  return transport_->Stream(std::move(request), options, std::move(metered));
}

}  // namespace berth::client
