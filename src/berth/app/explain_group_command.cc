// SPDX-License-Identifier: Apache-2.0
#include "berth/app/explain_group_command.h"

#include <utility>

#include "berth/app/explain_command.h"
#include "berth/app/question_cluster.h"
#include "berth/app/question_configuration.h"
#include "berth/app/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/whatif/group_answer.h"
#include "berth/whatif/group_explanation.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pod_group_warnings.h"

namespace berth::app {
namespace {

Error NoPodGroups(int release_minor) {
  return InvalidError("pods are scheduled one by one here: pod groups need " + whatif::PodGroupFlags(release_minor) +
                      ", or the plugin PodGroupAnnotations in --config");
}

}  // namespace

int RunExplainGroup(const ExplainGroupOptions& options, config::KnownPlugins plugins) {
  const QuestionOptions& question = options.question;
  std::string name = options.group;
  const auto namespace_name = NamespaceIn(question, name);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  // What is wrong with the question is said before any cluster is read.
  const auto checked = LoadQuestionConfiguration("--config", question.config, plugins, {}, question.release);
  if (!checked.ok()) return cli::FailWith(checked.error(), cli::kExitUsage);
  if (!MayHavePodGroups(question.release)) {
    // A plugin may name groups where the API has none.
    const auto core = whatif::OfflineCluster::Make({.configuration = checked->configuration,
                                                    .plugins = plugins,
                                                    .read_file = plugin_files::PluginFiles(question.config)});
    if (!core.ok()) return cli::FailWith(core.error(), cli::kExitUsage);
    const int minor = question.release.version.minor.value_or(checked->configuration.release.minor);
    if ((*core)->pod_groups() == nullptr) return cli::FailWith(NoPodGroups(minor), cli::kExitUsage);
  }
  const auto state = ReadClusterFor(question);
  if (!state.ok()) return cli::FailWith(state.error());
  auto core = OfflineOptionsFor(question.config, plugins, state->kubernetes_version, question.release);
  if (!core.ok()) return cli::FailWith(core.error(), cli::kExitUsage);
  WarnOfOtherRules(question.release, state->kubernetes_version, core->configuration.release.minor);
  core->now = state->read_at;
  const auto said = whatif::ExplainPodGroup(*state, *core, *namespace_name, name);
  if (!said.ok()) return cli::FailWith(said.error());
  PrintAnswer(question.output, *state,
              {[&](bool is_wide, const cli::Table::Style& style) { return whatif::GroupLines(*said, is_wide, style); },
               [&] { return whatif::GroupJson(*said); }});
  const bool is_placed = said->state == whatif::GroupState::kPlaced || said->state == whatif::GroupState::kFits;
  return is_placed ? cli::kExitOk : kExitRefused;
}

}  // namespace berth::app
