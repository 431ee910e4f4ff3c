// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/price_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/answers/price_answer.h"
#include "berth/api/selector.h"
#include "berth/app/commands.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_flags.h"
#include "berth/core/runtime/outcome.h"
#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price.h"
#include "berth/prices/node_prices.h"
#include "berth/prices/price_plan.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/progress_line.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/client/file.h"

namespace berth::app {
namespace {

enum class PriceAction : std::uint8_t { kList, kSet, kRandom, kImport, kClear };

struct PriceOptions {
  ConnectionOptions connection;
  PriceAction action = PriceAction::kList;
  std::string annotation;             // its key; empty: the usual ones
  std::string selector;               // label selector of nodes; not with kSet
  std::string node;                   // kSet
  std::string price;                  // kSet
  std::optional<std::uint64_t> seed;  // kRandom
  std::string file;                   // kImport
  bool dry_run = false;               // not with kList
};

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;
// With fewer nodes it is over before anybody could read how far it is.
constexpr std::size_t kProgressNodesMin = 100;
constexpr std::size_t kTypesShownMax = 5;

// nullopt: a signal has come first. `tick` is called now and then.
template <typename T>
std::optional<T> Wait(std::future<T> result, const std::function<void()>& tick) {
  while (result.wait_for(kTick) != std::future_status::ready) {
    if (cli::HasSignal()) return std::nullopt;
    tick();
  }
  return result.get();
}

// What is wrong with the options before any server is asked.
Expected<void> CheckOptions(const PriceOptions& options) {
  if (!options.annotation.empty() && !api::IsQualifiedName(options.annotation))
    return InvalidError("--annotation \"" + cli::Printable(options.annotation) + "\": want the key of an annotation");
  if (const auto selector = api::ParseLabelSelector(options.selector); !selector.ok())
    return selector.error().Wrap("--selector");
  if (options.action != PriceAction::kSet) return {};
  if (!api::IsDnsSubdomain(options.node))
    return InvalidError("\"" + cli::Printable(options.node) + "\" is not the name of a node");
  if (!plugins::ParsePrice(options.price)) return InvalidError(plugins::NotAPrice(options.price));
  return {};
}

Expected<prices::TypePrices> ReadFile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, client::ReadSmallFile(path, kFileBytesMax));
  auto prices = prices::ParseTypePrices(text);
  if (prices.ok()) return prices;
  // "prices.csv:3: price: ...", as of other files.
  constexpr std::string_view kLine = "line ";
  const std::string& message = prices.error().message;
  return InvalidError(message.starts_with(kLine) ? path + ':' + message.substr(kLine.size()) : path + ": " + message);
}

// Those nodes keep what they have.
void PrintWhatIsLeftAlone(const prices::ImportPlan& plan) {
  std::size_t shown = 0;
  std::string types;
  for (const auto& [type, count] : plan.unknown_types) {
    if (shown++ == kTypesShownMax) break;
    types += (types.empty() ? "" : ", ") + cli::Printable(type) + " (" + std::to_string(count) + ')';
  }
  if (plan.unknown_types.size() > kTypesShownMax)
    types += " and " + std::to_string(plan.unknown_types.size() - kTypesShownMax) + " more types";
  if (!types.empty())
    std::fprintf(stderr, "berth: left alone, the file has no price for their type: %s\n", types.c_str());
  if (plan.nodes_without_type > 0) {
    std::fprintf(stderr, "berth: left alone, without a label node.kubernetes.io/instance-type: %zu\n",
                 plan.nodes_without_type);
  }
}

class PriceCommand {
 public:
  PriceCommand(const PriceOptions& options, Connection& connection)
      : options_(options),
        connection_(connection),
        key_(options.annotation.empty() ? std::string(plugins::kPriceAnnotation) : options.annotation) {}

