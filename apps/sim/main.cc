// SPDX-License-Identifier: Apache-2.0
// berth-sim: runs the whole program with a simulated network and API server, from seeds (src/berth/proof/program_sim).
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "berth/base/log.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/proof/program_sim/shrink.h"
#include "berth/proof/program_sim/simulation.h"
#include "isolated.h"

namespace {

using berth::program_sim::Item;
using berth::program_sim::Keep;
using berth::program_sim::MakePlan;
using berth::program_sim::Plan;
using berth::program_sim::Report;

constexpr int kShrinkRunsMax = 400;
constexpr int kShownMax = 5;  // failing seeds that are minimised and shown
constexpr std::uint64_t kSeedsDefault = 200'000;

int Usage() {
  std::fprintf(stderr,
               "usage: berth-sim [--seeds N|A..B] [--seed N [--only POSITIONS]] [--trace] [--jobs N] [--first]\n"
               "Without --seed it runs the seeds 1..N (default 200000) and makes a failing one as small as it gets.\n"
               "--only leaves out all of the seed's plan but the items at these positions, as in 3,7,12.\n"
               "--trace shows the plan and all that happens. --first ends at the first seed that fails.\n"
               "Exit status 1: something did not hold; 2: bad arguments.\n");
  return 2;
}

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = kSeedsDefault;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> only;
  bool traces = false;
  bool ends_at_first = false;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number > UINT64_MAX / 2) return std::nullopt;
  return number;
}

bool ParseSeeds(std::string_view text, Options& options) {
  const std::size_t dots = text.find("..");
  const auto first = dots == std::string_view::npos ? std::optional<std::uint64_t>(1) : Number(text.substr(0, dots));
  const auto last = Number(dots == std::string_view::npos ? text : text.substr(dots + 2));
  if (!first || !last || *last < *first) return false;
  options.first = *first;
  options.last = *last;
  return true;
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--trace") {
      options.traces = true;
      continue;
    }
    if (arg == "--first") {
      options.ends_at_first = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string_view value = argv[++i];
    if (arg == "--seeds") {
      if (!ParseSeeds(value, options)) return std::nullopt;
    } else if (arg == "--seed") {
      if (!(options.seed = Number(value))) return std::nullopt;
    } else if (arg == "--only") {
      options.only = value;
    } else if (arg == "--jobs") {
      const auto jobs = Number(value);
      if (!jobs || *jobs < 1 || *jobs > 256) return std::nullopt;
      options.jobs = static_cast<int>(*jobs);
    } else {
      return std::nullopt;
    }
  }
  if (options.only && !options.seed) return std::nullopt;
  return options;
}

void PrintPlan(const Plan& plan, const std::vector<std::size_t>* positions) {
  const char* const instances = plan.has_short_lease ? "two processes elect a leader with a lease of 6 s"
                                : plan.has_election  ? "two processes elect a leader"
                                : plan.same_name     ? "a second instance has the same name"
                                                     : "a second instance has another name";
  std::printf("  %s, %s%s%s%s, calm from %.3fs\n", plan.takes_protobuf ? "protobuf" : "JSON",
              plan.is_tenant_storm ? "only one namespace's webhooks fail or are slow, " : "",
              plan.is_server_slow ? "nothing fails and the server is slow for all, " : "",
              plan.has_gatekeeper ? "a plugin holds pods up, " : "", instances,
              static_cast<double>(plan.storm_end.count()) / 1e6);
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const std::size_t position = positions == nullptr ? i : (*positions)[i];
    std::printf("  %3zu  %s\n", position, plan.items[i].Text().c_str());
  }
}

