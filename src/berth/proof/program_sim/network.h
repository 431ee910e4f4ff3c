// SPDX-License-Identifier: Apache-2.0
// Network: the network between a simulated scheduler and its API server, with delays and the faults of a plan.
// SimTransport is a process's end of it. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/random.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/proof/program_sim/sim_server.h"
#include "berth/shell/net/transport.h"

namespace berth::program_sim {

// What a request is about, by its path.
enum class Subject : std::uint8_t { kRead, kBinding, kStatus, kEvent, kDelete, kOther };

// Connections for the lease, which no fence stops, and all others.
enum class Purpose : std::uint8_t { kOrdinary, kElection };

// How a process is cut off from its API server.
enum class CutOff : std::uint8_t {
  kRefused,  // connections are refused and break
  kSilent,   // nothing arrives any more, and nobody says so
  kDeaf,     // requests arrive, answers do not
};

class Network final {
 public:
  using Trace = std::function<void(const std::string& what)>;
  using Violate = Ledger::Violate;

  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t streams = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(kLastFault) + 1> hits{};  // by kind of fault
  };

  // All must outlive it.
  Network(Agenda& agenda, SimServer& server, const Ledger& ledger, std::uint64_t seed, Trace trace, Violate violate);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // A fault begins; it ends by itself.
  void Begin(const Item& fault);
  bool IsAnyFault() const { return !faults_.empty(); }

  // The transport of a process. `loop` must outlive it. When it is destroyed, requests on their way still reach the
  // server, and nobody gets their answers.
  std::unique_ptr<net::Transport> Connect(Life life, ProcessLoop& loop, Purpose purpose = Purpose::kOrdinary);
  // The process dies while somebody still holds its transport: its connections are dead from now on.
  void Disconnect(Life life);
  // From now on, until MendConnection().
  void Cut(Life life, CutOff how);
  void MendConnection(Life life) { cut_off_.erase(life); }

  // The bearer token that its file holds now.
  const std::string& token_file() const { return token_file_; }
  // Which lives are there; requests of others come from processes that have died.
  void SetLives(std::vector<Life> lives) { lives_ = std::move(lives); }
  // To be called where schedulers elect a leader: CheckFence() then asks the ledger who may write.
  void ExpectElection() { has_election_ = true; }

  const Counts& counts() const { return counts_; }
  // Until this time requests about events in this namespace may have been refused for good.
  Time EventsRefusedUntil(const std::string& namespace_name) const;

 private:
  friend class SimTransport;
  class StreamWriter;
  struct Fault {
    Item item;
    Random random{0};
    int one_in = 1;
    Subject subject = Subject::kRead;  // of kForbidden
    int mode = 0;        // of webhooks: 0 refuse, 1 cannot be called, 2 hang; of slow ones: 2 hang now and then
    Duration amount{0};  // of delays
  };
  struct Connection;
  struct Call;
  struct Stream;

  void Disconnect(Connection& connection);
  void Send(const std::shared_ptr<Connection>& connection, net::Request request, net::SendOptions options,
            net::Transport::Done done);
  std::shared_ptr<Stream> Open(const std::shared_ptr<Connection>& connection, net::Request request,
                               net::StreamOptions options, net::StreamCallbacks callbacks);
  void Arrive(const std::shared_ptr<Call>& call);
  void Answer(const std::shared_ptr<Call>& call, net::Response response);
  void Finish(const std::shared_ptr<Call>& call, Expected<net::Response> result);
  void ArriveStream(const std::shared_ptr<Stream>& stream);
  void EndStream(const std::shared_ptr<Stream>& stream, Expected<void> result);
  void Deliver(const std::shared_ptr<Stream>& stream, std::function<void()> what);
  void WatchIdle(const std::shared_ptr<Stream>& stream);
  void HitStreams(Fault* fault);
  void SendBlanks(const std::shared_ptr<Stream>& stream);

  // The fault of that kind that hits now, or null.
  Fault* Hit(ItemKind kind);
  bool MayBeStale(const Connection& connection, const net::Request& request);
  // An answer instead of the server's, or status 0. `call` null: a stream.
  net::Response Refusal(const net::Request& request, Subject subject, const std::string& namespace_name, Call* call);
  Duration Travel();
  // Travel() plus the time that a server takes that is slow for all.
  Duration SlowTravel();
  void SlowDown(Call& call);
  Duration Hold(const Call& call);
  void CheckFence(const Call& call);
  bool IsCutOff(const Connection& connection, CutOff how) const;
  Author AuthorOf(const Connection& connection, Time sent_at) const;
  void CheckPromise(Call& call);
  void EndPromise(const Call& call);

  struct Promise {  // a binding on its way
    Life life = kOutsider;
    std::string node;
    std::string node_uid;
    Time arrives_at{};
  };

  Agenda& agenda_;
  SimServer& server_;
  const Ledger& ledger_;
  const Trace trace_;
  const Violate violate_;
  Random random_;
  std::list<Fault> faults_;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::vector<std::weak_ptr<Connection>> connections_;
  std::vector<Life> lives_;
  bool has_election_ = false;
  std::map<Life, CutOff> cut_off_;
  std::string token_ = "token-0";
  std::string token_file_ = "token-0";
  int tokens_ = 0;
  std::map<std::string, Promise> promises_;  // by the pod's key
  std::map<std::string, Time> events_refused_;
  Counts counts_;
};

}  // namespace berth::program_sim
