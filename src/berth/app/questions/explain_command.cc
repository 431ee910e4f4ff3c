// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/explain_command.h"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "berth/answers/explanation_json.h"
#include "berth/answers/explanation_text.h"
#include "berth/answers/group_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/questions/explain_many.h"
#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/questions.h"
#include "berth/base/expected.h"
#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/url.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/group_explanation.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pod_group_warnings.h"

namespace berth::app {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;

// What to do about it, behind what is wrong.
std::string_view HintFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::kForbidden: return "; deploy/explain-role.yaml is a role that may";
    case ErrorCode::kUnauthorized: return "; the kubeconfig's user is not known there";
    case ErrorCode::kNotFound:
      return error.message.find("there is no pod") == std::string::npos
                 ? "; is it berth? kube-scheduler has no /explain, nor has berth with --secure-port=0"
                 : "; it knows the pods on nodes and those that name it as their scheduler";
    default:
      return error.message.find("certificate") == std::string::npos
                 ? ""
                 : "; --scheduler-ca-file says what to trust, --scheduler-insecure-skip-tls-verify trusts anybody";
  }
}

Expected<whatif::Explanation> Read(const std::string& body) {
  BERTH_ASSIGN_OR_RETURN(const codec::json::value json, codec::ParseJson(body, {.bytes_max = kAnswerBytesMax}));
  return answers::ParseExplanation(json);
}

// `connection` says who asks: its kubeconfig or the pod's service account, or nobody where there is neither. Errors
// are one line each.
Expected<whatif::Explanation> AskScheduler(const ServerPort& port, const ConnectionOptions& connection,
                                           const std::string& namespace_name, const std::string& name) {
  const SystemClock clock;
  BERTH_ASSIGN_OR_RETURN(const client::ClientConfig config,
                         ConfigForPort(port, "--scheduler-ca-file", connection, clock));
  net::IoContext io;
  client::IoEventLoop loop(io, clock);
  BERTH_ASSIGN_OR_RETURN(const auto transport, client::MakeTransport(io, config, 1));
  client::RestClientOptions options;
  options.headers = config.headers;
  client::RestClient rest(loop, *transport, config.credentials, RandomSeed(), options);
  net::Request request;
  request.target = "/explain/pods/" + net::PercentEncode(namespace_name) + "/" + net::PercentEncode(name);
  const auto response = rest.DoSync(std::move(request), {.body_bytes_max = kAnswerBytesMax});
  io.Stop();
  if (!response.ok()) {
    Error error = response.error().Wrap("asking " + config.server);
    error.message += HintFor(response.error());
    return error;
  }
  auto said = Read(response->body);
  if (!said.ok()) return Error{ErrorCode::kInternal, said.error().Wrap("the answer of " + config.server).message};
  return said;
}

std::string CheckSchedulerUrl(const std::string& text) {
  const auto url = net::ParseUrl(text);
  const bool is_port = url.ok() && url->scheme == "https" && url->path.empty();
  return is_port ? "" : Quoted(text) + " should be https://HOST:PORT, the address of berth's secure port";
}

void Print(const whatif::Explanation& said, const ExplainOptions& options) {
  cli::FileTerminal terminal(STDOUT_FILENO);
  if (IsDocument(options.question.output))
    return PrintDocument(terminal, options.question.output, answers::ExplanationJson(said));
  for (const std::string& line : ExplanationText(said, options)) terminal.Write(line + "\n");
}

}  // namespace

int ExitOf(whatif::PodState state) {
  switch (state) {
    case whatif::PodState::kPlaced:
    case whatif::PodState::kFits:
    case whatif::PodState::kEnded: return cli::kExitOk;
    case whatif::PodState::kFailed: return cli::kExitFailed;
    case whatif::PodState::kRefused:
    case whatif::PodState::kGated:
    case whatif::PodState::kWaits:
    case whatif::PodState::kDeleted: break;
  }
  return kExitRefused;
}

std::vector<std::string> ExplanationText(const whatif::Explanation& said, const ExplainOptions& options) {
  const cli::FileTerminal terminal(STDOUT_FILENO);
  answers::ExplanationStyle style;
  style.is_wide = options.question.output == QuestionOutput::kWide;
  style.with_nodes = options.with_nodes;
  style.table = {terminal.HasColor(), style.is_wide || !terminal.IsTty() ? 0 : terminal.Size().columns - 2};
  return answers::ExplanationLines(said, style);
}

