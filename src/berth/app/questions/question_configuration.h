// SPDX-License-Identifier: Apache-2.0
// The KubeSchedulerConfiguration that a question about a cluster is decided by. It may be that of a scheduler with
// plugins and extenders that berth does not have: their part of the decision stays unknown, and is named.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/app/questions/question_release.h"
#include "berth/base/expected.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"

namespace berth::app {

struct QuestionConfiguration {
  config::KubeSchedulerConfiguration configuration;
  std::vector<std::string> unknown;  // what is not asked, one line each
};

// `flag` is how the file was named: "--config". An empty path: kube-scheduler's defaults. The release is that of
// `release`, or of `server_version`: "v1.37.2". Before that is known, it may be empty: then the oldest one that file
// and feature gates are right for.
Expected<QuestionConfiguration> LoadQuestionConfiguration(const std::string& flag, const std::string& path,
                                                          config::KnownPlugins known,
                                                          std::string_view server_version = {},
                                                          const QuestionRelease& release = {});
// The same of the text of a configuration that a question brings along. Errors begin with "configuration".
Expected<QuestionConfiguration> LoadConfigurationOfQuestion(const std::string& text, config::KnownPlugins known,
                                                            std::string_view server_version,
                                                            const QuestionRelease& release = {});

using PodList = std::span<const std::shared_ptr<const api::Pod>>;

// For a question without a file: the schedulers that these pods name decide by the defaults too, at most 16 names.
// Their names, in order.
std::vector<std::string> AddProfilesOf(std::initializer_list<PodList> lists,
                                       config::KubeSchedulerConfiguration& configuration);

// One line that says so.
std::string DecidedByDefaults(const std::vector<std::string>& scheduler_names);
// Says so on standard error, if there are any.
void WarnOfDefaults(const std::vector<std::string>& scheduler_names);

// What is said of an extender that a question does not ask.
std::string ExtenderNotAsked(const config::Extender& extender);

}  // namespace berth::app
