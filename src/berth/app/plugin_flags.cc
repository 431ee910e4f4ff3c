// SPDX-License-Identifier: Apache-2.0
#include "berth/app/plugin_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

CLI::App* AddPluginCommand(CLI::App& app, PluginOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* plugin = app.add_subcommand("plugin", "plugins of one's own: begin one, test one");
  plugin->require_subcommand(1);

  CLI::App* test = plugin->add_subcommand("test", "compare what plugins do with what cases in YAML expect");
  test->add_option("PATH", options.paths, "case files, or directories of them (or of a directory cases in them)")
      ->required()
      ->type_name(cli::kFileHint);
  AddPluginDirectory(*test, plugin_directory);
  test->add_option("-o,--output", options.output, "table, or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  test->footer("Ends with 0 when all is as expected, with 1 when something is not or a case file is broken.");
  test->callback([&options] { options.action = PluginAction::kTest; });

  CLI::App* made = plugin->add_subcommand("new", "write the folder of a new plugin: source, profile, cases, README");
  made->add_option("NAME", options.name, "the plugin's, for example ZoneSpread")->required();
  made->add_option("--lang", options.language, "cpp, or lua")->required()->check(CLI::IsMember({"cpp", "lua"}));
  made->add_option("--dir", options.folder, "the folder, which is made; default: by the name, for example zone-spread")
      ->type_name(cli::kDirectoryHint);
  made->callback([&options] { options.action = PluginAction::kNew; });
  return plugin;
}

}  // namespace berth::app
