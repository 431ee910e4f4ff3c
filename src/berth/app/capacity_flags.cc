// SPDX-License-Identifier: Apache-2.0
#include "berth/app/capacity_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/base/text.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {
namespace {

// Nobody has so many pods, and counting them would take minutes.
constexpr std::size_t kCapacityMax = 10'000'000;

std::string CheckAmount(const std::string& text) {
  const auto amount = api::Quantity::Parse(text);
  return amount.ok() && !amount->IsNegative() ? "" : Quoted(text) + " should be an amount such as 2, 500m or 1Gi";
}

std::string CheckPair(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool is_pair = equals != std::string::npos && api::IsQualifiedName(std::string_view(text).substr(0, equals));
  return is_pair ? "" : Quoted(text) + " should be NAME=VALUE";
}

std::string CheckRequest(const std::string& text) {
  if (std::string wrong = CheckPair(text); !wrong.empty()) return wrong;
  return CheckAmount(text.substr(text.find('=') + 1));
}

std::string CheckLabel(const std::string& text) {
  if (std::string wrong = CheckPair(text); !wrong.empty()) return wrong;
  return api::IsLabelValue(std::string_view(text).substr(text.find('=') + 1))
             ? ""
             : Quoted(text) + " has no valid label value";
}

}  // namespace

CLI::App* AddCapacityCommand(CLI::App& app, CapacityCommandOptions& options,
                             std::optional<std::string>& plugin_directory) {
  CLI::App* command =
      app.add_subcommand("capacity", "how many more pods of a shape fit into a cluster, and what stops the next");
  AddQuestionFlags(*command, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  AddQuestionRelease(*command, options.question.release);
  command
      ->add_option("-f,--filename", options.files,
                   "manifests of Pods, or of Deployments and the like, of which the pod template counts: a file, a "
                   "directory, or - for standard input; may be repeated")
      ->type_name(cli::kFileHint);
  command->add_option("--like", options.likes, "a pod of the cluster, [NAMESPACE/]POD; may be repeated")
      ->type_name(kPodHint);
  command->add_option("--cpu", options.amounts.cpu, "a shape of its own: what a pod requests, for example 500m")
      ->check(CheckAmount, "");
  command->add_option("--memory", options.amounts.memory, "the same, for example 1Gi")->check(CheckAmount, "");
  command
      ->add_option("--request", options.amounts.requests,
                   "the same, of any resource: nvidia.com/gpu=1; may be repeated")
      ->check(CheckRequest, "");
  command
      ->add_option("--node-selector", options.amounts.node_selector,
                   "a label that the nodes need, KEY=VALUE; may be repeated")
      ->check(CheckLabel, "");
  command->add_flag(
      "--together", options.capacity.is_together,
      "one pod of each shape in turn, until one does not fit; without it, each shape has the cluster for itself");
  command->add_option("--max", options.capacity.pods_max, "stop counting at so many pods of a shape")
      ->check(CLI::Range(std::size_t{1}, kCapacityMax))
      ->capture_default_str();
  command->add_option("--require", options.required, "end with 3 if fewer than so many fit, of any shape");
  AddPluginDirectory(*command, plugin_directory);
  command->footer(
      "Ends with 0 when the question was answered, 1 when the cluster could not be read, 2 when the flags or files are "
      "wrong,\n"
      "3 when fewer fit than --require says.");
  return command;
}

}  // namespace berth::app
