// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "berth/api/names.h"
#include "berth/app/common_flags.h"
#include "berth/app/process.h"
#include "berth/base/text.h"
#include "berth/shell/cli/progress_line.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/snapshot_file.h"

namespace berth::app {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

std::string CheckNamespace(const std::string& text) {
  return api::NotDnsLabel(text).empty() ? "" : Quoted(text) + " should be the name of a namespace";
}

// Where kubectl looks when nobody says where; empty: nowhere.
std::string HomeKubeconfig() {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0' || std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "";
  std::string path = std::string(home) + "/.kube/config";
  std::error_code ignored;  // then it is not there
  return std::filesystem::exists(path, ignored) ? path : "";
}

// "12,500 pods, 5,000 nodes" and what is being read beside them.
class ReadingLine {
 public:
  explicit ReadingLine(const std::string& server) : server_(server) {}

  void Show(std::string_view what, std::size_t count) {
    counts_[std::string(what)] = count;
    std::string text = "reading " + server_;
    for (const std::string_view first : {"nodes", "pods"}) text += ' ' + Counted(first);
    if (what != "nodes" && what != "pods") text += ' ' + Counted(what);
    line_.Show(text);
  }

 private:
  std::string Counted(std::string_view what) {
    return ' ' + std::to_string(counts_[std::string(what)]) + ' ' + std::string(what);
  }

  const std::string server_;
  std::map<std::string, std::size_t> counts_;
  cli::ProgressLine line_;
};

void PrintWhatIsLeftOut(const whatif::ClusterState& state) {
  for (const std::string& line : state.left_out)
    std::fprintf(stderr, "berth: warning: not read: %s\n", cli::Printable(line).c_str());
}

}  // namespace

ConnectionOptions WithHomeKubeconfig(ConnectionOptions connection) {
  if (connection.kubeconfig.empty() && connection.master.empty()) connection.kubeconfig = HomeKubeconfig();
  return connection;
}

void AddQuestionConnection(cli::Command& command, ConnectionOptions& options) {
  AddConnection(command, options);
  command.At("kubeconfig").usage =
      "kubeconfig file; without it and --master: the pod's service account, or ~/.kube/config";
}

void AddQuestionOutput(cli::Command& command, QuestionOutput& output) {
  const std::vector<std::string> names = {"table", "wide", "json", "yaml"};  // in the order of QuestionOutput
  command
      .Option("output", Joined(names),
              [&output, names](std::string_view name) {
                output = static_cast<QuestionOutput>(std::ranges::find(names, name) - names.begin());
                return std::string();
              })
      .Letter('o')
      .OneOf(names)
      .Default(names.front());
}

void AddQuestionFlags(cli::Command& command, QuestionOptions& options) {
  AddQuestionConnection(command, options.connection);
  command.Option("snapshot", options.snapshot, "file that the command snapshot has written, in place of a cluster")
      .Type(cli::kFileHint)
      .Excludes(command.At("context"))
      .Excludes(command.At("master"));
  command.Option("namespace", options.namespace_name, "namespace; default: that of the kubeconfig's context")
      .Letter('n')
      .Type(kNamespaceHint)
      .Check(CheckNamespace);
  command
      .Option("config", options.config,
              "file with the KubeSchedulerConfiguration to decide by; default: kube-scheduler's defaults")
      .Type(cli::kFileHint);
  AddQuestionOutput(command, options.output);
}

Expected<std::optional<client::ClientConfig>> QuestionServer(const ConnectionOptions& connection, const Clock& clock) {
  const ConnectionOptions with_home = WithHomeKubeconfig(connection);
  const bool is_in_pod = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
  if (with_home.kubeconfig.empty() && with_home.master.empty() && !is_in_pod)
    return std::optional<client::ClientConfig>();
  BERTH_ASSIGN_OR_RETURN(client::ClientConfig config, ServerOf(with_home, clock));
  return std::optional(std::move(config));
}

Expected<std::string> NamespaceOf(const QuestionOptions& options) {
  if (!options.namespace_name.empty()) return options.namespace_name;
  if (!options.snapshot.empty()) return std::string(kDefaultNamespace);
  const SystemClock clock;
  if (!options.server.url.empty()) {
    // Whoever asks a server needs no cluster.
    BERTH_ASSIGN_OR_RETURN(const auto known, QuestionServer(options.connection, clock));
    if (!known) return std::string(kDefaultNamespace);
  }
  BERTH_ASSIGN_OR_RETURN(const client::ClientConfig config, ServerOf(WithHomeKubeconfig(options.connection), clock));
  return config.namespace_name.empty() ? std::string(kDefaultNamespace) : config.namespace_name;
}

Expected<std::string> NamespaceIn(const QuestionOptions& options, std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return NamespaceOf(options);
  std::string namespace_name = name.substr(0, slash);
  name.erase(0, slash + 1);
  return namespace_name;
}

Expected<whatif::ClusterState> ReadClusterFor(const QuestionOptions& options, whatif::SnapshotContents* contents) {
  if (options.snapshot.empty()) {
    return ReadServer(options.connection, {.keeps_pod_details = options.reads_pod_details,
                                           .reads_pod_groups = MayHavePodGroups(options.release),
                                           .reads_composite_pod_groups = MayHaveCompositePodGroups(options.release),
                                           .reads_quotas = options.reads_quotas});
  }
  std::optional<cli::ProgressLine> line(std::in_place);
  whatif::SnapshotReadOptions how;
  how.keeps_pod_details = options.reads_pod_details;
  how.contents = contents;
  how.progress = [&](std::string_view what, std::size_t count) {
    line->Show("reading " + cli::Printable(options.snapshot) + ": " + std::to_string(count) + ' ' + std::string(what));
  };
  auto state = whatif::ReadSnapshot(options.snapshot, how);
  line.reset();
  if (state.ok()) PrintWhatIsLeftOut(*state);
  return state;
}

Expected<whatif::ClusterState> ReadServer(const ConnectionOptions& connection, const ServerReading& how) {
  const SystemClock clock;
  BERTH_ASSIGN_OR_RETURN(const auto to, Connection::Make(WithHomeKubeconfig(connection), clock, RandomSeed()));
  std::optional<ReadingLine> line(std::in_place, to->server());
  whatif::ClusterReadOptions options;
  options.source = to->server();
  options.keeps_objects = how.sink == nullptr;
  options.sink = how.sink;
  options.keeps_pod_details = how.keeps_pod_details;
  options.reads_pod_groups = how.reads_pod_groups;
  options.reads_composite_pod_groups = how.reads_composite_pod_groups;
  options.reads_quotas = how.reads_quotas;
  options.progress = [&line](std::string_view what, std::size_t count) { line->Show(what, count); };
  options.is_interrupted = [] { return cli::HasSignal(); };
  auto state = whatif::ReadCluster(to->rest(), clock, options);
  to->Stop();
  line.reset();
  if (!state.ok()) return state.error().Wrap("reading " + to->server());
  PrintWhatIsLeftOut(*state);
  return state;
}

}  // namespace berth::app
