// SPDX-License-Identifier: Apache-2.0
#include "berth/app/explain_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/base/text.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

std::string CheckSchedulerUrl(const std::string& text) {
  const auto url = net::ParseUrl(text);
  const bool is_port = url.ok() && url->scheme == "https" && url->path.empty();
  return is_port ? "" : Quoted(text) + " should be https://HOST:PORT, the address of berth's secure port";
}

// Of several pods at once.
void AddManyFlags(CLI::App& explain, ExplainOptions& options, std::optional<std::string>& plugin_directory) {
  explain.add_option("NAMES", options.names,
                     "KIND/NAME or KIND/NAMESPACE/NAME: pods, and the pods that wait of deployments, jobs, ...");
  explain.add_option("-f,--filename", options.name_files, "file with such names, a line each; - is standard input")
      ->type_name(cli::kFileHint)
      ->expected(1)
      ->take_all();
  explain.add_option("-l,--selector", options.selector, "the pods of the namespace whose labels match");
  explain
      .add_flag("--pending", options.of_pending,
                "all pods that wait, by what they wait for and whose they are; of all namespaces without -n")
      ->excludes("NAMES")
      ->excludes("--filename")
      ->excludes("--selector");
  explain.add_flag("-w,--watch", options.is_watched,
                   "ask every two seconds, and answer again when the answer is another one, until nothing waits");
  explain.add_flag("--nodes", options.with_nodes, "what every node says, too");
  using enum QuestionOutput;
  AddQuestionFlags(explain, options.question, {kTable, kWide, kJson, kYaml});
  AddQuestionRelease(explain, options.question.release);
  AddPluginDirectory(explain, plugin_directory);
}

}  // namespace

CLI::App* AddExplainCommand(CLI::App& app, ExplainOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* explain = app.add_subcommand("explain", "why a pod is pending, or why it is where it is");
  explain->require_subcommand(0, 1);
  explain->footer("Any cluster, whichever scheduler runs there; nothing is changed. For example:\n  " + app.get_name() +
                  " explain pod -n shop web-7d5b\n  " + app.get_name() + " explain pod shop/web-7d5b --nodes\n  " +
                  app.get_name() + " explain pod shop/web-7d5b --scheduler https://10.0.0.7:10259\n  " +
                  app.get_name() + " explain deployment/web job/train\n  kubectl get pods -o name | " + app.get_name() +
                  " explain -f -\n  " + app.get_name() + " explain --pending");
  AddManyFlags(*explain, options, plugin_directory);
  CLI::App* pod = explain->add_subcommand("pod", "a pod, pending or placed");
  pod->add_option("POD", options.pod, "its name, or NAMESPACE/NAME")->required();
  pod->add_flag("--nodes", options.with_nodes, "what every node says, too");
  using enum QuestionOutput;
  AddQuestionFlags(*pod, options.question, {kTable, kWide, kJson, kYaml});
  AddQuestionRelease(*pod, options.question.release);
  AddPluginDirectory(*pod, plugin_directory);
  CLI::Option* const scheduler =
      pod->add_option("--scheduler", options.scheduler.url,
                      "https://HOST:PORT of a running berth's secure port, to ask it in place of the cluster: its "
                      "answer has the decision as it was made, too")
          ->check(CheckSchedulerUrl, "");
  for (const char* const other : {"--snapshot", "--config", "--master", "--kubernetes-version", "--feature-gates"})
    scheduler->excludes(other);
  pod->add_option("--scheduler-ca-file", options.scheduler.ca_file,
                  "authority of that port's certificate; default: that of the kubeconfig's cluster")
      ->type_name(cli::kFileHint)
      ->needs(scheduler);
  pod->add_flag("--scheduler-insecure-skip-tls-verify", options.scheduler.insecure_skip_tls_verify,
                "take any certificate of that port: whoever is there then gets the kubeconfig's token")
      ->needs(scheduler);
  pod->footer(
      "Exit status: 0 it has a node or would get one, 1 the answer could not be found, 2 wrong usage, 3 no\n"
      "node takes it or a gate holds it back.");
  CLI::App* group = explain->add_subcommand("podgroup", "a pod group and its pods, waiting or placed");
  group->add_option("PODGROUP", options.of_group.group, "its name, or NAMESPACE/NAME")->required();
  AddQuestionFlags(*group, options.of_group.question, {kTable, kWide, kJson, kYaml});
  AddQuestionRelease(*group, options.of_group.question.release);
  AddPluginDirectory(*group, plugin_directory);
  group->footer(
      "Needs the feature gate GenericWorkload. Exit status: 0 it is placed or would be, 1 the answer could not be\n"
      "found, 2 wrong usage, 3 it would not be placed now.");
  return explain;
}

}  // namespace berth::app
