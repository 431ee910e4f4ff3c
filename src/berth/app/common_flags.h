// SPDX-License-Identifier: Apache-2.0
// Flags that several subcommands have, and checks of their values. A check returns what is wrong with a value, or "".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/app/connection.h"
#include "berth/base/time.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

// What a flag's value or an argument is, where the help says TEXT otherwise: completion offers the cluster's names.
// Arguments with one of these names need no type. See cli::kFileHint for the others.
inline constexpr char kPodHint[] = "POD";
inline constexpr char kNodeHint[] = "NODE";
inline constexpr char kNamespaceHint[] = "NAMESPACE";

// Parsing fills the second argument of each, which must outlive the parsing.
void AddConnection(cli::Command& command, ConnectionOptions& options);
void AddVerbosity(cli::Command& command, int& verbosity, const std::string& what = "for debugging");
void AddPluginDirectory(cli::Command& command, std::optional<std::string>& directory);

// --kubernetes-version, of those that are followed: the minor version. With `may_be_auto` "auto", which is the default
// and leaves it absent; else kDefaultRelease is shown as the default.
void AddKubernetesVersion(cli::Command& command, std::optional<int>& minor, bool may_be_auto, const std::string& what);
// --feature-gates; `whose` is the scheduler that they are of.
void AddFeatureGates(cli::Command& command, std::vector<std::string>& gates, const std::string& whose);

// A duration as Go writes it, within these bounds. Its default is the value that `duration` has.
struct DurationRange {
  Duration least;
  Duration most;
};
void AddDuration(cli::Command& command, const std::string& flag, Duration& duration, const std::string& what,
                 DurationRange range);

// --metrics-bind-address; `paths` are those that are served there.
void AddMetricsAddress(cli::Command& command, std::string& address, const std::string& paths);

std::string CheckAddress(const std::string& text);
std::string CheckSeed(const std::string& text);

}  // namespace berth::app
