// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/kube_scheduler_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/app/run/run_flags.h"
#include "berth/core/config/default.h"
#include "berth/framework/release.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/testing/source_path.h"

namespace berth::app {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

struct Parsed {
  KubeSchedulerOptions options;
  std::string error;
};

Parsed ParseAll(const Words& arguments) {
  Parsed parsed;
  cli::FlagSet flags;
  AddKubeSchedulerFlags(flags, parsed.options);
  const auto words = flags.Parse(arguments);
  if (!words.ok()) {
    parsed.error = words.error().message;
    return parsed;
  }
  for (const cli::FlagSet::Group& group : flags.groups()) {
    for (const cli::Flag& flag : group.flags) {
      if (flag.is_given) parsed.options.given.insert(flag.name);
    }
  }
  const auto gates = config::FeatureGates::Parse(parsed.options.feature_gates);
  if (!gates.ok()) {
    parsed.error = gates.error().message;
  } else if (const auto valid = ValidateOptions(parsed.options, *gates); !valid.ok()) {
    parsed.error = valid.error().message;
  }
  return parsed;
}

TEST(KubeSchedulerFlags, ReadsEachKindOfValue) {
  const Parsed parsed = ParseAll({"--bind-address=::1",
                                  "--secure-port=443",
                                  "--tls-sni-cert-key=a.crt,a.key:*.a.com, a.com",
                                  "--tls-sni-cert-key",
                                  "b.crt,b.key",
                                  "--tls-curve-preferences=29,23",
                                  "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384",
                                  "--tls-min-version=VersionTLS13",
                                  "--authentication-token-webhook-cache-ttl=1m30s",
                                  "--requestheader-group-headers=a,b",
                                  "--authorization-always-allow-paths=/x",
                                  "--kube-api-qps=-1",
                                  "--kube-api-burst=7",
                                  "--leader_elect=false",
                                  "--feature-gates=kube:OpportunisticBatching=false",
                                  "--allow-metric-labels=m,l=a,b",
                                  "--allow-metric-labels=\"m,k=c\",\"n,l=d\"",
                                  "--logging-format=json",
                                  "-v4",
                                  "--log-flush-frequency=1s",
                                  "--pod-max-in-unschedulable-pods-duration=90s",
                                  "--authentication-tolerate-lookup-failure=F"});
  ASSERT_EQ(parsed.error, "");
  const KubeSchedulerOptions& options = parsed.options;
  EXPECT_EQ(options.secure_serving.bind_address, "::1");
  EXPECT_EQ(options.secure_serving.port, 443);
  EXPECT_EQ(
      options.secure_serving.named_certificates,
      (std::vector<serving::NamedCertificateFiles>{{"a.crt", "a.key", {"*.a.com", "a.com"}}, {"b.crt", "b.key", {}}}));
  EXPECT_EQ(options.secure_serving.curves, (std::vector<std::int32_t>{29, 23}));
  EXPECT_EQ(options.secure_serving.cipher_suites, (Words{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"}));
  EXPECT_EQ(options.authentication.token_cache_ttl, 90s);
  EXPECT_FALSE(options.authentication.tolerate_lookup_failure);
  EXPECT_EQ(options.authentication.request_header.group_headers, (Words{"a", "b"}));
  EXPECT_EQ(options.authorization.always_allow_paths, (Words{"/x"}));
  EXPECT_EQ(options.deprecated.kube_api_qps, -1);
  EXPECT_EQ(options.deprecated.pod_max_in_unschedulable_pods_duration, 90s);
  EXPECT_FALSE(options.leader_election.leader_elect);
  EXPECT_EQ(options.metrics.allow_metric_labels,
            (std::map<std::string, std::string>{{"m,l", "a,b"}, {"m,k", "c"}, {"n,l", "d"}}));
  EXPECT_EQ(options.logging.verbosity, 4);
  EXPECT_TRUE(options.IsGiven("leader-elect"));
  EXPECT_FALSE(options.IsGiven("leader-elect-lease-duration"));
}

TEST(KubeSchedulerFlags, SaysWhatIsWrong) {
  struct {
    Words arguments;
    std::string error;
  } const cases[] = {
      {{"--bind-address=localhost"}, "--bind-address: \"localhost\" should be an IP address, for example 127.0.0.1"},
      {{"--secure-port=70000"},
       "--secure-port: Invalid value: 70000: should be from 1 to 65535, or 0 to serve nothing"},
      {{"--tls-min-version=TLS1.2"},
       "--tls-min-version: Unsupported value: \"TLS1.2\": supported values: \"VersionTLS10\", \"VersionTLS11\", "
       "\"VersionTLS12\", "
       "\"VersionTLS13\""},
      {{"--tls-min-version=TLS1.2", "--secure-port=0"}, ""},
      {{"--tls-sni-cert-key=a"}, "--tls-sni-cert-key: \"a\" should be two files, as in foo.crt,foo.key"},
      {{"--tls-cert-file=a"}, "--tls-private-key-file: Required value: a certificate and its key are given together"},
      {{"--tls-curve-preferences=29,29"}, "--tls-curve-preferences: Duplicate value: \"29\""},
      {{"--requestheader-group-headers=a, "},
       "--requestheader-group-headers: Invalid value: \" \": should not be blank"},
      {{"--requestheader-uid-headers=X-Remote-Uid", "--feature-gates=RemoteRequestHeaderUID=false"},
       "--requestheader-uid-headers: Forbidden: needs the feature gate RemoteRequestHeaderUID"},
      {{"--requestheader-uid-headers=x-remote-uid"}, ""},
      {{"--show-hidden-metrics-for-version=1.36"},
       "--show-hidden-metrics-for-version: Invalid value: \"1.36\": should be 1.35, or left out"},
      {{"--disabled-metrics=a-b"}, "--disabled-metrics: Invalid value: \"a-b\": should be the full name of a metric"},
      {{"--allow-metric-labels=m=a"}, "--allow-metric-labels: Invalid value: \"m\": should be METRIC,LABEL"},
      {{"--allow-metric-labels=m"}, "--allow-metric-labels: \"m\" should be METRIC,LABEL=VALUE,VALUE"},
      {{"--logging-format=yaml"},
       "--logging-format: Unsupported value: \"yaml\": supported values: \"text\", \"json\""},
      {{"--logging-format=json", "--vmodule=a=1"}, "--vmodule: Forbidden: is for --logging-format=text only"},
      {{"--logging-format=json", "--feature-gates=LoggingBetaOptions=false"},
       "--logging-format: Forbidden: json needs the feature gate LoggingBetaOptions"},
      {{"--log-text-split-stream"}, "--log-text-split-stream: Forbidden: needs the feature gate LoggingAlphaOptions"},
      {{"--log-json-info-buffer-size=much"},
       "--log-json-info-buffer-size: \"much\" should be a number of bytes such as 512, 1K or 2Ki"},
      {{"--log-flush-frequency=0s"}, "--log-flush-frequency: Invalid value: \"0s\": must be greater than 0"},
      {{"-v=-1"}, "--v: \"-1\" should be a number from 0 to 2147483647"},
      {{"--vmodule=a"}, "--vmodule: \"a\" should be PATTERN=NUMBER, separated by commas"},
      {{"--kube-api-qps=nan"}, "--kube-api-qps: \"nan\" should be a number of requests a second"},
      {{"--version=v1.35.0"},
       "--version: \"v1.35.0\" should begin with the version of a kube-scheduler that is followed, such as v1.36.3 or "
       "v1.37.2"},
      {{"--version=new"},
       "--version: \"new\" should be true, false, raw or begin with the version of a kube-scheduler that is followed, "
       "such as v1.36.3 or v1.37.2"},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseAll(c.arguments).error, c.error) << ::testing::PrintToString(c.arguments);
}

TEST(KubeSchedulerFlags, OnlyWhatWasGivenGoesOverAFile) {
  const Parsed parsed =
      ParseAll({"--leader-elect-retry-period=3s", "--kube-api-qps=9", "--kubeconfig=k", "--profiling=false"});
  ASSERT_EQ(parsed.error, "");
  config::KubeSchedulerConfiguration file = config::DefaultConfiguration();
  file.leader_election.leader_elect = false;
  file.client_connection.kubeconfig = "from-file";
  config::KubeSchedulerConfiguration none = config::DefaultConfiguration();
  ApplyOptions(parsed.options, true, file);
  EXPECT_FALSE(file.leader_election.leader_elect);
  EXPECT_EQ(file.leader_election.retry_period, 3s);
  EXPECT_EQ(file.client_connection.kubeconfig, "from-file");
  EXPECT_FALSE(file.client_connection.qps);
  EXPECT_TRUE(file.enable_profiling);
  ApplyOptions(parsed.options, false, none);
  EXPECT_TRUE(none.leader_election.leader_elect);
  EXPECT_EQ(none.leader_election.retry_period, 3s);
  EXPECT_EQ(none.client_connection.kubeconfig, "k");
  EXPECT_EQ(none.client_connection.qps, 9);
  EXPECT_FALSE(none.enable_profiling);
}

std::string_view EffectWord(FlagEffect effect) {
  return effect == FlagEffect::kSame    ? "as in kube-scheduler"
         : effect == FlagEffect::kOther ? "with a difference"
                                        : "no effect";
}

// docs/flags.md, from the table.
std::string FlagsPage() {
  RunOptions options;
  std::optional<std::string> plugin_directory;
  cli::FlagSet flags;
  AddRunFlags(flags, options, plugin_directory);
  std::string page =
      "# Flags\n\n"
      "`berth run` takes every flag of kube-scheduler. So does berth when it is called `kube-scheduler`, for "
      "example by a\n"
      "link. Flags are written as for Go programs: `--flag value` or `--flag=value`, switches as `--flag` or "
      "`--flag=false`.\n"
      "`_` may stand for `-`. A flag or value that berth cannot read is refused in one line. The exit status is then "
      "2, and 1\n"
      "under the name `kube-scheduler`. A flag without effect is named in the log.\n\n"
      "`kube_scheduler_flags_test` compares this page with the program's table. [ADR "
      "15](adr/0015-flags-and-configuration.md)\n"
      "lists the differences from kube-scheduler with their reasons.\n";
  const auto notes = FlagNotes();
  for (const cli::FlagSet::Group& group : flags.groups()) {
    const bool is_own = group.title == "Berth";
    page += "\n## " + group.title + "\n\n| flag | what it is | in berth |\n|---|---|---|\n";
    for (const cli::Flag& flag : group.flags) {
      std::string usage = flag.usage.substr(0, flag.usage.find(" The gates:"));
      for (std::size_t at = 0; (at = usage.find('|', at)) != std::string::npos; at += 2) usage.insert(at, "\\");
      if (!flag.default_text.empty()) usage += " (default " + flag.default_text + ")";
      std::string effect = "its own";
      if (!is_own) {
        const auto note =
            std::find_if(notes.begin(), notes.end(), [&](const FlagNote& each) { return each.flag == flag.name; });
        if (note == notes.end()) return "no note of --" + flag.name;
        effect = EffectWord(note->effect);
        if (!note->note.empty()) effect += ": " + std::string(note->note);
      }
      page += "| `--" + flag.name + "` | " + usage + " | " + effect + " |\n";
    }
  }
  page +=
      "\n## Feature gates\n\n"
      "berth knows every gate of the kube-scheduler that it follows, with its stages by version, so that all "
      "components "
      "can be given one list.\n"
      "The table has the gates of a scheduler's features. All other gates have no effect in berth. Gates that are "
      "`true`\n"
      "or `false` only stay so under `AllAlpha` and `AllBeta`, and a warning names them; by name the other value is "
      "refused. The columns of versions have the defaults.\n\n"
      "| gate |";
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor)
    page += " 1." + std::to_string(minor) + " |";
  page += " in berth |\n|---|";
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) page += "---|";
  page += "---|\n";
  for (const config::GateRow& row : config::FeatureGates::Table()) {
    const config::GateEffect effect = config::FeatureGates::EffectOf(row.name);
    if (effect == config::GateEffect::kNone) continue;
    const auto at = [&row](int release) -> std::string {
      if (!row.IsIn(release)) return "-";
      return config::FeatureGates(release).Enabled(row.name) ? "on" : "off";
    };
    std::string what = "both values take effect";
    if (effect == config::GateEffect::kOnly)
      what = std::string(config::FeatureGates::OnlyValueOf(row.name) ? "`true`" : "`false`") + " only";
    if (effect == config::GateEffect::kEither) what = "makes no difference";
    if (const std::string_view why = config::FeatureGates::WhyOf(row.name); !why.empty()) {
      if (effect == config::GateEffect::kSwitched) what += " since 1.37, before it `false` only";
      what += ": " + std::string(why);
    }
    page += "| " + std::string(row.name) + " |";
    for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor)
      page += " " + at(minor) + " |";
    page += " " + what + " |\n";
  }
  return page;
}

TEST(KubeSchedulerFlags, EachHasANoteAndThePageSaysTheSame) {
  cli::FlagSet flags;
  KubeSchedulerOptions options;
  AddKubeSchedulerFlags(flags, options);
  Words names;
  for (const cli::FlagSet::Group& group : flags.groups()) {
    for (const cli::Flag& flag : group.flags) names.push_back(flag.name);
  }
  Words notes;
  for (const FlagNote& note : FlagNotes()) notes.emplace_back(note.flag);
  EXPECT_EQ(names, notes);

  const std::string path = testing::SourcePath("docs/flags.md");
  const std::string page = FlagsPage();
  if (std::getenv("BERTH_WRITE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), page)
      << "run this test with BERTH_WRITE_DOCS=1 to write it";
}

TEST(RunFlags, TheLimitsOfRebalancing) {
  RunOptions options;
  std::optional<std::string> plugin_directory;
  cli::FlagSet flags;
  AddRunFlags(flags, options, plugin_directory);
  const Words right = {"--rebalance-cool-down=0s", "--rebalance-moves-per-hour=2000", "--rebalance-moves-per-owner=3"};
  ASSERT_TRUE(flags.Parse(right).ok());
  const rebalance::AllowanceLimits& limits = options.rebalancer.limits;
  EXPECT_EQ(limits.cool_down, 0s);
  EXPECT_EQ(limits.per_hour, 2000u);
  EXPECT_EQ(limits.per_workload.Of(100), 3u);
  for (const char* const wrong :
       {"--rebalance-moves-per-hour=0", "--rebalance-moves-per-hour=2001", "--rebalance-moves-per-owner=0%"})
    EXPECT_FALSE(flags.Parse(Words{wrong}).ok()) << wrong;
}

}  // namespace
}  // namespace berth::app
