// SPDX-License-Identifier: Apache-2.0
// The questions about a cluster: what is asked, as a plain value and as JSON (docs/reference/ask-api.yaml), and the
// answer from an AskedCluster. One implementation for the commands, `berth serve` and the page. kInvalid: what is wrong
// with the question, for its author. Whoever may be interrupted looks by himself whether an answer is whole.
//
// A new question is a struct, here or in a header of its own, its three functions, a line in question_kinds.cc and a
// path in the API's document.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/shapes.h"

namespace berth::ask {

// `berth explain pod`, or with `of_pending` `berth explain --pending`.
struct ExplainQuestion {
  std::string namespace_name;  // of the pod; with of_pending empty: all
  std::string name;
  bool of_pending = false;
  bool with_nodes = false;  // in text: what every node says

  static Expected<ExplainQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
Expected<Reply> Answer(const ExplainQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted);

struct CapacityQuestion {
  static constexpr std::size_t kMax = 10'000'000;
  std::vector<whatif::ManifestFile> files;
  std::string namespace_name = "default";
  std::vector<std::string> likes;  // "NAMESPACE/POD", or "POD"
  whatif::ShapeAmounts amounts;    // of a shape of the question's own
  bool is_together = false;
  std::size_t pods_max = 10'000;
  std::optional<std::size_t> required;  // of each shape

  static Expected<CapacityQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
// What is wrong with it that shows without a cluster.
Expected<void> Check(const CapacityQuestion& question);
Expected<Reply> Answer(const CapacityQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted);

struct DrainQuestion {
  std::vector<std::string> nodes;
  bool is_forced = false;

  static Expected<DrainQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
Expected<Reply> Answer(const DrainQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted);

struct HeadroomQuestion {
  static constexpr std::size_t kLossesMax = 20;
  std::string namespace_name;  // empty: all
  std::size_t losses_max = 3;
  std::optional<std::size_t> required;  // losses that each workload should survive

  static Expected<HeadroomQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
Expected<Reply> Answer(const HeadroomQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted);

// What answers say of the cluster: source, version, readAt, leftOut.
codec::json::object ClusterJson(const whatif::ClusterState& state);

}  // namespace berth::ask
