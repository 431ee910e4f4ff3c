// SPDX-License-Identifier: Apache-2.0
// MeteredTransport: counts the requests that go through it to one server, as client-go does (component-base,
// metrics/prometheus/restclient). What callers see of the transport below does not change. Thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/shell/net/transport.h"

namespace berth::client {

class MeteredTransport final : public net::Transport {
 public:
  // `registry` and `clock` must outlive it and its callbacks. `server` is the server's URL.
  MeteredTransport(std::unique_ptr<net::Transport> transport, MetricRegistry& registry, std::string_view server,
                   const Clock& clock);
  ~MeteredTransport() override;

  void Send(net::Request request, net::SendOptions options, Done done) override;
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override;

 private:
  struct Meter;

  const std::unique_ptr<net::Transport> transport_;
  const std::shared_ptr<Meter> meter_;
};

}  // namespace berth::client
