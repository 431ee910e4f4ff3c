// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_release.h"

#include <algorithm>

#include "berth/app/common_flags.h"
#include "berth/framework/release.h"

namespace berth::app {

void AddQuestionRelease(cli::Command& command, QuestionRelease& release) {
  AddKubernetesVersion(command, release.version.minor, true,
                       "the Kubernetes version whose kube-scheduler decides; auto: the cluster's");
  AddFeatureGates(command, release.feature_gates, "that kube-scheduler");
}

std::vector<int> ReleasesOf(const QuestionRelease& release, std::string_view server_version) {
  if (release.version.minor) return {*release.version.minor};
  if (const Expected<int> of_server = ReleaseFor(server_version); of_server.ok()) return {*of_server};
  std::vector<int> all;
  for (int minor = framework::kDefaultRelease; minor <= framework::kNewestRelease; ++minor) all.push_back(minor);
  for (int minor = framework::kDefaultRelease - 1; minor >= framework::kOldestRelease; --minor) all.push_back(minor);
  return all;
}

Expected<config::FeatureGates> GatesOf(const QuestionRelease& release, int minor) {
  config::FeatureGateSettings settings;
  settings.release_minor = minor;
  settings.gates = release.feature_gates;
  return config::FeatureGates::Parse(settings);
}

namespace {

// Whether one of the releases has it.
bool MayHave(const QuestionRelease& release, bool framework::Release::* what) {
  return std::ranges::any_of(ReleasesOf(release, {}), [&](int minor) {
    const auto gates = GatesOf(release, minor);
    return gates.ok() && gates->FollowedRelease().*what;
  });
}

}  // namespace

bool MayHavePodGroups(const QuestionRelease& release) { return MayHave(release, &framework::Release::has_pod_groups); }

bool MayHaveCompositePodGroups(const QuestionRelease& release) {
  return MayHave(release, &framework::Release::has_composite_pod_groups);
}

}  // namespace berth::app