  int Run(const prices::TypePrices& file) {
    const auto nodes = ReadNodes();
    if (!nodes) return cli::FailWith({ErrorCode::kCancelled, "interrupted: nothing was changed"});
    if (!nodes->ok()) return cli::FailWith(nodes->error());
    switch (options_.action) {
      case PriceAction::kList: return List(**nodes);
      case PriceAction::kSet: {
        const std::string* before = (*nodes)->front().annotations.Find(key_);
        return Change({{options_.node, before ? std::optional(*before) : std::nullopt, options_.price}});
      }
      case PriceAction::kRandom: {
        const std::uint64_t seed = options_.seed.value_or(RandomSeed());
        if (!options_.seed) std::fprintf(stderr, "berth: --seed %llu\n", static_cast<unsigned long long>(seed));
        return Change(prices::RandomPrices(**nodes, key_, seed));
      }
      case PriceAction::kImport: {
        prices::ImportPlan plan = prices::ImportPrices(**nodes, key_, file);
        PrintWhatIsLeftAlone(plan);
        return Change(std::move(plan.changes));
      }
      case PriceAction::kClear: break;
    }
    return Change(prices::ClearPrices(**nodes, key_));
  }

 private:
  std::vector<std::string> Keys() const {
    if (options_.action != PriceAction::kList || !options_.annotation.empty()) return {key_};
    return plugins::BestPriceArgs().annotations;
  }

  std::optional<Expected<std::vector<prices::PricedNode>>> ReadNodes() {
    const auto promise = std::make_shared<std::promise<Expected<std::vector<prices::PricedNode>>>>();
    const auto done = [promise](Expected<std::vector<prices::PricedNode>> nodes) {
      promise->set_value(std::move(nodes));
    };
    const auto count = std::make_shared<std::atomic<std::size_t>>(0);
    if (options_.action == PriceAction::kSet) {
      prices::GetNode(connection_.rest(), options_.node, Keys(), done);
    } else {
      prices::NodeListOptions list;
      list.label_selector = options_.selector;
      list.annotations = Keys();
      prices::ListNodes(connection_.rest(), std::move(list), count, done);
    }
    cli::ProgressLine progress;
    return Wait(promise->get_future(), [&] {
      if (*count >= kProgressNodesMin) progress.Show(std::to_string(*count) + " nodes read");
    });
  }

  static int List(const std::vector<prices::PricedNode>& nodes, const std::vector<std::string>& keys) {
    cli::FileTerminal terminal(STDOUT_FILENO);
    const cli::Table table = answers::PriceTable(nodes, keys);
    for (const std::string& line : table.Lines({terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns : 0}))
      terminal.Write(line + "\n");
    return 0;
  }
  int List(const std::vector<prices::PricedNode>& nodes) const { return List(nodes, Keys()); }

  int Change(std::vector<prices::PriceChange> changes) {
    std::vector<prices::PriceChange> needed;
    for (const prices::PriceChange& change : changes) {
      if (change.before != change.after) needed.push_back(change);
    }
    const auto tell = [this](const prices::PriceChange& change, const char* remark) {
      std::printf("%s%s\n", answers::ChangeLine(change, key_).c_str(), remark);
    };
    if (options_.dry_run) {
      for (const prices::PriceChange& change : changes)
        tell(change, change.before == change.after ? " (unchanged, dry run)" : " (dry run)");
      return 0;
    }
    std::size_t ended = 0;
    const auto outcome = Patch(needed, ended);
    if (!outcome) {
      return cli::FailWith({ErrorCode::kCancelled, "interrupted: " + std::to_string(ended) + " of " +
                                                       std::to_string(needed.size()) + " nodes have been dealt with"});
    }
    std::size_t next = 0;
    for (const prices::PriceChange& change : changes) {
      if (change.before == change.after) {
        tell(change, " (unchanged)");
      } else if (const auto state = outcome->states[next++]; state == prices::NodePatcher::State::kDone) {
        tell(change, "");
      } else if (state == prices::NodePatcher::State::kGone) {
        tell(change, " (the node is gone)");
      }
    }
    std::fflush(stdout);
    if (outcome->failures == 0) return 0;
    const auto done = std::ranges::count(outcome->states, prices::NodePatcher::State::kDone);
    Error error = outcome->first_error;
    error.message =
        std::to_string(done) + " of " + std::to_string(needed.size()) + " nodes were changed; " + error.message;
    return cli::FailWith(error);
  }

