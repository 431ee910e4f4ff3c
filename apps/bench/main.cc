// SPDX-License-Identifier: Apache-2.0
// berth-bench: the core in process, on a synthetic cluster. The measured time is from the first pod's "added" input to
// the last confirmation: classing, queue, cycle, assumption, bind output, bind-succeeded and pod-assigned inputs,
// event, decision record. Only decoding and I/O are left out. docs/benchmarks.md explains the figures.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/tick_clock.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/config/default.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/instruments/pod_traces.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/registry.h"
#include "driver.h"
#include "plugin_cost.h"
#include "rules.h"
#include "verifier.h"
#include "workload_table.h"
#include "workloads.h"

namespace {

using namespace berth;

// Approximate number of cycles verified by default.
constexpr int kVerifiedByDefault = 100;

struct Options {
  std::string workload = "basic";
  std::string config;  // file; empty: the default configuration
  bench::Shape shape;
  std::uint64_t seed = 1;
  std::optional<int> verify_every;  // 0: the default
  bool json = false;
  bool clear = false;
  int traced_per_million = 0;
};

struct Report {
  const Options& options;
  const bench::Workload& workload;
  const bench::RunResult& run;
  double deviation = 0;
  std::size_t classes = 0;
  double rss_cleared_mib = 0;  // 0: not requested
  const bench::Verifier* verifier = nullptr;
  std::string broken_rule;
};

int Usage() {
  std::fprintf(
      stderr,
      "usage: berth-bench [--workload NAME] [--nodes N] [--existing M] [--pods P] [--zones Z] [--seed S]\n"
      "                   [--deployments D] [--interleaved] [--amount A] [--config FILE] [--verify[=K]]\n"
      "                   [--clear] [--json] [--traced-per-million N]\n"
      "       berth-bench plugin [--nodes N] [--pods P] [--rounds R] [--json]: what a plugin of one's own costs\n"
      "  --config FILE the first profile of this configuration schedules all pods, not the default one\n"
      "  --verify[=K]  evaluates each K-th cycle again in the plain form and compares (default: about %d "
      "cycles);\n"
      "                not with --config, for a policy may know more than nodes and pods\n"
      "  --traced-per-million N  of a million pods, N are traced (docs/traces.md)\n"
      "  --clear       takes the measured pods away at the end and tells the memory that is left\n"
      "workloads (existing and measured pods for each node):\n",
      kVerifiedByDefault);
  for (const bench::WorkloadEntry& entry : bench::Workloads()) {
    std::fprintf(stderr, "  %-28s %4g / %-4g %s\n", entry.name, entry.existing_per_node, entry.pods_per_node,
                 entry.about);
  }
  return 2;
}

std::optional<int> ParseNumber(const char* text, int min) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < min || value > 100'000'000) return std::nullopt;
  return static_cast<int>(value);
}

