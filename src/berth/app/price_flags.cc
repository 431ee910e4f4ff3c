// SPDX-License-Identifier: Apache-2.0
#include "berth/app/price_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/question_flags.h"

namespace berth::app {

CLI::App* AddPriceCommand(CLI::App& app, PriceOptions& options) {
  CLI::App* price = app.add_subcommand("price", "prices of nodes, as annotations that the policy BestPrice reads");
  price->require_subcommand(1);
  AddQuestionConnection(*price, options.connection);
  price->add_option("--annotation", options.annotation,
                    "the annotation's key; default: berth.dev/price, and list looks at hightower.com/cost as well");
  const auto add = [&](PriceAction action, const char* name, const char* what) {
    CLI::App* command = price->add_subcommand(name, what);
    command->fallthrough();
    command->footer("And the flags of " + app.get_name() +
                    " price: --kubeconfig, --context, --master, --annotation ...");
    command->callback([&options, action] { options.action = action; });
    return command;
  };
  CLI::App* list = add(PriceAction::kList, "list", "nodes and their prices, the cheapest first");
  CLI::App* set = add(PriceAction::kSet, "set", "give one node a price");
  CLI::App* random =
      add(PriceAction::kRandom, "random", "give each node one of 0.05 0.10 0.20 0.40 0.80 1.60 by chance");
  CLI::App* from_file = add(PriceAction::kImport, "import", "give nodes the prices of their instance types");
  CLI::App* clear = add(PriceAction::kClear, "clear", "take the prices away");
  set->add_option("NODE", options.node, "its name")->required();
  set->add_option("PRICE", options.price, "a decimal number, 0 to 1000000000")->required();
  random->add_option("--seed", options.seed, "of the chance; default: a random one, which is told");
  from_file
      ->add_option("FILE", options.file,
                   "comma-separated values; the first line names the columns, among them instance_type and price")
      ->required();
  for (CLI::App* command : {list, random, from_file, clear})
    command->add_option("-l,--selector", options.selector, "only nodes with these labels, as for kubectl get -l");
  for (CLI::App* command : {set, random, from_file, clear})
    command->add_flag("--dry-run", options.dry_run, "say what would be done, and do nothing");
  return price;
}

}  // namespace berth::app
