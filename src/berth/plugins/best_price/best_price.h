// SPDX-License-Identifier: Apache-2.0
// BestPrice: the cheapest node that has room. A policy of berth's own: nodes of the lowest price get 100, all others 99
// at most and the less the dearer they are. Refuses nodes above the pod's ceiling (annotation berth.dev/max-price) and,
// where the arguments say so, nodes without a price.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/best_price/best_price_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateBestPrice(const BestPriceArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
