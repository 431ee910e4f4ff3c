// SPDX-License-Identifier: Apache-2.0
#include "berth/app/kubernetes_release.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <system_error>
#include <thread>

#include "berth/base/log.h"
#include "berth/codec/json_reader.h"
#include "berth/framework/release.h"

namespace berth::app {
namespace {

constexpr Duration kAnswerTimeout = std::chrono::seconds(3);
constexpr auto kAskEvery = std::chrono::seconds(1);
constexpr auto kLogAgain = std::chrono::minutes(1);
constexpr auto kLogAgainMax = std::chrono::minutes(30);
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr std::string_view kAuto = "auto";

std::string Shown(int minor) { return "1." + std::to_string(minor); }

// Of "1.37", "v1.37.2-eks-1".
std::optional<int> MinorOf(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  if (error != std::errc() || minor < 0) return std::nullopt;
  const bool ends = end == version.data() + version.size() || *end == '.' || *end == '-' || *end == '+';
  return ends ? std::optional(minor) : std::nullopt;
}

}  // namespace

std::string_view KubernetesVersion(int release_minor) {
  constexpr std::array<std::string_view, framework::kNewestRelease - framework::kOldestRelease + 1> kVersions = {
      "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"};
  const int minor = std::clamp(release_minor, framework::kOldestRelease, framework::kNewestRelease);
  return kVersions[static_cast<std::size_t>(minor - framework::kOldestRelease)];
}

Expected<ReleaseChoice> ParseReleaseChoice(std::string_view text) {
  if (text == kAuto) return ReleaseChoice{};
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) {
    if (text == Shown(minor)) return ReleaseChoice{minor};
  }
  std::string wanted;
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor)
    wanted += Shown(minor) + ", ";
  return InvalidError("should be " + wanted + "or auto");
}

Expected<int> ReleaseFor(std::string_view server_version) {
  const std::optional<int> minor = MinorOf(server_version);
  if (!minor)
    return InvalidError("\"" + std::string(server_version.substr(0, 100)) + "\" is no version such as v1.37.0");
  return std::clamp(*minor, framework::kOldestRelease, framework::kNewestRelease);
}

std::string DescribeRelease(std::string_view server_version, int release_minor) {
  std::string text = "Deciding as kube-scheduler " + Shown(release_minor) + " does";
  const std::optional<int> minor = MinorOf(server_version);
  if (minor && *minor > release_minor) text += ", the newest that is followed";
  if (minor && *minor < release_minor) text += ", the oldest that is followed";
  return text;
}

std::optional<std::string> DescribeOtherRules(std::string_view server_version, int release_minor) {
  const std::optional<int> minor = MinorOf(server_version);
  if (!minor || *minor == release_minor) return std::nullopt;
  return "the cluster is of Kubernetes " + Shown(*minor) + ": answered by the rules of kube-scheduler " +
         Shown(release_minor);
}

std::string DescribeReleaseWithoutVersion(const Error& error, int release_minor) {
  return "Deciding as kube-scheduler " + Shown(release_minor) +
         " does, because the API server does not tell its version (" + error.message +
         "): --kubernetes-version says which one to follow";
}

std::string VersionIn(const std::string& body) {
  codec::JsonReader reader({.bytes_max = std::size_t{64} << 10});
  const auto document = reader.Parse(body);
  return document.ok() ? std::string(codec::StringOrEmpty(*document, "gitVersion")) : std::string();
}

Expected<std::string> AskServerVersion(client::RestClient& rest) {
  client::RestOptions how;
  how.timeout = kAnswerTimeout;
  how.tries = 1;
  const auto answer = rest.DoSync({"GET", "/version", {}, {}}, how);
  if (!answer.ok()) return answer.error().Wrap("GET /version");
  std::string version = VersionIn(answer->body);
  if (version.empty()) return InvalidError("GET /version: the answer has no gitVersion");
  return version;
}

bool IsForLater(const Error& error) {
  return error.code != ErrorCode::kForbidden && error.code != ErrorCode::kNotFound && error.code != ErrorCode::kInvalid;
}

Expected<std::string> AwaitServerVersion(client::RestClient& rest, const std::function<bool()>& is_interrupted) {
  using SteadyClock = std::chrono::steady_clock;
  for (client::Reminder reminder(kLogAgain, kLogAgainMax);;) {
    auto version = AskServerVersion(rest);
    if (version.ok() || !IsForLater(version.error())) return version;
    const auto asked = SteadyClock::now();
    if (const auto times = reminder.Record(rest.loop().Now())) {
      log::Warning("app", "Waiting for the API server's version, which says which kube-scheduler to follow",
                   {{"err", version.error().message}, {"times", *times}});
    }
    while (SteadyClock::now() < asked + kAskEvery) {
      if (is_interrupted()) return Error{ErrorCode::kCancelled, "ended before the API server told its version"};
      std::this_thread::sleep_for(kLook);
    }
  }
}

}  // namespace berth::app
