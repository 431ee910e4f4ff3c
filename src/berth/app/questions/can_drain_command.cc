// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/can_drain_command.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/answers/drain_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/questions.h"
#include "berth/core/config/known_plugins.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/drain.h"

namespace berth::app {
namespace {

struct CanDrainOptions {
  QuestionOptions question;
  std::vector<std::string> nodes;
  whatif::DrainOptions drain;
};

int RunCanDrain(const CanDrainOptions& options, config::KnownPlugins plugins) {
  QuestionCluster asked;
  if (!options.question.server.url.empty())
    return AskServer(options.question, "can-drain",
                     ask::DrainQuestion{options.nodes, options.drain.is_forced}.ToJson());
  QuestionOptions question = options.question;
  question.reads_pod_details = true;  // whether pods are ready
  if (const auto failed = LoadOrFail(question, plugins, OtherSchedulers::kByDefaults, asked)) return *failed;
  const std::vector<std::string> unknown = whatif::UnknownNodes(asked.state, options.nodes);
  for (const std::string& line : unknown) std::fprintf(stderr, "berth: %s\n", cli::Printable(line).c_str());
  if (!unknown.empty()) return cli::kExitUsage;
  const whatif::DrainPlan plan = whatif::PlanDrain(*asked.cluster, asked.state, options.nodes, options.drain);
  PrintAnswer(options.question.output, asked.state,
              {[&](bool is_wide, const cli::Table::Style& style) { return answers::DrainLines(plan, is_wide, style); },
               [&] { return answers::DrainJson(plan); }});
  return plan.CanDrain() ? cli::kExitOk : cli::kExitNo;
}

}  // namespace

void AddCanDrainCommand(Commands& commands) {
  const auto options = std::make_shared<CanDrainOptions>();
  cli::Command& command =
      commands.Add("can-drain", "what draining nodes would do to their pods, before anyone drains them",
                   {[options](config::KnownPlugins known) { return RunCanDrain(*options, known); }});
  AddQuestionFlags(command, options->question);
  AddQuestionRelease(command, options->question.release);
  AddQuestionServer(command, options->question.server);
  command.Argument("NODE", options->nodes, "the nodes, in the order in which they are drained").Required();
  command.Switch("force", options->drain.is_forced, "as with kubectl drain: pods without a controller may be lost");
  AddPluginDirectory(command, commands.plugin_directory());
  command.SetFooter(
      "Ends with 0 when the nodes can be drained, 1 when the cluster could not be read, 2 when the flags or names are "
      "wrong,\n"
      "3 when the nodes cannot be drained.");
}

}  // namespace berth::app
