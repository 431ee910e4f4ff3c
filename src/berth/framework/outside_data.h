// SPDX-License-Identifier: Apache-2.0
// OutsideDataReader: for plugins that decide by data other than API objects: measurements, alerts, health. The plugin
// names its sources; the shell polls them in the background and passes each answer to the core as an input. The plugin
// is called within turns only, and nothing is fetched during a scheduling cycle.
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

// Base class of a source's parsed answer. Immutable once made.
struct OutsideData {
  virtual ~OutsideData() = default;
};

// A clock, a file or a URL: the first of these that is set.
struct OutsideSource {
  std::string name;  // used in messages and metrics: "prometheus"
  // A clock: OnOutsideData is called with null data once per interval. For plugins whose data become stale, because a
  // failing source is polled less and less often. Of the fields below only `interval` is used.
  bool is_clock = false;
  // A file of this machine, read once per interval. `parse` receives its contents. The plugin receives the result at
  // the start, when the contents have changed, and when the file cannot be read any more. Contents that `parse` has
  // refused are not offered again. Of the fields below `interval`, `body_bytes_max` and `parse` are used.
  std::string file;
  // "http://host:port/path?query" or "https://...", fetched by GET. A path ("/apis/metrics.k8s.io/...") is fetched from
  // the API server with the scheduler's own credentials.
  std::string url;
  std::string ca_file;  // https: PEM roots; empty: those of the system
  bool insecure_skip_tls_verify = false;
  std::string bearer_token_file;                 // read again for each request; empty: none
  std::string basic_auth_file;                   // "user:password", read again for each request; empty: none
  Duration interval = std::chrono::seconds(15);  // from the end of a request to the next one
  Duration timeout = std::chrono::seconds(5);    // time limit of a request
  std::size_t body_bytes_max = std::size_t{16} << 20;
  // Parses the body of a response with status 200 into data, or returns a one-line error. Called on any thread; it must
  // not access the plugin.
  std::function<Expected<std::shared_ptr<const OutsideData>>(std::string_view body)> parse;
};

// The nodes for which the plugin's answers may have changed.
struct OutsideChange {
  bool all_nodes = false;
  std::vector<std::string> node_names;  // unknown names are allowed
};

class OutsideDataReader : public virtual Plugin {
 public:
  // Called once, when the scheduler starts.
  virtual std::vector<OutsideSource> OutsideSources() const = 0;
  // A request to OutsideSources()[source] has ended with data or an error. Called once per interval, and less often
  // while the source fails (back-off of up to 5 minutes). The runtime drops kept results of the returned nodes, so that
  // a plugin with outside data may declare Dependency::kNode. Pods that this plugin refused are tried again if it has
  // registered for OutsideDataEvent. `wall_now` is the time of day, for comparison with times in the data; it may jump.
  // Cycle::wall_now is the same clock.
  virtual OutsideChange OnOutsideData(std::size_t source, const Expected<std::shared_ptr<const OutsideData>>& data,
                                      Time wall_now) = 0;
};

// For EventsToRegister(): pods that `plugin` refused are tried again when OnOutsideData has returned a change.
ClusterEventWithHint OutsideDataEvent(std::string_view plugin);

}  // namespace berth::framework
