// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/new_plugin.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "berth/authoring/template_files.h"
#include "berth/base/text.h"
#include "berth/plugins/registry.h"
#include "berth/shell/cli/text.h"

namespace berth::authoring {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameMax = 40;

bool IsPascalCase(std::string_view name) {
  return name.size() >= 2 && name.size() <= kNameMax && IsUpper(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
}

// The most likely intended name: letters and digits, each word capitalised. Empty: none.
std::string PascalCase(std::string_view text) {
  std::string out;
  bool begins_word = true;
  for (const char c : text) {
    if (!IsLetter(c) && !IsDigit(c)) {
      begins_word = true;
      continue;
    }
    if (out.empty() && IsDigit(c)) continue;
    out += begins_word && !IsUpper(c) && IsLetter(c) ? static_cast<char>(c - 'a' + 'A') : c;
    begins_word = false;
  }
  out.resize(std::min(out.size(), kNameMax));
  return IsPascalCase(out) ? out : std::string();
}

// Names of targets in the generated build, and of its main.cc.
constexpr std::string_view kTaken[] = {"all",  "clean",   "edit_cache",    "help", "install",
                                       "main", "package", "rebuild_cache", "test"};

Expected<void> CheckName(const std::string& name, const std::string& language) {
  if (!IsPascalCase(name)) {
    const std::string wanted = PascalCase(name);
    return InvalidError("\"" + cli::Printable(name.substr(0, 2 * kNameMax)) + "\" is no name of a plugin: want 2 to " +
                        std::to_string(kNameMax) + " letters and digits, the first a capital" +
                        (wanted.empty() ? ", as in ZoneSpread" : ": " + wanted));
  }
  const std::string file = SplitName(name, '_');
  if (language == "cpp" && std::find(std::begin(kTaken), std::end(kTaken), file) != std::end(kTaken))
    return InvalidError("the plugin's files and target would be called \"" + file +
                        "\", which its build has already: take another name");
  for (const config::KnownPlugin& plugin : plugins::InTreePlugins()) {
    if (plugin.name == name) return InvalidError("a plugin " + name + " comes with berth: take another name");
  }
  return {};
}

std::string Filled(std::string_view text, const std::string& name) {
  const std::pair<std::string_view, std::string> values[] = {
      {"{{Name}}", name}, {"{{snake}}", SplitName(name, '_')}, {"{{kebab}}", SplitName(name, '-')}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto* value = std::find_if(std::begin(values), std::end(values),
                                     [&](const auto& each) { return text.substr(at).starts_with(each.first); });
    if (value == std::end(values)) {
      out += text[at++];
    } else {
      out += value->second;
      at += value->first.size();
    }
  }
  return out;
}

Expected<void> WriteFile(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return InvalidError(path.parent_path().string() + ": cannot be made: " + error.message());
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  const std::string reason = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  return InvalidError(path.string() + ": cannot be written" + reason);
}

// The folder may exist if it is empty.
Expected<void> CheckFolder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) return InvalidError(folder.string() + ": is there and no directory");
  const bool is_empty = fs::is_empty(folder, error);
  if (error) return InvalidError(folder.string() + ": " + error.message());
  if (!is_empty) return InvalidError(folder.string() + ": is not empty: name another one with --dir");
  return {};
}

// Quotes the text so that a shell reads it as one word.
std::string ShellWord(const std::string& path) {
  const auto is_plain = [](char c) { return IsLetter(c) || IsDigit(c) || (c != '\0' && std::strchr("-_./+:@%", c)); };
  if (!path.empty() && std::all_of(path.begin(), path.end(), is_plain)) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

// A capital letter begins a word, except inside an abbreviation: HTTPCost becomes http_cost.
std::string SplitName(std::string_view name, char separator) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_after_small = i > 0 && !IsUpper(name[i - 1]);
    const bool is_before_small = i > 0 && i + 1 < name.size() && !IsUpper(name[i + 1]) && !IsDigit(name[i + 1]);
    if (IsUpper(name[i]) && (is_after_small || is_before_small)) out += separator;
    out += LowerCase(name[i]);
  }
  return out;
}

Expected<std::string> NewPlugin(const std::string& name, const std::string& language, std::string folder) {
  BERTH_RETURN_IF_ERROR(CheckName(name, language));
  if (folder.empty()) folder = SplitName(name, '-');
  BERTH_RETURN_IF_ERROR(CheckFolder(folder));
  const std::string prefix = language + "/";
  std::string report;
  for (const TemplateFile& file : TemplateFiles()) {
    if (!file.path.starts_with(prefix)) continue;
    const fs::path path = fs::path(folder) / Filled(file.path.substr(prefix.size()), name);
    BERTH_RETURN_IF_ERROR(WriteFile(path, Filled(file.text, name)));
    report += path.string() + "\n";
  }
  if (report.empty()) return InvalidError("there is no template for \"" + cli::Printable(language) + "\"");
  report += language == "lua" ? "\nNext: berth plugin test " + ShellWord(folder) + "\n"
                              : "\nNext: see " + (fs::path(folder) / "README.md").string() + "\n";
  return report;
}

}  // namespace berth::authoring
