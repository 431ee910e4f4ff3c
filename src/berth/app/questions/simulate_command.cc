// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/simulate_command.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/answers/simulation_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/manifest_files.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/simulate_question.h"
#include "berth/base/log.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_group_warnings.h"
#include "berth/whatif/simulation.h"

namespace berth::app {
namespace {

// Something of what was asked about stays pending.
inline constexpr int kExitPending = 3;

struct SimulateOptions {
  QuestionOptions question;
  std::vector<std::string> files;         // "-": standard input; a directory: the manifests in it
  std::vector<std::string> remove_nodes;  // by name
  std::size_t add_nodes = 0;              // so many more, like `node_like`
  std::string node_like;
  std::string compare;  // another configuration's file; empty: none
};

// Where output is no terminal.
constexpr std::size_t kWidth = 100;
// Ties are broken by it: the same question has the same answer.
constexpr std::uint64_t kSeed = 1;

class SimulateCommand {
 public:
  SimulateCommand(const SimulateOptions& options, config::KnownPlugins plugins)
      : options_(options), plugins_(plugins) {}

  int Go() {
    // What is wrong with the question is said before any cluster is read.
    const bool has_configuration = !options_.question.config.empty() || !options_.compare.empty();
    if (IsAboutWaiting() && !has_configuration)
      return cli::FailWith(
          InvalidError("nothing to simulate: want -f FILE, --remove-node NAME, --add-nodes N or --config FILE"),
          cli::kExitUsage);
    if (!options_.question.server.url.empty()) return AskServer();
    if (const auto read = ReadQuestion(); !read.ok()) return cli::FailWith(read.error(), cli::kExitUsage);
    const auto state = ReadClusterFor(options_.question);
    if (!state.ok()) return cli::FailWith(state.error());
    if (const auto followed = ReadConfigurations(state->kubernetes_version); !followed.ok())
      return cli::FailWith(followed.error(), cli::kExitUsage);
    PrintPodGroupWarnings();
    const Time begin = clock_.Now();
    whatif::AdditionOptions adding;
    adding.now = state->read_at;
    adding.removed_nodes = {options_.remove_nodes.begin(), options_.remove_nodes.end()};
    adding.node_copies = options_.add_nodes;
    adding.node_like = options_.node_like;
    const auto additions = whatif::MakeAdditions(manifests_, *state, adding);
    if (!additions.ok()) return cli::FailWith(additions.error(), cli::kExitUsage);
    if (options_.question.config.empty())
      WarnOfDefaults(AddProfilesOf({additions->Models(), state->pods}, configuration_.configuration));
    const auto first = Simulate(*state, *additions, configuration_, options_.question.config);
    if (!first.ok()) return cli::FailWith(first.error(), cli::kExitUsage);
    if (!compared_) {
      LogTime(begin, *first);
      Print(*first);
      return LeftOf(*first) == 0 ? cli::kExitOk : kExitPending;
    }
    const auto second = Simulate(*state, *additions, *compared_, options_.compare);
    if (!second.ok()) return cli::FailWith(second.error(), cli::kExitUsage);
    Print(*first, *second);
    return LeftOf(*first) + LeftOf(*second) == 0 ? cli::kExitOk : kExitPending;
  }

 private:
  // By another configuration the pods that wait are a question of their own.
  bool IsAboutWaiting() const {
    return options_.files.empty() && options_.remove_nodes.empty() && options_.add_nodes == 0;
  }
  // Pods asked about that get no node.
  std::size_t LeftOf(const whatif::Simulation& simulation) const {
    return IsAboutWaiting() ? simulation.WaitingCount() : simulation.PendingCount();
  }

  int AskServer() const {
    const auto namespace_name = NamespaceOf(options_.question);
    if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
    const auto files = ReadManifestFiles(options_.files);
    if (!files.ok()) return cli::FailWith(files.error(), cli::kExitUsage);
    ask::SimulateQuestion question;
    question.files = *files;
    question.namespace_name = *namespace_name;
    question.add_nodes = options_.add_nodes;
    question.node_like = options_.node_like;
    question.remove_nodes = options_.remove_nodes;
    return app::AskServer(options_.question, "simulate", question.ToJson());
  }

  void LogTime(Time begin, const whatif::Simulation& simulation) const {
    const double seconds = std::chrono::duration<double>(clock_.Now() - begin).count();
    log::Debug("app", "Simulated", {{"pods", simulation.pods.size()}, {"seconds", seconds}});
  }

  Expected<void> ReadQuestion() {
    BERTH_ASSIGN_OR_RETURN(const std::string namespace_name, NamespaceOf(options_.question));
    BERTH_ASSIGN_OR_RETURN(const auto files, ReadManifestFiles(options_.files));
    BERTH_ASSIGN_OR_RETURN(manifests_, whatif::ReadManifests(files, namespace_name));
    BERTH_RETURN_IF_ERROR(ReadConfigurations({}));
    for (const std::string& line : manifests_.left_out) Warn(line);
    if (manifests_.documents.empty() && !manifests_.left_out.empty() && options_.remove_nodes.empty() &&
        options_.add_nodes == 0)
      return InvalidError("nothing to simulate: the files have no object that makes pods, nodes or volumes");
    for (const std::string& line : configuration_.unknown) Warn(line);
    if (compared_) {
      for (const std::string& line : compared_->unknown) Warn(options_.compare + ": " + line);
    }
    return {};
  }

