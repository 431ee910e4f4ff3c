// SPDX-License-Identifier: Apache-2.0
#include "berth/app/man_pages.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/app/run_command.h"
#include "berth/app/run_flags.h"
#include "berth/base/error.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {
namespace {

// As troff shows it letter by letter.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (plain.empty() || plain.back() == '\n')) plain += "\\&";
      plain += c;
    }
  }
  return plain;
}

std::string Bold(std::string_view text) { return "\\fB" + Plain(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Plain(text) + "\\fR"; }

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string AddFlag(const std::string& names, const std::string& value, const std::string& usage,
                    const std::string& default_text) {
  std::string text = ".TP\n" + names + (value.empty() ? "" : " " + Italic(value)) + '\n' + Plain(usage);
  if (!default_text.empty()) text += " (default " + Plain(default_text) + ')';
  return text + '\n';
}

class PageMaker {
 public:
  PageMaker(const cli::FlagSet& run_flags, std::string version) : run_flags_(run_flags), version_(std::move(version)) {}

  // `path`: "berth", "berth explain".
  void Add(const CLI::App& command, const std::string& path) {
    const std::vector<const CLI::App*> below = command.get_subcommands([](const CLI::App*) { return true; });
    std::string page = ".TH " + Upper(Dashed(path)) + " 1 \"\" \"berth " + version_ +
                       "\" \"berth\"\n.ad l\n.SH NAME\n" + Plain(Dashed(path)) + " \\- " +
                       Plain(command.get_description()) + "\n.SH SYNOPSIS\n" + Bold(path);
    if (!below.empty()) page += ' ' + Italic("COMMAND");
    page += " [" + Italic("FLAGS") + ']' + Arguments(command) + '\n';
    page += path == "berth run" ? RunOptionsText() : Options(command);
    if (!below.empty()) {
      page += ".SH COMMANDS\n";
      for (const CLI::App* each : below) {
        page += ".TP\n" + Bold(path + ' ' + each->get_name()) + '\n' + Plain(each->get_description()) + '\n';
        Add(*each, path + ' ' + each->get_name());
      }
    }
    if (const std::string footer = command.get_footer(); !footer.empty())
      page += ".SH NOTES\n.nf\n" + Plain(footer) + "\n.fi\n";
    const std::size_t parent = path.rfind(' ');
    if (parent != std::string::npos) page += ".SH SEE ALSO\n" + Bold(Dashed(path.substr(0, parent))) + "(1)\n";
    pages_[Dashed(path) + ".1"] = std::move(page);
  }

  std::map<std::string, std::string> Take() { return std::move(pages_); }

 private:
  static std::string Dashed(std::string path) {
    std::replace(path.begin(), path.end(), ' ', '-');
    return path;
  }

  static std::string Arguments(const CLI::App& command) {
    std::string text;
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_positional()) continue;
      const bool repeats = option->get_items_expected_max() > 1;
      const std::string name = Italic(option->get_name()) + (repeats ? "..." : "");
      text += option->get_required() ? ' ' + name : " [" + name + ']';
    }
    return text;
  }

  static std::string Options(const CLI::App& command) {
    std::string text;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional()) continue;
      std::string names;
      for (const std::string& letter : option->get_snames()) names += Bold("-" + letter) + ", ";
      for (const std::string& name : option->get_lnames()) names += Bold("--" + name) + ", ";
      if (names.empty()) continue;
      names.resize(names.size() - 2);
      const bool takes_value = option->get_items_expected_max() > 0;
      text += AddFlag(names, takes_value ? option->get_type_name() : "", option->get_description(),
                      option->get_default_str());
    }
    return text.empty() ? text : ".SH OPTIONS\n" + text;
  }

  std::string RunOptionsText() const {
    std::string text = ".SH OPTIONS\n";
    for (const cli::FlagSet::Group& group : run_flags_.groups()) {
      if (!group.title.empty()) text += ".SS " + Plain(group.title) + '\n';
      for (const cli::Flag& flag : group.flags) {
        std::string names = Bold("--" + flag.name);
        if (flag.letter != 0) names = Bold(std::string{'-', flag.letter}) + ", " + names;
        text += AddFlag(names, flag.type, flag.usage, flag.default_text);
      }
    }
    return text;
  }

  const cli::FlagSet& run_flags_;
  const std::string version_;
  std::map<std::string, std::string> pages_;
};

}  // namespace

std::map<std::string, std::string> ManPages(const CLI::App& app, const cli::FlagSet& run_flags,
                                            const std::string& version) {
  PageMaker maker(run_flags, version);
  maker.Add(app, "berth");
  return maker.Take();
}

int WriteManPages(const CLI::App& app, const std::string& directory) {
  cli::FlagSet run_flags;
  RunOptions unused;
  std::optional<std::string> unused_directory;
  AddRunFlags(run_flags, unused, unused_directory);
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  for (const auto& [name, page] : ManPages(app, run_flags, BERTH_VERSION)) {
    std::ofstream file(directory + '/' + name, std::ios::binary | std::ios::trunc);
    file << page;
    file.close();
    if (!file) return cli::FailWith(InvalidError(directory + '/' + name + ": cannot be written"));
  }
  return cli::kExitOk;
}

}  // namespace berth::app
