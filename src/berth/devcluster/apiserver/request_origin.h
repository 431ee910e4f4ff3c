// SPDX-License-Identifier: Apache-2.0
// Where a request comes from: this server knows no users, so that a page of somebody else's in a browser on this
// machine must not speak to it, neither across sites (Origin) nor under a name that has been pointed here (DNS
// rebinding). A pure function; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "berth/devcluster/objects/status_error.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

// Why the request is refused; nullopt: it may be answered. Its Host has to be an address, localhost or one of
// `host_names`, and its Origin, which only browsers send, the same. Requests without sockets have neither.
std::optional<objects::StatusError> RefuseForeignOrigin(const net::Request& request,
                                                        std::span<const std::string> host_names);

}  // namespace berth::apiserver
