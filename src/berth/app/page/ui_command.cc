// SPDX-License-Identifier: Apache-2.0
#include "berth/app/page/ui_command.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/page/own_page.h"
#include "berth/app/page/recorded_cluster.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_release.h"
#include "berth/core/config/known_plugins.h"
#include "berth/page/decision_feed.h"
#include "berth/page/page_server.h"
#include "berth/page/page_service.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/whatif/cluster_reader.h"

namespace berth::app {
namespace {

constexpr std::size_t kShadowReportBytesMax = std::size_t{64} << 20;

struct UiOptions {
  QuestionOptions question;
  std::string recording;      // in place of a cluster; empty: none
  std::string shadow_report;  // empty: none
  std::string listen = "127.0.0.1:0";
};

// One `berth ui`. What comes later uses what is there.
class UiCommand {
 public:
  UiCommand(const UiOptions& options, config::KnownPlugins plugins) : options_(options), plugins_(plugins) {}

  int Go() {
    if (!options_.recording.empty()) return ShowRecording();
    const QuestionOptions& question = options_.question;
    // What is wrong with the flags is said before a large cluster is read.
    if (const auto loaded = LoadFor({}); !loaded.ok()) return cli::FailWith(loaded.error(), cli::kExitUsage);
    if (question.snapshot.empty()) {
      auto connection = Connection::Make(WithHomeKubeconfig(question.connection), clock_, RandomSeed());
      if (!connection.ok()) return cli::FailWith(connection.error());
      connection_ = *std::move(connection);
    }
    auto state = Read([] { return cli::HasSignal(); });
    if (!state.ok()) return cli::FailWith(state.error());
    const auto loaded = LoadFor(state->kubernetes_version);
    if (!loaded.ok()) return cli::FailWith(loaded.error(), cli::kExitUsage);
    for (const std::string& line : loaded->unknown) Warn(line);
    WarnOfOtherRules(question.release, state->kubernetes_version, loaded->configuration.release.minor);
    MakeService(*std::move(state));
    return Serve();
  }

 private:
  int ShowRecording() {
    auto recorded = RecordedCluster::Open(options_.recording, plugins_, feed_);
    if (!recorded.ok()) return cli::FailWith(recorded.error());
    recorded_ = *std::move(recorded);
    if (const std::string problem = recorded_->State().problem; !problem.empty()) Warn(problem);
    page::PageOptions page;
    page.version = client::DefaultUserAgent();
    page.kubernetes = recorded_->kubernetes();
    page.source = recorded_->path();
    page.mode = "recording";
    page.epoch = static_cast<std::uint32_t>(RandomSeed() >> 33);
    page.timeline = page::Timeline{
        [this] { return recorded_->State(); },
        [this](Time at, page::Fleet& fleet) { return recorded_->SeekTo(at, fleet); },
    };
    service_ = std::make_unique<page::PageService>(std::move(page), recorded_->Source(), recorded_->Core(), nullptr,
                                                   &feed_, clock_);
    return Serve();
  }

  int Serve() {
    auto server = ServePage(*service_, options_.listen);
    if (!server.ok()) return End(cli::FailWith(server.error(), cli::kExitUsage));
    service_->Start();
    std::printf("%s\nPress Ctrl-C to end.\n", PageLine(**server).c_str());
    std::fflush(stdout);
    (void)cli::WaitForSignal();
    server->reset();
    return End(cli::kExitOk);
  }

  Expected<QuestionConfiguration> LoadFor(std::string_view server_version) const {
    return LoadQuestionConfiguration("--config", options_.question.config, plugins_, server_version,
                                     options_.question.release);
  }

  Expected<whatif::ClusterState> Read(const std::function<bool()>& is_interrupted,
                                      bool with_pod_details = false) const {
    if (connection_ == nullptr) {
      QuestionOptions question = options_.question;
      question.reads_pod_details = with_pod_details;
      return ReadClusterFor(question);
    }
    whatif::ClusterReadOptions how;
    how.source = connection_->server();
    how.keeps_pod_details = with_pod_details;
    how.reads_pod_groups = MayHavePodGroups(options_.question.release);
    how.reads_composite_pod_groups = MayHaveCompositePodGroups(options_.question.release);
    how.is_interrupted = is_interrupted;
    auto state = whatif::ReadCluster(connection_->rest(), clock_, how);
    if (!state.ok()) return state.error().Wrap("reading " + connection_->server());
    return state;
  }

