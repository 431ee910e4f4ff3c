// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/headroom_command.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "berth/answers/headroom_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/questions.h"
#include "berth/core/config/known_plugins.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {
namespace {

struct HeadroomCommandOptions {
  QuestionOptions question;
  std::size_t losses_max = 3;
  std::optional<std::size_t> required;  // losses that each workload should survive
};

// Each loss of each workload is tried: more would take minutes in a large cluster.
constexpr std::size_t kLossesMax = 20;

int RunHeadroom(const HeadroomCommandOptions& options, config::KnownPlugins plugins) {
  if (!options.question.server.url.empty())
    return AskServer(
        options.question, "headroom",
        ask::HeadroomQuestion{options.question.namespace_name, options.losses_max, options.required}.ToJson());
  QuestionCluster asked;
  if (const auto failed = LoadOrFail(options.question, plugins, OtherSchedulers::kByDefaults, asked)) return *failed;
  const std::string& namespace_name = options.question.namespace_name;
  if (const auto known = whatif::CheckNamespace(asked.state, namespace_name); !known.ok())
    return cli::FailWith(known.error(), cli::kExitUsage);
  whatif::HeadroomOptions headroom_options;
  headroom_options.losses_max = std::max(options.losses_max, options.required.value_or(0));
  headroom_options.namespace_name = namespace_name;
  headroom_options.is_interrupted = [] { return cli::HasSignal(); };
  const whatif::Headroom headroom = whatif::MeasureHeadroom(*asked.cluster, asked.state, headroom_options);
  PrintAnswer(
      options.question.output, asked.state,
      {[&](bool is_wide, const cli::Table::Style& style) { return answers::HeadroomLines(headroom, is_wide, style); },
       [&] { return answers::HeadroomJson(headroom); }});
  const bool is_enough = std::ranges::all_of(headroom.workloads, [&](const whatif::WorkloadHeadroom& workload) {
    return workload.survives >= options.required.value_or(0);
  });
  if (headroom.is_interrupted) return cli::kExitFailed;
  return is_enough ? cli::kExitOk : cli::kExitNo;
}

}  // namespace

void AddHeadroomCommand(Commands& commands) {
  const auto options = std::make_shared<HeadroomCommandOptions>();
  cli::Command& command =
      commands.Add("headroom", "how many node losses each workload of a cluster survives",
                   {[options](config::KnownPlugins known) { return RunHeadroom(*options, known); }});
  AddQuestionFlags(command, options->question);
  AddQuestionRelease(command, options->question.release);
  AddQuestionServer(command, options->question.server);
  command.At("namespace").usage = "only workloads of this namespace; default: of all";
  command.Option("max-losses", options->losses_max, "losses to try").Range(1, kLossesMax).ShowDefault();
  command.Option("require", options->required, "end with 3 if a workload survives fewer losses").Range(0, kLossesMax);
  AddPluginDirectory(command, commands.plugin_directory());
  command.SetFooter(
      "Ends with 0 when the question was answered, 1 when the cluster could not be read or the answer was "
      "interrupted,\n"
      "2 when the flags are wrong, 3 when a workload survives fewer losses than --require says.");
}

}  // namespace berth::app
