// SPDX-License-Identifier: Apache-2.0
#include "berth/app/common_flags.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/kubernetes_release.h"
#include "berth/base/text.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

// CLI11's own check would tell the largest double, and takes NaN.
std::string CheckRate(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_rate = error == std::errc() && end == text.data() + text.size() && std::isfinite(rate) && rate >= 0;
  return is_rate ? "" : Quoted(text) + " should be a number of requests a second, 0 or more";
}

}  // namespace

void AddDuration(CLI::App& command, const std::string& flag, Duration& duration, const std::string& what,
                 DurationRange range) {
  const auto check = [range](const std::string& text) -> std::string {
    const auto parsed = ParseGoDuration(text);
    if (parsed && *parsed >= range.least && *parsed <= range.most) return "";
    return Quoted(text) + " should be a duration from " + FormatGoDuration(range.least) + " to " +
           FormatGoDuration(range.most) + ", for example 90s";
  };
  command
      .add_option_function<std::string>(
          flag, [&duration](const std::string& text) { duration = *ParseGoDuration(text); }, what)
      ->check(check, "")
      ->default_str(FormatGoDuration(duration));
}

void AddMetricsAddress(CLI::App& command, std::string& address, const std::string& paths) {
  command
      .add_option("--metrics-bind-address", address,
                  "address and port of GET " + paths + " over plain HTTP, for example 127.0.0.1:8080")
      ->check(CheckAddress, "");
}

std::string CheckAddress(const std::string& text) {
  const auto address = net::SplitHostPort(text);
  return address.ok() ? "" : address.error().message;
}

// CLI11 takes -1 for the largest number.
std::string CheckSeed(const std::string& text) {
  return text.starts_with('-') ? Quoted(text) + " should be a number from 0 to 18446744073709551615" : "";
}

void AddConnection(CLI::App& command, ConnectionOptions& options) {
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file; without it and --master: the pod's service account")
      ->envname("KUBECONFIG")
      ->type_name(cli::kFileHint);
  command.add_option("--context", options.context, "context of the kubeconfig; default: its current-context");
  command.add_option("--master", options.master, "URL of the API server, for example http://127.0.0.1:8001");
  command.add_option("--kube-api-qps", options.qps, "requests a second; default: no limit")->check(CheckRate, "");
  command.add_option("--kube-api-burst", options.burst, "requests at once when --kube-api-qps is set")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
}

void AddVerbosity(CLI::App& command, int& verbosity, const std::string& what) {
  command.add_option("-v,--v", verbosity, "log verbosity: 0, or 4 and above " + what);
}

void AddKubernetesVersion(CLI::App& command, std::optional<int>& minor, bool may_be_auto, const std::string& what) {
  std::vector<std::string> names;
  if (may_be_auto) names.emplace_back("auto");
  for (int each = framework::kOldestRelease; each <= framework::kNewestRelease; ++each)
    names.push_back("1." + std::to_string(each));
  command
      .add_option_function<std::string>(
          "--kubernetes-version",
          [&minor](const std::string& text) {
            if (const auto choice = ParseReleaseChoice(text); choice.ok()) minor = choice->minor;
          },
          what)
      ->check(CLI::IsMember(names))
      ->default_str(names.front());
}

void AddFeatureGates(CLI::App& command, std::vector<std::string>& gates, const std::string& whose) {
  command
      .add_option("--feature-gates", gates,
                  "features of " + whose + " to switch on and off: NAME=BOOL, separated by commas; repeatable")
      ->take_all()
      ->expected(1);
}

void AddPluginDirectory(CLI::App& command, std::optional<std::string>& directory) {
  command
      .add_option("--plugin-dir", directory,
                  "directory of shared objects (*.so) with plugins of one's own, made by berth_add_plugin()")
      ->type_name(cli::kDirectoryHint);
}

}  // namespace berth::app