std::optional<Options> ParseOptions(int argc, char** argv) {
  Options options;
  bench::Shape& shape = options.shape;
  const std::map<std::string, std::pair<int*, int>> numbers{{"--nodes", {&shape.nodes, 1}},
                                                            {"--existing", {&shape.existing, 0}},
                                                            {"--pods", {&shape.pods, 1}},
                                                            {"--zones", {&shape.zones, 1}},
                                                            {"--amount", {&shape.amount, 1}},
                                                            {"--deployments", {&shape.deployments, 1}},
                                                            {"--traced-per-million", {&options.traced_per_million, 1}}};
  const std::map<std::string, bool*> switches{
      {"--json", &options.json}, {"--clear", &options.clear}, {"--interleaved", &shape.interleaved}};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (const auto known = switches.find(arg); known != switches.end()) {
      *known->second = true;
    } else if (arg == "--verify") {
      options.verify_every = 0;
    } else if (arg.starts_with("--verify=")) {
      options.verify_every = ParseNumber(argv[i] + 9, 1);
      if (!options.verify_every) return std::nullopt;
    } else if (i + 1 == argc) {
      return std::nullopt;
    } else if (const auto number = numbers.find(arg); number != numbers.end()) {
      const auto value = ParseNumber(argv[++i], number->second.second);
      if (!value) return std::nullopt;
      *number->second.first = *value;
    } else if (arg == "--seed") {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--workload") {
      options.workload = argv[++i];
    } else if (arg == "--config") {
      options.config = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  if (options.verify_every && !options.config.empty()) return std::nullopt;
  return options;
}

// Runs `berth-bench plugin ...`; returns the exit status.
int RunPlugin(int argc, char** argv) {
  bench::PluginCostOptions options;
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    int* const number = arg == "--nodes"    ? &options.nodes
                        : arg == "--pods"   ? &options.pods
                        : arg == "--rounds" ? &options.rounds
                                            : nullptr;
    const auto value = number != nullptr && i + 1 < argc ? ParseNumber(argv[++i], 1) : std::nullopt;
    if (value) {
      *number = *value;
    } else if (arg == "--json") {
      options.json = true;
    } else {
      return Usage();
    }
  }
  return bench::RunPluginCost(options);
}

