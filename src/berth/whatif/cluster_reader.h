// SPDX-License-Identifier: Apache-2.0
// Reads a ClusterState from an API server: lists of nodes, pods and the kinds that plugins read, page by page, two
// lists at a time. Reads nothing else (no Secrets, no ConfigMaps) and writes nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"
#include "berth/whatif/cluster_state.h"

namespace simdjson::dom {
class element;
}

namespace berth::whatif {

// Gets the objects as they are read. An error ends the reading with it.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // The JSON of an object of a kind (state_builder.h) that decodes. Valid during the call.
  virtual Expected<void> Take(std::size_t kind, const simdjson::dom::element& object) = 0;
  // The list of the kind starts over: what has been given of it is void.
  virtual Expected<void> RestartList(std::size_t kind) = 0;
};

struct ClusterReadOptions {
  std::string source;  // of the ClusterState: the server's address
  int page_size = 500;
  // How often a list whose continue token has expired is started again.
  int restarts_max = 1;
  // Pages of one list: a server that hands out continue tokens for ever is broken.
  int pages_max = 100'000;
  // Keeps nothing in memory but a page: for callers that have a sink.
  bool keeps_objects = true;
  ObjectSink* sink = nullptr;
  bool keeps_pod_details = false;  // see ClusterState::pod_details
  // PodGroups, too. Only who decides by them needs the right to list them; without a sink, `left_out` tells of a server
  // that does not serve them.
  bool reads_pod_groups = false;
  bool reads_composite_pod_groups = false;  // likewise CompositePodGroups
  // ResourceQuotas, too: only who asks what the API server would admit needs the right to list them.
  bool reads_quotas = false;
  // Is called after each page with "pods" and how many of them have been read so far.
  std::function<void(std::string_view what, std::size_t count)> progress;
  // Is called several times a second; true ends the reading with kCancelled.
  std::function<bool()> is_interrupted;
};

// Blocks, and so is not for the loop's thread. Nodes or pods that cannot be listed are an error that names the missing
// right. Another kind that is forbidden or not served, and each object that does not decode, becomes a line of
// `left_out`. `rest` must outlive the requests that are under way when this returns with an error.
Expected<ClusterState> ReadCluster(client::RestClient& rest, const Clock& clock, const ClusterReadOptions& options);

}  // namespace berth::whatif
