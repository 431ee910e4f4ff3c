// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/run_flags.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "berth/app/common_flags.h"
#include "berth/app/run/kube_scheduler_flags.h"
#include "berth/base/log.h"
#include "berth/base/log_settings.h"
#include "berth/base/time.h"
#include "berth/base/version.h"
#include "berth/codec/yaml.h"
#include "berth/demo/policy_demo.h"
#include "berth/framework/release.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/rebalance/move_ledger.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/client/file.h"
#include "berth/shell/runner/orderly_end.h"

namespace berth::app {
namespace {

constexpr std::size_t kInstanceBytesMax = 255;  // of a parameter of a ProvisioningRequest

constexpr std::size_t kColumns = 120;

// What upstream builds say without a commit and a date.
constexpr std::string_view kRaw = R"(version.Info{Major:"1", Minor:")";
constexpr std::string_view kRawMiddle =
    R"(", EmulationMajor:"", EmulationMinor:"", MinCompatibilityMajor:"", MinCompatibilityMinor:"", GitVersion:")";
constexpr std::string_view kRawEnd =
    R"(", GitCommit:"", GitTreeState:"", BuildDate:"1970-01-01T00:00:00Z", GoVersion:"", Compiler:"", Platform:"linux/amd64"})";

int Fail(const RunOptions& options, const Error& error) { return FailRun(options, error, cli::kExitUsage); }

// Before the flags say how the log is written.
int FailPlainly(const RunOptions& options, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", options.is_kube_scheduler ? "Error" : "berth", cli::Printable(why).c_str());
  return options.is_kube_scheduler ? cli::kExitFailed : cli::kExitUsage;
}

int PrintHelp(const RunOptions& options, const cli::FlagSet& flags) {
  std::printf(
      "Schedules the pods of a cluster: kube-scheduler's flags and configuration, and some of berth's own.\n\n"
      "Usage: %s [flags]\n\n%s\n"
      "SIGINT and SIGTERM end it: bindings under way get %d s to end, and their events what is left of these, at\n"
      "least one. SIGUSR2 writes cache and queue into its log, and goes on.\n",
      options.program.c_str(), flags.Help(kColumns).c_str(), runner::kShutdownGraceSeconds);
  return cli::kExitOk;
}

int PrintVersion(const RunOptions& options) {
  if (options.flags.version == VersionRequest::kRaw) {
    std::printf("%s%d%s%s%s\n", std::string(kRaw).c_str(), options.gates.release_minor(),
                std::string(kRawMiddle).c_str(), ReportedVersion(options, options.gates.release_minor()).c_str(),
                std::string(kRawEnd).c_str());
  } else {
    std::printf("Kubernetes %s\n", ReportedVersion(options, options.gates.release_minor()).c_str());
  }
  return cli::kExitOk;
}

// Adds what the file says to --allow-metric-labels, which is empty then.
Expected<void> ReadLabelManifest(MetricsOptions& options) {
  const std::string& path = options.allow_metric_labels_manifest;
  if (path.empty()) return {};
  const auto wrong = [&](std::string_view why) {
    return InvalidError("--allow-metric-labels-manifest " + path + ": " + std::string(why));
  };
  const auto text = client::ReadSmallFile(path);
  if (!text.ok()) return wrong(text.error().message);
  const auto document = codec::ParseYaml(*text);
  if (!document.ok()) return wrong(document.error().message);
  if (document->is_null()) return {};
  if (!document->is_object()) return wrong("should be a map");
  for (const auto& entry : document->get_object()) {
    const std::string key(entry.key());
    if (!IsMetricLabel(key) || !entry.value().is_string())
      return wrong("\"" + key + "\" should be METRIC,LABEL, with a text");
    const codec::json::string& values = entry.value().get_string();
    options.allow_metric_labels.emplace(key, std::string(values.data(), values.size()));
  }
  return {};
}

