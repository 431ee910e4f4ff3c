// SPDX-License-Identifier: Apache-2.0
// `berth price`: edits the prices of nodes on any cluster, as annotations for the policy best-price. Returns the exit
// status; a failure is one line on standard error. Call it once per process, on the main thread, after
// cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/app/connection.h"

namespace berth::app {

enum class PriceAction : std::uint8_t { kList, kSet, kRandom, kImport, kClear };

struct PriceOptions {
  ConnectionOptions connection;
  PriceAction action = PriceAction::kList;
  std::string annotation;             // its key; empty: the usual ones
  std::string selector;               // label selector of nodes; not with kSet
  std::string node;                   // kSet
  std::string price;                  // kSet
  std::optional<std::uint64_t> seed;  // kRandom
  std::string file;                   // kImport
  bool dry_run = false;               // not with kList
};

int RunPrice(const PriceOptions& options);

}  // namespace berth::app
