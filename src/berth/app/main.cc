// The command line. With price_flags.cc and plugin_flags.cc the only file that includes CLI11.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/app/commands.h"
#include "berth/app/demo_policies.h"
#include "berth/app/plugin_flags.h"
#include "berth/app/plugin_loader.h"
#include "berth/app/price_flags.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/cli/exit_codes.h"
#include "berth/plugin.h"
#include "berth/plugins/own_plugins.h"

namespace berth::app {
namespace {

// kube-scheduler takes --leader_elect for --leader-elect.
std::vector<std::string> NormalizedArguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--")) {
      const auto end = argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
      std::replace(argument.begin(), end, '_', '-');
    }
    arguments.push_back(std::move(argument));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  return arguments;
}

// An empty address would be served by nobody.
std::string CheckAddress(const std::string& text) {
  return text.empty() ? "should be an address and a port, for example 127.0.0.1:8001" : "";
}

void AddConnection(CLI::App& command, ConnectionOptions& options) {
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file; without it and --master: the pod's service account")
      ->envname("KUBECONFIG");
  command.add_option("--context", options.context, "context of the kubeconfig; default: its current-context");
  command.add_option("--master", options.master, "URL of the API server, for example http://127.0.0.1:8001");
  command.add_option("--kube-api-qps", options.qps, "requests a second; default: no limit")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--kube-api-burst", options.burst, "requests at once when --kube-api-qps is set")
      ->check(CLI::NonNegativeNumber);
}

void AddPluginDirectory(CLI::App& command, std::optional<std::string>& directory) {
  command.add_option("--plugin-dir", directory,
                     "directory of shared objects (*.so) with plugins of one's own, made by berth_add_plugin()");
}

// All that come with berth, those of the program and those of the directory.
Expected<std::vector<plugins::PluginRegistration>> AllPlugins(std::vector<PluginRegistration> of_program,
                                                              const std::optional<std::string>& directory) {
  std::vector<plugins::OwnPlugin> own;
  for (PluginRegistration& plugin : of_program) own.push_back({std::move(plugin), {}});
  if (directory) {
    BERTH_ASSIGN_OR_RETURN(std::vector<plugins::OwnPlugin> loaded, LoadPlugins(*directory));
    std::move(loaded.begin(), loaded.end(), std::back_inserter(own));
  }
  return plugins::AllPlugins(own);
}

