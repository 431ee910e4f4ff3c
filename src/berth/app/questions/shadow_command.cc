// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/shadow_command.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "berth/answers/shadow_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/connection.h"
#include "berth/app/kubernetes_release.h"
#include "berth/app/metrics_server.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/shadow_shell.h"
#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/base/tick_clock.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/page/page_files.h"
#include "berth/page/report_file.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/progress_line.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/shell/runner/informer_liveness.h"

namespace berth::app {
namespace {

struct ShadowCommandOptions {
  ConnectionOptions connection;
  std::string config;          // KubeSchedulerConfiguration's file; empty: the defaults
  std::string scheduler_name;  // empty: every profile
  QuestionOutput output = QuestionOutput::kTable;
  std::string page;                   // empty: none
  std::optional<Duration> duration;   // nullopt: until a signal comes
  std::optional<std::uint64_t> pods;  // decisions after which it ends; nullopt: it does not
  std::string metrics_bind_address;   // empty: none are served
};

std::string CheckDuration(const std::string& text) {
  const auto duration = ParseGoDuration(text);
  return duration && *duration > Duration{0} ? "" : Quoted(text) + " should be a duration, for example 90s or 24h";
}

// For decisions that have been seen when the end comes.
constexpr auto kGrace = std::chrono::seconds(10);
constexpr auto kProgressEvery = std::chrono::seconds(1);

// CPU time of the calling thread.
class ThreadCpuClock final : public Clock {
 public:
  Time Now() const override {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return Time(std::chrono::duration_cast<Duration>(std::chrono::seconds(used.tv_sec) +
                                                     std::chrono::nanoseconds(used.tv_nsec)));
  }
};

// One `berth shadow`. Its members are in the order in which they come up.
class ShadowRun {
 public:
  ShadowRun(const ShadowCommandOptions& options, config::KnownPlugins plugins)
      : options_(options), plugins_(plugins), stopwatch_(clock_), seed_(RandomSeed()) {}

  int Go() {
    if (const auto prepared = Prepare(); !prepared.ok())
      return cli::FailWith(prepared.error(), StatusOf(prepared.error()));
    auto served = ServeMetrics(metrics_io_, options_.metrics_bind_address, metrics_);
    if (!served.ok()) return cli::FailWith(served.error());
    metrics_server_ = *std::move(served);
    log::Info("app", "Watching", {{"server", connection_->server()}, {"schedulers", SchedulerNames()}});
    shell_->Start();
    connection_->rest().loop().Post([this] { ShowProgress(); });
    if (options_.duration) connection_->rest().loop().PostAfter(*options_.duration, cli::EndWait);
    cli::WaitForSignal([this] { PrintSoFar(); });
    const bool has_synced = shell_->HasSynced();
    const auto not_synced = runner::NotSynced(shell_->Sources());
    shell_->Stop(kGrace);
    connection_->Stop();
    progress_.Clear();
    if (!has_synced) {
      return cli::FailWith({ErrorCode::kCancelled, "ended before all that scheduling reads had been listed: " +
                                                       not_synced.value_or("the last lists have just come")});
    }
    return PrintReport();
  }

 private:
  Expected<void> LoadFor(std::string_view server_version);
  Expected<void> Prepare();
  static cli::ExitCode StatusOf(const Error& error) {
    return error.code == ErrorCode::kCancelled ? cli::kExitFailed : cli::kExitUsage;
  }
  Expected<void> CheckPage() const;

  std::string SchedulerNames() const {
    std::string names;
    for (const config::Profile& profile : configuration_.configuration.profiles) {
      if (options_.scheduler_name.empty() || profile.scheduler_name == options_.scheduler_name)
        names += (names.empty() ? "" : " ") + profile.scheduler_name;
    }
    return names;
  }

  // On the loop's thread.
  void ShowProgress() {
    progress_.Show("berth: " + std::to_string(shell_->decision_count()) + " decisions compared; Ctrl-C for the report");
    connection_->rest().loop().PostAfter(kProgressEvery, [this] { ShowProgress(); });
  }

