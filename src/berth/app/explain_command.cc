// SPDX-License-Identifier: Apache-2.0
#include "berth/app/explain_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include <unistd.h>

#include "berth/app/explain_many.h"
#include "berth/app/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/explanation_json.h"
#include "berth/whatif/explanation_text.h"

namespace berth::app {
namespace {

void Print(const whatif::Explanation& said, const ExplainOptions& options) {
  cli::FileTerminal terminal(STDOUT_FILENO);
  if (IsDocument(options.question.output))
    return PrintDocument(terminal, options.question.output, whatif::ExplanationJson(said));
  for (const std::string& line : ExplanationText(said, options)) terminal.Write(line + "\n");
}

}  // namespace

int ExitOf(whatif::PodState state) {
  switch (state) {
    case whatif::PodState::kPlaced:
    case whatif::PodState::kFits:
    case whatif::PodState::kEnded: return cli::kExitOk;
    case whatif::PodState::kFailed: return cli::kExitFailed;
    case whatif::PodState::kRefused:
    case whatif::PodState::kGated:
    case whatif::PodState::kWaits:
    case whatif::PodState::kDeleted: break;
  }
  return kExitRefused;
}

std::vector<std::string> ExplanationText(const whatif::Explanation& said, const ExplainOptions& options) {
  const cli::FileTerminal terminal(STDOUT_FILENO);
  whatif::ExplanationStyle style;
  style.is_wide = options.question.output == QuestionOutput::kWide;
  style.with_nodes = options.with_nodes;
  style.table = {terminal.HasColor(), style.is_wide || !terminal.IsTty() ? 0 : terminal.Size().columns - 2};
  return whatif::ExplanationLines(said, style);
}

Expected<whatif::Explanation> ExplainLoaded(const ExplainOptions& options, QuestionCluster& loaded,
                                            const std::string& namespace_name, const std::string& name) {
  auto said = whatif::ExplainPod(*loaded.cluster, loaded.state, namespace_name, name);
  if (said.ok() || said.error().code != ErrorCode::kNotFound || !loaded.state.pod_details.empty()) return said;
  // Most questions are about pods that wait. Those that have ended may be many, and are read once for all names.
  if (!loaded.with_ended) {
    QuestionOptions with_ended = options.question;
    with_ended.reads_pod_details = true;
    auto state = ReadClusterFor(with_ended);
    loaded.with_ended.emplace(state.ok() ? *std::move(state) : whatif::ClusterState());
  }
  auto ended = whatif::ExplainPod(*loaded.cluster, *loaded.with_ended, namespace_name, name);
  return ended.ok() ? std::move(ended) : std::move(said);
}

int RunExplain(const ExplainOptions& options, config::KnownPlugins plugins) {
  if (options.is_watched && (!options.of_group.group.empty() || !options.pod.empty())) {
    return cli::FailWith(InvalidError("berth explain: --watch is for pod/NAME, other KIND/NAME, -l and --pending"),
                         cli::kExitUsage);
  }
  if (!options.of_group.group.empty()) return RunExplainGroup(options.of_group, plugins);
  if (options.pod.empty()) return RunExplainMany(options, plugins);
  std::string name = options.pod;
  const auto meant = NamespaceIn(options.question, name);
  if (!meant.ok()) return cli::FailWith(meant.error(), cli::kExitUsage);
  const std::string& namespace_name = *meant;
  QuestionCluster loaded;
  Expected<whatif::Explanation> said = whatif::Explanation();
  if (!options.scheduler.url.empty()) {
    said = AskScheduler(options.scheduler, options.question.connection, namespace_name, name);
  } else {
    if (const auto status = LoadOrFail(options.question, plugins, OtherSchedulers::kHaveNoProfile, loaded))
      return *status;
    said = ExplainLoaded(options, loaded, namespace_name, name);
  }
  if (!said.ok())
    return cli::FailWith(said.error(), said.error().code == ErrorCode::kInvalid ? cli::kExitUsage : cli::kExitFailed);
  Print(*said, options);
  return ExitOf(said->state);
}

}  // namespace berth::app