int Main(int argc, char** argv, std::vector<PluginRegistration> plugins_of_program) {
  CLI::App app{"berth: a drop-in Kubernetes scheduler", "berth"};
  app.set_version_flag("--version", std::string("berth " BERTH_VERSION));
  app.require_subcommand(1);
  int verbosity = 0;
  app.add_option("-v,--v", verbosity, "log verbosity: 0, or 4 and above for debugging");

  RunOptions run;
  std::string leader_elect;
  int secure_port = 0;
  CLI::App* run_command = app.add_subcommand("run", "schedule the pods of a cluster");
  AddConnection(*run_command, run.connection);
  run_command->add_option("--config", run.config, "KubeSchedulerConfiguration file");
  std::optional<std::string> plugin_directory;
  AddPluginDirectory(*run_command, plugin_directory);
  run_command->add_option("--scheduler-name", run.scheduler_name,
                          "the schedulerName of the pods to take; default: default-scheduler");
  run_command->add_option("--seed", run.seed, "seed of all chance; default: a random one, which is logged");
  run_command->add_option("--metrics-bind-address", run.metrics_bind_address,
                          "address and port of GET /metrics, over plain HTTP; default: not served");
  run_command->add_flag(
      "--pods-by-annotation", run.pods_by_annotation,
      "take pods by the annotation scheduler.alpha.kubernetes.io/name, too, where their schedulerName "
      "is unset or default-scheduler");
  run_command->add_option("--namespaces", run.namespaces,
                          "take pods of these namespaces only, separated by commas; default: of every namespace");
  CLI::Option* const once = run_command->add_flag(
      "--once", run.once,
      "place what is pending and end: with 0 when every pod was placed, else with 1 and a line for "
      "each that was not");
  run_command
      ->add_option("--once-patience", run.once_patience_s,
                   "with --once: seconds without a pod placed after which those are given up that met an error or wait "
                   "for their victims to go")
      ->check(CLI::Range(1, 86'400))
      ->needs(once)
      ->capture_default_str();
  run_command->add_option("--leader-elect", leader_elect, "false, or unset: not in this version")
      ->expected(0, 1)
      ->default_str("");
  run_command->add_option("--secure-port", secure_port, "0, or unset: not in this version");
  run_command->add_option("-v,--v", verbosity, "log verbosity");
  run_command->footer("SIGINT and SIGTERM end it: bindings under way get " + std::to_string(kShutdownGraceSeconds) +
                      " s to end, and then their events as long again.");
  run_command->callback([&] {
    const bool is_set = run_command->count("--leader-elect") > 0;
    if (is_set && leader_elect != "false" && leader_elect != "0") {
      throw CLI::ValidationError(
          "--leader-elect", "leader election comes with a later version: leave it out or say --leader-elect=false");
    }
    if (secure_port != 0) {
      throw CLI::ValidationError(
          "--secure-port",
          "serving metrics and health comes with a later version: leave it out or say --secure-port=0");
    }
    if (!run.config.empty() && !run.scheduler_name.empty()) {
      throw CLI::ValidationError("--scheduler-name",
                                 "names the default profile; with --config the file's profiles have the names");
    }
  });

  ApiServerCommandOptions server;
  CLI::App* server_command = app.add_subcommand("apiserver", "the embedded API server by itself");
  server_command->add_option("--listen", server.listen, "address and port")
      ->check(CheckAddress, "")
      ->capture_default_str();
  server_command->add_option("--nodes", server.nodes, "simulated nodes")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();

  KubeletsOptions kubelets;
  CLI::App* kubelets_command = app.add_subcommand("kubelets", "simulated nodes and kubelets for any cluster");
  AddConnection(*kubelets_command, kubelets.connection);
  kubelets_command->add_option("--nodes", kubelets.nodes, "how many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();

  DemoOptions demo;
  CLI::App* demo_command = app.add_subcommand("demo", "berth at work on an embedded cluster");
  demo_command->add_flag("--serve", demo.serve, "leave the cluster running for kubectl --server");
  demo_command->add_option("--listen", demo.listen, "where, with --serve")
      ->check(CheckAddress, "")
      ->capture_default_str();
  CLI::Option* const demo_nodes = demo_command->add_option("--nodes", demo.nodes, "simulated nodes")
                                      ->check(CLI::Range(1, 5'000))
                                      ->capture_default_str();
  CLI::Option* const demo_replicas =
      demo_command->add_option("--replicas", demo.replicas, "pods of the nginx Deployment")
          ->check(CLI::Range(1, 10'000))
          ->capture_default_str();
  demo_command->add_option("--seed", demo.seed, "seed of all chance")->capture_default_str();
  CLI::Option* const demo_config = demo_command->add_option(
      "--config", demo.config, "KubeSchedulerConfiguration file whose first profile schedules the pods");
  AddPluginDirectory(*demo_command, plugin_directory);
  demo_command
      ->add_option("--policy", demo.policy,
                   "show a policy on a cluster where its effect is plain to see: " + PolicyDemoNames())
      ->check(CheckPolicyDemo, "")
      ->excludes(demo_nodes)
      ->excludes(demo_replicas)
      ->excludes(demo_config);

  PluginOptions plugin;
  CLI::App* plugin_command = AddPluginCommand(app, plugin, plugin_directory);

  PriceOptions price;
  CLI::App* price_command = AddPriceCommand(app, price);
  AddConnection(*price_command, price.connection);

  try {
    app.parse(NormalizedArguments(argc, argv));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "berth: %s (berth --help lists commands and flags)\n", error.what());
    return cli::kExitUsage;
  }
  if (verbosity >= 4) log::SetLevel(log::Level::kDebug);
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), plugin_directory);
  if (!known_plugins.ok()) return FailWith(known_plugins.error(), cli::kExitUsage);
  BlockSignals();
  if (run_command->parsed()) return RunOnCluster(run, *known_plugins);
  if (server_command->parsed()) return RunApiServer(server);
  if (kubelets_command->parsed()) return RunKubelets(kubelets);
  if (price_command->parsed()) return RunPrice(price);
  if (plugin_command->parsed()) return RunPlugin(plugin, *known_plugins);
  return demo.policy.empty() ? RunDemo(demo, *known_plugins) : RunPolicyDemo(demo);
}

}  // namespace
}  // namespace berth::app

int berth::RunScheduler(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  return app::Main(argc, argv, std::move(plugins));
}
