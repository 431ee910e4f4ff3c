// SPDX-License-Identifier: Apache-2.0
// berth-explain-check: explains the first pod of each case and compares the explanation with the real kube-scheduler's
// answer. tests/differential/explain_check.py then tries the changes that the explanations name.
#include <cstdio>
#include <string>
#include <utility>

#include "berth/answers/explanation_json.h"
#include "berth/codec/json.h"
#include "berth/proof/explain_check/case_explanation.h"

namespace {

namespace json = berth::codec::json;

json::object Explained(const std::string& file) {
  json::object line{{"case", file}};
  const auto test = berth::conformance::LoadCase(file);
  if (!test.ok()) {
    line["error"] = test.error().message;
    return line;
  }
  if (test->expected.empty()) {
    line["error"] = "no attempt";
    return line;
  }
  const auto said = berth::conformance::ExplainFirst(*test);
  if (!said.ok()) {
    line["error"] = said.error().message;
    return line;
  }
  json::array& differences = line["differences"].emplace_array();
  for (const std::string& difference : berth::conformance::Differences(*test, test->expected.front(), *said))
    differences.emplace_back(difference);
  line["explanation"] = berth::answers::ExplanationJson(*said);
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(
        stderr,
        "usage: berth-explain-check CASE...\n"
        "Writes a line of JSON for each case with the kube-scheduler's answer: {case, differences, explanation} "
        "or {case, error}.\n");
    return 2;
  }
  for (int i = 1; i < argc; ++i) std::printf("%s\n", berth::codec::WriteJson(Explained(argv[i])).c_str());
  return 0;
}
