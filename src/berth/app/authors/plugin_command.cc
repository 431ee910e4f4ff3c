// SPDX-License-Identifier: Apache-2.0
#include "berth/app/authors/plugin_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/app/authors/plugin_crash.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/authoring/case_run.h"
#include "berth/authoring/new_plugin.h"
#include "berth/authoring/plugin_case.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml_lines.h"
#include "berth/core/config/known_plugins.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/client/file.h"

namespace berth::app {
namespace {

struct PluginOptions {
  // berth plugin test
  std::vector<std::string> paths;  // files, or directories of files
  std::string output = "table";    // or json
  // berth plugin new
  std::string name;      // of the plugin
  std::string language;  // "cpp", "lua"
  std::string folder;    // to create; empty: derived from the name
};

namespace fs = std::filesystem;
namespace json = codec::json;

constexpr std::size_t kCaseFilesMax = 10'000;

bool IsCaseFile(const fs::path& path) {
  static constexpr std::string_view kExtensions[] = {".yaml", ".yml", ".json"};
  return std::find(std::begin(kExtensions), std::end(kExtensions), path.extension().string()) != std::end(kExtensions);
}

struct Row {
  std::string file;
  std::string test;
  authoring::PluginCheck check;
};

// All that the files say, as it comes.
class TestRun {
 public:
  explicit TestRun(config::KnownPlugins plugins) : plugins_(plugins) {}

  void RunFile(const std::string& path) {
    const auto text = client::ReadSmallFile(path, authoring::kCaseFileBytesMax);
    if (!text.ok()) return Broken(text.error().message);
    const fs::path file(path);
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    const auto cases = authoring::ParsePluginCases(
        *text, folder, file.stem().string(), [](const std::string& config) { return client::ReadSmallFile(config); });
    if (!cases.ok()) return Broken(codec::InFile(path, *text, cases.error()).message);
    for (const authoring::PluginCase& test : *cases) {
      PluginCrash::SetCase(path, test.name);
      const auto checks = authoring::RunPluginCase(test, plugins_);
      if (!checks.ok()) {
        Broken(path + ": case \"" + test.name + "\": " + checks.error().message);
        continue;
      }
      for (const authoring::PluginCheck& check : *checks) {
        failed_ += check.is_ok ? 0 : 1;
        rows_.push_back({path, test.name, check});
      }
    }
  }

  void PrintTable() const {
    if (!rows_.empty()) {
      cli::FileTerminal terminal(STDOUT_FILENO);
      cli::Table table({{"CASE"}, {"CHECK"}, {"WANT"}, {"GOT"}, {"RESULT"}});
      for (const Row& row : rows_) {
        table.AddRow({row.test, row.check.of, row.check.want, row.check.got,
                      row.check.is_ok ? cli::Cell("ok", cli::Color::kGreen) : cli::Cell("FAIL", cli::Color::kRed)});
      }
      for (const std::string& line : table.Lines({terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns : 0}))
        terminal.Write(line + "\n");
    }
    std::printf("%s\n", Summary().c_str());
  }

  void PrintJson() const {
    json::array checks;
    for (const Row& row : rows_) {
      checks.push_back(json::object{{"file", row.file},
                                    {"case", row.test},
                                    {"check", row.check.of},
                                    {"want", row.check.want},
                                    {"got", row.check.got},
                                    {"ok", row.check.is_ok}});
    }
    json::array errors;
    for (const std::string& error : errors_) errors.emplace_back(error);
    const json::object document{{"passed", rows_.size() - failed_},
                                {"failed", failed_},
                                {"checks", std::move(checks)},
                                {"errors", std::move(errors)}};
    std::printf("%s\n", codec::WriteJson(document).c_str());
  }

  void PrintErrors() const {
    for (const std::string& error : errors_) std::fprintf(stderr, "berth: %s\n", cli::Printable(error).c_str());
  }

  bool IsGood() const { return failed_ == 0 && errors_.empty(); }

 private:
  void Broken(std::string error) { errors_.push_back(std::move(error)); }