  shadow::ShadowReport Report() {
    shadow::ShadowReport report = shell_->Report();
    report.source = connection_->server();
    report.configuration = options_.config;
    report.unknown = configuration_.unknown;
    return report;
  }

  // `report` must outlive it.
  static Answer AnswerOf(const shadow::ShadowReport& report) {
    return {[&report](bool is_wide, const cli::Table::Style& style) {
              return answers::ShadowLines(report, is_wide, style);
            },
            [&report] { return answers::ShadowJson(report); }};
  }

  void PrintSoFar() {
    const shadow::ShadowReport report = Report();
    cli::FileTerminal terminal(STDERR_FILENO);
    PrintAnswer(terminal, QuestionOutput::kTable, AnswerOf(report));
  }

  // The exit status.
  int PrintReport() {
    const shadow::ShadowReport report = Report();
    cli::FileTerminal terminal(STDOUT_FILENO);
    PrintAnswer(terminal, options_.output, AnswerOf(report));
    if (!options_.page.empty()) {
      const auto page = page::ReportFile(page::PageFiles(), answers::ShadowJson(report));
      if (!page.ok()) return cli::FailWith(page.error().Wrap("--page"));
      std::ofstream file(options_.page, std::ios::binary | std::ios::trunc);
      file << *page;
      file.close();
      if (!file) return cli::FailWith(InvalidError("--page " + options_.page + ": cannot be written"));
    }
    return report.Unexplained() == 0 ? cli::kExitOk : cli::kExitNo;
  }

