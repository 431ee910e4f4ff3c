// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/serve_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/process_tracing.h"
#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_release.h"
#include "berth/app/questions/question_traces.h"
#include "berth/ask/ask_service.h"
#include "berth/ask/change_log.h"
#include "berth/ask/cluster_follower.h"
#include "berth/ask/desk.h"
#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/core/config/known_plugins.h"
#include "berth/page/page_server.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/net/url.h"
#include "berth/shell/serving/secure_server.h"

namespace berth::app {
namespace {

constexpr int kDefaultPort = 10260;
constexpr std::size_t kWorkersMax = 64;
constexpr std::size_t kQuestionsMax = 10'000;

struct ServeOptions {
  QuestionOptions question;
  serving::SecureServingOptions serving;
  serving::AuthenticationOptions authentication;
  serving::AuthorizationOptions authorization;
  std::vector<std::string> always_allow_paths;
  std::size_t workers = 0;          // 0: as many as processors, up to four
  std::string tracing_config_file;  // empty: no question is traced
  ask::DeskOptions desk;
};

bool IsLoopback(const std::string& address) { return page::NotLoopback(net::JoinHostPort(address, 1)).empty(); }

// One `berth serve`. What comes later uses what is there.
class ServeCommand {
 public:
  ServeCommand(const ServeOptions& options, config::KnownPlugins plugins)
      : options_(options), plugins_(plugins), core_for_(CoreForQuestions(options.question, plugins)) {}

  int Go() {
    // What is wrong with the flags is said before a large cluster is read.
    if (const auto checked = CheckConfiguration(options_.question, plugins_); !checked.ok())
      return cli::FailWith(checked.error(), cli::kExitUsage);
    if (const auto traced = MakeTraces(); !traced.ok()) return cli::FailWith(traced.error(), cli::kExitUsage);
    const bool is_live = options_.question.snapshot.empty();
    if (const auto made = is_live ? Connect() : ReadSnapshot(); !made.ok()) return cli::FailWith(made.error());
    ask::DeskOptions desk = options_.desk;
    desk.is_live = is_live;
    desk.workers = options_.workers > 0 ? options_.workers : std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    metrics::AddProcessMetrics(metrics_.registry());
    if (traces_) desk.on_answer = [this](const ask::AnsweredQuestion& question) { traces_->Note(question); };
    desk_ = std::make_unique<ask::Desk>(desk, *log_, core_for_, clock_, metrics_.registry());
    service_ = std::make_unique<ask::AskService>(
        ask::AskServiceOptions{client::DefaultUserAgent(), [this] { return Problem(); }}, *desk_);
    if (follower_ != nullptr) follower_->Start();
    auto server = StartServer();
    if (!server.ok()) return End(cli::FailWith(server.error(), cli::kExitUsage));
    log::Info(
        "app", "Serving questions",
        {{"url", "https://" + (*server)->address() + "/ask/v1"}, {"cluster", source_}, {"workers", desk.workers}});
    if (follower_ == nullptr) Open();
    Watch();
    log::Info("app", "Ending");
    is_ending_ = true;
    server->reset();
    return End(cli::kExitOk);
  }

 private:
  Expected<void> MakeTraces() {
    if (options_.tracing_config_file.empty()) return {};
    BERTH_ASSIGN_OR_RETURN(tracing_,
                           ProcessTracing::Make(options_.tracing_config_file, "berth-serve", clock_, metrics_));
    if (tracing_ != nullptr) traces_.emplace(tracing_->tracer(), tracing_->per_million(), RandomSeed());
    return {};
  }

  Expected<void> Connect() {
    ConnectionOptions connection = WithHomeKubeconfig(options_.question.connection);
    connection.metrics = &metrics_.registry();
    BERTH_ASSIGN_OR_RETURN(connection_, Connection::Make(connection, clock_, RandomSeed()));
    source_ = connection_->server();
    BERTH_ASSIGN_OR_RETURN(const std::string version,
                           AwaitServerVersion(connection_->rest(), [] { return cli::HasSignal(); }));
    ask::FollowOptions follow;
    follow.source = source_;
    follow.kubernetes_version = version;
    follow.release_minor = ReleasesOf(options_.question.release, version).front();
    if (const auto of_server = ReleaseFor(version); of_server.ok()) follow.release_minor = *of_server;
    follow.reads_pod_groups = MayHavePodGroups(options_.question.release);
    follow.reads_composite_pod_groups = MayHaveCompositePodGroups(options_.question.release);
    follow.seed = RandomSeed();
    log_ = std::make_unique<ask::ChangeLog>();
    follower_ = std::make_unique<ask::ClusterFollower>(connection_->rest(), *log_, std::move(follow));
    return {};
  }

