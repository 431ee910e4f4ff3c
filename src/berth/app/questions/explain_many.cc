// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/explain_many.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/answers/answer_text.h"
#include "berth/answers/explanation_json.h"
#include "berth/answers/page.h"
#include "berth/answers/pending_answer.h"
#include "berth/app/questions/manifest_files.h"
#include "berth/app/questions/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/whatif/alike_pods.h"
#include "berth/whatif/named_pods.h"
#include "berth/whatif/pending_pods.h"

namespace berth::app {
namespace {

constexpr std::size_t kNamesMax = 1'000;
// Explanations of one workload or selector: of each kind of pod the first.
constexpr std::size_t kKindsMax = 20;
constexpr auto kWatchPeriod = std::chrono::seconds(2);

// An answer: lines, or a document.
struct ManyAnswer {
  std::vector<std::string> lines;
  codec::json::object document;
  // What tells it from the one before: all but how long pods have waited.
  codec::json::value facts;
  int status = cli::kExitOk;
};

Expected<std::vector<whatif::ObjectName>> NamesOf(const ExplainOptions& options, const std::string& namespace_name) {
  std::vector<std::string> texts = options.names;
  BERTH_ASSIGN_OR_RETURN(const auto files, ReadManifestFiles(options.name_files));
  for (const whatif::ManifestFile& file : files) {
    std::string_view rest = file.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (!line.empty()) texts.emplace_back(line);
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
  }
  if (texts.size() > kNamesMax) return InvalidError("berth explain: more than " + std::to_string(kNamesMax) + " names");
  std::vector<whatif::ObjectName> names;
  for (const std::string& text : texts) {
    BERTH_ASSIGN_OR_RETURN(whatif::ObjectName name, whatif::ParseObjectName(text, namespace_name));
    names.push_back(std::move(name));
  }
  return names;
}

class Many {
 public:
  Many(const ExplainOptions& options, config::KnownPlugins plugins, std::string namespace_name)
      : options_(options), plugins_(plugins), namespace_name_(std::move(namespace_name)) {}

  // The exit status when the cluster could not be read; else nothing, and `answer` is filled in.
  std::optional<int> Ask(const std::vector<whatif::ObjectName>& names, ManyAnswer& answer) {
    loaded_ = {};
    if (const auto status = LoadOrFail(options_.question, plugins_, OtherSchedulers::kHaveNoProfile, loaded_))
      return status;
    if (options_.of_pending) {
      AnswerPending(answer);
      return std::nullopt;
    }
    const bool is_one = names.size() == 1 && options_.selector.empty() && names.front().kind == "Pod";
    for (const whatif::ObjectName& name : names) AnswerName(name, answer);
    if (!options_.selector.empty())
      AnswerPods(whatif::PodsSelected(loaded_.state, options_.selector, namespace_name_), answer);
    codec::json::array items = std::exchange(items_, {});
    codec::json::array sets = std::exchange(sets_, {});
    if (is_one && !items.empty()) {
      answer.document = std::move(items.front().as_object());
    } else if (IsDocument(options_.question.output)) {
      answer.document = {{"kind", "List"}, {"items", std::move(items)}};
      if (!sets.empty()) answer.document["sets"] = std::move(sets);
    }
    answer.facts = answer.document;
    if (!IsDocument(options_.question.output)) {
      codec::json::array lines;
      for (const std::string& line : answer.lines) lines.emplace_back(line);
      answer.facts = std::move(lines);
    }
    return std::nullopt;
  }

 private:
  void AnswerPending(ManyAnswer& answer) {
    const auto pending = whatif::FindPendingPods(*loaded_.cluster, loaded_.state, options_.question.namespace_name);
    if (IsDocument(options_.question.output)) {
      answer.document = answers::PendingJson(pending);
    } else {
      const cli::FileTerminal terminal(STDOUT_FILENO);
      const bool is_wide = options_.question.output == QuestionOutput::kWide;
      const std::size_t width = terminal.IsTty() ? terminal.Size().columns : answers::kAnswerColumns;
      answer.lines = answers::PendingLines(pending, {terminal.HasColor(), is_wide ? 0 : width});
    }
    answer.facts = answers::PendingFacts(pending);
    answer.status = pending.Count() == 0 ? cli::kExitOk : kExitRefused;
  }

  void AnswerName(const whatif::ObjectName& name, ManyAnswer& answer) {
    if (name.kind == "Pod") {
      AnswerPod(name.namespace_name, name.name, answer);
    } else {
      AnswerPods(whatif::PodsOfWorkload(loaded_.state, name), answer);
    }
  }

  void AnswerPod(const std::string& namespace_name, const std::string& name, ManyAnswer& answer) {
    const auto said = ExplainLoaded(options_, loaded_, namespace_name, name);
    if (!said.ok()) return Fail(said.error(), answer);
    Begin(answer);
    if (IsDocument(options_.question.output)) {
      items_.push_back(answers::ExplanationJson(*said));
    } else {
      for (std::string& line : ExplanationText(*said, options_)) answer.lines.push_back(std::move(line));
    }
    answer.status = Worse(answer.status, ExitOf(said->state));
  }