Expected<whatif::Explanation> ExplainLoaded(const ExplainOptions& options, QuestionCluster& loaded,
                                            const std::string& namespace_name, const std::string& name) {
  auto said = whatif::ExplainPod(*loaded.cluster, loaded.state, namespace_name, name);
  if (said.ok() || said.error().code != ErrorCode::kNotFound || !loaded.state.pod_details.empty()) return said;
  // Most questions are about pods that wait. Those that have ended may be many, and are read once for all names.
  if (!loaded.with_ended) {
    QuestionOptions with_ended = options.question;
    with_ended.reads_pod_details = true;
    auto state = ReadClusterFor(with_ended);
    loaded.with_ended.emplace(state.ok() ? *std::move(state) : whatif::ClusterState());
  }
  auto ended = whatif::ExplainPod(*loaded.cluster, *loaded.with_ended, namespace_name, name);
  return ended.ok() ? std::move(ended) : std::move(said);
}

namespace {

Error NoPodGroups(int release_minor) {
  return InvalidError("pods are scheduled one by one here: pod groups need " + whatif::PodGroupFlags(release_minor) +
                      ", or the plugin PodGroupAnnotations in --config");
}

int RunExplainGroup(const ExplainGroupOptions& options, config::KnownPlugins plugins) {
  const QuestionOptions& question = options.question;
  std::string name = options.group;
  const auto namespace_name = NamespaceIn(question, name);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  // What is wrong with the question is said before any cluster is read.
  const auto checked = LoadQuestionConfiguration("--config", question.config, plugins, {}, question.release);
  if (!checked.ok()) return cli::FailWith(checked.error(), cli::kExitUsage);
  if (!MayHavePodGroups(question.release)) {
    // A plugin may name groups where the API has none.
    const auto core = whatif::OfflineCluster::Make({.configuration = checked->configuration,
                                                    .plugins = plugins,
                                                    .read_file = plugin_files::PluginFiles(question.config)});
    if (!core.ok()) return cli::FailWith(core.error(), cli::kExitUsage);
    const int minor = question.release.version.minor.value_or(checked->configuration.release.minor);
    if ((*core)->pod_groups() == nullptr) return cli::FailWith(NoPodGroups(minor), cli::kExitUsage);
  }
  const auto state = ReadClusterFor(question);
  if (!state.ok()) return cli::FailWith(state.error());
  auto core = OfflineOptionsFor(question.config, plugins, state->kubernetes_version, question.release);
  if (!core.ok()) return cli::FailWith(core.error(), cli::kExitUsage);
  WarnOfOtherRules(question.release, state->kubernetes_version, core->configuration.release.minor);
  core->now = state->read_at;
  const auto said = whatif::ExplainPodGroup(*state, *core, *namespace_name, name);
  if (!said.ok()) return cli::FailWith(said.error());
  PrintAnswer(question.output, *state,
              {[&](bool is_wide, const cli::Table::Style& style) { return answers::GroupLines(*said, is_wide, style); },
               [&] { return answers::GroupJson(*said); }});
  const bool is_placed = said->state == whatif::GroupState::kPlaced || said->state == whatif::GroupState::kFits;
  return is_placed ? cli::kExitOk : kExitRefused;
}

int RunExplain(const ExplainOptions& options, config::KnownPlugins plugins) {
  if (options.is_watched && (!options.of_group.group.empty() || !options.pod.empty())) {
    return cli::FailWith(InvalidError("berth explain: --watch is for pod/NAME, other KIND/NAME, -l and --pending"),
                         cli::kExitUsage);
  }
  if (!options.of_group.group.empty()) return RunExplainGroup(options.of_group, plugins);
  if (!options.question.server.url.empty() && options.pod.empty()) {
    if (!options.of_pending || options.is_watched)
      return cli::FailWith(InvalidError("berth explain: --server answers for pod/NAME and for --pending, once"),
                           cli::kExitUsage);
    return AskServer(options.question, "explain",
                     ask::ExplainQuestion{options.question.namespace_name, "", true, options.with_nodes}.ToJson());
  }
  if (options.pod.empty()) return RunExplainMany(options, plugins);
  std::string name = options.pod;
  const auto meant = NamespaceIn(options.question, name);
  if (!meant.ok()) return cli::FailWith(meant.error(), cli::kExitUsage);
  const std::string& namespace_name = *meant;
  if (!options.question.server.url.empty())
    return AskServer(options.question, "explain",
                     ask::ExplainQuestion{namespace_name, name, false, options.with_nodes}.ToJson());
  QuestionCluster loaded;
  Expected<whatif::Explanation> said = whatif::Explanation();
  if (!options.scheduler.url.empty()) {
    said = AskScheduler(options.scheduler, options.question.connection, namespace_name, name);
  } else {
    if (const auto status = LoadOrFail(options.question, plugins, OtherSchedulers::kHaveNoProfile, loaded))
      return *status;
    said = ExplainLoaded(options, loaded, namespace_name, name);
  }
  if (!said.ok())
    return cli::FailWith(said.error(), said.error().code == ErrorCode::kInvalid ? cli::kExitUsage : cli::kExitFailed);
  Print(*said, options);
  return ExitOf(said->state);
}

// Of several pods at once.
void AddManyFlags(cli::Command& explain, ExplainOptions& options) {
  cli::Flag& names =
      explain.Argument("NAMES", options.names,
                       "KIND/NAME or KIND/NAMESPACE/NAME: pods, and the pods that wait of deployments, jobs, ...");
  cli::Flag& files =
      explain.Option("filename", options.name_files, "file with such names, a line each; - is standard input")
          .ShowAsOne()
          .Letter('f')
          .Type(cli::kFileHint);
  cli::Flag& selector =
      explain.Option("selector", options.selector, "the pods of the namespace whose labels match").Letter('l');
  explain
      .Switch("pending", options.of_pending,
              "all pods that wait, by what they wait for and whose they are; of all namespaces without -n")
      .Excludes(names)
      .Excludes(files)
      .Excludes(selector);
  explain
      .Switch("watch", options.is_watched,
              "ask every two seconds, and answer again when the answer is another one, until nothing waits")
      .Letter('w');
  explain.Switch("nodes", options.with_nodes, "what every node says, too");
}

void AddQuestion(cli::Command& command, QuestionOptions& question, Commands& commands) {
  AddQuestionFlags(command, question);
  AddQuestionRelease(command, question.release);
  AddPluginDirectory(command, commands.plugin_directory());
}

}  // namespace

