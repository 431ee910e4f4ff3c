// SPDX-License-Identifier: Apache-2.0
#include "berth/app/shadow_flags.h"

#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/base/text.h"
#include "berth/base/time.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {
namespace {

std::string CheckDuration(const std::string& text) {
  const auto duration = ParseGoDuration(text);
  return duration && *duration > Duration{0} ? "" : Quoted(text) + " should be a duration, for example 90s or 24h";
}

}  // namespace

CLI::App* AddShadowCommand(CLI::App& app, ShadowCommandOptions& options, std::optional<std::string>& plugin_directory,
                           int& verbosity) {
  CLI::App* shadow =
      app.add_subcommand("shadow", "decides what the cluster's scheduler decides, and reports how far they agree");
  AddQuestionConnection(*shadow, options.connection);
  shadow
      ->add_option("--config", options.config,
                   "file with the KubeSchedulerConfiguration of the cluster's scheduler; default: kube-scheduler's "
                   "defaults")
      ->type_name(cli::kFileHint);
  shadow->add_option("--scheduler-name", options.scheduler_name,
                     "compare the pods of this scheduler alone; default: those of every profile of the configuration");
  AddQuestionOutput(*shadow, options.output,
                    {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  shadow->add_option("--page", options.page, "file for the report as an HTML page, for example shadow.html")
      ->type_name(cli::kFileHint);
  shadow
      ->add_option_function<std::string>(
          "--duration", [&options](const std::string& text) { options.duration = ParseGoDuration(text); },
          "end after so long, for example 24h; default: at SIGINT or SIGTERM")
      ->check(CheckDuration, "");
  shadow->add_option("--pods", options.pods, "end after so many decisions")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max() / 2));
  AddMetricsAddress(*shadow, options.metrics_bind_address, "/metrics");
  AddPluginDirectory(*shadow, plugin_directory);
  AddVerbosity(*shadow, verbosity);
  shadow->footer(
      "Runs beside the cluster's scheduler, binds nothing and writes nothing. The report comes when it ends: by "
      "SIGINT,\n"
      "SIGTERM, --duration or --pods; SIGUSR2 writes the report so far to standard error.\n"
      "Exit status: 0 every decision agrees or the order of decisions explains it, 1 the cluster could not be read,\n"
      "2 wrong usage, 3 some decision differs.");
  return shadow;
}

}  // namespace berth::app