// The first profile of the file, or the default profile.
Expected<config::KubeSchedulerConfiguration> ReadConfiguration(const std::string& path,
                                                               const std::vector<std::string>& gates) {
  if (!gates.empty()) {
    if (!path.empty()) return InvalidError(path + ": this workload has a configuration of its own");
    auto parsed = config::FeatureGates::Parse({.release_minor = 37, .gates = gates});
    if (!parsed.ok()) return parsed.error();
    return config::DefaultConfiguration(*parsed);
  }
  if (path.empty()) return config::DefaultConfiguration();
  std::ifstream file(path);
  if (!file) return InvalidError(path + ": cannot be read");
  auto configuration =
      config::LoadConfiguration(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  if (!configuration.ok()) return configuration.error().Wrap(path);
  if (const auto valid = config::ValidateConfiguration(*configuration); !valid.ok()) return valid.error().Wrap(path);
  configuration->profiles.resize(1);
  return configuration;
}

struct Figures {
  double pods = 0;
  double pods_s = 0;
  double cpu_s_per_1000 = 0;
  std::optional<double> instructions_per_pod;
  double allocations_per_pod = 0;
  double bytes_per_pod = 0;
  double p50_us = 0, p99_us = 0, max_us = 0;
};

Figures FiguresOf(const Report& report) {
  const bench::RunResult& run = report.run;
  Figures figures;
  figures.pods = report.workload.shape.pods;
  figures.pods_s = static_cast<double>(run.bound) / (run.after.wall_s - run.before.wall_s);
  figures.cpu_s_per_1000 = (run.after.cpu_s - run.before.cpu_s) * 1000 / figures.pods;
  if (run.before.instructions && run.after.instructions)
    figures.instructions_per_pod =
        static_cast<double>(*run.after.instructions - *run.before.instructions) / figures.pods;
  figures.allocations_per_pod = static_cast<double>(run.after.allocations - run.before.allocations) / figures.pods;
  figures.bytes_per_pod = static_cast<double>(run.after.allocated_bytes - run.before.allocated_bytes) / figures.pods;
  const auto percentile = [&](double p) {
    const std::size_t count = run.cycles_us.size();
    if (count == 0) return 0.0;
    return static_cast<double>(
        run.cycles_us[std::min(count - 1, static_cast<std::size_t>(p * static_cast<double>(count)))]);
  };
  figures.p50_us = percentile(0.5);
  figures.p99_us = percentile(0.99);
  figures.max_us = percentile(1);
  return figures;
}

std::string Number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void PrintJson(const Report& report) {
  const Figures figures = FiguresOf(report);
  const bench::RunResult& run = report.run;
  const bench::Shape& shape = report.workload.shape;
  std::printf(
      "{\"workload\":\"%s\",\"profile\":\"%s\",\"nodes\":%d,\"existing\":%d,\"pods\":%d,\"deployments\":%d,"
      "\"interleaved\":%s,\"amount\":%"
      "d,"
      "\"seed\":%llu,\"pods_per_s\":%.0f,\"cpu_s_per_1000_pods\":%.6f,\"instructions_per_pod\":%s,"
      "\"allocations_per_pod\":%.2f,\"allocated_bytes_per_pod\":%.0f,",
      report.options.workload.c_str(), report.workload.scheduler_name.c_str(), shape.nodes, shape.existing, shape.pods,
      std::max(0, shape.deployments), shape.interleaved ? "true" : "false", std::max(0, shape.amount),
      static_cast<unsigned long long>(report.options.seed), figures.pods_s, figures.cpu_s_per_1000,
      figures.instructions_per_pod ? Number("%.0f", *figures.instructions_per_pod).c_str() : "null",
      figures.allocations_per_pod, figures.bytes_per_pod);
  std::printf(
      "\"cycles\":%zu,\"cycle_us\":{\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f},\"rss_before_mib\":%.1f,"
      "\"rss_after_mib\":%.1f,\"rss_peak_mib\":%.1f,\"rss_cleared_mib\":%s,\"classes\":%zu,",
      run.cycles_us.size(), figures.p50_us, figures.p99_us, figures.max_us, run.before.rss_mib, run.after.rss_mib,
      run.after.rss_peak_mib, report.options.clear ? Number("%.1f", report.rss_cleared_mib).c_str() : "null",
      report.classes);
  std::printf(
      "\"bound\":%llu,\"unbound\":%llu,\"events\":%llu,\"victims\":%llu,\"pods_per_node_stddev\":%.3f,"
      "\"rule_broken\":%s,\"verify\":%s}\n",
      static_cast<unsigned long long>(run.bound),
      static_cast<unsigned long long>(static_cast<std::uint64_t>(shape.pods) - run.bound),
      static_cast<unsigned long long>(run.events), static_cast<unsigned long long>(run.victims), report.deviation,
      report.broken_rule.empty() ? "false" : "true",
      report.verifier == nullptr ? "null"
                                 : ("{\"cycles\":" + std::to_string(report.verifier->checked()) +
                                    ",\"violations\":" + std::to_string(report.verifier->violations()) + "}")
                                       .c_str());
}

void PrintText(const Report& report) {
  const Figures figures = FiguresOf(report);
  const bench::RunResult& run = report.run;
  const bench::Shape& shape = report.workload.shape;
  const std::string instructions =
      figures.instructions_per_pod ? Number("%.0f", *figures.instructions_per_pod) : std::string("n/a");
  std::printf(
      "%s, %d nodes, %d existing, %d pods: %.0f pods/s, %.6f CPU s per 1,000 pods, %s instructions and %.1f "
      "allocations (%.0f bytes) a pod, cycle %.2f us (p99 %.2f, max %.2f), RSS %.1f MiB (before %.1f, peak %.1f), %llu "
      "bound, %llu unbound, %llu events, %.3f stddev of pods per node",
      report.options.workload.c_str(), shape.nodes, shape.existing, shape.pods, figures.pods_s, figures.cpu_s_per_1000,
      instructions.c_str(), figures.allocations_per_pod, figures.bytes_per_pod, figures.p50_us, figures.p99_us,
      figures.max_us, run.after.rss_mib, run.before.rss_mib, run.after.rss_peak_mib,
      static_cast<unsigned long long>(run.bound),
      static_cast<unsigned long long>(static_cast<std::uint64_t>(shape.pods) - run.bound),
      static_cast<unsigned long long>(run.events), report.deviation);
  if (run.victims > 0) std::printf(", %llu victims", static_cast<unsigned long long>(run.victims));
  if (report.options.clear) std::printf(", RSS without the pods %.1f MiB", report.rss_cleared_mib);
  if (report.verifier != nullptr)
    std::printf(", %d cycles verified, %d violations", report.verifier->checked(), report.verifier->violations());
  std::printf("\n");
}

// Prints failures; the exit status is 1 if there are any.
int Judge(const Report& report) {
  const bench::RunResult& run = report.run;
  int status = 0;
  const auto complain = [&](const std::string& what) {
    std::fprintf(stderr, "berth-bench: %s\n", what.c_str());
    status = 1;
  };
  const auto pods = static_cast<std::uint64_t>(report.workload.shape.pods);
  if (!run.failure.empty()) complain(run.failure);
  if (run.bound != pods) complain(std::to_string(pods - run.bound) + " pods unbound");
  if (run.unconfirmed != 0) complain(std::to_string(run.unconfirmed) + " decisions unconfirmed");
  if (run.events < run.bound) complain(std::to_string(run.bound - run.events) + " events are missing");
  if (!report.broken_rule.empty()) complain("the placements break a rule: " + report.broken_rule);
  if (report.verifier != nullptr && report.verifier->violations() > 0)
    complain("not what the plain evaluation says: " + report.verifier->first_violation());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "plugin") return RunPlugin(argc, argv);
  const auto options = ParseOptions(argc, argv);
  if (!options) return Usage();
  const bench::WorkloadEntry* entry = bench::FindWorkload(options->workload);
  if (entry == nullptr) {
    std::fprintf(stderr, "berth-bench: --workload %s: unknown\n", options->workload.c_str());
    return Usage();
  }
  bench::Workload workload = bench::MakeWorkload(*entry, options->shape);
  const auto configuration = ReadConfiguration(options->config, workload.gates);
  if (!configuration.ok()) {
    std::fprintf(stderr, "berth-bench: %s\n", configuration.error().message.c_str());
    return 2;
  }
  workload.scheduler_name = configuration->profiles.front().scheduler_name;

  scheduler::CoreHandle handle([](framework::PermitDecision) {});
  auto profiles = runtime::MakeProfiles(*configuration, plugins::InTreePlugins(), handle);
  if (!profiles.ok()) {
    std::fprintf(stderr, "berth-bench: %s\n", profiles.error().message.c_str());
    return 2;
  }
  scheduler::SchedulerOptions core_options;
  core_options.seed = options->seed;
  // Metrics are enabled as in production.
  const SystemClock clock;
  MetricRegistry registry;
  instruments::SchedulerMetrics metrics(registry);
  core_options.metrics = &metrics;
  const TickClock stopwatch(clock);
  core_options.stopwatch = &stopwatch;
  instruments::PodTraces traces(static_cast<std::uint32_t>(options->traced_per_million), options->seed);
  if (options->traced_per_million > 0) metrics.traces = &traces;
  scheduler::Scheduler core(core_options, handle, std::move(*profiles));

  std::optional<bench::Verifier> verifier;
  if (options->verify_every) {
    const int every = *options->verify_every;
    verifier.emplace(every > 0 ? every : std::max(1, workload.shape.pods / kVerifiedByDefault));
  }
  const bench::Meter meter;
  bench::Driver driver(core, workload, verifier ? &*verifier : nullptr);
  if (options->traced_per_million > 0) driver.TakeSpansOf(traces);
  driver.Prepare();
  const bench::RunResult run = driver.Run(meter);

  Report report{*options, workload, run};
  report.deviation = bench::PodsPerNodeDeviation(driver.placements());
  report.classes = core.pod_classes().size();
  report.verifier = verifier ? &*verifier : nullptr;
  report.broken_rule = bench::CheckCapacity(workload, driver.placements());
  if (report.broken_rule.empty() && workload.rule) report.broken_rule = workload.rule(driver.placements());
  if (options->clear) {
    driver.Clear();
    bench::ReturnFreeMemory();
    report.rss_cleared_mib = meter.Read().rss_mib;
  }
  options->json ? PrintJson(report) : PrintText(report);
  return Judge(report);
}