Expected<void> CheckOwn(const RunOptions& options, const cli::FlagSet& flags) {
  if (flags.IsGiven("scheduler-name") && options.scheduler_name.empty())
    return InvalidError("--scheduler-name: should be a name, for example berth");
  if (!options.flags.config.empty() && !options.scheduler_name.empty())
    return InvalidError(
        "--scheduler-name: names the default profile; with --config the file's profiles have the names");
  if (!options.flags.config.empty() && !options.policy.empty())
    return InvalidError("--policy: is in place of --config; give one of the two");
  if (flags.IsGiven("record-bytes-max") && options.record.directory.empty())
    return InvalidError("--record-bytes-max: is for --record");
  if (flags.IsGiven("once-patience") && !options.once) return InvalidError("--once-patience: is for --once");
  for (const std::string_view flag : {"rebalance-execute", "rebalance-interval", "rebalance-cool-down",
                                      "rebalance-moves-per-hour", "rebalance-moves-per-owner"}) {
    if (flags.IsGiven(flag) && options.rebalance.empty())
      return InvalidError("--" + std::string(flag) + ": is for --rebalance");
  }
  if (flags.IsGiven("provisioning-requests") && options.provisioning_requests.empty())
    return InvalidError(
        "--provisioning-requests: must not be empty: it is the parameter processorInstance of requests");
  if (options.provisioning_requests.size() > kInstanceBytesMax)
    return InvalidError("--provisioning-requests: at most 255 characters, as a parameter of a request");
  if (!options.provisioning_requests.empty() && options.once)
    return InvalidError("--provisioning-requests: not with --once, which ends when all is placed");
  if (!options.rebalance.empty() && options.once)
    return InvalidError("--rebalance: not with --once, which ends when all is placed");
  if (options.rebalancer.interval < std::chrono::seconds(1))
    return InvalidError("--rebalance-interval: should be 1s or more");
  const Duration cool_down = options.rebalancer.limits.cool_down;
  if (cool_down < Duration::zero() || cool_down > rebalance::MoveLedger::kMemory)
    return InvalidError("--rebalance-cool-down: should be from 0s to " +
                        FormatGoDuration(rebalance::MoveLedger::kMemory));
  return {};
}

// Each once, whatever its value: who gives it should know.
void LogFlagsWithoutEffect(const RunOptions& options) {
  for (const FlagNote& note : FlagNotes()) {
    if (note.effect == FlagEffect::kNone && options.flags.IsGiven(note.flag))
      log::Info("app", "This flag has no effect", {{"flag", "--" + std::string(note.flag)}, {"why", note.note}});
  }
  if (options.flags.config.empty()) return;
  for (const std::string_view flag :
       {"profiling", "contention-profiling", "kube-api-content-type", "kube-api-qps", "kube-api-burst"}) {
    if (options.flags.IsGiven(flag))
      log::Warning("app", "This flag has no effect",
                   {{"flag", "--" + std::string(flag)}, {"why", "with --config the file counts"}});
  }
  if (options.is_kube_scheduler && options.flags.IsGiven("kubeconfig"))
    log::Warning("app", "This flag has no effect",
                 {{"flag", "--kubeconfig"}, {"why", "with --config the file's clientConnection.kubeconfig counts"}});
}

constexpr std::int64_t kRecordBytesMin = std::int64_t{1} << 20;

// Those of an automatic release may be right for some releases alone, of which the server's will show to be one.
Expected<config::FeatureGates> ParseGates(const RunOptions& options) {
  config::FeatureGateSettings settings = options.flags.feature_gates;
  settings.release_minor = options.release.minor.value_or(framework::kDefaultRelease);
  auto gates = config::FeatureGates::Parse(settings);
  if (gates.ok() || !options.release.IsAuto()) return gates;
  for (int minor = framework::kNewestRelease; minor >= framework::kOldestRelease; --minor) {
    settings.release_minor = minor;
    if (auto others = config::FeatureGates::Parse(settings); others.ok()) return others;
  }
  return gates;
}

// The flags of `berth rebalance run`, under the prefix rebalance-.
void AddRebalanceFlags(cli::FlagSet& flags, RunOptions& options) {
  using rebalance::AllowanceLimits, rebalance::WorkloadShare;
  AllowanceLimits& limits = options.rebalancer.limits;
  flags.Add(
      "rebalance", options.rebalance,
      "File with a DeschedulerPolicy (descheduler/v1alpha2): pods are moved as it says, each to a place that is kept "
      "for its replacement (docs/rebalance.md)");
  flags.Add("rebalance-cool-down", limits.cool_down, "With --rebalance: between two moves of pods of one owner");
  flags.Add("rebalance-execute", options.rebalancer.executes,
            "With --rebalance: evict; without it, the log says what would be evicted");
  flags.Add("rebalance-interval", options.rebalancer.interval, "With --rebalance: between two rounds");
  flags
      .Add("rebalance-moves-per-hour", "number", "With --rebalance: pods that move within an hour",
           [&limits](std::string_view value) -> std::string {
             const auto number = cli::ParseGoInteger(value, 64);
             if (!number || *number < 1 || *number > static_cast<std::int64_t>(AllowanceLimits::kPerHourMax))
               return "should be a number of pods from 1 to " + std::to_string(AllowanceLimits::kPerHourMax);
             limits.per_hour = static_cast<std::size_t>(*number);
             return "";
           })
      .default_text = std::to_string(limits.per_hour);
  flags
      .Add("rebalance-moves-per-owner", "share",
           "With --rebalance: pods of one owner that move at once, as a number or a share of its pods, at least one",
           [&limits](std::string_view value) -> std::string {
             const auto share = WorkloadShare::Parse(value);
             if (!share) return std::string(WorkloadShare::kExpected);
             limits.per_workload = *share;
             return "";
           })
      .default_text = "25%";
}

