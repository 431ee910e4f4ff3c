// SPDX-License-Identifier: Apache-2.0
#include "berth/app/common_flags.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "berth/app/kubernetes_release.h"
#include "berth/base/text.h"
#include "berth/framework/release.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

// NaN is none.
std::string CheckRate(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_rate = error == std::errc() && end == text.data() + text.size() && std::isfinite(rate) && rate >= 0;
  return is_rate ? "" : Quoted(text) + " should be a number of requests a second, 0 or more";
}

}  // namespace

void AddDuration(cli::Command& command, const std::string& flag, Duration& duration, const std::string& what,
                 DurationRange range) {
  const auto check = [range](const std::string& text) -> std::string {
    const auto parsed = ParseGoDuration(text);
    if (parsed && *parsed >= range.least && *parsed <= range.most) return "";
    return Quoted(text) + " should be a duration from " + FormatGoDuration(range.least) + " to " +
           FormatGoDuration(range.most) + ", for example 90s";
  };
  command
      .Option(flag, what,
              [&duration](std::string_view text) {
                duration = *ParseGoDuration(text);
                return std::string();
              })
      .Check(check)
      .Default(FormatGoDuration(duration));
}

void AddMetricsAddress(cli::Command& command, std::string& address, const std::string& paths) {
  command
      .Option("metrics-bind-address", address,
              "address and port of GET " + paths + " over plain HTTP, for example 127.0.0.1:8080")
      .Check(CheckAddress);
}

std::string CheckAddress(const std::string& text) {
  const auto address = net::SplitHostPort(text);
  return address.ok() ? "" : address.error().message;
}

// The reading of numbers takes -1 for the largest one.
std::string CheckSeed(const std::string& text) {
  return text.starts_with('-') ? Quoted(text) + " should be a number from 0 to 18446744073709551615" : "";
}

void AddConnection(cli::Command& command, ConnectionOptions& options) {
  command
      .Option("kubeconfig", options.kubeconfig, "kubeconfig file; without it and --master: the pod's service account")
      .Type(cli::kFileHint)
      .environment = "KUBECONFIG";
  command.Option("context", options.context, "context of the kubeconfig; default: its current-context");
  command.Option("master", options.master, "URL of the API server, for example http://127.0.0.1:8001");
  command.Option("kube-api-qps", options.qps, "requests a second; default: no limit").Check(CheckRate);
  command.Option("kube-api-burst", options.burst, "requests at once when --kube-api-qps is set; default: 100")
      .Range(0, std::numeric_limits<int>::max());
}

void AddVerbosity(cli::Command& command, int& verbosity, const std::string& what) {
  command.Option("v", verbosity, "log verbosity: 0, or 4 and above " + what).Letter('v');
}

void AddKubernetesVersion(cli::Command& command, std::optional<int>& minor, bool may_be_auto, const std::string& what) {
  std::vector<std::string> names;
  if (may_be_auto) names.emplace_back("auto");
  for (int each = framework::kOldestRelease; each <= framework::kNewestRelease; ++each)
    names.push_back("1." + std::to_string(each));
  command
      .Option("kubernetes-version", what,
              [&minor](std::string_view text) {
                if (const auto choice = ParseReleaseChoice(text); choice.ok()) minor = choice->minor;
                return std::string();
              })
      .OneOf(names)
      .Default(may_be_auto ? "auto" : "1." + std::to_string(framework::kDefaultRelease));
}

void AddFeatureGates(cli::Command& command, std::vector<std::string>& gates, const std::string& whose) {
  command
      .Option("feature-gates", gates,
              "features of " + whose + " to switch on and off: NAME=BOOL, separated by commas; repeatable")
      .ShowAsOne();
}

void AddPluginDirectory(cli::Command& command, std::optional<std::string>& directory) {
  command
      .Option("plugin-dir", directory,
              "directory of shared objects (*.so) with plugins of one's own, made by berth_add_plugin()")
      .Type(cli::kDirectoryHint);
}

}  // namespace berth::app