  void MakeService(whatif::ClusterState state) {
    page::PageOptions page;
    page.version = client::DefaultUserAgent();
    page.kubernetes = state.kubernetes_version;
    page.source = state.source;
    page.left_out = state.left_out;
    page.epoch = static_cast<std::uint32_t>(RandomSeed() >> 33);
    page.seed = RandomSeed();
    if (!options_.shadow_report.empty())
      page.shadow_report = [path = options_.shadow_report] {
        return client::ReadSmallFile(path, kShadowReportBytesMax);
      };
    page::ClusterSource source;
    source.read = [this](const std::function<bool()>& is_interrupted) { return Read(is_interrupted); };
    if (connection_ == nullptr) {
      page.mode = "snapshot";
      page.as_of = state.read_at;
      source.fixed = std::make_shared<const whatif::ClusterState>(std::move(state));
    }
    source.core_for = CoreForQuestions(options_.question, plugins_);
    source.read_detailed = [this](const std::function<bool()>& is_interrupted) { return Read(is_interrupted, true); };
    client::RestClient* const rest = connection_ == nullptr ? nullptr : &connection_->rest();
    service_ = std::make_unique<page::PageService>(std::move(page), std::move(source), page::CoreSources{}, rest,
                                                   nullptr, clock_);
  }

  int End(int status) {
    service_->Stop();
    if (connection_ != nullptr) connection_->Stop();
    return status;
  }

  const SystemClock clock_;
  const UiOptions& options_;
  const config::KnownPlugins plugins_;
  std::unique_ptr<Connection> connection_;     // null: there is no cluster
  page::DecisionFeed feed_;                    // of a recording
  std::unique_ptr<RecordedCluster> recorded_;  // null: it is none
  std::unique_ptr<page::PageService> service_;
};

}  // namespace

void AddUiCommand(Commands& commands) {
  const auto options = std::make_shared<UiOptions>();
  cli::Command& command =
      commands.Add("ui", "a page in the browser: what waits and why, and where everything is",
                   {[options](config::KnownPlugins known) { return UiCommand(*options, known).Go(); }});
  AddQuestionConnection(command, options->question.connection);
  cli::Flag& snapshot = command
                            .Option("snapshot", options->question.snapshot,
                                    "file that the command snapshot has written, in place of a cluster")
                            .Type(cli::kFileHint);
  cli::Flag& config =
      command
          .Option("config", options->question.config,
                  "file with the KubeSchedulerConfiguration to decide by; default: kube-scheduler's defaults")
          .Type(cli::kFileHint);
  cli::Flag& recording =
      command
          .Option("recording", options->recording,
                  "directory or file that `berth run --record` has written, in place of a cluster: any moment of it")
          .Type(cli::kFileHint)
          .Excludes(snapshot)
          .Excludes(config);
  for (const char* const other : {"context", "master"}) {
    snapshot.Excludes(command.At(other));
    recording.Excludes(command.At(other));
  }
  AddQuestionRelease(command, options->question.release);
  AddPluginDirectory(command, commands.plugin_directory());
  command
      .Option("shadow-report", options->shadow_report,
              "file that `berth shadow -o json` has written, to be looked at in the page")
      .Type(cli::kFileHint)
      .Excludes(recording);
  command.Option("listen", options->listen, "address of loopback; port 0 is a free one")
      .Check([](const std::string& text) { return page::NotLoopback(text); })
      .ShowDefault();
  AddVerbosity(command, commands.verbosity());
  command.SetFooter(
      "Reads with your own rights and writes nothing. The printed link works once, in one browser.\n"
      "Ends with 0 after Ctrl-C, with 1 when the cluster could not be read, with 2 when the flags are wrong.");
}

}  // namespace berth::app