  std::optional<prices::NodePatcher::Outcome> Patch(const std::vector<prices::PriceChange>& changes,
                                                    std::size_t& ended) {
    const auto promise = std::make_shared<std::promise<prices::NodePatcher::Outcome>>();
    prices::NodePatcher patcher(connection_.rest(), key_, changes);
    patcher.Start([promise](prices::NodePatcher::Outcome outcome) { promise->set_value(std::move(outcome)); });
    cli::ProgressLine progress;
    auto outcome = Wait(promise->get_future(), [&] {
      if (changes.size() >= kProgressNodesMin)
        progress.Show(std::to_string(patcher.ended_count()) + " of " + std::to_string(changes.size()) + " nodes");
    });
    ended = patcher.ended_count();
    return outcome;
  }

  const PriceOptions& options_;
  Connection& connection_;
  const std::string key_;  // that is written
};

int RunPrice(const PriceOptions& options) {
  if (const auto valid = CheckOptions(options); !valid.ok()) return cli::FailWith(valid.error(), cli::kExitUsage);
  prices::TypePrices file;
  if (options.action == PriceAction::kImport) {
    auto read = ReadFile(options.file);
    if (!read.ok()) return cli::FailWith(read.error(), cli::kExitUsage);
    file = std::move(*read);
  }
  const SystemClock clock;
  auto connection = Connection::Make(WithHomeKubeconfig(options.connection), clock, RandomSeed());
  if (!connection.ok()) return cli::FailWith(connection.error(), cli::kExitUsage);
  const int status = PriceCommand(options, **connection).Run(file);
  (*connection)->Stop();
  return status;
}

}  // namespace

void AddPriceCommand(Commands& commands) {
  const auto options = std::make_shared<PriceOptions>();
  cli::Command& price = commands.Add("price", "prices of nodes, as annotations that the policy BestPrice reads", {});
  price.RequireSubcommand();
  AddQuestionConnection(price, options->connection);
  price.Option("annotation", options->annotation,
               "the annotation's key; default: berth.dev/price, and list looks at hightower.com/cost as well");
  const auto add = [&](PriceAction action, const char* name, const char* what) {
    cli::Command& command = price.AddSubcommand(name, what);
    command.TakeFlagsOfParent();
    command.SetFooter("And the flags of " + price.Path() + ": --kubeconfig, --context, --master, --annotation ...");
    commands.Set(command, {[options, action](config::KnownPlugins) {
                   options->action = action;
                   return RunPrice(*options);
                 }});
    return &command;
  };
  cli::Command* const list = add(PriceAction::kList, "list", "nodes and their prices, the cheapest first");
  cli::Command* const set = add(PriceAction::kSet, "set", "give one node a price");
  cli::Command* const random =
      add(PriceAction::kRandom, "random", "give each node one of 0.05 0.10 0.20 0.40 0.80 1.60 by chance");
  cli::Command* const from_file = add(PriceAction::kImport, "import", "give nodes the prices of their instance types");
  cli::Command* const clear = add(PriceAction::kClear, "clear", "take the prices away");
  set->Argument("NODE", options->node, "its name").Required();
  set->Argument("PRICE", options->price, "a decimal number, 0 to 1000000000").Required();
  random->Option("seed", options->seed, "of the chance; default: a random one, which is told");
  from_file
      ->Argument("FILE", options->file,
                 "comma-separated values; the first line names the columns, among them instance_type and price")
      .Required();
  for (cli::Command* command : {list, random, from_file, clear}) {
    command->Option("selector", options->selector, "only nodes with these labels, as for kubectl get -l").Letter('l');
  }
  for (cli::Command* command : {set, random, from_file, clear})
    command->Switch("dry-run", options->dry_run, "say what would be done, and do nothing");
}

}  // namespace berth::app
