// SPDX-License-Identifier: Apache-2.0
// ExternalHealth: a policy of berth's own. An outside system is asked, in the background, which nodes may be used; what
// it calls bad is refused, in its own words.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/external_health/external_health_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateExternalHealth(const ExternalHealthArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
