// SPDX-License-Identifier: Apache-2.0
#include "berth/app/page/own_page.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "berth/app/process.h"
#include "berth/app/questions/question_cluster.h"
#include "berth/base/check.h"
#include "berth/page/fleet_inbox.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/shell/runner/feeds.h"
#include "berth/shell/runner/object_listener.h"
#include "berth/whatif/cluster_reader.h"

namespace berth::app {
namespace {

page::ClusterSource SourceOf(const OwnPageOptions& options, client::RestClient& rest, const Clock& clock) {
  page::ClusterSource source;
  source.read = [&rest, &clock, name = options.source](const std::function<bool()>& is_interrupted) {
    whatif::ClusterReadOptions how;
    how.source = name;
    how.reads_pod_groups = true;
    how.is_interrupted = is_interrupted;
    return whatif::ReadCluster(rest, clock, how);
  };
  source.read_detailed = [&rest, &clock, name = options.source](const std::function<bool()>& is_interrupted) {
    whatif::ClusterReadOptions how;
    how.source = name;
    how.keeps_pod_details = true;
    how.reads_pod_groups = true;
    how.is_interrupted = is_interrupted;
    return whatif::ReadCluster(rest, clock, how);
  };
  source.core_for =
      CoreForQuestions(options.configuration, options.plugins, plugin_files::PluginFiles(options.configuration_file));
  return source;
}

page::SchedulerWatch WatchOf(runner::SchedulerShell& shell) {
  page::SchedulerWatch watch;
  watch.set_inbox = [&shell](page::FleetInbox* inbox) {
    if (inbox == nullptr) return shell.SetListener(std::nullopt);
    runner::ObjectListener listener;
    listener.on_node = [inbox](const auto& node) { inbox->SetNode(node); };
    listener.on_node_gone = [inbox](std::string_view name) { inbox->RemoveNode(name); };
    listener.on_pod = [inbox](const auto& pod) { inbox->SetPod(pod); };
    listener.on_pod_gone = [inbox](std::string_view namespace_name, std::string_view name, std::string_view uid) {
      inbox->RemovePod(namespace_name, name, uid);
    };
    shell.SetListener(std::move(listener));
  };
  watch.has_synced = [&shell] { return shell.HasSynced(); };
  watch.problem = [&shell]() -> std::string {
    for (const runner::FeedSource& source : shell.Sources()) {
      const bool is_shown = source.name == "nodes" || source.name == "pods";
      if (is_shown && source.stats.failure) return source.stats.failure->message;
    }
    return "";
  };
  return watch;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// 0: it cannot be told.
double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// What the page tells every other second. Reading all metrics for it would cost what several pods do.
page::ProcessCounts CountsIn(const MetricRegistry& metrics) {
  page::ProcessCounts counts;
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0) counts.cpu_seconds = SecondsOf(use.ru_utime) + SecondsOf(use.ru_stime);
  counts.resident_bytes = ResidentBytes();
  const MetricFamily* const attempts = metrics.Find("scheduler_schedule_attempts_total");
  if (attempts == nullptr) return counts;
  const std::vector<std::string>& labels = attempts->description().labels;
  const auto place_of = [&labels](std::string_view label) {
    return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
  };
  const std::size_t result = place_of("result");
  const std::size_t profile = place_of("profile");
  BERTH_CHECK(result < labels.size() && profile < labels.size());
  for (const MetricSeries& series : attempts->Collect()) {
    const std::string& of = series.label_values[profile];
    auto known = std::ranges::find(counts.profiles, of, &page::ProcessCounts::Profile::name);
    if (known == counts.profiles.end()) known = counts.profiles.insert(known, {of, 0, 0});
    (series.label_values[result] == "scheduled" ? known->scheduled : known->refused) += series.value;
  }
  return counts;
}

}  // namespace

std::function<void(const scheduler::Decision&)> FeedPage(page::DecisionFeed& feed, const Clock& clock) {
  return [&feed, &clock](const scheduler::Decision& decision) { feed.Note(decision, clock.WallNow()); };
}

std::unique_ptr<page::PageService> MakeOwnPage(OwnPageOptions options, client::RestClient& rest,
                                               runner::SchedulerShell& shell, page::DecisionFeed& feed,
                                               const Clock& clock) {
  page::PageOptions of_page;
  of_page.version = client::DefaultUserAgent();
  of_page.kubernetes = options.kubernetes;
  of_page.source = options.source;
  of_page.epoch = static_cast<std::uint32_t>(RandomSeed() >> 33);
  of_page.seed = options.seed;
  page::CoreSources core;
  core.ask = [&shell](const page::CoreSources::Question& question) { shell.Ask(question); };
  core.why_not = options.why_not;
  if (options.metrics != nullptr) core.counts = [metrics = options.metrics] { return CountsIn(*metrics); };
  core.not_asked = options.not_asked;
  for (const config::Profile& profile : options.configuration.profiles)
    core.scheduler_names.push_back(profile.scheduler_name);
  page::ClusterSource source = SourceOf(options, rest, clock);
  return std::make_unique<page::PageService>(std::move(of_page), std::move(source), std::move(core), &rest, &feed,
                                             clock, WatchOf(shell));
}

Expected<std::unique_ptr<page::PageServer>> ServePage(page::PageService& service, const std::string& listen) {
  page::PageServerOptions options;
  if (!listen.empty()) options.listen = listen;
  options.key = RandomUuid();
  options.session = RandomUuid() + RandomUuid();
  return page::PageServer::Start(std::move(options), service);
}

std::string PageLine(const page::PageServer& server) { return "The page, for one browser: " + server.Link(); }

}  // namespace berth::app
