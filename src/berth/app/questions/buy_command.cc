// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/buy_command.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/answers/buy_answer.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/manifest_files.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/buy_question.h"
#include "berth/base/text.h"
#include "berth/base/time.h"
#include "berth/buy/catalogue_sources.h"
#include "berth/buy/node_catalogue.h"
#include "berth/buy/purchase_plan.h"
#include "berth/codec/yaml_writer.h"
#include "berth/prices/price_plan.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/client/file.h"
#include "berth/whatif/manifests.h"

namespace berth::app {
namespace {

// Something of what was asked about stays pending or is refused.
constexpr int kExitPending = 3;
constexpr std::size_t kPricesBytesMax = std::size_t{16} << 20;

struct BuyOptions {
  QuestionOptions question;
  std::vector<std::string> files;
  std::string catalogue;
  std::string placement = "scheduler";
  std::string manifests_for;  // "karpenter", "cluster-api"; empty: the plan
  bool takes_pending = false;
  bool has_no_cluster = false;
  std::string spot_share = "1", disruption_share = "1";
  std::vector<std::string> zones;  // each may be several, with commas
  ask::BuyQuestion plan;           // what it says beside these
};

struct CatalogueOptions {
  QuestionOptions question;
  std::string nodes_file;
  std::string node_pools_file, instance_types_file;
  std::string prices_file;
};

std::string CheckShare(const std::string& text) {
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && share >= 0 && share <= 1 ? "" : Quoted(text) + " should be 0 to 1";
}

class BuyCommand {
 public:
  BuyCommand(const BuyOptions& options, config::KnownPlugins plugins) : options_(options), plugins_(plugins) {}

  int Go() {
    // What is wrong with the question is said before any cluster is read.
    if (const auto read = ReadQuestion(); !read.ok()) return FailWithQuestion(read.error());
    if (!options_.question.server.url.empty()) return AskServer(options_.question, "buy", question_.ToJson());
    QuestionCluster asked;
    if (const auto failed = LoadCluster(asked)) return *failed;
    buy::PurchaseOptions plan_options = question_.Options();
    plan_options.is_interrupted = [] { return cli::HasSignal(); };
    const bool takes_pending = question_.takes_pending || question_.files.empty();
    const auto plan =
        buy::PlanPurchase(*asked.cluster, {asked.state, manifests_, catalogue_, takes_pending}, plan_options);
    if (!plan.ok()) return FailWithQuestion(plan.error());
    if (options_.manifests_for.empty()) {
      PrintAnswer(options_.question.output, asked.state,
                  {[&](bool is_wide, const cli::Table::Style& style) {
                     return answers::BuyLines(*plan, catalogue_, is_wide, style);
                   },
                   [&] { return answers::BuyJson(*plan, catalogue_); }});
    } else if (const auto printed = PrintManifests(*plan); !printed.ok()) {
      return FailWithQuestion(printed.error());
    }
    if (plan->is_interrupted) return cli::kExitFailed;
    return plan->IsComplete() ? cli::kExitOk : kExitPending;
  }

 private:
  static int FailWithQuestion(const Error& error) {
    return cli::FailWith({error.code, cli::Printable(error.message)}, cli::kExitUsage);
  }

  Expected<void> ReadQuestion() {
    if (options_.catalogue.empty())
      return InvalidError("berth buy: what may be bought? --catalogue FILE says it; berth buy catalogue writes one");
    question_ = options_.plan;
    question_.takes_pending = options_.takes_pending;
    question_.spot_share = std::strtod(options_.spot_share.c_str(), nullptr);
    question_.disruption_share = std::strtod(options_.disruption_share.c_str(), nullptr);
    if (options_.placement == "nominated") question_.placement = buy::Placement::kNominated;
    for (const std::string& zones : options_.zones) {
      for (const std::string_view zone : Split(zones, ',')) question_.zones.emplace_back(zone);
    }
    auto text = client::ReadSmallFile(options_.catalogue, buy::kCatalogueBytesMax);
    if (!text.ok()) return text.error().Wrap("--catalogue");
    question_.catalogue = *std::move(text);
    question_.catalogue_name = "--catalogue " + options_.catalogue;
    BERTH_ASSIGN_OR_RETURN(catalogue_, ask::CatalogueOf(question_));
    if (options_.has_no_cluster && options_.files.empty())
      return InvalidError("nothing to buy for: without a cluster, -f FILE says which pods are to fit");
    std::string& namespace_name = question_.namespace_name;
    namespace_name = options_.question.namespace_name;
    if (namespace_name.empty() && options_.has_no_cluster) namespace_name = "default";
    if (namespace_name.empty()) {
      BERTH_ASSIGN_OR_RETURN(namespace_name, NamespaceOf(options_.question));
    }
    BERTH_ASSIGN_OR_RETURN(question_.files, ReadManifestFiles(options_.files));
    BERTH_ASSIGN_OR_RETURN(manifests_, whatif::ReadManifests(question_.files, namespace_name));
    // A server says it, too.
    const bool is_local = options_.question.server.url.empty();
    for (const std::string& line : is_local ? manifests_.left_out : std::vector<std::string>()) Warn(line);
    return {};
  }

