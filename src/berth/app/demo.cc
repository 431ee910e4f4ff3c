// berth demo: an embedded cluster, a Deployment, and berth placing its pods, on one screen.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "berth/app/commands.h"
#include "berth/app/embedded_cluster.h"
#include "berth/app/process.h"
#include "berth/app/scheduler_shell.h"
#include "berth/base/log.h"
#include "berth/cli/ansi_screen.h"
#include "berth/cli/exit_codes.h"
#include "berth/cli/table.h"
#include "berth/cli/terminal.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/config/default.h"

namespace berth::app {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(120);
constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr const char* kSchedulerName = "berth";

std::string NginxDeployment(int replicas) {
  using codec::json::array;
  using codec::json::object;
  const object labels{{"app", "nginx"}};
  const object container{{"name", "nginx"},
                         {"image", "nginx:1.27"},
                         {"resources", object{{"requests", object{{"cpu", "100m"}, {"memory", "128Mi"}}}}}};
  return codec::WriteJson(
      object{{"apiVersion", "apps/v1"},
             {"kind", "Deployment"},
             {"metadata", object{{"name", "nginx"}, {"namespace", "default"}, {"labels", labels}}},
             {"spec", object{{"replicas", replicas},
                             {"selector", object{{"matchLabels", labels}}},
                             {"template", object{{"metadata", object{{"labels", labels}}},
                                                 {"spec", object{{"schedulerName", kSchedulerName},
                                                                 {"containers", array{container}}}}}}}}});
}

struct ShownPod {
  std::string name;
  std::string phase;
  std::string node;
  std::string uid;
};

// What the screen shows, filled from the event loop and the core's thread.
class Board {
 public:
  void SetPod(const ShownPod& pod) {
    const std::lock_guard lock(mutex_);
    pods_[pod.name] = pod;
  }
  void RemovePod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    pods_.erase(name);
  }
  void SetWhy(const std::string& uid, std::string why) {
    const std::lock_guard lock(mutex_);
    why_[uid] = std::move(why);
  }

  std::vector<std::string> Lines(const cli::Table::Style& style) const {
    const std::lock_guard lock(mutex_);
    cli::Table table({{"POD"}, {"STATUS"}, {"NODE"}, {"WHY THERE"}});
    for (const auto& [name, pod] : pods_) {
      const auto why = why_.find(pod.uid);
      const std::string status = pod.phase == "Pending" && !pod.node.empty() ? "Bound" : pod.phase;
      const cli::Color color = status == "Running" ? cli::Color::kGreen
                               : status == "Bound" ? cli::Color::kCyan
                                                   : cli::Color::kYellow;
      table.AddRow(
          {name, {status, color}, pod.node.empty() ? "<none>" : pod.node, why == why_.end() ? "" : why->second});
    }
    return table.Lines(style);
  }

  int pod_count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(pods_.size());
  }
  int running() const {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const auto& [name, pod] : pods_) count += pod.phase == "Running" ? 1 : 0;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ShownPod> pods_;
  std::map<std::string, std::string> why_;  // by uid
};

cli::Table::Style StyleOf(const cli::Terminal& terminal) {
  return {terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns : 0};
}

