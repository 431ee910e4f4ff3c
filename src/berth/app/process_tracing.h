// SPDX-License-Identifier: Apache-2.0
// --tracing-config-file of `berth run` and `berth serve`: reads the file, and makes a tracer with a thread of its own,
// so that spans are encoded and sent beside the work that they tell of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::app {

class ProcessTracing {
 public:
  // How long an ending process waits for spans that the collector has not taken.
  static constexpr Duration kEndMax = std::chrono::seconds(1);

  // `service` is the resource's service.name. An error names the file. Null if nothing is to be traced, which is
  // logged. `clock` and `metrics` must outlive it.
  static Expected<std::unique_ptr<ProcessTracing>> Make(const std::string& file, const std::string& service,
                                                        const Clock& clock, framework::Metrics& metrics);
  ~ProcessTracing();

  tracing::Tracer& tracer() { return *tracer_; }
  std::uint32_t per_million() const { return per_million_; }
  // Sends what is left, for kEndMax at most.
  void End();

 private:
  explicit ProcessTracing(const Clock& clock) : loop_(io_, clock) {}

  net::IoContext io_;
  client::IoEventLoop loop_;
  std::uint32_t per_million_ = 0;
  std::unique_ptr<tracing::Tracer> tracer_;
};

}  // namespace berth::app