  const ShadowCommandOptions& options_;
  const config::KnownPlugins plugins_;
  const SystemClock clock_;
  const TickClock stopwatch_;
  const ThreadCpuClock cpu_clock_;
  const std::uint64_t seed_;
  QuestionConfiguration configuration_;
  metrics::PrometheusMetrics metrics_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ShadowShell> shell_;
  net::IoContext metrics_io_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  cli::ProgressLine progress_;  // the loop's thread, and after its end the main one
};

// Of a server that has not been asked yet, the version is empty.
Expected<void> ShadowRun::LoadFor(std::string_view server_version) {
  BERTH_ASSIGN_OR_RETURN(configuration_,
                         LoadQuestionConfiguration("--config", options_.config, plugins_, server_version));
  auto& profiles = configuration_.configuration.profiles;
  if (options_.config.empty() && !options_.scheduler_name.empty())
    profiles.front().scheduler_name = options_.scheduler_name;
  if (SchedulerNames().empty()) {
    std::string names;
    for (const config::Profile& profile : profiles) names += (names.empty() ? "" : ", ") + profile.scheduler_name;
    return InvalidError("--scheduler-name " + options_.scheduler_name + ": --config " + options_.config +
                        " has no such profile; it has " + names);
  }
  return {};
}

Expected<void> ShadowRun::Prepare() {
  BERTH_RETURN_IF_ERROR(LoadFor(""));
  for (const std::string& line : configuration_.unknown)
    std::fprintf(stderr, "berth: warning: %s\n", cli::Printable(line).c_str());
  BERTH_RETURN_IF_ERROR(CheckPage());
  ConnectionOptions connection = WithHomeKubeconfig(options_.connection);
  connection.metrics = &metrics_.registry();
  BERTH_ASSIGN_OR_RETURN(connection_, Connection::Make(connection, clock_, seed_));
  const auto until = options_.duration ? std::optional(clock_.Now() + *options_.duration) : std::nullopt;
  const auto is_over = [&] { return cli::HasSignal() || (until && clock_.Now() >= *until); };
  const auto version = AwaitServerVersion(connection_->rest(), is_over);
  if (version.ok()) {
    BERTH_RETURN_IF_ERROR(LoadFor(*version));
  } else if (version.error().code == ErrorCode::kCancelled) {
    return version.error();
  } else {
    log::Warning("app", DescribeReleaseWithoutVersion(version.error(), configuration_.configuration.release.minor));
  }

  shadow::ShadowOptions shadow;
  shadow.configuration = configuration_.configuration;
  shadow.configuration.extenders.clear();
  shadow.plugins = plugins_;
  shadow.read_file = plugin_files::PluginFiles(options_.config);
  shadow.scheduler_name = options_.scheduler_name;
  shadow.seed = seed_;
  shadow.stopwatch = &stopwatch_;
  shadow.cpu_clock = &cpu_clock_;
  shadow.metrics = &metrics_;
  auto made = shadow::Shadow::Make(std::move(shadow));
  if (!made.ok()) return options_.config.empty() ? made.error() : made.error().Wrap("--config " + options_.config);

  metrics::AddProcessMetrics(metrics_.registry());
  ShadowShell::Options shell;
  shell.seed = seed_;
  shell.decisions_max = options_.pods.value_or(0);
  shell.on_looking = [] { log::Info("app", "Everything has been listed; decisions are compared from now on"); };
  shell.on_done = cli::EndWait;
  shell.make_client = [this](net::HttpClientOptions to) { return MakeOutsideClient(connection_->io(), std::move(to)); };
  shell.metrics = &metrics_;
  shell.release_minor = configuration_.configuration.release.minor;
  BERTH_ASSIGN_OR_RETURN(shell_, ShadowShell::Make(std::move(*made), connection_->rest(), clock_, std::move(shell)));
  return {};
}

// That it cannot be written is said before the hours of watching, not after them.
Expected<void> ShadowRun::CheckPage() const {
  if (options_.page.empty()) return {};
  if (const auto page = page::ReportFile(page::PageFiles(), {}); !page.ok()) return page.error().Wrap("--page");
  const std::ofstream file(options_.page, std::ios::binary | std::ios::app);
  if (!file) return InvalidError("--page " + options_.page + ": cannot be written");
  return {};
}

int RunShadow(const ShadowCommandOptions& options, config::KnownPlugins plugins) {
  ShareMemory();
  RaiseFileLimit();
  return ShadowRun(options, plugins).Go();
}

}  // namespace

void AddShadowCommand(Commands& commands) {
  const auto options = std::make_shared<ShadowCommandOptions>();
  cli::Command& shadow =
      commands.Add("shadow", "decides what the cluster's scheduler decides, and reports how far they agree",
                   {[options](config::KnownPlugins known) { return RunShadow(*options, known); }});
  AddQuestionConnection(shadow, options->connection);
  shadow
      .Option("config", options->config,
              "file with the KubeSchedulerConfiguration of the cluster's scheduler; default: kube-scheduler's "
              "defaults")
      .Type(cli::kFileHint);
  shadow.Option("scheduler-name", options->scheduler_name,
                "compare the pods of this scheduler alone; default: those of every profile of the configuration");
  AddQuestionOutput(shadow, options->output);
  shadow.Option("page", options->page, "file for the report as a page for the browser, for example shadow.html")
      .Type(cli::kFileHint);
  shadow
      .Option("duration", "end after so long, for example 24h; default: at SIGINT or SIGTERM",
              [options = options.get()](std::string_view text) {
                options->duration = ParseGoDuration(text);
                return std::string();
              })
      .Check(CheckDuration);
  shadow.Option("pods", options->pods, "end after so many decisions")
      .Range(1, std::numeric_limits<std::uint64_t>::max() / 2);
  AddMetricsAddress(shadow, options->metrics_bind_address, "/metrics");
  AddPluginDirectory(shadow, commands.plugin_directory());
  AddVerbosity(shadow, commands.verbosity());
  shadow.SetFooter(
      "Runs beside the cluster's scheduler, binds nothing and writes nothing. The report comes when it ends: by "
      "SIGINT,\n"
      "SIGTERM, --duration or --pods; SIGUSR2 writes the report so far to standard error.\n"
      "Exit status: 0 every decision agrees or the order of decisions explains it, 1 the cluster could not be read,\n"
      "2 wrong usage, 3 some decision differs.");
}

}  // namespace berth::app
