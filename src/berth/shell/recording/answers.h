// SPDX-License-Identifier: Apache-2.0
// AnswerFilter: what is recorded of the API server's answers to writes, which hold whole objects. Berth's own plugins
// read claims and volumes from them, as far as these are decoded; answers about pods and all else are read by nobody.
// Immutable; one thread at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "berth/api/prune_json.h"
#include "berth/shell/recording/values.h"

namespace berth::recording {

class AnswerFilter {
 public:
  // With a filter that keeps all annotations, for plugins that nobody knows, answers are kept whole, too.
  explicit AnswerFilter(const AnnotationFilter& annotations);

  // `body` is JSON, or what the server sent in its place, which is kept.
  std::string Of(const std::string& body) const;

 private:
  const bool keeps_all_;
  std::map<std::string, api::JsonPruner, std::less<>> pruners_;  // by kind
};

}  // namespace berth::recording
