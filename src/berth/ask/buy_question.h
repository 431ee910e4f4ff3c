// SPDX-License-Identifier: Apache-2.0
// `berth buy` as a question; see questions.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/buy/node_catalogue.h"
#include "berth/buy/purchase_options.h"
#include "berth/codec/json.h"
#include "berth/whatif/manifests.h"

namespace berth::ask {

struct BuyQuestion {
  static constexpr std::size_t kNodesMaxMax = 1'000'000;
  static constexpr std::uint64_t kEffortMax = 1'000;

  std::vector<whatif::ManifestFile> files;
  std::string namespace_name = "default";  // of manifests that name none
  bool takes_pending = false;  // the cluster's pending pods, too; without files they are what is asked about
  std::string catalogue;       // its text
  std::string catalogue_name = "catalogue";
  std::optional<std::size_t> nodes_max;
  std::vector<std::string> zones;
  double spot_share = 1;
  double disruption_share = 1;
  buy::Placement placement = buy::Placement::kScheduler;
  bool replaces = false;
  std::uint64_t effort = 10;

  static Expected<BuyQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
  // How the plan is searched for; nobody interrupts it.
  buy::PurchaseOptions Options() const;
};
// Of the question's text; an error begins with the catalogue's name and the line.
Expected<buy::NodeCatalogue> CatalogueOf(const BuyQuestion& question);
Expected<Reply> Answer(const BuyQuestion& question, const AskLimits& limits, AskedCluster& cluster,
                       const IsInterrupted& is_interrupted);

}  // namespace berth::ask
