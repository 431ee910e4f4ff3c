// SPDX-License-Identifier: Apache-2.0
// --server: a question is asked of a `berth serve` in place of the cluster. The answer is printed as if it had been
// found here. Main thread, blocks.
#pragma once

#include <string>

#include "berth/app/connection.h"
#include "berth/app/questions/question_flags.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/client/kubeconfig.h"

namespace berth::app {

// A berth that is asked, with the kubeconfig's credentials and nothing of its server but, perhaps, the authority.
// `ca_flag` is how errors name the file of the authority.
Expected<client::ClientConfig> ConfigForPort(const ServerPort& port, const std::string& ca_flag,
                                             const ConnectionOptions& connection, const Clock& clock);

// The flags --server, --server-ca-file and --server-insecure-skip-tls-verify, after those of AddQuestionFlags. Flags
// that say which release decides are not for a server, which has its own; `has_release`: the command has those of
// AddQuestionRelease.
void AddQuestionServer(cli::Command& command, ServerPort& server, bool has_release = true);

// Asks `question` ("can-drain", as in the API's path) of options.server, with the snapshot and the configuration of the
// options if there are; prints the answer in the form of the options. The exit status; what is wrong has been said.
int AskServer(const QuestionOptions& options, const std::string& question, codec::json::object body);

}  // namespace berth::app