  std::optional<int> LoadCluster(QuestionCluster& asked) const {
    if (!options_.has_no_cluster) {
      QuestionOptions question = options_.question;
      // Pods of the cluster have been admitted.
      question.reads_quotas = !options_.files.empty();
      return LoadOrFail(question, plugins_, OtherSchedulers::kByDefaults, asked);
    }
    auto offline = OfflineOptionsFor(options_.question.config, plugins_, {}, options_.question.release);
    if (!offline.ok()) return cli::FailWith(offline.error(), cli::kExitUsage);
    const SystemClock clock;
    asked.state.source = "no cluster";
    asked.state.read_at = clock.Now();
    offline->now = asked.state.read_at;
    auto cluster = whatif::OfflineCluster::Make(std::move(*offline));
    if (!cluster.ok()) return cli::FailWith(cluster.error());
    asked.cluster = std::move(*cluster);
    return std::nullopt;
  }

  Expected<void> PrintManifests(const buy::PurchasePlan& plan) const {
    codec::json::array documents;
    if (options_.manifests_for == "karpenter") {
      BERTH_ASSIGN_OR_RETURN(documents, answers::NodeClaims(plan, catalogue_));
    } else {
      documents = answers::MachineDeployments(plan, catalogue_);
    }
    cli::FileTerminal terminal(STDOUT_FILENO);
    for (const codec::json::value& document : documents) terminal.Write("---\n" + codec::WriteYaml(document));
    return {};
  }