void AddOwnFlags(cli::FlagSet& flags, RunOptions& options, std::optional<std::string>& plugin_directory) {
  flags.BeginGroup("Berth");
  flags.Add("context", options.connection.context, "Context of the kubeconfig; without it, its current-context");
  flags
      .Add("follow-upgrades-after", "duration",
           "With --kubernetes-version auto: how long the API servers must have been of another version before berth "
           "begins again to follow it; 0s: versions are looked at when berth starts, and not later",
           [&options](std::string_view value) -> std::string {
             const auto duration = ParseGoDuration(value);
             if (!duration || *duration < Duration::zero() || *duration > std::chrono::hours(24))
               return "should be a duration from 0s to 24h, such as 5m";
             options.follows_upgrades_after = *duration;
             return "";
           })
      .default_text = FormatGoDuration(options.follows_upgrades_after);
  flags
      .Add("kubernetes-version", "version",
           "The Kubernetes version whose kube-scheduler decides: 1.34 to 1.38, or auto, the API server's",
           [&options](std::string_view value) -> std::string {
             const auto choice = ParseReleaseChoice(value);
             if (!choice.ok()) return choice.error().message;
             options.release = *choice;
             return "";
           })
      .default_text = options.release.IsAuto() ? "auto" : "1." + std::to_string(*options.release.minor);
  flags.At("kubernetes-version").hint = "{auto,1.34,1.35,1.36,1.37,1.38}";
  flags.Add("metrics-bind-address", "address",
            "Address and port of GET /metrics over plain HTTP, with the same metrics as the secure port; without it "
            "they are served there alone",
            [&options](std::string_view value) -> std::string {
              options.metrics_bind_address = value;
              return CheckAddress(options.metrics_bind_address);
            });
  flags.Add("namespaces", "names",
            "Take pods of these namespaces only, separated by commas; without it, of every namespace",
            [&options](std::string_view value) -> std::string {
              options.namespaces = std::string(value);
              return "";
            });
  flags.Add(
      "once", options.once,
      "Place what is pending and end: with 0 when every pod was placed, else with 1 and a line for each that was not");
  flags
      .Add("once-patience", "seconds",
           "With --once: seconds without a pod placed after which those are given up that met an error or wait for "
           "their victims to go, and seconds that the first lists of objects may take",
           [&options](std::string_view value) -> std::string {
             const auto seconds = cli::ParseGoInteger(value, 32);
             if (!seconds || *seconds < 1 || *seconds > 86'400) return "should be a number of seconds from 1 to 86400";
             options.once_patience_s = static_cast<int>(*seconds);
             return "";
           })
      .default_text = std::to_string(options.once_patience_s);
  flags.Add("plugin-dir", "directory",
            "Directory of shared objects (*.so) with plugins of one's own, made by berth_add_plugin()",
            [&plugin_directory](std::string_view value) -> std::string {
              plugin_directory = std::string(value);
              return "";
            });
  flags.Add("policy", "name",
            "The ready profile of a policy, as deploy/config has it, in place of --config: " + demo::PolicyDemoNames(),
            [&options](std::string_view value) -> std::string {
              options.policy = std::string(value);
              return demo::CheckPolicyDemo(options.policy);
            });
  flags.Add("pods-by-annotation", options.pods_by_annotation,
            "Take pods by the annotation scheduler.alpha.kubernetes.io/name, too, where their schedulerName is unset "
            "or default-scheduler");
  flags.Add("provisioning-requests", options.provisioning_requests,
            "Answers the ProvisioningRequests of the class check-capacity.autoscaling.x-k8s.io whose parameter "
            "processorInstance is this, and keeps the room that it promises (docs/provisioning-requests.md)");
  AddRebalanceFlags(flags, options);
  flags.Add("record", options.record.directory,
            "Directory in which each run is recorded, for berth replay; without it none is");
  flags
      .Add("record-bytes-max", "bytes",
           "With --record: bytes of all recordings in the directory. Older ones are removed to make room; one that has "
           "no room any more ends",
           [&options](std::string_view value) -> std::string {
             const auto bytes = cli::ParseGoInteger(value, 64);
             if (!bytes || *bytes < kRecordBytesMin)
               return "should be a number of bytes, " + std::to_string(kRecordBytesMin) + " at least";
             options.record.bytes_max = static_cast<std::uint64_t>(*bytes);
             return "";
           })
      .default_text = std::to_string(options.record.bytes_max);
  flags.Add("scheduler-name", options.scheduler_name,
            "The schedulerName of the pods to take; without it, default-scheduler");
  flags.Add("seed", options.seed, "Seed of all chance; without it a random one, which is logged");
}

}  // namespace

