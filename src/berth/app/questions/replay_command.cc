// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/replay_command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/answers/answer_text.h"
#include "berth/answers/explanation_text.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/recorded_question.h"
#include "berth/base/log.h"
#include "berth/core/cache/cache.h"
#include "berth/core/config/known_plugins.h"
#include "berth/replay/history.h"
#include "berth/replay/replayer.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/whatif/live_explanation.h"

namespace berth::app {
namespace {

struct ReplayOptions {
  std::string recording;  // a directory or a file
  std::string explain;    // "namespace/pod", or the number of a decision; empty: none
  std::string until;      // a time of day, or a duration since the beginning; empty: to the end
  std::string config;     // of another configuration; empty: none
  RecordedQuestionOptions question;
  bool with_decisions = false;
};

using replay::FirstPlacements;
using replay::History;
using replay::Replayer;

// A decision is not as it was recorded.
constexpr int kExitDiffers = 3;
constexpr std::size_t kNamesMax = 10;  // of pods, in lists

void Print(const std::string& line) { std::printf("%s\n", cli::Printable(line).c_str()); }

// nullopt: "--until" is neither.
std::optional<Time> ParseUntil(const std::string& until, Time started_at) {
  if (until.empty()) return Time::max();
  if (const auto time = ParseRfc3339(until)) return time;
  if (const auto duration = ParseGoDuration(until)) return started_at + *duration;
  return std::nullopt;
}

// How long the waits are of which so many per cent are shorter.
std::string Percentile(std::vector<Duration> waits, std::size_t percent) {
  if (waits.empty()) return "-";
  const std::size_t at = (waits.size() - 1) * percent / 100;
  std::nth_element(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(at), waits.end());
  return FormatGoDuration(std::chrono::floor<std::chrono::milliseconds>(waits[at]));
}

std::vector<Duration> Waits(const FirstPlacements& placements) {
  std::vector<Duration> waits;
  for (const auto& [uid, placement] : placements) {
    if (!placement.node.empty()) waits.push_back(placement.placed - placement.came);
  }
  return waits;
}

// Pods that were placed here and not there.
void PrintOnly(const std::string& title, const FirstPlacements& here, const FirstPlacements& there) {
  std::vector<std::string> names;
  for (const auto& [uid, placement] : here) {
    const auto other = there.find(uid);
    if (!placement.node.empty() && (other == there.end() || other->second.node.empty())) names.push_back(placement.key);
  }
  if (names.empty()) return;
  std::sort(names.begin(), names.end());
  Print(title + ": " + std::to_string(names.size()) + ": " + answers::NamesText(names, kNamesMax));
}

class ReplayCommand {
 public:
  ReplayCommand(const ReplayOptions& options, config::KnownPlugins plugins) : options_(options), plugins_(plugins) {}

  int Go() {
    auto file = recording::NewestRecording(options_.recording);
    if (!file.ok()) return cli::FailWith(file.error());
    path_ = *std::move(file);
    auto reader = recording::RecordingReader::Open(path_);
    if (!reader.ok()) return cli::FailWith(reader.error());
    const auto until = ParseUntil(options_.until, (*reader)->header().started_at);
    if (!until) {
      return cli::FailWith(InvalidError("--until: \"" + options_.until +
                                        "\" should be a time (2026-11-25T10:00:00Z) or a duration (10m)"),
                           cli::kExitUsage);
    }
    until_ = *until;
    if (const std::string build = recording::BuildId(); build != (*reader)->header().build) {
      Warn(path_ + " was written by another build of berth (" + (*reader)->header().version + ", build " +
           (*reader)->header().build.substr(0, 12) + "): decisions may differ, and the first that does is named");
    }
    if (const auto& own = (*reader)->header().own_plugins; !own.empty()) {
      Warn(path_ + " was made with plugins that do not come with berth (" + answers::NamesText(own, kNamesMax) +
           "): what they take from elsewhere than their calls (clocks, threads, files, networks) is not in it");
    }
    if (!options_.question.name.empty()) return Ask();
    if (!options_.config.empty()) return Compare();
    return options_.explain.empty() ? Repeat() : Explain();
  }

 private:
  // An exit status when the recording cannot be read.
  std::optional<int> Run(Replayer& replayer) const {
    for (;;) {
      const auto more = replayer.Turn(until_);
      if (!more.ok()) return cli::FailWith(more.error());
      if (!*more) break;
    }
    if (!replayer.damage().empty()) Warn(path_ + ": " + replayer.damage() + ": replayed up to there");
    return std::nullopt;
  }

