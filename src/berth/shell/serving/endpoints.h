// SPDX-License-Identifier: Apache-2.0
// Endpoints: what kube-scheduler 1.36 shows on its secure port, path by path, to whoever may see it. What is shown
// comes from functions that the composition root hands in: nothing here knows the scheduler. On its loop's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"
#include "berth/shell/serving/health.h"

namespace berth::serving {

// The functions are called on the server's thread and must not wait. One that is empty makes its path unknown (404).
struct ServedState {
  // Checks of /healthz, /livez and /readyz, in the order in which they are shown. None: `ping`.
  std::vector<HealthCheck> healthz;
  std::vector<HealthCheck> livez;
  std::vector<HealthCheck> readyz;

  std::function<std::string()> metrics_text;  // the text exposition format 0.0.4
  std::function<void()> reset_metrics;        // DELETE /metrics
  // /metrics/resources, in the text exposition format. Calls back once, now or later, on the server's thread.
  std::function<void(std::function<void(Expected<std::string>)>)> pod_resources;
  std::function<bool()> is_leader;  // /metrics/resources is empty otherwise; empty: always

  std::function<std::string()> config_json;                   // the KubeSchedulerConfiguration in effect
  std::function<std::map<std::string, std::string>()> flags;  // by name, as flags are written
  // PUT /debug/flags/v: takes effect at once; the answer's text, or why not.
  std::function<Expected<std::string>(std::string_view)> set_verbosity;

  std::string binary_version = "1.36.3";  // of upstream, whose behaviour this is
  std::string emulation_version = "1.36";
  std::string program_version;  // our own, "berth 0.1.0"
  Time started;                 // by the wall clock
  bool is_profiling_enabled = true;
  bool has_status_page = true;  // /statusz
};

class Endpoints {
 public:
  using Done = std::function<void(net::Response)>;

  // `clock` must outlive it.
  Endpoints(ServedState state, const Clock& clock);

  // Answers a request whose user may make it; `path` is decoded. `done` is called once, now or later.
  void Answer(const net::Request& request, const net::Target& target, const std::string& path, Done done);

 private:
  net::Response AnswerNow(const net::Request& request, const std::string& path);
  net::Response AnswerMetrics(const net::Request& request);
  net::Response AnswerHealthMetrics(const net::Request& request);
  net::Response AnswerDebug(const net::Request& request, const std::string& path);
  net::Response AnswerFlags(const net::Request& request) const;
  net::Response AnswerStatus(const net::Request& request) const;
  std::string ShownPaths() const;

  const ServedState state_;
  const Clock& clock_;
  HealthMetrics health_metrics_;
  const std::vector<HealthPath> health_paths_;
};

}  // namespace berth::serving
