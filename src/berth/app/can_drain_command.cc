// SPDX-License-Identifier: Apache-2.0
#include "berth/app/can_drain_command.h"

#include <cstdio>
#include <utility>

#include "berth/app/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/drain_answer.h"

namespace berth::app {

int RunCanDrain(const CanDrainOptions& options, config::KnownPlugins plugins) {
  QuestionCluster asked;
  QuestionOptions question = options.question;
  question.reads_pod_details = true;  // whether pods are ready
  if (const auto failed = LoadOrFail(question, plugins, OtherSchedulers::kByDefaults, asked)) return *failed;
  const std::vector<std::string> unknown = whatif::UnknownNodes(asked.state, options.nodes);
  for (const std::string& line : unknown) std::fprintf(stderr, "berth: %s\n", cli::Printable(line).c_str());
  if (!unknown.empty()) return cli::kExitUsage;
  const whatif::DrainPlan plan = whatif::PlanDrain(*asked.cluster, asked.state, options.nodes, options.drain);
  PrintAnswer(options.question.output, asked.state,
              {[&](bool is_wide, const cli::Table::Style& style) { return whatif::DrainLines(plan, is_wide, style); },
               [&] { return whatif::DrainJson(plan); }});
  return plan.CanDrain() ? cli::kExitOk : cli::kExitNo;
}

}  // namespace berth::app
