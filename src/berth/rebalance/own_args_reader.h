// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of berth's own strategies, strictly. For policy_reader.h.
#pragma once

#include "berth/core/config/reader.h"
#include "berth/rebalance/own_args.h"

namespace berth::rebalance {

void ReadArgs(config::ObjectReader& reader, BackToSpotArgs& out);
void ReadArgs(config::ObjectReader& reader, CheaperNodeArgs& out);
void ReadArgs(config::ObjectReader& reader, BetterScoreArgs& out);
void ReadArgs(config::ObjectReader& reader, ConsolidateArgs& out);
void ReadArgs(config::ObjectReader& reader, CustomMetricArgs& out);
void ReadArgs(config::ObjectReader& reader, ZoneRepairArgs& out);

}  // namespace berth::rebalance
