// SPDX-License-Identifier: Apache-2.0
// What a user should know of PodGroups in manifests before an answer: that the followed scheduler does not place them
// as groups. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/release.h"
#include "berth/whatif/manifests.h"

namespace berth::whatif {

// What switches pod groups on: "--kubernetes-version 1.37 and --feature-gates GenericWorkload=true".
std::string PodGroupFlags(int release_minor);

// One line each, with the flags that would change it.
std::vector<std::string> PodGroupWarnings(const Manifests& manifests, const framework::Release& release);

}  // namespace berth::whatif
