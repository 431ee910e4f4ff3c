// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_output.h"

#include <cstdio>
#include <utility>

#include <unistd.h>

#include "berth/answers/page.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/base/time.h"
#include "berth/codec/yaml_writer.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"

namespace berth::app {
namespace {

codec::json::object ClusterJson(const whatif::ClusterState& state) {
  codec::json::array left_out;
  for (const std::string& line : state.left_out) left_out.emplace_back(line);
  return {{"source", state.source},
          {"version", state.kubernetes_version},
          {"readAt", FormatRfc3339(state.read_at)},
          {"leftOut", std::move(left_out)}};
}

}  // namespace

std::optional<int> LoadOrFail(const QuestionOptions& options, config::KnownPlugins plugins, OtherSchedulers others,
                              QuestionCluster& loaded) {
  // What is wrong with the configuration is said before a large cluster is read.
  if (const auto checked = LoadQuestionConfiguration("--config", options.config, plugins, {}, options.release);
      !checked.ok())
    return cli::FailWith(checked.error(), cli::kExitUsage);
  auto state = ReadClusterFor(options);
  if (!state.ok()) return cli::FailWith(state.error());
  auto offline = OfflineOptionsFor(options.config, plugins, state->kubernetes_version, options.release);
  if (!offline.ok()) return cli::FailWith(offline.error(), cli::kExitUsage);
  WarnOfOtherRules(options.release, state->kubernetes_version, offline->configuration.release.minor);
  if (others == OtherSchedulers::kByDefaults && options.config.empty())
    WarnOfDefaults(AddProfilesOf({state->pods}, offline->configuration));
  offline->now = state->read_at;
  auto cluster = whatif::OfflineCluster::Make(std::move(*offline));
  if (!cluster.ok()) return cli::FailWith(cluster.error());
  loaded = {std::move(*state), std::move(*cluster)};
  loaded.cluster->Load(loaded.state);
  return std::nullopt;
}

void WarnOfOtherRules(const QuestionRelease& asked, std::string_view server_version, int release_minor) {
  if (!asked.version.IsAuto()) return;
  if (const auto other = DescribeOtherRules(server_version, release_minor))
    std::fprintf(stderr, "berth: %s\n", other->c_str());
}

void Warn(const std::string& line) { std::fprintf(stderr, "berth: warning: %s\n", cli::Printable(line).c_str()); }

bool IsDocument(QuestionOutput output) { return output == QuestionOutput::kJson || output == QuestionOutput::kYaml; }

void PrintDocument(cli::FileTerminal& terminal, QuestionOutput output, const codec::json::value& document) {
  terminal.Write(output == QuestionOutput::kYaml ? codec::WriteYaml(document) : codec::WriteJson(document) + "\n");
}

void PrintAnswer(cli::FileTerminal& terminal, QuestionOutput output, const Answer& answer) {
  if (IsDocument(output)) return PrintDocument(terminal, output, answer.json());
  const bool is_wide = output == QuestionOutput::kWide;
  const std::size_t width = terminal.IsTty() ? terminal.Size().columns : answers::kAnswerColumns;
  const cli::Table::Style style{terminal.HasColor(), is_wide ? 0 : width};
  std::string text;
  for (const std::string& line : answer.lines(is_wide, style)) text += line + "\n";
  terminal.Write(text);
}

void PrintAnswer(QuestionOutput output, const whatif::ClusterState& state, const Answer& answer) {
  cli::FileTerminal terminal(STDOUT_FILENO);
  const auto json = [&] {
    codec::json::object document = answer.json();
    document["cluster"] = ClusterJson(state);
    return document;
  };
  PrintAnswer(terminal, output, {answer.lines, json});
}

int PrintReply(QuestionOutput output, const ask::Reply& reply) {
  for (const std::string& line : reply.warnings) Warn(line);
  cli::FileTerminal terminal(STDOUT_FILENO);
  if (IsDocument(output)) {
    PrintDocument(terminal, output, reply.document);
  } else {
    const std::size_t columns = terminal.IsTty() ? terminal.Size().columns : 0;
    terminal.Write(reply.text({output == QuestionOutput::kWide, terminal.HasColor(), columns}));
  }
  return ExitOf(reply.verdict);
}

int ExitOf(ask::Verdict verdict) {
  switch (verdict) {
    case ask::Verdict::kYes: return cli::kExitOk;
    case ask::Verdict::kNo: return cli::kExitNo;
    case ask::Verdict::kFailed: break;
  }
  return cli::kExitFailed;
}

}  // namespace berth::app
