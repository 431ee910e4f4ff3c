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
std::string DescribeRelease(std::string_view server_version, int release_minor);

// One line for who asks about a cluster of a release that is not followed; nullopt: it is, or its version is not known.
std::optional<std::string> DescribeOtherRules(std::string_view server_version, int release_minor);

// One line on what is followed when the server does not tell its version.
std::string DescribeReleaseWithoutVersion(const Error& error, int release_minor);

// The gitVersion in the body of /version; empty when there is none.
std::string VersionIn(const std::string& body);

// gitVersion of GET /version, asked once. Blocks for some seconds at most.
Expected<std::string> AskServerVersion(client::RestClient& rest);
// Whether it is worth asking again: there was no answer, or one that says to come back, or the
// credential was refused, without which nothing else is answered either.
bool IsForLater(const Error& error);
// Asks once a second for as long as it is; kCancelled when `is_interrupted` ends that.
Expected<std::string> AwaitServerVersion(client::RestClient& rest, const std::function<bool()>& is_interrupted);

}  // namespace berth::app
