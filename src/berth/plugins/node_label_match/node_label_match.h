// SPDX-License-Identifier: Apache-2.0
// NodeLabelMatch: a policy of berth's own. Annotations of a pod, such as `cluster.type: raspberry`, ask for a node
// whose label of that key has that value: nodes without it are refused, or only come last.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/node_label_match/label_rules.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeLabelMatch(const std::vector<LabelRule>& rules, framework::Handle& handle);

}  // namespace berth::plugins