  Expected<std::unique_ptr<Replayer>> Open(Replayer::Watcher watcher) const {
    return Replayer::Open(path_, plugins_, std::move(watcher));
  }

  // What the summary ends with, and the exit status.
  static int Verdict(const Replayer& replayer) {
    const auto& difference = replayer.difference();
    if (!difference) {
      Print("Every decision is as it was recorded.");
      return cli::kExitOk;
    }
    Print("Decision " + std::to_string(difference->decision) + " (" + FormatRfc3339Micro(difference->time) +
          ") is the first that differs: " + difference->what);
    return kExitDiffers;
  }

  int Repeat() const {
    Replayer::Watcher watcher;
    if (options_.with_decisions) {
      watcher.on_decision = [](std::uint64_t number, const scheduler::Decision& decision) {
        Print(std::to_string(number) + " " + decision.PodKey() + " " +
              (decision.node_name.empty() ? "-" : decision.node_name) + " " + decision.Why());
      };
    }
    auto replayer = Open(std::move(watcher));
    if (!replayer.ok()) return cli::FailWith(replayer.error());
    if (const auto failed = Run(**replayer)) return *failed;
    PrintSummary(**replayer);
    if (!options_.until.empty()) PrintWaiting((*replayer)->core());
    return Verdict(**replayer);
  }

  void PrintSummary(const Replayer& replayer) const {
    const recording::RecordingHeader& header = replayer.header();
    const replay::ReplayCounts& counts = replayer.counts();
    Print(std::filesystem::path(path_).filename().string() + ": berth " + header.version + ", Kubernetes " +
          header.kubernetes + ", seed " + std::to_string(header.seed));
    Print("from " + FormatRfc3339(header.started_at) + " to " + FormatRfc3339(replayer.reached()) + ": " +
          answers::Counted(counts.turns, "turn", "turns") + ", " + answers::Counted(counts.inputs, "input", "inputs") +
          ", " + answers::Counted(counts.decisions, "decision", "decisions") + ", " + std::to_string(counts.placed) +
          " placed");
  }

  static void PrintWaiting(const scheduler::Scheduler& core) {
    const std::vector<scheduler::UnboundPod> unbound = core.Unbound();
    Print("Then " + std::to_string(core.cache().pod_count()) + " pods are on " +
          answers::Counted(core.cache().nodes().node_count(), "node", "nodes") + ", and " +
          answers::Counted(unbound.size(), "pod has", "pods have") + " none:");
    for (std::size_t i = 0; i < std::min(unbound.size(), kNamesMax); ++i)
      Print("  " + unbound[i].key + ": " + unbound[i].why);
    if (unbound.size() > kNamesMax) Print("  and " + std::to_string(unbound.size() - kNamesMax) + " more");
  }

  // --- A question about the cluster as it was ---

  int Ask() const {
    auto question = RecordedQuestion::Read(options_.question, options_.config, plugins_);
    if (!question.ok()) return cli::FailWith(question.error(), cli::kExitUsage);
    auto replayer = Open((*question)->Watcher());
    if (!replayer.ok()) return cli::FailWith(replayer.error());
    if (const auto failed = Run(**replayer)) return *failed;
    if ((*replayer)->difference()) return Verdict(**replayer);
    const auto reply = (*question)->Answer(**replayer, path_);
    if (!reply.ok()) return cli::FailWith(reply.error(), cli::kExitUsage);
    return PrintReply(options_.question.output, *reply);
  }

  // --- A decision in full ---

  struct Chosen {
    std::uint64_t number = 0;
    std::string pod;
    std::uint64_t count = 0;  // of the pod's decisions
  };

  int Explain() const {
    std::uint64_t wanted = 0;
    const char* const end = options_.explain.data() + options_.explain.size();
    const auto [at, error] = std::from_chars(options_.explain.data(), end, wanted);
    const bool is_number = error == std::errc() && at == end;
    Chosen chosen;
    Replayer::Watcher watcher;
    watcher.on_decision = [&](std::uint64_t number, const scheduler::Decision& decision) {
      if (is_number ? number == wanted : decision.PodKey() == options_.explain)
        chosen = {number, decision.PodKey(), chosen.count + 1};
    };
    auto first = Open(std::move(watcher));
    if (!first.ok()) return cli::FailWith(first.error());
    if (const auto failed = Run(**first)) return *failed;
    if (chosen.number == 0) {
      return cli::FailWith(InvalidError("--explain " + options_.explain +
                                        ": there is no such decision: the recording has the decisions 1 to " +
                                        std::to_string((*first)->counts().decisions) +
                                        " (--decisions lists them), and pods are named NAMESPACE/POD"));
    }
    return ExplainOne(chosen);
  }

