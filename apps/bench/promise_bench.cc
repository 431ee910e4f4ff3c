// SPDX-License-Identifier: Apache-2.0
// berth-promise-bench: what the answer to a ProvisioningRequest costs, and whether promises hold when more is asked for
// than there is. From the request's JSON to the body of the patch with its conditions: decoding, controller, core. Left
// out are the network, the API server, and the pauses between turns. docs/provisioning-requests.md has figures.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "meter.h"
#include "promise_world.h"

namespace {

using namespace berth;
using bench::AnswerCost;
using bench::PromiseWorld;

// Promises that are held at a time while requests are answered one by one.
constexpr int kHeld = 100;
// Answers that the first and the last ones are judged by.
constexpr std::size_t kCompared = 100;
constexpr double kAnswerMsMax = 50;
constexpr double kGrowthMax = 1.5;
constexpr Duration kStep = std::chrono::seconds(5);
constexpr Duration kPatience = std::chrono::hours(4);
constexpr int kOthers = 20'000;

struct Options {
  bench::PromiseShape shape;
  std::string part = "all";
  bool judges = false;
};

double At(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

std::vector<double> CpuOf(const std::vector<AnswerCost>& costs, bool is_promised) {
  std::vector<double> values;
  for (const AnswerCost& each : costs) {
    if (each.is_promised == is_promised) values.push_back(each.cpu_us);
  }
  return values;
}

// The median of the last ones by that of the first ones.
double Growth(const std::vector<double>& values) {
  const std::size_t count = std::min(kCompared, values.size() / 2);
  if (count == 0) return 1;
  const std::vector<double> first(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  const std::vector<double> last(values.end() - static_cast<std::ptrdiff_t>(count), values.end());
  return At(last, 0.5) / std::max(At(first, 0.5), 1e-3);
}

void Print(const char* what, const std::vector<double>& values) {
  std::printf("%-44s %8zu %10.0f %10.0f %10.0f %8.2f\n", what, values.size(), At(values, 0.5), At(values, 0.99),
              At(values, 1), Growth(values));
}

void PrintHead(const char* what) {
  std::printf("%-44s %8s %10s %10s %10s %8s\n", what, "count", "p50 us", "p99 us", "max us", "growth");
}

bool Report(const PromiseWorld& world) {
  for (const std::string& line : world.broken()) std::fprintf(stderr, "berth-promise-bench: %s\n", line.c_str());
  return world.broken().empty();
}

// Requests come one after the other; each keeps its room until a hundred others have come.
bool AnswerOneByOne(const Options& options) {
  PromiseWorld world(options.shape);
  const bench::Meter meter;
  world.TakeCosts();
  const bench::Reading before = meter.Read();
  std::vector<AnswerCost> costs;
  for (int i = 0; i < options.shape.requests; ++i) {
    if (i >= kHeld) world.Delete(i - kHeld);
    world.Settle();
    world.Create(i);
    world.Settle();
    const std::vector<AnswerCost> cost = world.TakeCosts();
    if (!cost.empty()) costs.push_back(cost.front());
  }
  const bench::Reading after = meter.Read();
  std::vector<double> wall;
  for (const AnswerCost& each : costs) wall.push_back(each.wall_us);
  PrintHead("one by one, from arrival to answer");
  Print("wall clock", wall);
  Print("CPU time", CpuOf(costs, true));
  const std::vector<double> refused = CpuOf(costs, false);
  if (!refused.empty()) Print("CPU time, without room", refused);
  const double requests = options.shape.requests;
  std::printf(
      "%.1f pods a request; with the end of its promise a request takes %.0f us of CPU time",
      static_cast<double>(world.pods_promised()) / std::max(1.0, requests - static_cast<double>(refused.size())),
      (after.cpu_s - before.cpu_s) * 1e6 / requests);
  if (before.instructions && after.instructions) {
    std::printf(" and %.0f instructions", static_cast<double>(*after.instructions - *before.instructions) / requests);
  }
  std::printf(", %.0f allocations\n", static_cast<double>(after.allocations - before.allocations) / requests);
  bool is_good = Report(world);
  if (costs.size() != static_cast<std::size_t>(options.shape.requests)) {
    std::fprintf(stderr, "berth-promise-bench: only %zu requests were answered at once\n", costs.size());
    is_good = false;
  }
  // By CPU time, which is the wall clock's on an idle machine.
  std::vector<double> cpu;
  for (const AnswerCost& each : costs) cpu.push_back(each.cpu_us);
  if (options.judges && At(cpu, 0.99) > kAnswerMsMax * 1000) {
    std::fprintf(stderr, "berth-promise-bench: p99 of an answer is over %.0f ms of CPU time\n", kAnswerMsMax);
    is_good = false;
  }
  return is_good;
}

// All requests come at once, for several times of what there is; then pods that would take all room; then the promised
// ones. Where they end, the next requests get room, until all had theirs.
bool Contend(const Options& options) {
  PromiseWorld world(options.shape);
  world.TakeCosts();
  for (int i = 0; i < options.shape.requests; ++i) world.Create(i);
  world.Settle();
  const std::vector<AnswerCost> burst = world.TakeCosts();
  std::vector<int> served = world.Promised();
  const std::size_t at_once = served.size();
  const std::size_t unexplained = world.unexplained();

  world.AddOthers(options.shape.nodes * kOthers / 5000, "1");
  const std::size_t others = world.others_bound();
  world.TakePodCosts();
  world.AddPods(served);
  const std::vector<double> pods = world.TakePodCosts();
  world.RemoveOthers();

  world.TakeCosts();
  std::size_t done = 0;
  Duration passed{0};
  while (passed < kPatience) {
    for (const int request : served) {
      world.Delete(request);
      world.RemovePods(request);
    }
    done += served.size();
    if (done >= static_cast<std::size_t>(options.shape.requests)) break;
    world.Pass(kStep);
    passed += kStep;
    served = world.Promised();
    world.AddPods(served);
  }
  const std::vector<AnswerCost> later = world.TakeCosts();
  PrintHead("all at once");
  Print("CPU time, promised", CpuOf(burst, true));
  Print("CPU time, no room", CpuOf(burst, false));
  Print("CPU time of a pod that comes for its room", pods);
  Print("CPU time, promised later", CpuOf(later, true));
  double all = 0;
  for (const AnswerCost& each : burst) all += each.cpu_us;
  std::printf(
      "%zu of %d requests got room at once, and all answers took %.0f ms of CPU time; %zu other pods were bound beside "
      "them.\n%zu had room in the end, after %lld s; %llu pods were promised room, %llu came and were bound.\n",
      at_once, options.shape.requests, all / 1000, others, done,
      static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(passed).count()),
      static_cast<unsigned long long>(world.pods_promised()), static_cast<unsigned long long>(world.pods_bound()));
  bool is_good = Report(world);
  const auto demand = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "berth-promise-bench: %s\n", what);
    is_good = is_good && holds;
  };
  demand(burst.size() == static_cast<std::size_t>(options.shape.requests), "not all requests were answered");
  demand(at_once > 0 && at_once < static_cast<std::size_t>(options.shape.requests), "nothing was contended");
  demand(unexplained == 0, "some requests without room are not told why");
  demand(done == static_cast<std::size_t>(options.shape.requests), "some requests never got room");
  demand(world.pods_promised() == world.pods_bound(), "not all promised pods were bound");
  if (options.judges) {
    demand(Growth(CpuOf(burst, true)) <= kGrowthMax, "the last promises cost more than the first ones");
    demand(Growth(CpuOf(burst, false)) <= kGrowthMax, "the last refusals cost more than the first ones");
    demand(Growth(pods) <= kGrowthMax, "the last pods cost more than the first ones");
  }
  return is_good;
}

