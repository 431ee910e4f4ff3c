// SPDX-License-Identifier: Apache-2.0
// What the commands that ask a question have in common at both ends: the cluster that is asked, and the answer on
// standard output.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_flags.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/whatif/cluster_state.h"

namespace berth::app {

// Of the defaults, standard error tells.
using ask::OtherSchedulers;

// Reads the cluster into `loaded`; `plugins` must outlive it. The exit status when that failed, which has been said;
// nullopt: go on.
std::optional<int> LoadOrFail(const QuestionOptions& options, config::KnownPlugins plugins, OtherSchedulers others,
                              QuestionCluster& loaded);

// Says on standard error by whose rules the answer is, where these are not the cluster's and nobody has chosen them.
void WarnOfOtherRules(const QuestionRelease& asked, std::string_view server_version, int release_minor);

// A line on standard error, beside the answer.
void Warn(const std::string& line);

// The answer of one command in each of its forms.
struct Answer {
  // For tables: true for the wide one.
  std::function<std::vector<std::string>(bool is_wide, const cli::Table::Style& style)> lines;
  std::function<codec::json::object()> json;
};

// JSON or YAML, of which `output` is one.
bool IsDocument(QuestionOutput output);
void PrintDocument(cli::FileTerminal& terminal, QuestionOutput output, const codec::json::value& document);

// Tables are as wide as the terminal, or a hundred columns where there is none; wide ones are not cut.
void PrintAnswer(cli::FileTerminal& terminal, QuestionOutput output, const Answer& answer);
// The same on standard output. JSON and YAML get what `state` tells of the cluster, under "cluster".
void PrintAnswer(QuestionOutput output, const whatif::ClusterState& state, const Answer& answer);

// The same of a reply of berth::ask, with its warnings on standard error. The exit status of its verdict.
int PrintReply(QuestionOutput output, const ask::Reply& reply);
int ExitOf(ask::Verdict verdict);

}  // namespace berth::app
