// Data from outside the cluster's objects that plugins decide by: measurements, alerts, health. A plugin says what it
// wants to know; the shell asks for it in the background, at intervals, and brings each answer to the core as an input.
// Nothing is asked within a scheduling cycle.
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

// What a source said, parsed. Immutable once made.
struct OutsideData {
  virtual ~OutsideData() = default;
};

struct OutsideSource {
  std::string name;  // as messages and metrics call it: "prometheus"
  // Nothing is asked: once an interval the plugin is told the time, with data that are null. For what grows old on its
  // own while a source that fails is asked less and less often. Of what follows only `interval` counts.
  bool is_clock = false;
  // A file of this machine instead of a URL. It is looked at once an interval; `parse` gets all of it, and the plugin
  // its answer, when it is not what it was, when it cannot be read any more, and once at the beginning. A version that
  // is refused is not offered again. Of the fields below `interval`, `body_bytes_max` and `parse` count.
  std::string file;
  // "http://host:port/path?query" or "https://...". A path ("/apis/metrics.k8s.io/...") is asked of the API server,
  // with the scheduler's own credentials.
  std::string url;
  std::string ca_file;  // https: PEM roots; empty: the system's
  bool insecure_skip_tls_verify = false;
  std::string bearer_token_file;                 // read anew for each request; empty: none
  std::string basic_auth_file;                   // "user:password", read anew for each request; empty: none
  Duration interval = std::chrono::seconds(15);  // between the end of a request and the next one
  Duration timeout = std::chrono::seconds(5);    // of a request
  std::size_t body_bytes_max = std::size_t{16} << 20;
  // Makes data of a body that came with 200. An error says in one line what is wrong with it. Any thread; touches
  // nothing of the plugin.
  std::function<Expected<std::shared_ptr<const OutsideData>>(std::string_view body)> parse;
};

// The nodes about which a plugin may say something else than before.
struct OutsideChange {
  bool all_nodes = false;
  std::vector<std::string> node_names;  // unknown names are allowed
};

class OutsideDataReader : public virtual Plugin {
 public:
  // Asked once.
  virtual std::vector<OutsideSource> OutsideSources() const = 0;
  // A request to OutsideSources()[source] has ended: data, or why there is none. Called at least about once an
  // interval, longer while the source fails (back-off, 5 minutes at most), so that stale data is noticed. What the
  // runtime keeps about the nodes of the answer is dropped, and pods that this plugin refused may be tried again (see
  // OutsideDataEvent).
  virtual OutsideChange OnOutsideData(std::size_t source, const Expected<std::shared_ptr<const OutsideData>>& data,
                                      Time now) = 0;
};

// For EventsToRegister(): tells a pod that `plugin` refused when that plugin's outside data has changed something.
ClusterEventWithHint OutsideDataEvent(std::string_view plugin);

}  // namespace berth::framework