  Expected<void> ReadSnapshot() {
    QuestionOptions question = options_.question;
    question.reads_pod_details = true;
    BERTH_ASSIGN_OR_RETURN(whatif::ClusterState state, ReadClusterFor(question));
    source_ = state.source;
    log_ = std::make_unique<ask::ChangeLog>(std::move(state));
    return {};
  }

  std::optional<std::string> Problem() const {
    if (is_ending_) return "berth is ending";
    if (is_open_) return std::nullopt;
    const auto problem = follower_ == nullptr ? std::nullopt : follower_->Problem();
    return problem.value_or("the cluster has not been read to its end yet");
  }

  // The server of a kubeconfig; without one that of the cluster that is asked about, or none.
  Expected<std::optional<client::ClientConfig>> Delegate(const std::string& kubeconfig, std::string_view flag) const {
    if (!kubeconfig.empty()) {
      auto config = ServerOf({.kubeconfig = kubeconfig}, clock_);
      if (!config.ok()) return config.error().Wrap(flag);
      return std::optional<client::ClientConfig>(*std::move(config));
    }
    if (!options_.question.snapshot.empty()) return std::optional<client::ClientConfig>();
    return QuestionServer(options_.question.connection, clock_);
  }

  Expected<std::unique_ptr<serving::SecureServer>> StartServer() {
    serving::SecureServerOptions server;
    server.serving = options_.serving;
    server.authentication = options_.authentication;
    server.authorization = options_.authorization;
    for (const std::string& path : options_.always_allow_paths) server.authorization.always_allow_paths.push_back(path);
    server.seed = RandomSeed();
    BERTH_ASSIGN_OR_RETURN(server.authentication_server,
                           Delegate(options_.authentication.kubeconfig, "--authentication-kubeconfig"));
    BERTH_ASSIGN_OR_RETURN(server.authorization_server,
                           Delegate(options_.authorization.kubeconfig, "--authorization-kubeconfig"));
    if (!server.authorization_server) {
      // Nobody can be asked who may ask.
      if (!IsLoopback(options_.serving.bind_address))
        return InvalidError(
            "--bind-address: a snapshot is served on loopback, to anybody there, unless "
            "--authorization-kubeconfig says whom to ask who may read it");
      server.authorization.always_allow_paths.emplace_back("/ask/*");
    }
    serving::ServedState state;
    state.healthz = {serving::PingCheck()};
    state.livez = {serving::PingCheck()};
    state.readyz = {{"cluster", [this] { return Problem(); }}};
    state.metrics_text = [this] { return metrics_.Text(); };
    state.ask = [this](const serving::User& user, net::Request request, const net::Target& target,
                       const std::string& path, const std::shared_ptr<net::ResponseWriter>& writer) {
      service_->Handle(user, std::move(request), target, path, writer);
    };
    state.ask_body_bytes_max = ask::AskService::kBodyBytesMax;
    state.program_version = client::DefaultUserAgent();
    state.started = clock_.WallNow();
    state.is_profiling_enabled = false;
    state.has_status_page = false;
    return serving::SecureServer::Start(std::move(server), std::move(state), clock_);
  }

  void Open() {
    is_open_ = true;
    desk_->Open();
    log::Info("app", "The cluster has been read", {{"cluster", source_}});
  }

  // Until a signal ends it.
  void Watch() {
    while (!cli::HasSignal(kLook)) {
      if (follower_ == nullptr) continue;
      follower_->TellFacts();
      if (!is_open_ && follower_->HasSynced()) Open();
    }
  }

  int End(int status) {
    if (follower_ != nullptr) follower_->Stop();
    desk_.reset();
    if (tracing_ != nullptr) tracing_->End();
    if (connection_ != nullptr) connection_->Stop();
    return status;
  }

  static constexpr auto kLook = std::chrono::milliseconds(200);