std::string TextAt(simdjson::dom::element object, std::initializer_list<std::string_view> path) {
  const auto found = codec::FindPath(object, path);
  std::string_view text;
  return found && found->get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  log::SetLevel(log::Level::kError);  // The screen is the demo's.
  const SystemClock clock;
  cli::FileTerminal terminal(STDOUT_FILENO);
  cli::AnsiScreen screen(terminal);
  auto started = EmbeddedCluster::Start({options.serve ? options.listen : "", options.nodes, options.seed}, clock);
  if (!started.ok()) return FailWith(started.error());
  EmbeddedCluster& cluster = **started;

  Board board;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.profiles.front().scheduler_name = kSchedulerName;
  ShellOptions shell_options;
  shell_options.seed = options.seed;
  shell_options.hostname = HostName();
  shell_options.on_decision = [&board](const scheduler::Decision& decision) {
    board.SetWhy(decision.pod->uid, decision.Why());
  };
  auto shell = SchedulerShell::Make(configuration, cluster.rest(), cluster.events(), clock, std::move(shell_options));
  if (!shell.ok()) return FailWith(shell.error());

  client::Informer<ShownPod>::Options watch;
  watch.name = "pods";
  watch.path = "/api/v1/namespaces/default/pods";
  watch.label_selector = "app=nginx";
  watch.decode = [](const simdjson::dom::element& object) -> Expected<std::shared_ptr<const ShownPod>> {
    std::string phase = TextAt(object, {"status", "phase"});
    if (!TextAt(object, {"metadata", "deletionTimestamp"}).empty()) phase = "Terminating";
    return std::shared_ptr<const ShownPod>(std::make_shared<ShownPod>(
        ShownPod{TextAt(object, {"metadata", "name"}), std::move(phase), TextAt(object, {"spec", "nodeName"}),
                 TextAt(object, {"metadata", "uid"})}));
  };
  client::Informer<ShownPod>::Handler handler;
  handler.on_add = [&board](const std::shared_ptr<const ShownPod>& pod) { board.SetPod(*pod); };
  handler.on_update = [&board](const std::shared_ptr<const ShownPod>&, const std::shared_ptr<const ShownPod>& pod) {
    board.SetPod(*pod);
  };
  handler.on_delete = [&board](const std::shared_ptr<const ShownPod>& pod) { board.RemovePod(pod->name); };
  client::Informer<ShownPod> informer(cluster.rest(), std::move(watch), std::move(handler));
  informer.Start();

  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  bool is_interrupted = false;
  // Shows the board until `is_done`, the time limit or a signal; false for the latter two.
  const auto show_until = [&](const std::string& title, const auto& is_done) {
    for (;;) {
      const bool done = is_done();
      std::vector<std::string> lines{title};
      for (std::string& line : board.Lines(StyleOf(terminal))) lines.push_back(std::move(line));
      screen.Show(std::move(lines), clock.Now());
      if (done) return true;
      is_interrupted = HasSignal();
      if (is_interrupted || std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(kFrame);
      screen.Refresh(clock.Now());
    }
  };
  const auto end = [&](int status) {
    screen.Finish();
    (*shell)->Stop(status == cli::kExitOk ? Duration(std::chrono::seconds(1)) : Duration{0});
    cluster.Stop();
    return status;
  };
  const auto fail = [&](const std::string& what) {
    if (is_interrupted) return end(cli::kExitOk);  // as asked
    screen.Finish();
    std::fprintf(stderr, "berth: demo: %s\n", what.c_str());
    return end(cli::kExitFailed);
  };

  const auto nodes_ready = [&] { return cluster.ReadyNodes() == options.nodes; };
  if (!show_until("an embedded API server with " + std::to_string(options.nodes) + " simulated nodes", nodes_ready)) {
    return fail("the simulated nodes did not get ready within " + std::to_string(kTimeLimit.count()) + " s");
  }
  net::Request create;
  create.method = "POST";
  create.target = "/apis/apps/v1/namespaces/default/deployments";
  create.body = NginxDeployment(options.replicas);
  if (const auto created = cluster.rest().DoSync(std::move(create)); !created.ok())
    return fail(created.error().message);

  // The pods wait for a scheduler of their name; then berth starts.
  const auto has_pods = [&] { return board.pod_count() == options.replicas; };
  if (!show_until("Deployment nginx, " + std::to_string(options.replicas) + " replicas, schedulerName: berth",
                  has_pods)) {
    return fail("the Deployment's pods did not appear");
  }
  (*shell)->Start();
  const auto all_running = [&] { return board.running() == options.replicas; };
  if (!show_until("Deployment nginx, berth at work", all_running)) {
    return fail(std::to_string(board.running()) + " of " + std::to_string(options.replicas) +
                " pods were running after " + std::to_string(kTimeLimit.count()) +
                " s: more --nodes would give the others room");
  }
  screen.Finish();
  if (!terminal.IsTty()) {  // The screen ends with this; a file has seen its lines one by one.
    for (const std::string& line : board.Lines(StyleOf(terminal))) terminal.Write(line + "\n");
  }
  if (!options.serve) return end(cli::kExitOk);
  std::printf(
      "\nThe cluster is at http://%s until you press Ctrl-C. In another terminal:\n"
      "  kubectl --server http://%s get nodes,pods -o wide\n"
      "  kubectl --server http://%s scale deployment nginx --replicas 50\n",
      cluster.address().c_str(), cluster.address().c_str(), cluster.address().c_str());
  std::fflush(stdout);
  (void)WaitForSignal();
  return end(cli::kExitOk);
}

}  // namespace berth::app