  // Of pods that are all alike one is explained.
  void AnswerPods(const Expected<whatif::NamedPods>& pods, ManyAnswer& answer) {
    if (!pods.ok()) return Fail(pods.error(), answer);
    const bool is_document = IsDocument(options_.question.output);
    if (!is_document) {
      Begin(answer);
      const std::string of = " of " + std::to_string(pods->count);
      answer.lines.push_back(pods->what + ": " +
                             (pods->waiting.empty()
                                  ? "each" + of + " pods has a node"
                                  : std::to_string(pods->waiting.size()) + of + " pods wait for one"));
    }
    const auto overlay = loaded_.cluster->MakeOverlay();
    std::map<whatif::AlikeKey, std::size_t> counts;
    std::vector<std::pair<framework::PodInfoPtr, const api::Pod*>> kinds;
    for (const auto& pod : pods->waiting) {
      framework::PodInfoPtr info = overlay->MakePod(*pod);
      if (counts[whatif::AlikeKeyOf(*info)]++ == 0) kinds.emplace_back(std::move(info), pod.get());
    }
    for (std::size_t i = 0; i < std::min(kinds.size(), kKindsMax); ++i) {
      const api::ObjectMeta& meta = kinds[i].second->metadata;
      AnswerPod(meta.namespace_name, meta.name, answer);
      const std::size_t others = counts[whatif::AlikeKeyOf(*kinds[i].first)] - 1;
      if (is_document && others > 0 && !items_.empty()) items_.back().as_object()["morePods"] = others;
      if (!is_document && others > 0)
        answer.lines.push_back("The same holds for " + answers::Counted(others, "more pod", "more pods") + '.');
    }
    const std::size_t not_shown = kinds.size() - std::min(kinds.size(), kKindsMax);
    if (is_document) {
      sets_.push_back(codec::json::object{
          {"name", pods->what}, {"pods", pods->count}, {"waiting", pods->waiting.size()}, {"kindsNotTold", not_shown}});
    } else if (not_shown > 0) {
      answer.lines.push_back(std::to_string(not_shown) + " more kinds of pods are not told.");
    }
  }

  static void Fail(const Error& error, ManyAnswer& answer) {
    answer.status = Worse(answer.status, cli::FailWith(error));
  }
  // An empty line between two answers.
  static void Begin(ManyAnswer& answer) {
    if (!answer.lines.empty()) answer.lines.emplace_back();
  }
  static int Worse(int a, int b) {
    if (a == cli::kExitFailed || b == cli::kExitFailed) return cli::kExitFailed;
    return std::max(a, b);
  }

  const ExplainOptions& options_;
  const config::KnownPlugins plugins_;
  const std::string namespace_name_;
  QuestionCluster loaded_;
  codec::json::array items_;
  codec::json::array sets_;  // of each workload and selector how many pods there are
};

void Print(const ExplainOptions& options, const ManyAnswer& answer, bool is_first) {
  cli::FileTerminal terminal(STDOUT_FILENO);
  if (IsDocument(options.question.output)) {
    if (!is_first && options.question.output == QuestionOutput::kYaml) terminal.Write("---\n");
    return PrintDocument(terminal, options.question.output, answer.document);
  }
  std::string text = is_first ? "" : "\n";
  for (const std::string& line : answer.lines) text += line + "\n";
  terminal.Write(text);
}

}  // namespace

int RunExplainMany(const ExplainOptions& options, config::KnownPlugins plugins) {
  if (!options.of_pending && options.names.empty() && options.name_files.empty() && options.selector.empty()) {
    return cli::FailWith(InvalidError("berth explain: what? pod NAME, KIND/NAME, -l SELECTOR or --pending says it"),
                         cli::kExitUsage);
  }
  // What is wrong with the question is said before anybody asks where the cluster is.
  if (options.is_watched && !options.question.snapshot.empty()) {
    return cli::FailWith(
        InvalidError("berth explain: --watch waits for changes, and a --snapshot has none: leave one out"),
        cli::kExitUsage);
  }
  for (const std::string& name : options.names) {
    const auto parsed = whatif::ParseObjectName(name, "default");
    if (!parsed.ok()) return cli::FailWith(parsed.error(), cli::kExitUsage);
  }
  const auto namespace_name = NamespaceOf(options.question);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  const auto names = NamesOf(options, *namespace_name);
  if (!names.ok()) return cli::FailWith(names.error(), cli::kExitUsage);
  Many many(options, plugins, *namespace_name);
  codec::json::value before;
  for (bool is_first = true;; is_first = false) {
    ManyAnswer answer;
    if (const auto failed = many.Ask(*names, answer)) return *failed;
    if (is_first || answer.facts != before) Print(options, answer, is_first);
    if (!options.is_watched || answer.status == cli::kExitOk || cli::HasSignal(kWatchPeriod)) return answer.status;
    before = std::move(answer.facts);
  }
}

}  // namespace berth::app
