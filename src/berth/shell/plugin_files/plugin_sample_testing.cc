// SPDX-License-Identifier: Apache-2.0
// What the tests of the loader load, good and bad: each behaviour has a macro.
#include "berth/plugin.h"

#include <cstdlib>
#include <stdexcept>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

// Refuses nodes without a name that begins with the argument `prefix`.
class Sample final : public berth::FilterPlugin {
 public:
  static std::unique_ptr<berth::Plugin> Create(berth::PluginArgs& args, berth::Handle&) {
    auto plugin = std::make_unique<Sample>();
    args.Require("prefix", plugin->prefix_);
    return plugin;
  }
  std::string_view Name() const override { return "Sample"; }
  berth::Status Filter(const berth::Cycle&, const berth::PodInfo&, const berth::NodeInfo& node) const override {
    if (node.name().starts_with(prefix_)) return {};
    return berth::Status::Unschedulable("node(s) had another name");
  }

 private:
  std::string prefix_;
};

#if defined(SAMPLE_ABORTS)
[[maybe_unused]] const bool kAborts = (std::abort(), true);
#elif defined(SAMPLE_EXITS)
// Past the sanitizers, which have a word to say at exit().
[[maybe_unused]] const bool kExits = (::syscall(SYS_exit_group, 3), true);
#elif defined(SAMPLE_HANGS)
[[maybe_unused]] const bool kHangs = [] {
  for (;;) ::pause();
  return true;
}();
#endif

}  // namespace

#if defined(SAMPLE_IS_UNDEFINED)
namespace berth {
int NowhereToBeFound();
}
extern "C" int sample_number();
extern "C" int sample_number() { return berth::NowhereToBeFound(); }
#endif

#if defined(SAMPLE_THROWS)
BERTH_PLUGINS((throw std::runtime_error("not today"), berth::WithPlugin("Sample", Sample::Create)));
#elif defined(SAMPLE_NAMES_NOTHING)
[[maybe_unused]] const auto kUnused = Sample::Create;
BERTH_PLUGINS();
#elif defined(SAMPLE_IS_UNMARKED)
[[maybe_unused]] const auto kUnused = Sample::Create;
#else
BERTH_PLUGIN("Sample", Sample::Create);
#endif
