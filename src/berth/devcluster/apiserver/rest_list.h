// SPDX-License-Identifier: Apache-2.0
// Lists and watches of the REST API. Answers at once, never blocks; any thread.
#pragma once

#include <memory>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_call.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/watch.h"

namespace berth::apiserver {

objects::Outcome<net::Response> ListObjects(Registry& registry, const RestCall& call, const ListParameters& list);

// The events go to `writer` until the client, or the watch's time-out, ends it.
objects::Outcome<objects::Done> WatchObjects(Registry& registry, WatchHub& watches, const RestCall& call,
                                             ListParameters list, const std::shared_ptr<net::ResponseWriter>& writer);

}  // namespace berth::apiserver
