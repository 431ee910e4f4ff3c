// SPDX-License-Identifier: Apache-2.0
// berth-deschedule-check: compares berth's objections with what the descheduler would evict, for the cases of
// tests/differential/descheduler: files compressed with zstd, or uncompressed standard input.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "berth/proof/deschedule_check/descheduler_case.h"
#include "berth/whatif/zstd_file.h"

namespace {

constexpr berth::whatif::LineLimits kLimits{std::size_t{16} << 20, std::uint64_t{1} << 32};

struct Count {
  std::size_t cases = 0;
  std::size_t wrong = 0;
  std::size_t with_evictions = 0;
  std::size_t with_several_answers = 0;
};

void Check(std::string_view line, Count& count) {
  ++count.cases;
  const auto test = berth::conformance::ReadDeschedulerCase(line);
  if (!test.ok()) {
    ++count.wrong;
    std::printf("%s\n", test.error().message.c_str());
    return;
  }
  if (test->answers.size() > 1) ++count.with_several_answers;
  if (test->answers.size() != 1 || !test->answers.front().empty()) ++count.with_evictions;
  const auto difference = berth::conformance::DifferenceOf(*test);
  const std::string& text = difference.ok() ? *difference : difference.error().message;
  if (text.empty()) return;
  ++count.wrong;
  std::printf("%s\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: berth-deschedule-check FILE.jsonl.zst... | -\n");
    return 2;
  }
  Count count;
  const auto take = [&count](std::string_view line) -> berth::Expected<void> {
    Check(line, count);
    return {};
  };
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-") {
      for (std::string line; std::getline(std::cin, line);) Check(line, count);
      continue;
    }
    if (const auto read = berth::whatif::ReadZstdFile(argv[i], kLimits, take); !read.ok()) {
      std::fprintf(stderr, "berth-deschedule-check: %s\n", read.error().message.c_str());
      return 2;
    }
  }
  std::printf("%zu cases, %zu with evictions, %zu with several answers of the descheduler, %zu that differ\n",
              count.cases, count.with_evictions, count.with_several_answers, count.wrong);
  return count.wrong == 0 && count.cases > 0 ? 0 : 1;
}
