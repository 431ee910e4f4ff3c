// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/process_metrics.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "berth/base/log_writer.h"

namespace berth::metrics {
namespace {

std::string ReadWhole(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::optional<double> NumberIn(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  return value;
}

// The fields of /proc/self/stat from the third on: the second, the program's name, may hold anything.
std::vector<std::string> StatFields() {
  const std::string stat = ReadWhole("/proc/self/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? std::vector<std::string>() : Words(stat.substr(name_end + 1));
}

// Seconds since the epoch at which the machine was started.
std::optional<double> BootTime() {
  const std::string stat = ReadWhole("/proc/stat");
  const std::size_t at = stat.find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  return NumberIn(std::string_view(stat).substr(at + 7));
}

std::optional<double> OpenFiles() {
  std::error_code problem;
  const std::filesystem::directory_iterator open("/proc/self/fd", problem);
  if (problem) return std::nullopt;
  // One of the entries is the descriptor of the listing itself.
  return static_cast<double>(std::distance(begin(open), end(open)) - 1);
}

double Limit(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return 0;
  return static_cast<double>(limit.rlim_cur);
}

// Bytes received and sent on all interfaces.
std::optional<std::pair<double, double>> NetworkBytes() {
  const std::string net = ReadWhole("/proc/self/net/netstat");
  // Each group has two lines: names, then values.
  const std::size_t names_at = net.find("IpExt:");
  const std::size_t values_at = names_at == std::string::npos ? names_at : net.find("IpExt:", names_at + 1);
  if (values_at == std::string::npos) return std::nullopt;
  const std::vector<std::string> names = Words(net.substr(names_at, net.find('\n', names_at) - names_at));
  const std::vector<std::string> values = Words(net.substr(values_at, net.find('\n', values_at) - values_at));
  const auto value_of = [&](std::string_view name) -> std::optional<double> {
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    return at < values.size() ? NumberIn(values[at]) : std::nullopt;
  };
  const auto received = value_of("InOctets");
  const auto sent = value_of("OutOctets");
  if (!received || !sent) return std::nullopt;
  return std::pair(*received, *sent);
}

struct ProcessCells {
  explicit ProcessCells(MetricRegistry& registry)
      : cpu(registry.AddCounter({"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", {}})
                .With({})),
        max_fds(registry.AddGauge({"process_max_fds", "Maximum number of open file descriptors.", {}}).With({})),
        received(registry
                     .AddCounter({"process_network_receive_bytes_total",
                                  "Number of bytes received by the process over the network.",
                                  {}})
                     .With({})),
        sent(registry
                 .AddCounter({"process_network_transmit_bytes_total",
                              "Number of bytes sent by the process over the network.",
                              {}})
                 .With({})),
        open_fds(registry.AddGauge({"process_open_fds", "Number of open file descriptors.", {}}).With({})),
        resident(registry.AddGauge({"process_resident_memory_bytes", "Resident memory size in bytes.", {}}).With({})),
        start(
            registry
                .AddGauge({"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", {}})
                .With({})),
        virtual_memory(
            registry.AddGauge({"process_virtual_memory_bytes", "Virtual memory size in bytes.", {}}).With({})),
        virtual_max(
            registry
                .AddGauge(
                    {"process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", {}})
                .With({})) {}

  void Update() const {
    const std::vector<std::string> fields = StatFields();
    const auto field = [&](std::size_t number) -> std::optional<double> {  // as proc(5) numbers them
      return fields.size() > number - 3 ? NumberIn(fields[number - 3]) : std::nullopt;
    };
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto user = field(14);
    const auto system = field(15);
    if (user && system) cpu.Store((*user + *system) / ticks);
    if (const auto started = field(22), boot = BootTime(); started && boot) start.Set(*boot + *started / ticks);
    if (const auto bytes = field(23)) virtual_memory.Set(*bytes);
    if (const auto pages = field(24)) resident.Set(*pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
    if (const auto count = OpenFiles()) open_fds.Set(*count);
    max_fds.Set(Limit(RLIMIT_NOFILE));
    virtual_max.Set(Limit(RLIMIT_AS));
    if (const auto bytes = NetworkBytes()) {
      received.Store(bytes->first);
      sent.Store(bytes->second);
    }
  }

  CounterCell& cpu;
  GaugeCell& max_fds;
  CounterCell& received;
  CounterCell& sent;
  GaugeCell& open_fds;
  GaugeCell& resident;
  GaugeCell& start;
  GaugeCell& virtual_memory;
  GaugeCell& virtual_max;
};

}  // namespace

void AddProcessMetrics(MetricRegistry& registry) {
  registry.BeforeReading([cells = ProcessCells(registry)] { cells.Update(); });
}

void AddBuildMetrics(MetricRegistry& registry, const KubernetesVersion& version) {
  registry
      .AddGauge(
          {"kubernetes_build_info",
           "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree "
           "state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it "
           "is running.",
           {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler",
            "platform"}})
      .With({version.major, version.minor, version.git_version, "", "", "", "", "g++",
#ifdef __aarch64__
             "linux/arm64"
#else
             "linux/amd64"
#endif
      })
      .Set(1);
  registry.AddCounter({"hidden_metrics_total", "[BETA] The count of hidden metrics.", {}});
  registry.AddCounter({"disabled_metrics_total", "[BETA] The count of disabled metrics.", {}});
}

void SetLeader(MetricRegistry& registry, const std::string& lease_name, bool is_leader) {
  registry
      .AddGauge(
          {"leader_election_master_status",
           "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 "
           "indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
           {"name"}})
      .With({lease_name})
      .Set(is_leader ? 1 : 0);
}

void SetReleases(MetricRegistry& registry, int followed_minor, int server_minor) {
  registry
      .AddGauge({"berth_followed_kubernetes_minor",
                 "Minor version of Kubernetes as whose kube-scheduler this process decides.",
                 {}})
      .With({})
      .Set(followed_minor);
  registry
      .AddGauge({"berth_api_server_kubernetes_minor",
                 "Minor version of the oldest API server that has answered lately, as far as it is followed.",
                 {}})
      .With({})
      .Set(server_minor);
}

void AddSlowRenewals(MetricRegistry& registry, const std::string& lease_name, std::function<std::uint64_t()> count) {
  CounterCell& cell =
      registry
          .AddCounter({"leader_election_slowpath_total",
                       "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string "
                       "used to identify the lease. Please make sure to group by name.",
                       {"name"}})
          .With({lease_name});
  registry.BeforeReading([&cell, count = std::move(count)] { cell.Store(static_cast<double>(count())); });
}

void AddLogMetrics(MetricRegistry& registry) {
  CounterCell& cell =
      registry
          .AddCounter({"berth_log_lines_dropped_total",
                       "Lines of the log that were dropped, because what was written is read too slowly.",
                       {}})
          .With({});
  registry.BeforeReading([&cell] { cell.Store(static_cast<double>(log::DroppedLines())); });
}

void AddFeatureMetrics(MetricRegistry& registry, const std::vector<Feature>& features) {
  GaugeFamily& family =
      registry.AddGauge({"kubernetes_feature_enabled",
                         "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
                         {"name", "stage"}});
  for (const Feature& feature : features) family.With({feature.name, feature.stage}).Set(feature.is_on ? 1 : 0);
}

}  // namespace berth::metrics
