// SPDX-License-Identifier: Apache-2.0
// The command line. With price_flags.cc and plugin_flags.cc the only file that includes CLI11.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/app/apiserver_command.h"
#include "berth/app/demo_command.h"
#include "berth/app/kube_scheduler_flags.h"
#include "berth/app/kubelets_command.h"
#include "berth/app/plugin_flags.h"
#include "berth/app/price_flags.h"
#include "berth/app/run_command.h"
#include "berth/base/edit_distance.h"
#include "berth/base/log.h"
#include "berth/demo/policy_demo.h"
#include "berth/plugin.h"
#include "berth/plugins/own_plugins.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/net/url.h"
#include "berth/shell/plugin_files/plugin_loader.h"

namespace berth::app {
namespace {

// kube-scheduler takes --leader_elect for --leader-elect, and -v=2 for -v 2.
std::vector<std::string> NormalizedArguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("-v=")) argument.insert(1, "-");
    if (argument.starts_with("--")) {
      const auto end = argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
      std::replace(argument.begin(), end, '_', '-');
    }
    arguments.push_back(std::move(argument));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  return arguments;
}

std::string Quoted(std::string_view text) { return '"' + std::string(text.substr(0, 100)) + '"'; }

std::string CheckAddress(const std::string& text) {
  const auto address = net::SplitHostPort(text);
  return address.ok() ? "" : address.error().message;
}

// CLI11's own check would tell the largest double, and takes NaN.
std::string CheckRate(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_rate = error == std::errc() && end == text.data() + text.size() && std::isfinite(rate) && rate >= 0;
  return is_rate ? "" : Quoted(text) + " should be a number of requests a second, 0 or more";
}

// CLI11 takes -1 for the largest number.
std::string CheckSeed(const std::string& text) {
  return text.starts_with('-') ? Quoted(text) + " should be a number from 0 to 18446744073709551615" : "";
}

std::string Joined(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) joined += (joined.empty() ? "" : ", ") + std::string(word);
  return joined;
}

// "; the nearest is X", if one is near enough to be a slip of the hand.
std::string Nearest(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = NearestName(word, known);
  if (nearest.empty() || EditDistance(word, nearest) > std::max<std::size_t>(1, word.size() / 4)) return "";
  return "; the nearest is " + std::string(nearest);
}

// What of the command line nobody knows, as it stands there; a flag without its value.
struct Leftovers {
  std::vector<std::string> flags;
  std::vector<std::string> words;
};

Leftovers LeftoversOf(const CLI::App& app) {
  Leftovers leftovers;
  for (std::string& argument : app.remaining(true)) {
    const bool is_flag = argument.size() > 1 && argument.front() == '-';
    if (is_flag) argument.resize(std::min(argument.find('='), argument.size()));
    (is_flag ? leftovers.flags : leftovers.words).push_back(std::move(argument));
  }
  return leftovers;
}

std::string UnknownFlags(const std::vector<std::string>& flags, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  std::vector<std::string_view> upstream;
  std::vector<std::string_view> unknown;
  for (const std::string& flag : flags)
    (command.get_name() == "run" && IsKubeSchedulerFlag(flag) ? upstream : unknown).push_back(flag);
  const bool is_one = (unknown.empty() ? upstream : unknown).size() == 1;
  if (unknown.empty()) {
    return Joined(upstream) + (is_one ? ": a flag" : ": flags") +
           " of kube-scheduler that berth does not have: leave " + (is_one ? "it" : "them") + " out";
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return (is_one ? "unknown flag " : "unknown flags ") + Joined(unknown) + Nearest(unknown.front(), known);
}

std::string WrongSubcommand(const std::vector<std::string>& words, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* known : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string of = command.get_parent() == nullptr ? "" : command.get_name() + ": ";
  if (words.empty()) return of + "a subcommand is missing: one of " + Joined(known);
  return of + "there is no subcommand " + Quoted(words.front()) + Nearest(words.front(), known) + "; one of " +
         Joined(known);
}

// What is wrong with the command line, and what would be right.
std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  const Leftovers leftovers = LeftoversOf(app);
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if ((is_required || is_extra) && !leftovers.flags.empty()) return UnknownFlags(leftovers.flags, *command);
  if (is_required && command->get_require_subcommand_min() > 0) return WrongSubcommand(leftovers.words, *command);
  if (is_extra && !leftovers.words.empty()) return "unexpected argument " + Quoted(leftovers.words.front());
  std::string text = error.what();
  constexpr std::string_view kConversion = "Could not convert: ";  // --nodes = three
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(kConversion) && equals != std::string::npos) {
    return text.substr(kConversion.size(), equals - kConversion.size()) + ": " + Quoted(text.substr(equals + 3)) +
           " is no number, or too large";
  }
  return text;
}

