// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/man_pages.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "berth/base/error.h"
#include "berth/base/version.h"
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

class PageMaker {
 public:
  explicit PageMaker(std::string version) : version_(std::move(version)) {}

  // `path`: "berth", "berth explain".
  void Add(const cli::Command& command, const std::string& path) {
    const auto& below = command.subcommands();
    std::string page = ".TH " + Upper(Dashed(path)) + " 1 \"\" \"berth " + version_ +
                       "\" \"berth\"\n.ad l\n.SH NAME\n" + Plain(Dashed(path)) + " \\- " +
                       Plain(command.description()) + "\n.SH SYNOPSIS\n" + Bold(path);
    if (!below.empty()) page += ' ' + Italic("COMMAND");
    page += " [" + Italic("FLAGS") + ']' + Arguments(command) + '\n';
    page += Options(command);
    if (!below.empty()) {
      page += ".SH COMMANDS\n";
      for (const auto& each : below) {
        page += ".TP\n" + Bold(path + ' ' + each->name()) + '\n' + Plain(each->description()) + '\n';
        Add(*each, path + ' ' + each->name());
      }
    }
    if (const std::string& footer = command.footer(); !footer.empty())
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

  static std::string Arguments(const cli::Command& command) {
    std::string text;
    for (const cli::Flag* flag : command.flags()) {
      if (!flag->is_argument) continue;
      const std::string name = Italic(flag->name) + (flag->is_list ? "..." : "");
      text += flag->is_required ? ' ' + name : " [" + name + ']';
    }
    return text;
  }

  static std::string Options(const cli::Command& command) {
    std::string text = ".SH OPTIONS\n";
    for (const cli::FlagSet::Group& group : command.groups()) {
      if (!group.title.empty()) text += ".SS " + Plain(group.title) + '\n';
      for (const cli::Flag& flag : group.flags) {
        if (flag.is_argument) continue;
        text += ".TP\n";
        if (flag.letter != 0) text += Bold(std::string{'-', flag.letter}) + ", ";
        text += Bold("--" + flag.name) + (flag.type.empty() ? "" : ' ' + Italic(flag.type)) + '\n' + Plain(flag.usage);
        if (!flag.default_text.empty()) text += " (default " + Plain(flag.default_text) + ')';
        text += '\n';
      }
    }
    return text;
  }

  const std::string version_;
  std::map<std::string, std::string> pages_;
};

}  // namespace

std::map<std::string, std::string> ManPages(const cli::Command& program, const std::string& version) {
  PageMaker maker(version);
  maker.Add(program, "berth");
  return maker.Take();
}

int WriteManPages(const cli::Command& program, const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  for (const auto& [name, page] : ManPages(program, std::string(Version()))) {
    std::ofstream file(directory + '/' + name, std::ios::binary | std::ios::trunc);
    file << page;
    file.close();
    if (!file) return cli::FailWith(InvalidError(directory + '/' + name + ": cannot be written"));
  }
  return cli::kExitOk;
}

}  // namespace berth::app