void AddExplainCommand(Commands& commands) {
  const auto options = std::make_shared<ExplainOptions>();
  cli::Command& explain = commands.Add("explain", "why a pod is pending, or why it is where it is",
                                       {[options](config::KnownPlugins known) { return RunExplain(*options, known); }});
  const std::string path = explain.Path();
  explain.SetFooter("Any cluster, whichever scheduler runs there; nothing is changed. For example:\n  " + path +
                    " pod -n shop web-7d5b\n  " + path + " pod shop/web-7d5b --nodes\n  " + path +
                    " pod shop/web-7d5b --scheduler https://10.0.0.7:10259\n  " + path +
                    " deployment/web job/train\n  kubectl get pods -o name | " + path + " -f -\n  " + path +
                    " --pending");
  AddManyFlags(explain, *options);
  AddQuestion(explain, options->question, commands);
  AddQuestionServer(explain, options->question.server);

  cli::Command& pod = explain.AddSubcommand("pod", "a pod, pending or placed");
  pod.Argument("POD", options->pod, "its name, or NAMESPACE/NAME").Required();
  pod.Switch("nodes", options->with_nodes, "what every node says, too");
  AddQuestion(pod, options->question, commands);
  AddQuestionServer(pod, options->question.server);
  cli::Flag& scheduler =
      pod.Option("scheduler", options->scheduler.url,
                 "https://HOST:PORT of a running berth's secure port, to ask it in place of the cluster: its answer "
                 "has the decision as it was made, too")
          .Check(CheckSchedulerUrl);
  for (const char* const other : {"master", "snapshot", "config", "kubernetes-version", "feature-gates", "server"})
    scheduler.Excludes(pod.At(other));
  pod.Option("scheduler-ca-file", options->scheduler.ca_file,
             "authority of that port's certificate; default: that of the kubeconfig's cluster")
      .Type(cli::kFileHint)
      .Needs(scheduler);
  pod.Switch("scheduler-insecure-skip-tls-verify", options->scheduler.insecure_skip_tls_verify,
             "take any certificate of that port: whoever is there then gets the kubeconfig's token")
      .Needs(scheduler);
  pod.SetFooter(
      "Exit status: 0 it has a node or would get one, 1 the answer could not be found, 2 wrong usage, 3 no\n"
      "node takes it or a gate holds it back.");

  cli::Command& group = explain.AddSubcommand("podgroup", "a pod group and its pods, waiting or placed");
  group.Argument("PODGROUP", options->of_group.group, "its name, or NAMESPACE/NAME").Required();
  AddQuestion(group, options->of_group.question, commands);
  group.SetFooter(
      "Needs the feature gate GenericWorkload. Exit status: 0 it is placed or would be, 1 the answer could not be\n"
      "found, 2 wrong usage, 3 it would not be placed now.");
}

}  // namespace berth::app
