// SPDX-License-Identifier: Apache-2.0
// berth-conformance: runs cases with the real kube-scheduler's answers and reports every difference.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/proof/conformance/runner.h"

namespace {

namespace fs = std::filesystem;
using berth::runtime::Form;

constexpr int kDifferencesShownMax = 20;  // for each family

int Usage() {
  std::fprintf(
      stderr,
      "usage: berth-conformance [--form plain|column|reuse|all] [--skip FAMILY,...] [--failed FILE] PATH...\n"
      "PATH is a case file or a folder of them; a case's folder is its family. --failed writes the paths of the\n"
      "cases that failed, one a line. Exit status 1: a case failed; 2: bad arguments.\n");
  return 2;
}

const char* Name(Form form) {
  switch (form) {
    case Form::kPlain: return "plain";
    case Form::kColumn: return "column";
    case Form::kReuse: return "reuse";
  }
  return "";
}

struct Tally {
  int passed = 0;
  int failed = 0;
  int shown = 0;
};

struct Options {
  std::vector<Form> forms{Form::kPlain, Form::kColumn, Form::kReuse};
  std::set<std::string> skipped;  // families
  std::string failed;             // file for the paths of failed cases; empty: none
  std::vector<std::string> paths;
};

std::set<std::string> Split(const std::string& list) {
  std::set<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.insert(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (!arg.starts_with("-")) {
      options.paths.push_back(arg);
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (arg == "--skip") {
      options.skipped = Split(value);
    } else if (arg == "--failed") {
      options.failed = value;
    } else if (arg != "--form") {
      return std::nullopt;
    } else if (value != "all") {
      std::erase_if(options.forms, [&](Form form) { return value != Name(form); });
      if (options.forms.empty()) return std::nullopt;
    }
  }
  return options;
}

std::string FamilyOf(const fs::path& file) { return fs::absolute(file).parent_path().filename().string(); }

// The case files of the paths, sorted. nullopt and a line on stderr when a path does not exist.
std::optional<std::vector<std::string>> Files(const Options& options) {
  std::vector<std::string> files;
  for (const std::string& path : options.paths) {
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path().string());
      }
    } else if (fs::exists(path)) {
      files.push_back(path);
    } else {
      std::fprintf(stderr, "berth-conformance: %s: no such file or folder\n", path.c_str());
      return std::nullopt;
    }
  }
  std::erase_if(files, [&](const std::string& file) { return options.skipped.contains(FamilyOf(file)); });
  std::sort(files.begin(), files.end());
  return files;
}

// Every difference, form by form, or why the case cannot be read.
std::vector<std::string> Differences(const std::string& file, const std::vector<Form>& forms) {
  const auto test = berth::conformance::LoadCase(file);
  if (!test.ok()) return {test.error().message};
  std::vector<std::string> differences;
  for (const Form form : forms) {
    for (const std::string& difference : berth::conformance::RunCase(*test, form)) {
      differences.push_back(fs::path(file).filename().string() + " (" + Name(form) + "): " + difference);
    }
  }
  return differences;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = Parse(argc, argv);
  if (!options || options->paths.empty()) return Usage();
  const auto files = Files(*options);
  if (!files) return 2;
  std::ofstream failed;
  if (!options->failed.empty()) {
    failed.open(options->failed);
    if (!failed) {
      std::fprintf(stderr, "berth-conformance: --failed %s: cannot be written\n", options->failed.c_str());
      return 2;
    }
  }

  std::map<std::string, Tally> families;
  std::map<std::string, std::vector<std::string>> reports;
  for (const std::string& file : *files) {
    const std::string family = FamilyOf(file);
    Tally& tally = families[family];
    const std::vector<std::string> differences = Differences(file, options->forms);
    ++(differences.empty() ? tally.passed : tally.failed);
    if (!differences.empty()) failed << file << '\n';
    for (const std::string& difference : differences) {
      if (tally.shown++ < kDifferencesShownMax) reports[family].push_back(difference);
    }
  }
  Tally all;
  for (const auto& [family, tally] : families) {
    std::printf("%s: %d passed, %d failed\n", family.c_str(), tally.passed, tally.failed);
    for (const std::string& line : reports[family]) std::printf("  %s\n", line.c_str());
    if (tally.shown > kDifferencesShownMax)
      std::printf("  ... and %d more differences\n", tally.shown - kDifferencesShownMax);
    all.passed += tally.passed;
    all.failed += tally.failed;
  }
  std::printf("%d passed, %d failed\n", all.passed, all.failed);
  return all.failed == 0 ? 0 : 1;
}