void ShrinkAndShow(std::uint64_t seed, const Report& report) {
  std::printf("seed %llu: %s\n  replay: ./dev sim --seed %llu --trace\n", static_cast<unsigned long long>(seed),
              report.violation.c_str(), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const Plan plan = MakePlan(seed);
  Report smallest = report;
  const auto positions = berth::program_sim::Shrink(
      plan,
      [&](const Plan& smaller) {
        const Report found = berth::program_sim::SimulateIsolated(smaller);
        if (found.check != report.check) return false;
        smallest = found;
        return true;
      },
      kShrinkRunsMax);
  std::printf("  smallest: %zu of %zu items: %s\n  replay: ./dev sim --seed %llu --only %s --trace\n", positions.size(),
              plan.items.size(), smallest.violation.c_str(), static_cast<unsigned long long>(seed),
              berth::program_sim::PositionsText(positions).c_str());
  PrintPlan(Keep(plan, positions), &positions);
  std::fflush(stdout);
}

int RunOne(const Options& options) {
  Plan plan = MakePlan(*options.seed);
  std::vector<std::size_t> positions;
  if (options.only) {
    positions = berth::program_sim::ParsePositions(*options.only);
    plan = Keep(plan, positions);
  }
  if (options.traces) PrintPlan(plan, options.only ? &positions : nullptr);
  const Report report = berth::program_sim::Simulate(plan, options.traces);
  std::printf(
      "seed %llu: %s (%lld bound, %lld evicted, %lld requests, %lld faults, %lld lives, %lld leaders, settled in "
      "%.1fs, "
      "%016llx)\n",
      static_cast<unsigned long long>(*options.seed), report.check.empty() ? "all held" : report.violation.c_str(),
      static_cast<long long>(report.bound), static_cast<long long>(report.evicted),
      static_cast<long long>(report.requests), static_cast<long long>(report.faults),
      static_cast<long long>(report.lives), static_cast<long long>(report.leaders),
      static_cast<double>(report.settled.count()) / 1e6, static_cast<unsigned long long>(report.hash));
  return report.check.empty() ? 0 : 1;
}

int RunMany(const Options& options) {
  std::map<std::uint64_t, Report> failed;
  std::uint64_t count = 0;
  Report sum;
  const auto tell = [&](std::uint64_t seed, const Report& report) {
    ++count;
    sum.bound += report.bound;
    sum.evicted += report.evicted;
    sum.requests += report.requests;
    sum.faults += report.faults;
    sum.lives += report.lives;
    sum.leaders += report.leaders;
    sum.promises += report.promises;
    sum.waiting += report.waiting;
    sum.settled = std::max(sum.settled, report.settled);
    // Independent of the order in which seeds finish.
    sum.hash += report.hash * (2 * seed + 1);
    if (!report.check.empty()) {
      failed.emplace(seed, report);
      // Printed at once, because minimising it takes long.
      std::fprintf(stderr, "seed %llu fails: %s\n", static_cast<unsigned long long>(seed), report.check.c_str());
    }
    return !(options.ends_at_first && !failed.empty());
  };
  berth::program_sim::SimulateSeeds(options.first, options.last, options.jobs, tell);
  int shown = 0;
  for (const auto& [seed, report] : failed) {
    if (shown++ < kShownMax) {
      ShrinkAndShow(seed, report);
    } else {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), report.violation.c_str());
    }
  }
  std::printf(
      "%llu seeds, %zu failed: %lld bound, %lld evicted, %lld told why they wait, %lld requests, %lld faults, "
      "%lld lives, %lld leaders, %lld pods that came for promised room, settled in %.1fs at most, %016llx\n",
      static_cast<unsigned long long>(count), failed.size(), static_cast<long long>(sum.bound),
      static_cast<long long>(sum.evicted), static_cast<long long>(sum.waiting), static_cast<long long>(sum.requests),
      static_cast<long long>(sum.faults), static_cast<long long>(sum.lives), static_cast<long long>(sum.leaders),
      static_cast<long long>(sum.promises), static_cast<double>(sum.settled.count()) / 1e6,
      static_cast<unsigned long long>(sum.hash));
  return failed.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = Parse(argc, argv);
  if (!options) return Usage();
  // Failures are expected here, and would be logged a million times.
  berth::log::SetLevel(options->traces ? berth::log::Level::kInfo : berth::log::Level::kError);
  return options->seed ? RunOne(*options) : RunMany(*options);
}
