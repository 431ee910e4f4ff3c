// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/health.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::apiserver {
namespace {

constexpr std::string_view kStoreCheck = "etcd";
constexpr std::string_view kStoreReadinessCheck = "etcd-readiness";

net::Response Text(int status, std::string body) {
  return {
      status, {{"Content-Type", "text/plain; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}}, std::move(body)};
}

// The checks that this server has, by upstream's names and in its order.
std::vector<std::string_view> ChecksOf(std::string_view endpoint) {
  std::vector<std::string_view> checks = {"ping", "log", kStoreCheck};
  if (endpoint == "readyz") checks.insert(checks.end(), {kStoreReadinessCheck, "informer-sync", "shutdown"});
  return checks;
}

bool Fails(std::string_view check, const std::string& store_failure) {
  return !store_failure.empty() && (check == kStoreCheck || check == kStoreReadinessCheck);
}

net::Response All(std::string_view endpoint, const net::Target& target, const std::string& store_failure) {
  std::vector<std::string> excluded;
  for (const auto& [key, value] : target.query) {
    if (key == "exclude") excluded.push_back(value);
  }
  std::string lines;
  bool has_failed = false;
  for (const std::string_view check : ChecksOf(endpoint)) {
    const bool fails = Fails(check, store_failure);
    const std::string name(check);
    if (std::erase(excluded, name) > 0) {
      lines += "[+]" + name + " excluded: ok\n";
    } else if (fails) {
      lines += "[-]" + name + " failed: reason withheld\n";
      has_failed = true;
    } else {
      lines += "[+]" + name + " ok\n";
    }
  }
  if (!excluded.empty()) {
    std::string names;
    for (const std::string& each : excluded) names += (names.empty() ? "\"" : ",\"") + each + '"';
    lines += "warn: some health checks cannot be excluded: no matches for " + names + "\n";
  }
  if (has_failed) return Text(500, lines + std::string(endpoint) + " check failed\n");
  return Text(200, target.Has("verbose") ? lines + std::string(endpoint) + " check passed\n" : "ok");
}

}  // namespace

std::optional<net::Response> ServeHealth(const net::Target& target, const std::string& store_failure) {
  const auto& path = target.segments;
  if (path.empty() || (path[0] != "healthz" && path[0] != "livez" && path[0] != "readyz")) return std::nullopt;
  if (path.size() == 1 || (path.size() == 2 && path[1].empty())) return All(path[0], target, store_failure);
  const std::vector<std::string_view> checks = ChecksOf(path[0]);
  if (path.size() > 2 || std::find(checks.begin(), checks.end(), path[1]) == checks.end()) {
    return Text(404, "404 page not found\n");
  }
  return Fails(path[1], store_failure) ? Text(500, "internal server error: " + store_failure + "\n") : Text(200, "ok");
}

}  // namespace berth::apiserver
