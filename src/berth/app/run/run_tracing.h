// SPDX-License-Identifier: Apache-2.0
// `berth run --tracing-config-file`: reads the file, and makes a tracer with a thread of its own, so that spans are
// encoded and sent beside scheduling.
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

struct RunTracingOptions {
  std::string file;
  std::string service;   // the resource's service.name
  std::string version;   // of this program
  std::string hostname;  // host.name
  std::uint64_t seed = 0;
};

class RunTracing {
 public:
  // How long an ending process waits for spans that the collector has not taken.
  static constexpr Duration kEndMax = std::chrono::seconds(1);

  // An error names the file. Null if no pod is to be traced, which is logged. `clock` and `metrics` must outlive it.
  static Expected<std::unique_ptr<RunTracing>> Make(const RunTracingOptions& options, const Clock& clock,
                                                    framework::Metrics& metrics);
  ~RunTracing();

  tracing::Tracer& tracer() { return *tracer_; }
  // Sends what is left, for kEndMax at most.
  void End();

 private:
  explicit RunTracing(const Clock& clock) : loop_(io_, clock) {}

  net::IoContext io_;
  client::IoEventLoop loop_;
  std::unique_ptr<tracing::Tracer> tracer_;
};

}  // namespace berth::app
