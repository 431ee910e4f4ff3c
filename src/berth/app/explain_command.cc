// SPDX-License-Identifier: Apache-2.0
#include "berth/app/explain_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include <unistd.h>

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
  whatif::ExplanationStyle style;
  style.is_wide = options.question.output == QuestionOutput::kWide;
  style.with_nodes = options.with_nodes;
  style.table = {terminal.HasColor(), style.is_wide || !terminal.IsTty() ? 0 : terminal.Size().columns - 2};
  for (const std::string& line : whatif::ExplanationLines(said, style)) terminal.Write(line + "\n");
}

}  // namespace

int RunExplain(const ExplainOptions& options, plugins::KnownPlugins plugins) {
  if (!options.of_group.group.empty()) return RunExplainGroup(options.of_group, plugins);
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
    said = whatif::ExplainPod(*loaded.cluster, loaded.state, namespace_name, name);
  }
  if (!said.ok())
    return cli::FailWith(said.error(), said.error().code == ErrorCode::kInvalid ? cli::kExitUsage : cli::kExitFailed);
  Print(*said, options);
  switch (said->state) {
    case whatif::PodState::kPlaced:
    case whatif::PodState::kFits: return cli::kExitOk;
    case whatif::PodState::kFailed: return cli::kExitFailed;
    case whatif::PodState::kRefused:
    case whatif::PodState::kGated:
    case whatif::PodState::kDeleted: break;
  }
  return kExitRefused;
}

}  // namespace berth::app
