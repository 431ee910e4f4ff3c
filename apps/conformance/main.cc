// berth-conformance: runs cases with the real kube-scheduler's answers and reports every difference.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "berth/conformance/runner.h"

namespace {

namespace fs = std::filesystem;
using berth::runtime::Form;

constexpr int kDifferencesShownMax = 20;  // of each family

int Usage() {
  std::fprintf(stderr,
               "usage: berth-conformance [--form plain|column|reuse|all] PATH...\n"
               "PATH is a case file or a folder of them. Exit status 1: a case failed; 2: bad arguments.\n");
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

}  // namespace

int main(int argc, char** argv) {
  std::vector<Form> forms{Form::kPlain, Form::kColumn, Form::kReuse};
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--form" && i + 1 < argc) {
      const std::string form = argv[++i];
      if (form == "plain")
        forms = {Form::kPlain};
      else if (form == "column")
        forms = {Form::kColumn};
      else if (form == "reuse")
        forms = {Form::kReuse};
      else if (form != "all")
        return Usage();
    } else if (arg.starts_with("-")) {
      return Usage();
    } else if (fs::is_directory(arg)) {
      for (const auto& entry : fs::recursive_directory_iterator(arg)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path().string());
      }
    } else if (fs::exists(arg)) {
      files.push_back(arg);
    } else {
      std::fprintf(stderr, "berth-conformance: %s: no such file or folder\n", arg.c_str());
      return 2;
    }
  }
  if (files.empty()) return Usage();
  std::sort(files.begin(), files.end());

  std::map<std::string, Tally> families;
  std::map<std::string, std::vector<std::string>> reports;
  for (const std::string& file : files) {
    const std::string family = fs::absolute(file).parent_path().filename().string();
    Tally& tally = families[family];
    std::vector<std::string> differences;
    const auto test = berth::conformance::LoadCase(file);
    if (!test.ok()) {
      differences.push_back(test.error().message);
    } else {
      for (const Form form : forms) {
        for (const std::string& difference : berth::conformance::RunCase(*test, form)) {
          differences.push_back(fs::path(file).filename().string() + " (" + Name(form) + "): " + difference);
        }
      }
    }
    ++(differences.empty() ? tally.passed : tally.failed);
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
