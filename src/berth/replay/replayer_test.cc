// SPDX-License-Identifier: Apache-2.0
// A recorded life of a scheduler can be repeated: the property, on simulated clusters with faults, restarts and
// preemption, from many seeds.
#include "berth/replay/replayer.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/plugins/registry.h"
#include "berth/proof/program_sim/simulation.h"
#include "berth/shell/recording/recording_testing.h"

namespace berth::replay {
namespace {

ReplayCounts ReplayAll(const std::string& directory, std::uint64_t seed) {
  ReplayCounts sum;
  const auto files = recording::ListRecordings(directory);
  EXPECT_TRUE(files.ok());
  for (const recording::RecordingFile& file : *files) {
    auto replayer = Replayer::Open(file.path, plugins::InTreePlugins());
    if (!replayer.ok()) {
      ADD_FAILURE() << replayer.error().message;
      continue;
    }
    for (;;) {
      // A time that is too early holds the next turn back, and does not lose it.
      const auto held = (*replayer)->Turn(Time::min());
      EXPECT_TRUE(held.ok() && !*held);
      const auto more = (*replayer)->Turn();
      EXPECT_TRUE(more.ok()) << more.error().message;
      if (!more.ok() || !*more) break;
    }
    const auto& difference = (*replayer)->difference();
    EXPECT_FALSE(difference) << "seed " << seed << ", " << file.path << ", decision " << difference->decision << ": "
                             << difference->what;
    EXPECT_EQ((*replayer)->damage(), "");
    sum.turns += (*replayer)->counts().turns;
    sum.inputs += (*replayer)->counts().inputs;
    sum.decisions += (*replayer)->counts().decisions;
    sum.placed += (*replayer)->counts().placed;
  }
  return sum;
}

TEST(Replay, SimulatedLivesAreRepeated) {
  log::SetLevel(log::Level::kError);
  const char* const count = std::getenv("BERTH_SIM_SEEDS");
  const std::uint64_t seeds = count != nullptr ? std::strtoull(count, nullptr, 10) : 25;
  ReplayCounts sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const recording::TemporaryDirectory directory;
    program_sim::Plan plan = program_sim::MakePlan(seed);
    plan.has_gatekeeper = false;  // it reads the clock, which a replay does not have
    const program_sim::Report report = program_sim::Simulate(plan, false, directory.path());
    EXPECT_EQ(report.hash, program_sim::Simulate(plan).hash) << "recording changes the run";
    const ReplayCounts counts = ReplayAll(directory.path(), seed);
    sum.inputs += counts.inputs;
    sum.decisions += counts.decisions;
    sum.placed += counts.placed;
  }
  EXPECT_GT(sum.inputs, 100 * seeds);
  EXPECT_GT(sum.decisions, 20 * seeds);
  EXPECT_GT(sum.placed, 10 * seeds);
}

}  // namespace
}  // namespace berth::replay