  std::string Summary() const {
    const std::size_t passed = rows_.size() - failed_;
    std::string text = std::to_string(passed) + (passed == 1 ? " check passed" : " checks passed");
    if (failed_ > 0) text += ", " + std::to_string(failed_) + " failed";
    if (!errors_.empty())
      text += ", " + std::to_string(errors_.size()) +
              (errors_.size() == 1 ? " case or file is broken" : " cases or files are broken");
    return text;
  }

  config::KnownPlugins plugins_;
  std::vector<Row> rows_;
  std::vector<std::string> errors_;
  std::size_t failed_ = 0;
};

// The case files of a path, sorted by name. For a file, the file itself. For a directory, *.yaml, *.yml and *.json in
// its subdirectory `cases`, or in the directory itself if there is no `cases`.
Expected<std::vector<std::string>> FindCaseFiles(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return InvalidError(path + ": there is no such file or directory");
  if (!fs::is_directory(status)) return std::vector<std::string>{path};
  const fs::path cases = fs::path(path) / "cases";
  const fs::path folder = fs::is_directory(cases, error) ? cases : fs::path(path);
  std::set<std::string> files;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (files.size() < kCaseFilesMax && IsCaseFile(entries->path()) && !fs::is_directory(entries->path()))
      files.insert(entries->path().string());
  }
  if (error) return InvalidError(folder.string() + ": " + error.message());
  if (files.empty())
    return InvalidError(folder.string() + ": holds no cases: files that end with .yaml, .yml or .json");
  return std::vector<std::string>(files.begin(), files.end());
}

int RunPluginTest(const PluginOptions& options, config::KnownPlugins plugins) {
  log::SetLevel(log::Level::kError);  // what a plugin does wrong is in the table
  std::vector<std::string> files;
  for (const std::string& path : options.paths) {
    auto found = FindCaseFiles(path);
    if (!found.ok()) return cli::FailWith(found.error(), cli::kExitUsage);
    files.insert(files.end(), found->begin(), found->end());
  }
  TestRun run(plugins);
  {
    const PluginCrash crash;
    for (const std::string& file : files) run.RunFile(file);
  }
  if (options.output == "json") {
    run.PrintJson();
  } else {
    run.PrintTable();
  }
  std::fflush(stdout);
  run.PrintErrors();
  return run.IsGood() ? cli::kExitOk : cli::kExitFailed;
}

int RunPluginNew(const PluginOptions& options) {
  const auto made = authoring::NewPlugin(options.name, options.language, options.folder);
  if (!made.ok()) return cli::FailWith(made.error(), cli::kExitUsage);
  std::printf("%s", made->c_str());
  return cli::kExitOk;
}

}  // namespace

void AddPluginCommand(Commands& commands) {
  const auto options = std::make_shared<PluginOptions>();
  cli::Command& plugin = commands.Add("plugin", "plugins of one's own: begin one, test one", {});
  plugin.RequireSubcommand();

  cli::Command& test = plugin.AddSubcommand("test", "compare what plugins do with what cases in YAML expect");
  test.Argument("PATH", options->paths, "case files, or directories of them (or of a directory cases in them)")
      .Required()
      .Type(cli::kFileHint);
  AddPluginDirectory(test, commands.plugin_directory());
  test.Option("output", options->output, "table, or json").Letter('o').OneOf({"table", "json"}).ShowDefault();
  test.SetFooter("Ends with 0 when all is as expected, with 1 when something is not or a case file is broken.");
  commands.Set(test, {[options](config::KnownPlugins known) { return RunPluginTest(*options, known); }, true});

  cli::Command& made = plugin.AddSubcommand("new", "write the folder of a new plugin: source, profile, cases, README");
  made.Argument("NAME", options->name, "the plugin's, for example ZoneSpread").Required();
  made.Option("lang", options->language, "cpp, or lua").Required().OneOf({"cpp", "lua"});
  made.Option("dir", options->folder, "the folder, which is made; default: by the name, for example zone-spread")
      .Type(cli::kDirectoryHint);
  commands.Set(made, {[options](config::KnownPlugins) { return RunPluginNew(*options); }, true});
}

}  // namespace berth::app
