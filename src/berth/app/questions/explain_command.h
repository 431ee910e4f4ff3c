// SPDX-License-Identifier: Apache-2.0
// `berth explain`: why a pod is where it is, or nowhere, on any cluster or snapshot. Reads only.
#pragma once

#include <string>
#include <vector>

#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_flags.h"
#include "berth/base/expected.h"
#include "berth/whatif/explanation.h"

namespace berth::app {

class Commands;

// The pod has no node, and no node takes it.
inline constexpr int kExitRefused = 3;

struct ExplainGroupOptions {
  QuestionOptions question;
  std::string group;  // "name" or "namespace/name"
};

struct ExplainOptions {
  QuestionOptions question;
  std::string pod;  // "name" or "namespace/name"
  // Several at once, where no `pod` is named (explain_many.h).
  std::vector<std::string> names;       // "pod/web-1", "deployment/web"
  std::vector<std::string> name_files;  // -f: files of such names, a line each
  std::string selector;                 // -l: of the pods of a namespace
  bool of_pending = false;              // --pending: all that waits
  bool is_watched = false;              // --watch: again whenever the answer is another one
  bool with_nodes = false;              // what each node says
  ServerPort scheduler;                 // of a running berth that is asked; else the cluster is read
  ExplainGroupOptions of_group;         // where a group is named, the question is about that
};

// Of a pod that is in that state.
int ExitOf(whatif::PodState state);
// The answer as text.
std::vector<std::string> ExplanationText(const whatif::Explanation& said, const ExplainOptions& options);
// Of the cluster in `loaded`; it is read again with the pods that have ended if no other has that name.
Expected<whatif::Explanation> ExplainLoaded(const ExplainOptions& options, QuestionCluster& loaded,
                                            const std::string& namespace_name, const std::string& name);

void AddExplainCommand(Commands& commands);

}  // namespace berth::app