  const ServeOptions& options_;
  const config::KnownPlugins plugins_;
  const ask::CoreFor core_for_;
  const SystemClock clock_;
  metrics::PrometheusMetrics metrics_;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_ending_{false};
  std::string source_;
  std::unique_ptr<Connection> connection_;  // null: a snapshot
  std::unique_ptr<ask::ChangeLog> log_;
  std::unique_ptr<ask::ClusterFollower> follower_;  // null: a snapshot
  std::unique_ptr<ProcessTracing> tracing_;         // null: no question is traced
  std::optional<QuestionTraces> traces_;            // likewise
  std::unique_ptr<ask::Desk> desk_;
  std::unique_ptr<ask::AskService> service_;
};

int RunServe(const ServeOptions& options, config::KnownPlugins plugins) {
  RaiseFileLimit();
  return ServeCommand(options, plugins).Go();
}

void AddServing(cli::Command& serve, ServeOptions& options) {
  options.serving.port = kDefaultPort;
  serve.Option("bind-address", options.serving.bind_address, "IP address to listen on; with --snapshot 127.0.0.1")
      .ShowDefault();
  serve.Option("secure-port", options.serving.port, "port of HTTPS; 0 is a free one").Range(0, 65535).ShowDefault();
  serve
      .Option("tls-cert-file", options.serving.cert_file,
              "certificate for HTTPS; without it one is made that signs itself")
      .Type(cli::kFileHint);
  serve.Option("tls-private-key-file", options.serving.key_file, "its key").Type(cli::kFileHint);
  serve
      .Option("client-ca-file", options.authentication.client_ca_file,
              "authorities whose client certificates say who asks; default: the cluster's")
      .Type(cli::kFileHint);
  serve
      .Option("authentication-kubeconfig", options.authentication.kubeconfig,
              "kubeconfig of the API server that is asked who a token belongs to; default: the cluster's")
      .Type(cli::kFileHint);
  serve
      .Option("authorization-kubeconfig", options.authorization.kubeconfig,
              "kubeconfig of the API server that is asked who may ask; default: the cluster's")
      .Type(cli::kFileHint);
  serve.Option("authorization-always-allow-paths", options.always_allow_paths,
               "a path that everybody may ask, beside the health checks: /ask/* is all; may be repeated");
}

}  // namespace

void AddServeCommand(Commands& commands) {
  const auto options = std::make_shared<ServeOptions>();
  cli::Command& serve =
      commands.Add("serve", "the questions over HTTPS, for programs: explain, simulate, capacity, ...",
                   {[options](config::KnownPlugins known) {
                     if (!options->question.snapshot.empty() &&
                         options->serving.bind_address == serving::SecureServingOptions().bind_address)
                       options->serving.bind_address = "127.0.0.1";
                     return RunServe(*options, known);
                   }});
  AddQuestionConnection(serve, options->question.connection);
  serve
      .Option("snapshot", options->question.snapshot,
              "file that the command snapshot has written, in place of a cluster")
      .Type(cli::kFileHint)
      .Excludes(serve.At("context"))
      .Excludes(serve.At("master"));
  serve
      .Option("config", options->question.config,
              "file with the KubeSchedulerConfiguration to decide by; default: kube-scheduler's defaults")
      .Type(cli::kFileHint);
  AddQuestionRelease(serve, options->question.release);
  AddServing(serve, *options);
  serve
      .Option(
          "tracing-config-file", options->tracing_config_file,
          "file with a TracingConfiguration: questions are traced, and the spans sent to an OpenTelemetry collector "
          "(docs/traces.md)")
      .Type(cli::kFileHint);
  serve.Option("workers", options->workers, "questions that are answered at once; default: a processor each, up to 4")
      .Range(1, kWorkersMax);
  serve.Option("questions-waiting-max", options->desk.waiting_max, "beyond that questions are refused with 429")
      .Range(1, kQuestionsMax)
      .ShowDefault();
  serve.Option("questions-of-client-max", options->desk.of_client_max, "the same for the questions of one user")
      .Range(1, kQuestionsMax)
      .ShowDefault();
  AddDuration(serve, "question-timeout", options->desk.time_max, "from a question to its answer",
              {std::chrono::seconds(1), std::chrono::hours(1)});
  AddPluginDirectory(serve, commands.plugin_directory());
  AddVerbosity(serve, commands.verbosity());
  serve.SetFooter(
      "Reads the cluster and writes nothing; any number of replicas answer alike. Who may ask is what RBAC says of "
      "the\n"
      "paths /ask/v1/*. Ends with 0 after SIGINT or SIGTERM, with 1 when the cluster cannot be reached, with 2 when "
      "the\n"
      "flags are wrong.");
}

}  // namespace berth::app
