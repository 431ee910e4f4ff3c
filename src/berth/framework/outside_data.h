// SPDX-License-Identifier: Apache-2.0
// OutsideDataReader: for a plugin that decides by data which are no API objects: measurements, alerts, health. It names
// its sources; the shell polls them in the background and brings each answer to the core as an input. The plugin is
// called within turns only, and nothing is fetched within a scheduling cycle.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/framework/plugin.h"

namespace berth::framework {

// The parsed answer of a source; a plugin derives its own from this. Immutable once made.
struct OutsideData {
  virtual ~OutsideData() = default;
};

// A clock, a file or a URL, the first of these that is set.
struct OutsideSource {
  std::string name;  // in messages and metrics: "prometheus"
  // A clock: once an interval OnOutsideData is called with null data. For a plugin whose data grow stale, since a
  // source that fails is polled less and less often. Uses `interval` alone of the fields below.
  bool is_clock = false;
  // A file of this machine, read once an interval. `parse` gets its contents, and the plugin the result, at the start
  // and whenever they have changed or the file cannot be read any more. Contents that `parse` refused are not offered
  // again. Uses `interval`, `body_bytes_max` and `parse` of the fields below.
  std::string file;
  // "http://host:port/path?query" or "https://...", fetched by GET. A path ("/apis/metrics.k8s.io/...") is fetched from
  // the API server with the scheduler's own credentials.
  std::string url;
  std::string ca_file;  // https: PEM roots; empty: the system's
  bool insecure_skip_tls_verify = false;
  std::string bearer_token_file;                 // read anew for each request; empty: none
  std::string basic_auth_file;                   // "user:password", read anew for each request; empty: none
  Duration interval = std::chrono::seconds(15);  // between the end of a request and the next one
  Duration timeout = std::chrono::seconds(5);    // of a request
  std::size_t body_bytes_max = std::size_t{16} << 20;
  // Turns the body of an answer with status 200 into data, or into an error of one line. Called on any thread: it must
  // not touch the plugin.
  std::function<Expected<std::shared_ptr<const OutsideData>>(std::string_view body)> parse;
};

// The nodes about which the plugin's answers may have changed.
struct OutsideChange {
  bool all_nodes = false;
  std::vector<std::string> node_names;  // unknown names are allowed
};

class OutsideDataReader : public virtual Plugin {
 public:
  // Asked once, when the scheduler starts.
  virtual std::vector<OutsideSource> OutsideSources() const = 0;
  // A request to OutsideSources()[source] has ended with data or an error. Called once an interval, less often while
  // the source fails (back-off of up to 5 minutes). The runtime drops what it keeps about the nodes of the result, so
  // that a plugin with outside data may declare Dependency::kNode; pods that this plugin refused are tried again if it
  // has registered for OutsideDataEvent. `wall_now` is the time of day, to compare with what the data say of when they
  // are of; it may step. Cycle::wall_now is the same clock.
  virtual OutsideChange OnOutsideData(std::size_t source, const Expected<std::shared_ptr<const OutsideData>>& data,
                                      Time wall_now) = 0;
};

// For EventsToRegister(): pods that `plugin` refused are tried again when OnOutsideData has returned a change.
ClusterEventWithHint OutsideDataEvent(std::string_view plugin);

}  // namespace berth::framework
