// SPDX-License-Identifier: Apache-2.0
// Whenever a change makes a waiting pod or group fit, the queue has woken it; and few changes that help nobody wake
// anybody. A case is one change of one cluster; a seed is a cluster with some of them.
//   BERTH_WAKE_UPS=1..200000 wake_ups_property_test       that range of seeds
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/framework/release.h"
#include "berth/proof/wake_ups/play.h"

namespace berth::wake_ups {
namespace {

constexpr int kShownMax = 10;

// Each version's seeds are played in so many parts, each a test: the sanitizers run one part of each version a day.
constexpr std::uint64_t kParts = 4;

struct Range {
  std::uint64_t first = 1;
  std::uint64_t last = 600;
};

Range SeedRange() {
  Range range;
  if (const char* text = std::getenv("BERTH_WAKE_UPS")) {
    char* end = nullptr;
    range.first = range.last = std::strtoull(text, &end, 10);
    if (std::string(end).starts_with("..")) range.last = std::strtoull(end + 2, nullptr, 10);
  }
  return range;
}

// What came of the cases of one family, or of all.
struct Tally {
  std::uint64_t cases = 0;
  std::uint64_t placed = 0;
  std::uint64_t missed = 0;
  std::uint64_t in_vain = 0;
  std::uint64_t left_alone = 0;
  std::uint64_t timed = 0;

  void Add(const Played& played) {
    cases += static_cast<std::uint64_t>(played.cases());
    placed += static_cast<std::uint64_t>(played.placed);
    missed += played.missed.empty() ? 0 : 1;
    in_vain += static_cast<std::uint64_t>(played.tried_in_vain);
    left_alone += static_cast<std::uint64_t>(played.left_alone);
    timed += static_cast<std::uint64_t>(played.timed);
  }
  void Print(const char* name) const {
    std::printf("%16s: %8llu cases, %8llu placed, %4llu missed, %7llu in vain, %8llu left alone, %7llu by time\n", name,
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(placed),
                static_cast<unsigned long long>(missed), static_cast<unsigned long long>(in_vain),
                static_cast<unsigned long long>(left_alone), static_cast<unsigned long long>(timed));
  }
};

class WakeUps : public ::testing::TestWithParam<std::tuple<int, std::uint64_t>> {};  // minor version, part

TEST_P(WakeUps, WhoFitsAfterAChangeIsTried) {
  log::SetLevel(log::Level::kError);
  const auto [release_minor, part] = GetParam();
  const Range range = SeedRange();
  Tally all;
  std::array<Tally, kFamilyCount> families;
  for (std::uint64_t seed = range.first + part; seed <= range.last; seed += kParts) {
    const Played played = Play(seed, release_minor);
    all.Add(played);
    families.at(static_cast<std::size_t>(played.family)).Add(played);
    if (!played.missed.empty() && all.missed <= kShownMax) ADD_FAILURE() << "seed " << seed << ": " << played.missed;
  }
  for (std::size_t i = 0; i < FamilyCountOf(release_minor); ++i) families.at(i).Print(NameOf(static_cast<Family>(i)));
  all.Print(("1." + std::to_string(release_minor)).c_str());
  EXPECT_EQ(all.missed, 0U);
  // Of upstream's hints, which miss one in ten of those that fit, it was a fourth, too.
  EXPECT_LE(all.in_vain * 10, (all.in_vain + all.left_alone) * 3) << "too many tries that help nobody";
}

// Beyond the seeds of each day. 1449: a gang whose minCount grows while room is kept for it gave the room up, and no
// pod was woken. 20880: a group fits only if the member that joined last is tried first, which upstream does not do,
// either. 18359: a pod that would fit by preemption waits for the victims on the node that it is nominated for. 12798:
// two members are tried before the one with a spread constraint that they keep from fitting, and in most other orders
// all fit.
TEST(KeptWakeUps, StayMended) {
  log::SetLevel(log::Level::kError);
  const struct {
    std::uint64_t seed;
    int release_minor;
  } kKept[] = {{1449, 37}, {20880, 34}, {18359, 37}, {18359, 38}, {12798, 37}, {12798, 38}};
  for (const auto& kept : kKept) {
    const Played played = Play(kept.seed, kept.release_minor);
    EXPECT_TRUE(played.missed.empty()) << "seed " << kept.seed << ": " << played.missed;
  }
}

INSTANTIATE_TEST_SUITE_P(Releases, WakeUps,
                         ::testing::Combine(::testing::Range(framework::kOldestRelease, framework::kNewestRelease + 1),
                                            ::testing::Range<std::uint64_t>(0, kParts)));

}  // namespace
}  // namespace berth::wake_ups
