// berth-bench: the core alone, in process, on a synthetic cluster. What is measured goes from the first pod's "added"
// input to the last confirmation: classing, queue, cycle, assumption, bind output, bind-succeeded and pod-assigned
// inputs, event, decision record. Only decoding and I/O are outside.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/config/default.h"
#include "berth/plugins/registry.h"
#include "berth/runtime/profile_factory.h"
#include "berth/scheduler/scheduler.h"
#include "workloads.h"

namespace {

using namespace berth;

struct Options {
  std::string workload = "basic";
  int nodes = 1000;
  int existing = 1000;
  int pods = 5000;
  std::uint64_t seed = 1;
  bool json = false;
};

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A line such as "VmHWM:  123 kB" of /proc/self/status, in MiB.
double StatusMib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field + ":")) return std::strtod(line.c_str() + field.size() + 1, nullptr) / 1024;
  }
  return 0;
}

int Usage() {
  std::fprintf(stderr,
               "usage: berth-bench [--workload NAME] [--nodes N] [--existing M] [--pods P] [--seed S] [--json]\n"
               "workloads:\n");
  for (const bench::Workload& workload : bench::Workloads())
    std::fprintf(stderr, "  %-28s %s\n", workload.name, workload.about);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::map<std::string, int*> numbers{
      {"--nodes", &options.nodes}, {"--existing", &options.existing}, {"--pods", &options.pods}};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--json") {
      options.json = true;
    } else if (i + 1 == argc) {
      return Usage();
    } else if (const auto number = numbers.find(arg); number != numbers.end()) {
      *number->second = std::atoi(argv[++i]);
      if (*number->second < (arg == "--existing" ? 0 : 1)) return Usage();
    } else if (arg == "--seed") {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--workload") {
      options.workload = argv[++i];
    } else {
      return Usage();
    }
  }
  const auto& workloads = bench::Workloads();
  const auto workload = std::find_if(workloads.begin(), workloads.end(),
                                     [&](const bench::Workload& known) { return known.name == options.workload; });
  if (workload == workloads.end()) {
    std::fprintf(stderr, "berth-bench: --workload %s: unknown\n", options.workload.c_str());
    return Usage();
  }

  scheduler::CoreHandle handle([](framework::PermitDecision) {});
  auto profiles = runtime::MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle);
  if (!profiles.ok()) {
    std::fprintf(stderr, "berth-bench: %s\n", profiles.error().message.c_str());
    return 2;
  }
  scheduler::SchedulerOptions core_options;
  core_options.seed = options.seed;
  scheduler::Scheduler core(core_options, handle, std::move(*profiles));
  Time now = SystemClock().Now();
  for (int i = 0; i < options.nodes; ++i) core.Handle(scheduler::NodeSet{bench::MakeNode(i)}, now);
  for (int i = 0; i < options.existing; ++i) {
    auto pod = bench::MakePod(bench::kExistingNamespace, i);
    workload->existing(*pod);
    pod->spec.node_name = "node-" + std::to_string(i % options.nodes);
    core.Handle(scheduler::PodSet{pod}, now);
  }
  std::vector<std::shared_ptr<const api::Pod>> pending;
  std::vector<std::shared_ptr<api::Pod>> assigned;  // what the watch will say once the pod is bound
  for (int i = 0; i < options.pods; ++i) {
    auto pod = bench::MakePod(bench::kMeasuredNamespace, i);
    workload->measured(*pod);
    assigned.push_back(std::make_shared<api::Pod>(*pod));
    pending.push_back(std::move(pod));
  }
  std::vector<scheduler::Output> outputs;
  core.TakeOutputs(outputs);

  std::vector<double> cycles;
  cycles.reserve(pending.size());
  std::size_t bound = 0, events = 0;
  const double cpu_start = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  for (const auto& pod : pending) core.Handle(scheduler::PodSet{pod}, now);
  for (;;) {
    const auto before = std::chrono::steady_clock::now();
    if (!core.ScheduleOne(now)) break;
    cycles.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count());
    core.TakeOutputs(outputs);
    // What outputs cause may cause outputs: the Scheduled event comes with the binding's success.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (const auto* write = std::get_if<scheduler::Write>(&outputs[i])) {
        if (const auto* bind = std::get_if<framework::BindWrite>(&write->write)) {
          const auto& pod = assigned[static_cast<std::size_t>(std::atoi(bind->pod.name.c_str() + 4))];
          pod->spec.node_name = bind->node_name;
          core.Handle(scheduler::WriteDone{write->operation, {}}, now);
          core.Handle(scheduler::PodSet{pod}, now);
          ++bound;
        }
      }
    }
    core.TakeOutputs(outputs);
    for (const scheduler::Output& output : outputs)
      events += std::holds_alternative<scheduler::EmitEvent>(output) ? 1 : 0;
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu = CpuSeconds() - cpu_start;

  std::sort(cycles.begin(), cycles.end());
  const auto percentile = [&](double p) {
    return cycles.empty()
               ? 0.0
               : cycles[std::min(cycles.size() - 1, static_cast<std::size_t>(p * static_cast<double>(cycles.size())))];
  };
  std::string violation;
  if (workload->verify != nullptr) {
    std::vector<std::string> node_names;
    for (const auto& pod : assigned) {
      if (!pod->spec.node_name.empty()) node_names.push_back(pod->spec.node_name);
    }
    violation = workload->verify(node_names);
  }
  const std::size_t unbound = pending.size() - bound;
  const std::size_t unconfirmed = core.cache().assumed_count() + core.binding_count();
  std::printf(
      options.json
          ? "{\"workload\":\"%s\",\"nodes\":%d,\"existing\":%d,\"pods\":%d,\"pods_per_s\":%.0f,\"cpu_s_per_1000_pods\":"
            "%.6f,"
            "\"cycle_us\":{\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f},\"peak_rss_mib\":%.1f,\"bound\":%zu,\"unbound\":%zu,"
            "\"events\":%zu}\n"
          : "%s, %d nodes, %d existing, %d pods: %.0f pods/s, %.6f CPU s per 1,000 pods, cycle %.2f us (p99 %.2f, max "
            "%.2f), "
            "peak RSS %.1f MiB, %zu bound, %zu unbound, %zu events\n",
      options.workload.c_str(), options.nodes, options.existing, options.pods,
      static_cast<double>(pending.size()) / wall, cpu * 1000 / static_cast<double>(pending.size()), percentile(0.5),
      percentile(0.99), cycles.empty() ? 0.0 : cycles.back(), StatusMib("VmHWM"), bound, unbound, events);
  if (unbound != 0 || unconfirmed != 0 || events < bound) {
    std::fprintf(stderr, "berth-bench: %zu pods unbound, %zu unconfirmed, %zu events\n", unbound, unconfirmed, events);
    return 1;
  }
  if (!violation.empty()) {
    std::fprintf(stderr, "berth-bench: the placements break the workload's rule: %s\n", violation.c_str());
    return 1;
  }
  return 0;
}
