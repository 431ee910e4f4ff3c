// SPDX-License-Identifier: Apache-2.0
// The cluster that a question is asked about, in memory: read from where the flags say, with the core on it that the
// configuration file describes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_release.h"
#include "berth/ask/asked_cluster.h"
#include "berth/base/expected.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::app {

struct QuestionCluster {
  whatif::ClusterState state;
  std::unique_ptr<whatif::OfflineCluster> cluster;  // loaded with `state`
  std::optional<whatif::ClusterState> with_ended;   // read once more, with pods that have ended
};

// What makes the core of --config, or of the defaults; its time is that of the state that will be loaded. Errors begin
// with "--config PATH". Says on standard error which parts of the configuration have no say in an answer.
// `server_version` and `release`: see LoadQuestionConfiguration.
Expected<whatif::OfflineOptions> OfflineOptionsFor(const std::string& config, config::KnownPlugins plugins,
                                                   std::string_view server_version,
                                                   const QuestionRelease& release = {});

// What is wrong with configuration and release, before a cluster's version is known.
Expected<void> CheckConfiguration(const QuestionOptions& options, config::KnownPlugins plugins);

// The same core for those who keep clusters (berth/ask); what OfflineOptionsFor says on standard error is among its
// notes. With ask::OtherSchedulers::kByDefaults and without --config the schedulers that pods name decide by the
// defaults. A configuration that a question brings along is in place of --config, and its plugins can read no files.
// `plugins` must outlive it.
ask::CoreFor CoreForQuestions(const QuestionOptions& options, config::KnownPlugins plugins);
// The same by the configuration that a scheduler runs with, or has run with; its plugins read files by `read_file`. A
// configuration of a question is read as that scheduler's release has it.
ask::CoreFor CoreForQuestions(config::KubeSchedulerConfiguration configuration, config::KnownPlugins plugins,
                              plugin_files::ReadPluginFile read_file);

}  // namespace berth::app
