// SPDX-License-Identifier: Apache-2.0
// The contract's names without `framework::`, for the sources of plugins, which say them in every line.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"

namespace berth::plugins {

using framework::AmountsPlugin;
using framework::AnnotationReader;
using framework::BindPlugin;
using framework::ClusterEventWithHint;
using framework::Code;
using framework::Cycle;
using framework::CycleState;
using framework::Dependency;
using framework::EnqueueExtensions;
using framework::EventObjects;
using framework::EventResource;
using framework::FastFilter;
using framework::FastPlugin;
using framework::FastPreScore;
using framework::FastQueueSort;
using framework::FastScore;
using framework::FilterPlugin;
using framework::FilterRunner;
using framework::GroupingPlugin;
using framework::Handle;
using framework::kNoNode;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeList;
using framework::NodeScore;
using framework::NodeStatuses;
using framework::NodeTable;
using framework::Normalization;
using framework::ObjectKind;
using framework::ObjectReader;
using framework::Objects;
using framework::Operation;
using framework::PermitPlugin;
using framework::PermitResult;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::PostFilterPlugin;
using framework::PostFilterResult;
using framework::PreBindPlugin;
using framework::PreEnqueuePlugin;
using framework::PreFilterPlugin;
using framework::PreFilterResult;
using framework::PreScorePlugin;
using framework::QueuedPod;
using framework::QueueingHint;
using framework::ReservePlugin;
using framework::ScorePlugin;
using framework::StateData;
using framework::Status;
using framework::StatusTable;
using framework::VerdictId;

}  // namespace berth::plugins
