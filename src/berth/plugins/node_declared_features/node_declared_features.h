// SPDX-License-Identifier: Apache-2.0
// NodeDeclaredFeatures: refuses nodes that do not declare (status.declaredFeatures) the features of the kubelet that
// the pod needs. Which ones a pod needs is upstream's list in component-helpers/nodedeclaredfeatures; of the features
// there, two are needed by new pods, the others by updates alone.
#pragma once

#include <memory>

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeDeclaredFeatures(framework::Handle& handle);

}  // namespace berth::plugins
