// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/health.h"

#include <set>

#include "berth/base/go_text.h"
#include "berth/base/log.h"
#include "berth/shell/serving/answers.h"

namespace berth::serving {

HealthCheck PingCheck() {
  return {"ping", [] { return std::optional<std::string>(); }};
}

void HealthMetrics::Observe(const std::string& name, std::string_view type, bool is_well) {
  latest_[{name, std::string(type)}] = is_well;
  ++counts_[{name, is_well ? "success" : "error", std::string(type)}];
}

void HealthMetrics::Reset() {
  latest_.clear();
  counts_.clear();
}

std::string HealthMetrics::Text() const {
  std::string text;
  if (!latest_.empty()) {
    text +=
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
        "# TYPE kubernetes_healthcheck gauge\n";
  }
  // Names of checks and types are our own and need no escapes.
  for (const auto& [key, is_well] : latest_) {
    text += "kubernetes_healthcheck{name=\"" + key.first + "\",type=\"" + key.second + "\"} " + (is_well ? "1" : "0") +
            "\n";
  }
  if (!counts_.empty()) {
    text +=
        "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
        "# TYPE kubernetes_healthchecks_total counter\n";
  }
  for (const auto& [key, count] : counts_) {
    const auto& [name, status, type] = key;
    text += "kubernetes_healthchecks_total{name=\"" + name + "\",status=\"" + status + "\",type=\"" + type + "\"} " +
            std::to_string(count) + "\n";
  }
  return text;
}

HealthPath::HealthPath(std::string name, std::vector<HealthCheck> checks)
    : name_(std::move(name)), checks_(checks.empty() ? std::vector{PingCheck()} : std::move(checks)) {}

std::optional<net::Response> HealthPath::Answer(std::string_view path, const net::Target& target,
                                                HealthMetrics& metrics) const {
  if (!path.starts_with('/') || !path.substr(1).starts_with(name_)) return std::nullopt;
  const std::string_view rest = path.substr(1 + name_.size());
  if (rest.empty()) return AnswerAll(target, metrics);
  for (const HealthCheck& check : checks_) {
    if (rest.size() != check.name.size() + 1 || rest.front() != '/' || rest.substr(1) != check.name) continue;
    if (const auto failure = check.failure()) return PlainError(500, "internal server error: " + *failure);
    return Text("ok");
  }
  return std::nullopt;
}

net::Response HealthPath::AnswerAll(const net::Target& target, HealthMetrics& metrics) const {
  std::set<std::string, std::less<>> excluded;
  for (const auto& [key, value] : target.query) {
    if (key == "exclude") excluded.insert(value);
  }
  std::set<std::string, std::less<>> unknown = excluded;
  std::string lines;
  std::string failed;
  for (const HealthCheck& check : checks_) {
    if (excluded.contains(check.name)) {
      unknown.erase(check.name);
      lines += "[+]" + check.name + " excluded: ok\n";
      continue;
    }
    const auto failure = check.failure();
    metrics.Observe(check.name, name_, !failure.has_value());
    if (failure) {
      const auto reason =
          target.Has("verbose") && check.public_failure ? check.public_failure() : std::optional<std::string>();
      lines += "[-]" + check.name + " failed: " + reason.value_or("reason withheld") + "\n";
      failed += (failed.empty() ? "" : ", ") + check.name + ": " + *failure;
    } else {
      lines += "[+]" + check.name + " ok\n";
    }
  }
  if (!unknown.empty()) {
    lines += "warn: some health checks cannot be excluded: no matches for ";
    bool is_first = true;
    for (const std::string& name : unknown) {
      if (!std::exchange(is_first, false)) lines += ",";
      lines += GoQuoted(name);
    }
    lines += "\n";
  }
  if (!failed.empty()) {
    log::Info({4, "healthz"}, "serving", "Health check failed", {{"path", name_}, {"failed", failed}});
    return PlainError(500, lines + name_ + " check failed");
  }
  net::Response response = Text(target.Has("verbose") ? lines + name_ + " check passed\n" : "ok");
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

}  // namespace berth::serving
