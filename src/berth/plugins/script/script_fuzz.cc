// SPDX-License-Identifier: Apache-2.0
// Any text is a script or an error of one line; the functions of one that loads may be called, with anything but harm.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/plugins/script/program.h"

namespace {

using namespace berth;
using plugins::ScriptProgram;

framework::PodInfoPtr Pod() {
  auto pod_class = std::make_shared<framework::PodClass>();
  pod_class->namespace_name = "default";
  pod_class->labels = {{"app", "web"}};
  pod_class->annotations = {{"team/name", "blue"}};
  pod_class->requests.cpu_milli = 100;
  auto pod = std::make_shared<framework::PodInfo>();
  pod->name = "web-1";
  pod->pod_class = std::move(pod_class);
  return pod;
}

framework::NodeInfo Node() {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "n1";
  node->metadata.labels = {{"zone", "a"}, {"size", "3"}};
  node->taints = {{"gpu", "yes", api::TaintEffect::kNoSchedule}};
  node->conditions = {{"Ready", "True"}};
  framework::NodeInfo info(std::move(node));
  info.AddPod(Pod());
  return info;
}

// One line that can be an event's message.
void CheckLine(std::string_view text) {
  BERTH_CHECK(!text.empty());
  BERTH_CHECK(text.find('\n') == std::string_view::npos, text);
  codec::JsonReader reader({.bytes_max = std::size_t{64} << 10, .depth_max = 2});
  BERTH_CHECK(reader.Parse("[" + codec::WriteJson(codec::json::value(text)) + "]").ok(), text);
}

struct Answers {
  std::string text;
  bool is_over_limit = false;
};

// What all functions say of one pod and node.
Answers Ask(ScriptProgram& program) {
  const auto& declared = program.declarations();
  const framework::PodInfoPtr pod = Pod();
  const framework::NodeInfo node = Node();
  Answers answers;
  const auto failed = [&] {
    CheckLine(program.error());
    answers.is_over_limit |= program.is_over_limit();
    answers.text += program.error();
  };
  if (declared.has_prefilter) {
    const ScriptProgram::PreFilterAnswer answer = program.PreFilter(*pod, 1);
    if (answer.kind == ScriptProgram::PreFilterAnswer::Kind::kFailed) failed();
    answers.text += std::to_string(static_cast<int>(answer.kind)) + answer.reason + "\n";
    for (const std::string& name : answer.node_names) answers.text += name + "\n";
  }
  if (declared.has_filter) {
    const ScriptProgram::FilterAnswer answer = program.Filter(*pod, node, 1);
    if (answer.verdict == ScriptProgram::Verdict::kFailed) failed();
    if (!answer.reason.empty()) CheckLine(answer.reason);
    answers.text += std::to_string(static_cast<int>(answer.verdict)) + std::string(answer.reason) + "\n";
  }
  if (declared.has_score) {
    const auto score = program.Score(*pod, node, 1);
    if (!score) failed();
    answers.text += std::to_string(score.value_or(-1)) + "\n";
  }
  if (declared.has_normalize) {
    ScriptProgram::Scores scores{{"n1", 5}, {"n2", 7}};
    if (!program.Normalize(*pod, 1, scores)) failed();
    for (const auto& [name, score] : scores) {
      BERTH_CHECK(score >= 0 && score <= framework::kNodeScoreMax, score);
      answers.text += std::string(name) + std::to_string(score) + "\n";
    }
  }
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plugins::ScriptArgs args;
  args.args_json = R"({"zone":"a","list":[1,2,{"x":null}]})";
  // Small, so that many are tried.
  args.limits.instructions_max = 2'000;
  args.limits.memory_bytes_max = std::size_t{512} << 10;
  const auto loaded = ScriptProgram::Load(args, "fuzz.lua", {reinterpret_cast<const char*>(data), size});
  if (!loaded.ok()) {
    CheckLine(loaded.error().message);
    return 0;
  }
  ScriptProgram& program = **loaded;
  // The same questions twice: nothing that a call did may show. How full the memory is may, when it is the limit.
  const Answers first = Ask(program);
  const Answers second = Ask(program);
  if (!first.is_over_limit && !second.is_over_limit) BERTH_CHECK(first.text == second.text, first.text, second.text);
  return 0;
}
