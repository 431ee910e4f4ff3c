// SPDX-License-Identifier: Apache-2.0
// Whose decisions a question about a cluster is answered by: a release of kube-scheduler and its feature gates, by the
// flags that `berth run` has for them. Without flags both are the cluster's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/app/kubernetes_release.h"
#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

struct QuestionRelease {
  ReleaseChoice version;                   // --kubernetes-version
  std::vector<std::string> feature_gates;  // --feature-gates, as typed
};

// Parsing fills `release`, which must outlive it.
void AddQuestionRelease(cli::Command& command, QuestionRelease& release);

// The minor versions that may decide, by what is known: one, if the flag or `server_version` ("v1.37.2") says it, else
// all that are followed: framework::kDefaultRelease, then the newer ones, then the older ones.
std::vector<int> ReleasesOf(const QuestionRelease& release, std::string_view server_version);

Expected<config::FeatureGates> GatesOf(const QuestionRelease& release, int minor);

// Whether pods may be decided in groups: false only if no release that may decide does so.
bool MayHavePodGroups(const QuestionRelease& release);
// The same of groups of groups.
bool MayHaveCompositePodGroups(const QuestionRelease& release);

}  // namespace berth::app
