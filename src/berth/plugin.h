// SPDX-License-Identifier: Apache-2.0
// The one header that a plugin of your own includes. docs/plugins/write-a-plugin.md is the place to start; the
// extension points are in berth/framework/plugin.h; examples/own-plugin is a complete plugin. This header includes only
// the standard library and other installed headers.
#pragma once

#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/plugin.h"
#include "berth/framework/plugin_abi.h"
#include "berth/framework/plugin_args.h"
#include "berth/framework/plugin_registration.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/profile_aware.h"
#include "berth/framework/work_budget.h"

namespace berth {

namespace action = framework::action;

// Extension points and other interfaces of a plugin.
using framework::AnnotationReader;
using framework::BindPlugin;
using framework::EnqueueExtensions;
using framework::FilterPlugin;
using framework::ObjectReader;
using framework::OutsideDataReader;
using framework::PermitPlugin;
using framework::Plugin;
using framework::PostBindPlugin;
using framework::PostFilterPlugin;
using framework::PreBindPlugin;
using framework::PreEnqueuePlugin;
using framework::PreFilterPlugin;
using framework::PreScorePlugin;
using framework::ProfileAware;
using framework::QueueSortPlugin;
using framework::ReservePlugin;
using framework::ScorePlugin;

// The arguments and results of their functions.
using framework::ChargeWork;
using framework::ClusterEvent;
using framework::ClusterEventWithHint;
using framework::Code;
using framework::Cycle;
using framework::CycleState;
using framework::Dependency;
using framework::EventObjects;
using framework::EventResource;
using framework::FilterRunner;
using framework::Handle;
using framework::kNodeScoreMax;
using framework::kNoNode;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeList;
using framework::NodeScore;
using framework::NodeStatuses;
using framework::Normalization;
using framework::Operation;
using framework::PermitResult;
using framework::PluginArgs;
using framework::PluginRegistration;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::PostFilterResult;
using framework::PreemptionReport;
using framework::PreFilterResult;
using framework::QueuedPod;
using framework::QueueingHint;
using framework::SharedState;
using framework::StateData;
using framework::Status;
using framework::WithPlugin;

// Runs berth with these plugins in addition to its own: `berth run`, `berth demo` and all other subcommands. main()
// returns its result; call it once, because it may start threads. Link with berth::berth.
int RunScheduler(int argc, char** argv, std::vector<PluginRegistration> plugins = {});

}  // namespace berth
