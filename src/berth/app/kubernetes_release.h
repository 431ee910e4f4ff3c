// SPDX-License-Identifier: Apache-2.0
// Which of kube-scheduler's releases is followed: that of --kubernetes-version, or the API server's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/shell/client/rest_client.h"

namespace berth::app {

// What berth reports as its version while it follows the release: "v1.37.2".
std::string_view KubernetesVersion(int release_minor);

// Of --kubernetes-version: "1.37", "auto".
struct ReleaseChoice {
  std::optional<int> minor;  // absent: auto
  bool IsAuto() const { return !minor.has_value(); }
};
Expected<ReleaseChoice> ParseReleaseChoice(std::string_view text);

// The release for a server, which says "v1.37.2" or "v1.37.0-eks-1": the server's own if berth follows it, else the
// nearest.
Expected<int> ReleaseFor(std::string_view server_version);
// One line on that choice.
std::string TellRelease(std::string_view server_version, int release_minor);

// Whether the error of AskServerVersion() is the server's refusal to tell: 401, 403 or 404.
bool IsRefusalToTell(const Error& error);
// One line on what is followed then.
std::string TellReleaseWithoutVersion(const Error& refusal, int release_minor);

// The gitVersion in the body of /version; empty when there is none.
std::string VersionIn(const std::string& body);

// gitVersion of GET /version. Asks until the server answers; `is_interrupted` ends that. An answer that cannot be
// understood, and a refusal, is an error at once.
Expected<std::string> AskServerVersion(client::RestClient& rest, const std::function<bool()>& is_interrupted);

}  // namespace berth::app
