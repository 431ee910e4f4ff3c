// SPDX-License-Identifier: Apache-2.0
// SimServer: the embedded API server in a simulation, watched by the ledger, and a copy of it that lags behind.
//
// There is no model of an API server for simulations: this is the embedded server itself. Without an IoContext it
// answers within the call and sends watch events before that, on one thread and on the clock it is given, in some 20 us
// a request. So the scheduler meets real resourceVersions, preconditions, protobuf, pages, bookmarks and 409s.
//
// The copy is another such server with the same seed, which gets the same writes later. Its own clock then shows the
// times at which they were first done, so that uids and resourceVersions are the same. One thread.
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
  bool has_leases = false;    // Leases, too, are shown to the ledger
  bool has_requests = false;  // it serves ProvisioningRequests, and shows them to the ledger
};

class SimServer final {
 public:
  // Both must outlive it.
  SimServer(Agenda& agenda, Ledger& ledger, SimServerOptions options);
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  // Handles a request. What it writes counts as the author's.
  void Handle(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer, const Author& author);
  // Handles a request whose answer is not a stream, and returns the answer.
  net::Response Call(const net::Request& request, const Author& author);
  // A request of outsiders, in JSON; the body of a patch is a strategic merge patch.
  net::Response Do(const std::string& method, const std::string& target, const std::string& body = {});

  // The copy serves a list or a watch.
  void HandleOnReplica(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer);
  net::Response CallReplica(const net::Request& request);
  // Sets how far the copy is behind. It keeps the writes that it already has.
  void SetReplicaLag(Duration lag);
  // Drops the history: watches from an earlier resourceVersion get 410.
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
  std::deque<Write> journal_;  // writes that the copy does not have yet
  Duration lag_{0};
  bool is_catching_up_ = false;  // CatchUp() is on the agenda
};

}  // namespace berth::program_sim