std::string ReportedVersion(const RunOptions& options, int release_minor) {
  if (!options.flags.reported_version.empty()) return options.flags.reported_version;
  return std::string(KubernetesVersion(release_minor)).append("+berth.").append(Version());
}

int FailRun(const RunOptions& options, const Error& error, cli::ExitCode status) {
  if (!options.is_kube_scheduler && options.flags.logging.format != "json") return cli::FailWith(error, status);
  log::ErrorLine("app", "command failed", {{"err", error.message}});
  return options.is_kube_scheduler ? cli::kExitFailed : status;
}

void AddRunFlags(cli::FlagSet& flags, RunOptions& options, std::optional<std::string>& plugin_directory) {
  AddKubeSchedulerFlags(flags, options.flags);
  AddOwnFlags(flags, options, plugin_directory);
  flags.At("plugin-dir").hint = cli::kDirectoryHint;
  flags.At("policy").hint = "{" + demo::PolicyDemoNames() + "}";
  flags.At("rebalance").hint = cli::kFileHint;
}

std::optional<int> ReadRunFlags(std::span<const std::string> arguments, RunOptions& options,
                                std::optional<std::string>& plugin_directory) {
  cli::FlagSet flags;
  AddRunFlags(flags, options, plugin_directory);
  const auto words = flags.Parse(arguments);
  if (!words.ok()) {
    return FailPlainly(options, words.error().message + " (" + options.program + " --help lists the flags)");
  }
  if (options.flags.help) return PrintHelp(options, flags);
  // As upstream, which an empty one does not disturb.
  for (const std::string& word : *words) {
    if (!word.empty()) return FailPlainly(options, "unexpected argument \"" + word.substr(0, 100) + '"');
  }
  for (const cli::FlagSet::Group& group : flags.groups()) {
    for (const cli::Flag& flag : group.flags) {
      if (flag.is_given) options.flags.given.insert(flag.name);
      options.flags.shown[flag.name] = flag.is_given ? flag.given_text : flag.default_text;
    }
  }
  const LoggingOptions& logging = options.flags.logging;
  log::Configure({logging.format == "json" ? log::Format::kJson : log::Format::kText, logging.verbosity,
                  logging.vmodule, logging.format == "json" ? logging.json_split_stream : logging.text_split_stream});
  auto gates = ParseGates(options);
  if (!gates.ok()) return Fail(options, gates.error());
  options.gates = std::move(*gates);
  if (options.flags.version != VersionRequest::kNone) return PrintVersion(options);
  if (const auto valid = ValidateOptions(options.flags, options.gates); !valid.ok())
    return Fail(options, valid.error());
  if (const auto valid = ReadLabelManifest(options.flags.metrics); !valid.ok()) return Fail(options, valid.error());
  if (const auto valid = CheckOwn(options, flags); !valid.ok()) return Fail(options, valid.error());

  for (const std::string& warning : options.gates.warnings()) log::Warning("app", warning);
  if (options.gates.emulated_minor() != options.gates.release_minor())
    log::Warning("app",
                 "The emulated version decides about feature gates alone, as in kube-scheduler: "
                 "--kubernetes-version is for the rest");
  LogFlagsWithoutEffect(options);
  return std::nullopt;
}

}  // namespace berth::app