  const BuyOptions& options_;
  const config::KnownPlugins plugins_;
  ask::BuyQuestion question_;
  buy::NodeCatalogue catalogue_;
  whatif::Manifests manifests_;
};

Expected<buy::CatalogueDraft> DraftOf(const CatalogueOptions& options) {
  if (!options.node_pools_file.empty()) {
    BERTH_ASSIGN_OR_RETURN(const std::string pools,
                           client::ReadSmallFile(options.node_pools_file, buy::kCatalogueBytesMax));
    BERTH_ASSIGN_OR_RETURN(const std::string types,
                           client::ReadSmallFile(options.instance_types_file, buy::kCatalogueBytesMax));
    auto draft = buy::CatalogueOfNodePools(pools, types);
    if (!draft.ok()) return draft.error().Wrap(options.node_pools_file + " with " + options.instance_types_file);
    return draft;
  }
  prices::TypePrices prices;
  if (!options.prices_file.empty()) {
    BERTH_ASSIGN_OR_RETURN(const std::string text, client::ReadSmallFile(options.prices_file, kPricesBytesMax));
    auto read = prices::ParseTypePrices(text);
    if (!read.ok()) return read.error().Wrap(options.prices_file);
    prices = std::move(*read);
  }
  const auto price_of = [&](std::string_view type) -> std::optional<std::string> {
    const auto at = prices.find(type);
    return at == prices.end() ? std::nullopt : std::optional(at->second);
  };
  if (options.nodes_file.empty()) {
    BERTH_ASSIGN_OR_RETURN(const whatif::ClusterState state, ReadClusterFor(options.question));
    return buy::CatalogueOfNodes(state.nodes, price_of);
  }
  BERTH_ASSIGN_OR_RETURN(const std::string text, client::ReadSmallFile(options.nodes_file, buy::kCatalogueBytesMax));
  auto nodes = buy::ReadNodes(text);
  if (!nodes.ok()) return nodes.error().Wrap(options.nodes_file);
  return buy::CatalogueOfNodes(*nodes, price_of);
}

int RunCatalogue(const CatalogueOptions& options) {
  const auto draft = DraftOf(options);
  if (!draft.ok()) return cli::FailWith({draft.error().code, cli::Printable(draft.error().message)}, cli::kExitUsage);
  for (const std::string& note : draft->notes) Warn(note);
  cli::FileTerminal terminal(STDOUT_FILENO);
  terminal.Write(codec::WriteYaml(draft->document));
  return cli::kExitOk;
}

void AddCatalogueCommand(cli::Command& buy, Commands& commands) {
  const auto options = std::make_shared<CatalogueOptions>();
  cli::Command& command = buy.AddSubcommand(
      "catalogue", "write a catalogue: of the nodes that there are, or of Karpenter's NodePools and instance types");
  commands.Set(command, {[options](config::KnownPlugins) { return RunCatalogue(*options); }});
  AddQuestionConnection(command, options->question.connection);
  cli::Flag& snapshot =
      command.Option("snapshot", options->question.snapshot, "file of berth snapshot, in place of a cluster")
          .Type(cli::kFileHint);
  cli::Flag& nodes =
      command.Option("nodes", options->nodes_file, "file of kubectl get nodes -o json, in place of a cluster")
          .Type(cli::kFileHint);
  cli::Flag& pools = command
                         .Option("node-pools", options->node_pools_file,
                                 "Karpenter's NodePools, as kubectl get nodepools -o yaml or manifests have them")
                         .Type(cli::kFileHint);
  cli::Flag& types = command
                         .Option("instance-types", options->instance_types_file,
                                 "with --node-pools: instance types and their offerings, as Karpenter's provider for "
                                 "KWOK reads them")
                         .Type(cli::kFileHint);
  cli::Flag& prices = command
                          .Option("prices", options->prices_file,
                                  "prices of instance types, as berth price import reads them; an annotation "
                                  "berth.dev/price comes first")
                          .Type(cli::kFileHint);
  pools.Needs(types);
  types.Needs(pools);
  nodes.Excludes(snapshot).Excludes(pools);
  pools.Excludes(snapshot).Excludes(prices);
  command.SetFooter("Writes YAML to standard output. What has no price is left out, and said on standard error.");
}

}  // namespace

void AddBuyCommand(Commands& commands) {
  const auto options = std::make_shared<BuyOptions>();
  cli::Command& command =
      commands.Add("buy", "which nodes to add so that all pods fit at the least price, and where each pod would be",
                   {[options](config::KnownPlugins known) { return BuyCommand(*options, known).Go(); }});
  command
      .Option("filename", options->files,
              "manifests of the pods that are to fit: a file, a directory, or - for standard input; repeatable")
      .ShowAsOne()
      .Letter('f')
      .Type(cli::kFileHint);
  cli::Flag& pending = command.Switch("pending", options->takes_pending,
                                      "the cluster's pending pods as well; without -f they are what is asked about");
  command
      .Option("catalogue", options->catalogue, "YAML file of the shapes of nodes that may be bought, and their prices")
      .Type(cli::kFileHint);
  AddQuestionFlags(command, options->question);
  AddQuestionRelease(command, options->question.release);
  cli::Flag& none = command.Switch("no-cluster", options->has_no_cluster, "as if there were no node yet");
  none.Excludes(pending);
  for (const char* const other : {"kubeconfig", "context", "master", "snapshot"}) none.Excludes(command.At(other));
  AddQuestionServer(command, options->question.server);
  none.Excludes(command.At("server"));
  ask::BuyQuestion& plan = options->plan;
  command.Option("max-nodes", plan.nodes_max, "at most so many new nodes").Range(0, ask::BuyQuestion::kNodesMaxMax);
  command.Option("zones", options->zones, "zones of new nodes, of those in the catalogue; repeatable or with commas");
  command
      .Option("spot-share", options->spot_share,
              "at most this share of the CPU of new nodes is of spot nodes, for example 0.7")
      .Check(CheckShare)
      .ShowDefault();
  command
      .Option("disruption", options->disruption_share,
              "at most this share of a workload's pods, or one of them, is on one new node, and so is interrupted when "
              "the node is")
      .Check(CheckShare)
      .ShowDefault();
  command.Switch("replace", plan.replaces,
                 "nodes of the cluster may go, where their pods fit elsewhere or on cheaper new nodes");
  command
      .Option("placement", options->placement,
              "who sees to it that pods go where the plan has them: scheduler, which spreads them as it does, or "
              "nominated, by status.nominatedNodeName of each pod")
      .OneOf({"scheduler", "nominated"})
      .ShowDefault();
  command.Option("effort", plan.effort, "how much to search; ten times as much takes at most ten times as long")
      .Range(1, ask::BuyQuestion::kEffortMax)
      .ShowDefault();
  command
      .Option("manifests-for", options->manifests_for,
              "print the new nodes as manifests: NodeClaims of Karpenter, or MachineDeployments of Cluster API with "
              "the replicas that they have then")
      .OneOf({"karpenter", "cluster-api"})
      .Excludes(command.At("server"));
  AddPluginDirectory(command, commands.plugin_directory());
  command.SetFooter(
      "Nothing in the cluster is changed. Ends with 0 when every pod gets a node, with 1 on a failure, with 2 on bad "
      "flags,\n"
      "manifests or catalogues, with 3 when a pod stays pending or the API server would refuse one.");
  AddCatalogueCommand(command, commands);
}

}  // namespace berth::app
