// SPDX-License-Identifier: Apache-2.0
// SimServer: the embedded API server in a simulation, with the ledger that looks on, and a second copy that lags
// behind.
//
// The embedded server is the model, and not one written for this: without an IoContext it answers within the call and
// sends what watches are due before that, on one thread and on the clock it is given, some 20 us a request. So the
// scheduler meets resourceVersions, preconditions, protobuf, pages, bookmarks and 409s as they really are.
//
// The copy is another such server of the same seed, to which the same writes are done later, at the times (by its own
// clock) at which they were done to the first: uids and resourceVersions are the same. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/shell/net/http_server.h"

namespace berth::program_sim {

struct SimServerOptions {
  std::uint64_t seed = 0;
  bool has_replica = false;
  bool has_leases = false;  // the ledger hears of them
};

class SimServer final {
 public:
  // Both must outlive it.
  SimServer(Agenda& agenda, Ledger& ledger, SimServerOptions options);
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  // A request arrives. What is written is the author's.
  void Handle(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer, const Author& author);
  // The same, for an answer that comes whole.
  net::Response Call(const net::Request& request, const Author& author);
  // A request of outsiders, in JSON; the body of a patch is a strategic merge patch.
  net::Response Do(const std::string& method, const std::string& target, const std::string& body = {});

  // A list or a watch that is served by the copy.
  void HandleOnReplica(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer);
  net::Response CallReplica(const net::Request& request);
  // From now on the copy is so far behind; what it has been told stays told.
  void SetReplicaLag(Duration lag);
  // Watches from before get 410.
  void Compact();

 private:
  class ReplicaClock;
  struct Write {
    Time time{};
    net::Request request;  // an empty method: Compact()
    std::int64_t version = 0;
  };

  void Tick();
  void Journal(Write write);
  void CatchUp();
  void CatchUpLater();

  Agenda& agenda_;
  Ledger& ledger_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<ReplicaClock> replica_clock_;
  std::unique_ptr<apiserver::ApiServer> replica_;
  net::Handler handler_;
  net::Handler replica_handler_;
  std::deque<Write> journal_;  // that the copy does not know yet
  Duration lag_{0};
  bool is_catching_up_ = false;  // CatchUp() is on the agenda
};

}  // namespace berth::program_sim
