// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez and /readyz as kube-apiserver answers them: a check each, by name, with ?verbose and ?exclude. Pure
// functions, any thread.
#pragma once

#include <optional>
#include <string>

#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

// Nullopt for another path. `store_failure`: why the last write was not kept; empty: it was.
std::optional<net::Response> ServeHealth(const net::Target& target, const std::string& store_failure);

}  // namespace berth::apiserver