  int ExplainOne(const Chosen& chosen) const {
    std::optional<Expected<whatif::Explanation>> said;
    std::optional<scheduler::Decision> decision;
    Replayer* replayer = nullptr;
    Replayer::Watcher watcher;
    watcher.on_cycle = [&](std::uint64_t number) {
      if (number != chosen.number) return;
      const std::size_t slash = chosen.pod.find('/');
      said = whatif::ExplainLive(
          replayer->for_questions(),
          {chosen.pod.substr(0, slash), chosen.pod.substr(slash + 1), replayer->now(), replayer->wall_ahead()}, {});
    };
    watcher.on_decision = [&](std::uint64_t number, const scheduler::Decision& each) {
      if (number == chosen.number) decision = each;
    };
    auto opened = Open(std::move(watcher));
    if (!opened.ok()) return cli::FailWith(opened.error());
    replayer = opened->get();
    while (!decision) {
      const auto more = replayer->Turn();
      if (!more.ok()) return cli::FailWith(more.error());
      if (!*more && !decision) return Verdict(*replayer);
    }
    Print("Decision " + std::to_string(chosen.number) + " of the recording, at " +
          FormatRfc3339Micro(replayer->wall_now()) + ", attempt " + std::to_string(decision->attempt) + " of " +
          chosen.pod + (chosen.count > 1 ? ", which has " + std::to_string(chosen.count) + " decisions" : ""));
    Print(decision->node_name.empty() ? "It was not placed: " + decision->message
                                      : "It was placed on " + decision->node_name + ": " + decision->Why());
    if (!said) return cli::kExitOk;
    if (!said->ok()) return cli::FailWith(said->error());
    if (const auto configuration = replayer->Configuration(); configuration.ok()) {
      for (const auto& extender : configuration->extenders) Warn(ExtenderNotAsked(extender));
    }
    Print("");
    Print("The cluster as the scheduler knew it before that decision:");
    (*said)->live.reset();
    PrintExplanation(**said);
    return cli::kExitOk;
  }

  static void PrintExplanation(const whatif::Explanation& said) {
    cli::FileTerminal terminal(STDOUT_FILENO);
    std::fflush(stdout);
    answers::ExplanationStyle style;
    style.with_nodes = true;
    style.table = {terminal.HasColor(), terminal.IsTty() ? terminal.Size().columns - 2 : 0};
    for (const std::string& line : answers::ExplanationLines(said, style)) terminal.Write(line + "\n");
  }

  // --- Another configuration ---

  whatif::OfflineOptions Offline(config::KubeSchedulerConfiguration configuration, const Replayer& replayer,
                                 Time now) const {
    whatif::OfflineOptions options;
    options.configuration = std::move(configuration);
    options.plugins = plugins_;
    options.read_file = recording::FilesOf(replayer.header());
    options.now = now;
    options.seed = replayer.header().seed;
    options.pods = replayer.header().pods;
    return options;
  }

  // The recorded pods name the recorded profiles. Where each has one profile, the other's decides for them under that
  // name; of several it says which ones the other lacks.
  void TakeNamesOf(const config::KubeSchedulerConfiguration& recorded,
                   config::KubeSchedulerConfiguration& other) const {
    if (recorded.profiles.size() == 1 && other.profiles.size() == 1) {
      other.profiles.front().scheduler_name = recorded.profiles.front().scheduler_name;
      return;
    }
    for (const config::Profile& profile : recorded.profiles) {
      if (std::ranges::find(other.profiles, profile.scheduler_name, &config::Profile::scheduler_name) ==
          other.profiles.end())
        Warn(options_.config + " has no profile \"" + profile.scheduler_name +
             "\", which the recording has: it leaves pods with that schedulerName alone");
    }
  }

