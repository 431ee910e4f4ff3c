// Any text is a script or an error of one line; the functions of one that loads may be called, with anything but harm.
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
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

void CheckLine(std::string_view text) {
  BERTH_CHECK(!text.empty());
  BERTH_CHECK(text.find('\n') == std::string_view::npos, text);
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
  const auto& declared = program.declarations();
  const framework::PodInfoPtr pod = Pod();
  const framework::NodeInfo node = Node();
  // The same question twice: nothing that the first call did may show.
  for (int i = 0; i < 2; ++i) {
    if (declared.has_prefilter && program.PreFilter(*pod, 1).kind == ScriptProgram::PreFilterAnswer::Kind::kFailed)
      CheckLine(program.error());
    if (declared.has_filter && program.Filter(*pod, node, 1).verdict == ScriptProgram::Verdict::kFailed)
      CheckLine(program.error());
    if (declared.has_score && !program.Score(*pod, node, 1)) CheckLine(program.error());
    ScriptProgram::Scores scores{{"n1", 5}, {"n2", 7}};
    if (declared.has_normalize && !program.Normalize(*pod, 1, scores)) CheckLine(program.error());
    for (const auto& [name, score] : scores) BERTH_CHECK(score >= 0 && score <= 100, score);
  }
  return 0;
}
