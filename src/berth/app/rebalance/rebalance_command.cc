// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/rebalance_command.h"

#include <memory>
#include <string>
#include <utility>

#include "berth/answers/plan_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/config_map_hint.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/app/rebalance/rebalance_metrics.h"
#include "berth/app/rebalance/rebalance_run_command.h"
#include "berth/ask/rebalance_question.h"
#include "berth/base/expected.h"
#include "berth/codec/yaml_lines.h"
#include "berth/core/config/known_plugins.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/policy.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/client/file.h"

namespace berth::app {
namespace {

struct RebalancePlanOptions {
  QuestionOptions question;
  std::string policy;             // the DeschedulerPolicy's file
  bool within_scheduler = false;  // as berth run --rebalance plans
};

int FailUsage(const Error& error) {
  return cli::FailWith({error.code, cli::Printable(error.message)}, cli::kExitUsage);
}

// For a policy that has use measured.
Expected<rebalance::Measurements> MeasureOnce(const rebalance::Policy& policy, const QuestionOptions& question,
                                              Time now) {
  if (rebalance::MetricsNeedsOf(policy).empty()) return rebalance::Measurements{};
  if (!question.snapshot.empty())
    return InvalidError("it goes by measurements, and a snapshot has none: ask a cluster in place of --snapshot");
  const SystemClock clock;
  BERTH_ASSIGN_OR_RETURN(const auto connection,
                         Connection::Make(WithHomeKubeconfig(question.connection), clock, RandomSeed()));
  AnswerWait answers(clock, [] { return false; });
  RebalanceMetrics sources(connection->rest(), connection->io(), answers, policy.prometheus);
  return rebalance::ReadMeasurements(policy, sources, now);
}

int RunRebalancePlan(const RebalancePlanOptions& options, config::KnownPlugins plugins) {
  const auto policy = LoadPolicy("--policy", options.policy);
  if (!policy.ok()) return FailUsage(policy.error());
  if (!options.question.server.url.empty()) {
    const auto text = client::ReadSmallFile(options.policy);
    if (!text.ok()) return FailUsage(text.error());
    return AskServer(options.question, "rebalance-plan",
                     ask::RebalanceQuestion{*text, options.within_scheduler}.ToJson());
  }
  QuestionOptions question = options.question;
  question.reads_pod_details = true;
  QuestionCluster asked;
  if (const auto failed = LoadOrFail(question, plugins, OtherSchedulers::kByDefaults, asked)) return *failed;
  rebalance::PlanOptions how;
  how.now = asked.state.read_at;
  how.is_interrupted = [] { return cli::HasSignal(); };
  how.chooses_target = options.within_scheduler;
  const auto measurements = MeasureOnce(*policy, question, asked.state.read_at);
  if (!measurements.ok() && measurements.error().code == ErrorCode::kInvalid)
    return FailUsage(measurements.error().Wrap("--policy " + options.policy));
  if (!measurements.ok()) return cli::FailWith(measurements.error().Wrap("nothing would move"));
  how.measurements = &*measurements;
  const auto plan = rebalance::PlanRebalance(*asked.cluster, asked.state, *policy, how);
  if (!plan.ok() && plan.error().code == ErrorCode::kUnavailable)
    return cli::FailWith(plan.error().Wrap("nothing would move"));
  if (!plan.ok()) return FailUsage(plan.error().Wrap("--policy " + options.policy));
  PrintAnswer(question.output, asked.state,
              {[&](bool is_wide, const cli::Table::Style& style) { return answers::PlanLines(*plan, is_wide, style); },
               [&] { return answers::PlanJson(*plan); }});
  return plan->is_interrupted ? cli::kExitFailed : cli::kExitOk;
}

}  // namespace

Expected<rebalance::Policy> LoadPolicy(const std::string& flag, const std::string& path) {
  const auto text = client::ReadSmallFile(path);
  if (!text.ok()) return Error{text.error().code, flag + " " + text.error().message};
  auto policy = rebalance::ReadPolicy(*text);
  if (!policy.ok()) {
    if (const auto hint = ConfigMapHint(*text, "DeschedulerPolicy"))
      return InvalidError(flag + " " + path + ": " + *hint);
    return codec::InFile(flag + " " + path, *text, policy.error());
  }
  return policy;
}

void AddPolicyFlag(cli::Command& command, std::string& policy) {
  command.Option("policy", policy, "file with the DeschedulerPolicy (descheduler/v1alpha2)")
      .Required()
      .Type(cli::kFileHint);
}

void AddRebalanceCommand(Commands& commands) {
  cli::Command& rebalance =
      commands.Add("rebalance", "move pods that break a rule, if a better place is proved first", {});
  rebalance.RequireSubcommand();
  const auto options = std::make_shared<RebalancePlanOptions>();
  cli::Command& plan = rebalance.AddSubcommand(
      "plan", "which pods a DeschedulerPolicy would have moved, where each would go, and why the others stay");
  AddQuestionFlags(plan, options->question);
  AddQuestionServer(plan, options->question.server, false);
  AddPolicyFlag(plan, options->policy);
  plan.Switch("within-scheduler", options->within_scheduler,
              "plan as berth run --rebalance does, which chooses each target and keeps the place");
  AddPluginDirectory(plan, commands.plugin_directory());
  plan.SetFooter(
      "Nothing is done to the cluster. Ends with 0 when there is a plan, even an empty one, 1 when the cluster could\n"
      "not be read, 2 when the flags or the policy are wrong.");
  commands.Set(plan, {[options](config::KnownPlugins known) { return RunRebalancePlan(*options, known); }});
  AddRebalanceRunCommand(commands, rebalance);
}

}  // namespace berth::app