void AddConnection(CLI::App& command, ConnectionOptions& options) {
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file; without it and --master: the pod's service account")
      ->envname("KUBECONFIG");
  command.add_option("--context", options.context, "context of the kubeconfig; default: its current-context");
  command.add_option("--master", options.master, "URL of the API server, for example http://127.0.0.1:8001");
  command.add_option("--kube-api-qps", options.qps, "requests a second; default: no limit")->check(CheckRate, "");
  command.add_option("--kube-api-burst", options.burst, "requests at once when --kube-api-qps is set")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
}

void AddVerbosity(CLI::App& command, int& verbosity, const std::string& what = "for debugging") {
  command.add_option("-v,--v", verbosity, "log verbosity: 0, or 4 and above " + what);
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
    BERTH_ASSIGN_OR_RETURN(std::vector<plugins::OwnPlugin> loaded, plugin_files::LoadPlugins(*directory));
    std::move(loaded.begin(), loaded.end(), std::back_inserter(own));
  }
  return plugins::AllPlugins(own);
}

int Main(int argc, char** argv, std::vector<PluginRegistration> plugins_of_program) {
  CLI::App app{"berth: a drop-in Kubernetes scheduler", "berth"};
  app.set_version_flag("--version", std::string("berth " BERTH_VERSION));
  app.require_subcommand(1);
  int verbosity = 0;
  AddVerbosity(app, verbosity);

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
  run_command->add_option("--seed", run.seed, "seed of all chance; default: a random one, which is logged")
      ->check(CheckSeed, "");
  run_command
      ->add_option("--metrics-bind-address", run.metrics_bind_address,
                   "address and port of GET /metrics, over plain HTTP: what plugins and extenders count; default: not "
                   "served")
      ->check(CheckAddress, "");
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
                   "for their victims to go, and seconds that the first lists of objects may take")
      ->check(CLI::Range(1, 86'400))
      ->needs(once)
      ->capture_default_str();
  run_command->add_option("--leader-elect", leader_elect, "false, or unset: not in this version")
      ->expected(0, 1)
      ->default_str("");
  run_command->add_option("--secure-port", secure_port, "0, or unset: not in this version");
  AddVerbosity(*run_command, verbosity, "for a line on each decision, with its reasons");
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
    if (run_command->count("--scheduler-name") > 0 && run.scheduler_name.empty()) {
      throw CLI::ValidationError("--scheduler-name", "should be a name, for example berth");
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

  AddVerbosity(*server_command, verbosity);

  KubeletsOptions kubelets;
  CLI::App* kubelets_command = app.add_subcommand("kubelets", "simulated nodes and kubelets for any cluster");
  AddConnection(*kubelets_command, kubelets.connection);
  kubelets_command->add_option("--nodes", kubelets.nodes, "how many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();

  AddVerbosity(*kubelets_command, verbosity);

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
  demo_command->add_option("--seed", demo.seed, "seed of all chance")->check(CheckSeed, "")->capture_default_str();
  CLI::Option* const demo_config = demo_command->add_option(
      "--config", demo.config, "KubeSchedulerConfiguration file whose first profile schedules the pods");
  AddPluginDirectory(*demo_command, plugin_directory);
  demo_command
      ->add_option("--policy", demo.policy,
                   "show a policy on a cluster where its effect is plain to see: " + demo::PolicyDemoNames())
      ->check(demo::CheckPolicyDemo, "")
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
    std::fprintf(stderr, "berth: %s (berth --help lists commands and flags)\n",
                 cli::Printable(Explain(app, error)).c_str());
    return cli::kExitUsage;
  }
  if (verbosity >= 4) log::SetLevel(log::Level::kDebug);
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), plugin_directory);
  if (!known_plugins.ok()) return cli::FailWith(known_plugins.error(), cli::kExitUsage);
  if (plugin_command->parsed()) return RunPlugin(plugin, *known_plugins);  // which Ctrl-C may end at once
  cli::BlockSignals();
  if (run_command->parsed()) return RunOnCluster(run, *known_plugins);
  if (server_command->parsed()) return RunApiServer(server);
  if (kubelets_command->parsed()) return RunKubelets(kubelets);
  if (price_command->parsed()) return RunPrice(price);
  return RunDemo(demo, *known_plugins);
}

}  // namespace
}  // namespace berth::app

int berth::RunScheduler(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  return app::Main(argc, argv, std::move(plugins));
}