int Usage() {
  std::fprintf(stderr,
               "usage: berth-promise-bench [--nodes N] [--existing M] [--requests R] [--seed S] [--part "
               "answers|contention] [--judge]\n"
               "  --existing M  pods on each node\n"
               "  --judge       exit status 1 where a target is missed: p99 of an answer 50 ms of CPU time, and the "
               "last one hundred\n"
               "                cost at most 1.5 times what the first did\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, int*> numbers{{"--nodes", &options.shape.nodes},
                                                 {"--existing", &options.shape.existing},
                                                 {"--requests", &options.shape.requests}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--judge") {
      options.judges = true;
      continue;
    }
    if (i + 1 == argc) return Usage();
    if (const auto number = numbers.find(arg); number != numbers.end()) {
      *number->second = std::atoi(argv[++i]);
      if (*number->second < 1 || *number->second > 1'000'000) return Usage();
    } else if (arg == "--seed") {
      options.shape.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--part") {
      options.part = argv[++i];
      if (options.part != "answers" && options.part != "contention") return Usage();
    } else {
      return Usage();
    }
  }
  bool is_good = true;
  if (options.part != "contention") is_good = AnswerOneByOne(options) && is_good;
  if (options.part != "answers") is_good = Contend(options) && is_good;
  return is_good ? 0 : 1;
}
