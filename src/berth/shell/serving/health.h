// SPDX-License-Identifier: Apache-2.0
// Health checks, answered as k8s.io/apiserver's healthz package does, and metrics of their results (component-base's
// SLIs). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::serving {

struct HealthCheck {
  std::string name;
  // What is wrong, or nullopt. Called on the server's thread; must not block.
  std::function<std::optional<std::string>()> failure;
  // The text of a failure that ?verbose shows to anybody, instead of "reason withheld". It must not name users or
  // servers. No function: the reason is withheld.
  std::function<std::optional<std::string>()> public_failure{};
};

// The check that never fails.
HealthCheck PingCheck();

// Metrics of the checks of all root paths: kubernetes_healthcheck and kubernetes_healthchecks_total.
class HealthMetrics {
 public:
  void Observe(const std::string& name, std::string_view type, bool is_well);
  void Reset();
  // The text exposition format.
  std::string Text() const;

 private:
  std::map<std::pair<std::string, std::string>, bool> latest_;                         // by name and type
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts_;  // by name, status and type
};

// The checks of one root path, such as "/livez", with a path "/livez/NAME" for each.
class HealthPath {
 public:
  // `name` is the path without its slash. If `checks` is empty, the only check is `ping`.
  HealthPath(std::string name, std::vector<HealthCheck> checks);

  const std::string& name() const { return name_; }
  // nullopt if `path` is neither this path nor that of one of its checks.
  std::optional<net::Response> Answer(std::string_view path, const net::Target& target, HealthMetrics& metrics) const;

 private:
  net::Response AnswerAll(const net::Target& target, HealthMetrics& metrics) const;

  const std::string name_;
  const std::vector<HealthCheck> checks_;
};

}  // namespace berth::serving