  // Both, for the cluster's version; empty: it is not known yet.
  Expected<void> ReadConfigurations(std::string_view version) {
    const QuestionRelease& release = options_.question.release;
    BERTH_ASSIGN_OR_RETURN(configuration_,
                           LoadQuestionConfiguration("--config", options_.question.config, plugins_, version, release));
    if (options_.compare.empty()) return {};
    BERTH_ASSIGN_OR_RETURN(compared_,
                           LoadQuestionConfiguration("--compare", options_.compare, plugins_, version, release));
    return {};
  }

  void PrintPodGroupWarnings() const {
    for (const std::string& line : whatif::PodGroupWarnings(manifests_, configuration_.configuration.release))
      Warn(line);
  }

  Expected<whatif::Simulation> Simulate(const whatif::ClusterState& state, const whatif::Additions& additions,
                                        const QuestionConfiguration& by, const std::string& path) const {
    whatif::OfflineOptions options;
    options.configuration = by.configuration;
    options.plugins = plugins_;
    options.read_file = plugin_files::PluginFiles(path);
    options.now = state.read_at;
    options.seed = kSeed;
    return whatif::Simulate({state, additions, options_.remove_nodes}, std::move(options));
  }

  static std::string Shown(const std::string& path) {
    return path.empty() ? "default" : std::filesystem::path(path).filename().string();
  }

  void Print(const whatif::Simulation& simulation) const {
    cli::FileTerminal terminal(STDOUT_FILENO);
    if (IsDocument(options_.question.output))
      return PrintDocument(terminal, options_.question.output,
                           answers::SimulationJson(simulation, manifests_.left_out));
    terminal.Write(answers::SimulationText(simulation, StyleOf(terminal)));
  }

  void Print(const whatif::Simulation& first, const whatif::Simulation& second) const {
    std::string a = Shown(options_.question.config);
    std::string b = Shown(options_.compare);
    if (a == b) {
      a = options_.question.config.empty() ? a : options_.question.config;
      b = options_.compare;
    }
    const answers::Compared one{a, first};
    const answers::Compared other{b, second};
    cli::FileTerminal terminal(STDOUT_FILENO);
    if (IsDocument(options_.question.output))
      return PrintDocument(terminal, options_.question.output,
                           answers::ComparisonJson(one, other, manifests_.left_out));
    terminal.Write(answers::ComparisonText(one, other, StyleOf(terminal)));
  }

  answers::ReportStyle StyleOf(const cli::FileTerminal& terminal) const {
    const bool is_wide = options_.question.output == QuestionOutput::kWide;
    return {is_wide, terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns : is_wide ? 0 : kWidth};
  }

  const SystemClock clock_;
  const SimulateOptions& options_;
  const config::KnownPlugins plugins_;
  whatif::Manifests manifests_;
  QuestionConfiguration configuration_;
  std::optional<QuestionConfiguration> compared_;
};

int RunSimulate(const SimulateOptions& options, config::KnownPlugins plugins) {
  return SimulateCommand(options, plugins).Go();
}

}  // namespace

void AddSimulateCommand(Commands& commands) {
  const auto options = std::make_shared<SimulateOptions>();
  cli::Command& simulate =
      commands.Add("simulate", "where pods of manifests would go, on a cluster as it is or with other nodes",
                   {[options](config::KnownPlugins known) { return RunSimulate(*options, known); }});
  simulate
      .Option("filename", options->files,
              "manifests in YAML or JSON: a file, a directory, or - for standard input; repeatable")
      .ShowAsOne()
      .Letter('f')
      .Type(cli::kFileHint);
  simulate.Option("remove-node", options->remove_nodes, "a node to take away; repeatable").ShowAsOne().Type(kNodeHint);
  cli::Flag& add =
      simulate.Option("add-nodes", options->add_nodes, "so many nodes more").Range(1, whatif::kNodeCopiesMax);
  cli::Flag& like =
      simulate.Option("node-like", options->node_like, "the node of the cluster that those of --add-nodes are like")
          .Type(kNodeHint);
  add.Needs(like);
  like.Needs(add);
  AddQuestionFlags(simulate, options->question);
  AddQuestionRelease(simulate, options->question.release);
  AddQuestionServer(simulate, options->question.server);
  simulate
      .Option("compare", options->compare,
              "file with another KubeSchedulerConfiguration, whose answer is shown beside that of --config")
      .Type(cli::kFileHint)
      .Excludes(simulate.At("server"));
  AddPluginDirectory(simulate, commands.plugin_directory());
  AddVerbosity(simulate, commands.verbosity(), "to see how long it takes");
  simulate.SetFooter(
      "Nothing in the cluster is changed. Ends with 0 when every pod asked about gets a node, with 1 on a failure, "
      "with "
      "2 on bad flags, manifests or configurations, with 3 when a pod stays pending.");
}

}  // namespace berth::app
