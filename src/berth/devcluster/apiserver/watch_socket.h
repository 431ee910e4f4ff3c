// SPDX-License-Identifier: Apache-2.0
// A watch over a WebSocket, as kube-apiserver serves one whose request asks for it: each event is a text message.
#pragma once

#include <memory>

#include "berth/devcluster/objects/status_error.h"
#include "berth/shell/net/http_server.h"

namespace berth::apiserver {

// A writer whose stream of lines goes through `writer` as messages of a WebSocket; an answer that is no stream goes as
// it is. 400 when the request is no handshake.
objects::Outcome<std::shared_ptr<net::ResponseWriter>> MakeWatchSocket(const net::Request& request,
                                                                       std::shared_ptr<net::ResponseWriter> writer);

}  // namespace berth::apiserver