  int Compare() const {
    std::vector<std::unique_ptr<History>> histories;
    Replayer* recorded = nullptr;
    std::map<std::string, std::pair<std::string, Time>> placed;  // node and time, by uid
    Replayer::Watcher watcher;
    watcher.on_input = [&](const scheduler::Input& input) {
      for (const auto& history : histories) history->Take(input, recorded->wall_now());
    };
    watcher.on_decision = [&](std::uint64_t, const scheduler::Decision& decision) {
      if (decision.node_name.empty()) return;
      placed.emplace(decision.pod_uid, std::pair(decision.node_name, recorded->wall_now()));
      for (const auto& history : histories) history->AddRecorded(decision.pod_uid);
    };
    auto replayer = Open(std::move(watcher));
    if (!replayer.ok()) return cli::FailWith(replayer.error());
    recorded = replayer->get();
    auto other = LoadQuestionConfiguration("--config", options_.config, plugins_, recorded->header().kubernetes);
    if (!other.ok()) return cli::FailWith(other.error(), cli::kExitUsage);
    for (const std::string& line : other->unknown) Warn(line);
    auto again = recorded->Configuration();
    if (!again.ok()) return cli::FailWith(again.error());
    TakeNamesOf(*again, other->configuration);
    whatif::OfflineOptions same = Offline(*std::move(again), *recorded, recorded->header().started_at);
    whatif::OfflineOptions changed = Offline(std::move(other->configuration), *recorded, recorded->header().started_at);
    changed.read_file = plugin_files::PluginFiles(options_.config);
    for (whatif::OfflineOptions* options : {&same, &changed}) {
      auto history = History::Make(std::move(*options));
      if (!history.ok()) return cli::FailWith(history.error(), cli::kExitUsage);
      histories.push_back(*std::move(history));
    }
    if (const auto failed = Run(*recorded)) return *failed;
    for (const auto& history : histories) history->AdvanceTo(recorded->wall_now());
    PrintSummary(*recorded);
    FirstPlacements placements = histories[0]->placements();
    for (auto& [uid, placement] : placements) {
      const auto at = placed.find(uid);
      std::tie(placement.node, placement.placed) = at == placed.end() ? std::pair<std::string, Time>() : at->second;
    }
    PrintComparison(placements, *histories[0], *histories[1]);
    return Verdict(*recorded);
  }

  void PrintComparison(const FirstPlacements& recorded, const History& same, const History& changed) const {
    const std::string file = std::filesystem::path(options_.config).filename().string();
    const FirstPlacements* all[] = {&recorded, &same.placements(), &changed.placements()};
    cli::Table table({{""}, {"RECORDED", true}, {"AGAIN", true}, {file, true}});
    const auto add = [&](const std::string& title, const auto& value) {
      table.AddRow({title, value(*all[0]), value(*all[1]), value(*all[2])});
    };
    add("pods that came without a node", [](const auto& placements) { return std::to_string(placements.size()); });
    add("placed", [](const auto& placements) { return std::to_string(Waits(placements).size()); });
    add("wait until placed, median", [](const auto& placements) { return Percentile(Waits(placements), 50); });
    add("wait until placed, 99 %", [](const auto& placements) { return Percentile(Waits(placements), 99); });
    table.AddRow(
        {"evicted to make room", "", std::to_string(same.eviction_count()), std::to_string(changed.eviction_count())});
    table.AddRow(
        {"nodes in use at the end", "", std::to_string(same.NodesInUse()), std::to_string(changed.NodesInUse())});
    for (const std::string& line : table.Lines({})) std::printf("%s\n", line.c_str());
    PrintOnly("placed with " + file + " alone", changed.placements(), same.placements());
    PrintOnly("placed with the recorded configuration alone", same.placements(), changed.placements());
  }

  const ReplayOptions& options_;
  const config::KnownPlugins plugins_;
  std::string path_;
  Time until_ = Time::max();
};

int RunReplay(const ReplayOptions& options, config::KnownPlugins plugins) {
  // What the core said then, it would say again.
  log::SetLevel(log::Level::kError);
  return ReplayCommand(options, plugins).Go();
}

}  // namespace

void AddReplayCommand(Commands& commands) {
  const auto options = std::make_shared<ReplayOptions>();
  cli::Command& command = commands.Add("replay", "repeats what `berth run --record` has recorded, decision by decision",
                                       {[options](config::KnownPlugins known) { return RunReplay(*options, known); }});
  command.Argument("recording", options->recording, "the directory, of whose recordings the newest is meant, or a file")
      .Required()
      .Type(cli::kFileHint);
  command.Switch("decisions", options->with_decisions, "a line for each decision");
  cli::Flag& explain =
      command.Option("explain", options->explain,
                     "a decision in full: NAMESPACE/POD, whose last one is meant, or the decision's number");
  command.Option("until", options->until,
                 "stop there: a time (2026-11-25T10:00:00Z), or how long after the beginning (10m)");
  command
      .Option("config", options->config,
              "file with another KubeSchedulerConfiguration: what would have come of the same history with it")
      .Excludes(explain)
      .Type(cli::kFileHint);
  AddRecordedQuestion(command, options->question);
  AddPluginDirectory(command, commands.plugin_directory());
  command.SetFooter(
      "Ends with 0 when every decision is as it was recorded, with 1 when the recording cannot be read, with 2 on bad "
      "flags and configurations, with 3 when a decision differs, or when the answer to --ask is no (docs/replay.md).");
}

}  // namespace berth::app
