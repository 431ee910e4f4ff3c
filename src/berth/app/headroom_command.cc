// SPDX-License-Identifier: Apache-2.0
#include "berth/app/headroom_command.h"

#include <algorithm>
#include <utility>

#include "berth/app/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/whatif/headroom_answer.h"

namespace berth::app {

int RunHeadroom(const HeadroomCommandOptions& options, config::KnownPlugins plugins) {
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
      {[&](bool is_wide, const cli::Table::Style& style) { return whatif::HeadroomLines(headroom, is_wide, style); },
       [&] { return whatif::HeadroomJson(headroom); }});
  const bool is_enough = std::ranges::all_of(headroom.workloads, [&](const whatif::WorkloadHeadroom& workload) {
    return workload.survives >= options.required.value_or(0);
  });
  if (headroom.is_interrupted) return cli::kExitFailed;
  return is_enough ? cli::kExitOk : cli::kExitNo;
}

}  // namespace berth::app
