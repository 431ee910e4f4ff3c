// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/network.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/codec/json.h"
#include "berth/proof/program_sim/canned_answers.h"
#include "berth/shell/net/url.h"
#include "berth/shell/net/write_fence.h"

namespace berth::program_sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a slow webhook takes, and the minimum that a slow server takes.
constexpr Duration kSlowWebhookMin = milliseconds(1500);
constexpr Duration kSlowWebhookMax = seconds(8);
constexpr Duration kSlowServerMin = milliseconds(300);
constexpr Duration kHeldMin = milliseconds(500);
constexpr Duration kHeldMax = seconds(25);
constexpr Duration kBlankLines = seconds(5);
// The real transport gives up a silent connection after this time, by its pings. These are below what is simulated.
constexpr Duration kPingTimeout = seconds(30);

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Subject SubjectOf(const net::Request& request) {
  if (request.method == "GET") return Subject::kRead;
  if (request.target.ends_with("/binding")) return Subject::kBinding;
  if (Contains(request.target, "/events")) return Subject::kEvent;
  if (request.target.ends_with("/status")) return Subject::kStatus;
  if (request.method == "DELETE") return Subject::kDelete;
  return Subject::kOther;
}

bool AsksWebhook(Subject subject, std::string_view namespace_name) {
  return namespace_name == "tenant" &&
         (subject == Subject::kBinding || subject == Subject::kStatus || subject == Subject::kEvent);
}

// The kinds for bindings, statuses and events follow each other: this gives the one for `subject`.
ItemKind WebhookOf(Subject subject, ItemKind of_bindings) {
  const int offset = subject == Subject::kStatus ? 1 : (subject == Subject::kEvent ? 2 : 0);
  return static_cast<ItemKind>(static_cast<int>(of_bindings) + offset);
}

Duration Between(Random& random, Duration from, Duration to) {
  return from + Duration(static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>((to - from).count() + 1))));
}

std::string_view PartAfter(std::string_view target, std::string_view folder) {
  const std::size_t at = target.find(folder);
  if (at == std::string_view::npos) return {};
  target.remove_prefix(at + folder.size());
  return target.substr(0, target.find_first_of("/?"));
}

Error Reset() { return {ErrorCode::kUnavailable, "the connection was reset", true, 0}; }

bool IsProtobuf(const net::Request& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const net::Header& header) {
    return header.name == "Accept" && Contains(header.value, "protobuf");
  });
}

}  // namespace

struct Network::Connection {
  Life life = kOutsider;
  ProcessLoop* loop = nullptr;
  Purpose purpose = Purpose::kOrdinary;
  bool is_dead = false;
  std::set<std::string> listed;  // paths
};

struct Network::Call {
  std::shared_ptr<Connection> connection;
  net::Request request;
  net::SendOptions options;
  net::Transport::Done done;
  Subject subject = Subject::kRead;
  std::string namespace_name;
  Time sent_at{};
  std::function<void()> cancel_deadline;
  bool is_answer_lost = false;
  bool is_refused = false;        // an answer says for certain that nothing was done
  bool has_taken_effect = false;  // of a write
  Time last_arrival{};            // of the request or its duplicate
  std::string promised_uid = {};  // the pod's, if the call is a binding
  Duration held{0};               // by a webhook
  Duration slow_before{0};        // what a slow server, or a slow webhook, takes before the request is carried out
  Duration slow_after{0};         // after the request was carried out
  bool hangs = false;             // whether the slow webhook hangs this time
};

struct Network::Stream {
  std::shared_ptr<Connection> connection;
  net::Request request;
  net::StreamOptions options;
  net::StreamCallbacks callbacks;
  bool is_cancelled = false;  // by the client, or it has ended
  bool is_silent = false;
  bool has_head = false;
  Time last_bytes{};
  Time last_delivery{};
  std::function<void()> closed;  // tells the server that nobody reads any more
  std::function<void()> cancel_timer;

  void Close() {
    is_cancelled = true;
    if (cancel_timer) std::exchange(cancel_timer, nullptr)();
    if (closed) std::exchange(closed, nullptr)();
  }
};

// What the API server writes into.
class Network::StreamWriter final : public net::ResponseWriter {
 public:
  StreamWriter(Network& network, std::shared_ptr<Stream> stream) : network_(network), stream_(std::move(stream)) {}

  // The real transport, too, reports the head and the end of a refusal together.
  void Send(net::Response response) override {
    network_.Deliver(stream_, [stream = stream_, network = &network_, response = std::move(response)] {
      stream->has_head = true;
      if (stream->callbacks.on_head) stream->callbacks.on_head(response);
      network->EndStream(stream, {});
    });
  }
  void StartStream(net::Response response) override {
    const std::string first = std::move(response.body);
    response.body.clear();
    Head(std::move(response));
    if (!first.empty()) Write(first);
  }
  bool Write(std::string_view bytes) override {
    if (stream_->is_cancelled) return false;
    network_.Deliver(stream_, [stream = stream_.get(), bytes = std::string(bytes)] {
      if (stream->callbacks.on_bytes) stream->callbacks.on_bytes(bytes);
    });
    return true;
  }
  void End() override {
    if (stream_->is_cancelled) return;
    network_.Deliver(stream_, [stream = stream_, network = &network_] { network->EndStream(stream, {}); });
  }
  void OnClosed(std::function<void()> closed) override { stream_->closed = std::move(closed); }

 private:
  void Head(net::Response response) {
    network_.Deliver(stream_, [stream = stream_.get(), response = std::move(response)] {
      stream->has_head = true;
      if (stream->callbacks.on_head) stream->callbacks.on_head(response);
    });
  }

  Network& network_;
  const std::shared_ptr<Stream> stream_;
};

class SimTransport final : public net::Transport {
 public:
  SimTransport(Network& network, std::shared_ptr<Network::Connection> connection)
      : network_(network), connection_(std::move(connection)) {}
  ~SimTransport() override { network_.Disconnect(*connection_); }

  void Send(net::Request request, net::SendOptions options, Done done) override {
    network_.Send(connection_, std::move(request), options, std::move(done));
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override {
    return std::make_unique<Handle>(network_.Open(connection_, std::move(request), options, std::move(callbacks)));
  }

 private:
  class Handle final : public net::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<Network::Stream> stream) : stream_(std::move(stream)) {}
    ~Handle() override { Cancel(); }
    void Cancel() override { stream_->Close(); }

   private:
    const std::shared_ptr<Network::Stream> stream_;
  };

  Network& network_;
  const std::shared_ptr<Network::Connection> connection_;
};

Network::Network(Agenda& agenda, SimServer& server, const Ledger& ledger, std::uint64_t seed, Trace trace,
                 Violate violate)
    : agenda_(agenda),
      server_(server),
      ledger_(ledger),
      trace_(std::move(trace)),
      violate_(std::move(violate)),
      random_(seed) {}

Network::~Network() { agenda_.Forget(this); }

std::unique_ptr<net::Transport> Network::Connect(Life life, ProcessLoop& loop, Purpose purpose) {
  auto connection = std::make_shared<Connection>();
  connection->life = life;
  connection->loop = &loop;
  connection->purpose = purpose;
  connections_.push_back(connection);
  return std::make_unique<SimTransport>(*this, std::move(connection));
}

void Network::Disconnect(Connection& connection) {
  connection.is_dead = true;
  for (const auto& weak : streams_) {
    const auto stream = weak.lock();
    if (stream && stream->connection.get() == &connection) stream->Close();
  }
}

void Network::Disconnect(Life life) {
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (connection && connection->life == life) Disconnect(*connection);
  }
}

void Network::Cut(Life life, CutOff how) {
  cut_off_[life] = how;
  const std::vector<std::weak_ptr<Stream>> streams = streams_;
  for (const auto& weak : streams) {
    const auto stream = weak.lock();
    if (!stream || stream->connection->life != life || stream->is_cancelled) continue;
    if (how == CutOff::kRefused) {
      stream->connection->loop->Dispatch([this, stream] { EndStream(stream, Reset()); });
    } else {
      stream->is_silent = true;
      stream->last_bytes = agenda_.Now();
      if (stream->cancel_timer) std::exchange(stream->cancel_timer, nullptr)();
      WatchIdle(stream);
    }
  }
}

bool Network::IsCutOff(const Connection& connection, CutOff how) const {
  const auto found = cut_off_.find(connection.life);
  return found != cut_off_.end() && found->second == how;
}

Time Network::EventsRefusedUntil(const std::string& namespace_name) const {
  const auto found = events_refused_.find(namespace_name);
  return found == events_refused_.end() ? Time::min() : found->second;
}

// ---- Faults ----

void Network::Begin(const Item& item) {
  Fault fault;
  fault.item = item;
  fault.random = Random(item.dice);
  fault.one_in = 1 + static_cast<int>(fault.random.Below(6));
  fault.subject = static_cast<Subject>(fault.random.Below(6));
  fault.mode = static_cast<int>(fault.random.Below(3));
  fault.amount = milliseconds(100 + fault.random.Below(8000));
  if (item.kind == ItemKind::kServerSlow) {
    fault.amount = fault.mode == 0 ? seconds(5) : seconds(3);
    fault.one_in = 1;
  } else if (item.kind > ItemKind::kServerSlow) {
    // A refusing webhook refuses each request, others only some.
    fault.one_in = fault.mode == 0 ? 1 : 1 + fault.one_in / 3;
  }
  faults_.push_back(std::move(fault));
  const auto at = std::prev(faults_.end());
  trace_("begins: " + item.Text());
  if (item.kind == ItemKind::kUnauthorized) {
    token_ = "token-" + std::to_string(++tokens_);
    agenda_.After(Duration(at->amount.count() / 2), this, [this] { token_file_ = token_; });
  }
  if (item.kind == ItemKind::kStaleReplica) server_.SetReplicaLag(at->amount);
  if (item.kind >= ItemKind::kWatchEnds && item.kind <= ItemKind::kWatchBlank) HitStreams(&*at);
  agenda_.At(Agenda::kStart + item.until, this, [this, at] {
    trace_("ends: " + at->item.Text());
    if (at->item.kind == ItemKind::kStaleReplica) server_.SetReplicaLag(Duration{0});
    agenda_.Forget(&*at);
    faults_.erase(at);
  });
}

Network::Fault* Network::Hit(ItemKind kind) {
  for (Fault& fault : faults_) {
    if (fault.item.kind != kind || fault.random.Below(static_cast<std::uint64_t>(fault.one_in)) != 0) continue;
    ++counts_.hits[static_cast<std::size_t>(kind)];
    return &fault;
  }
  return nullptr;
}

// Lets a fault hit some of the open streams.
void Network::HitStreams(Fault* fault) {
  std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
  const std::vector<std::weak_ptr<Stream>> streams = streams_;
  for (const auto& weak : streams) {
    const auto stream = weak.lock();
    if (!stream || stream->is_cancelled || stream->is_silent || fault->random.Below(2) != 0) continue;
    ++counts_.hits[static_cast<std::size_t>(fault->item.kind)];
    trace_(std::string(Name(fault->item.kind)) + ": " + stream->request.target);
    stream->last_bytes = agenda_.Now();
    switch (fault->item.kind) {
      case ItemKind::kWatchEnds: stream->connection->loop->Dispatch([this, stream] { EndStream(stream, {}); }); break;
      case ItemKind::kWatchBreaks:
        stream->connection->loop->Dispatch([this, stream] { EndStream(stream, Reset()); });
        break;
      case ItemKind::kWatchBlank: {
        stream->is_silent = true;
        stream->connection->loop->Dispatch([this, stream] { SendBlanks(stream); });
        break;
      }
      default: stream->is_silent = true;
    }
    if (stream->is_silent) {
      if (stream->cancel_timer) std::exchange(stream->cancel_timer, nullptr)();
      WatchIdle(stream);
    }
  }
  agenda_.After(milliseconds(500 + fault->random.Below(6000)), fault, [this, fault] { HitStreams(fault); });
}

void Network::SendBlanks(const std::shared_ptr<Stream>& stream) {
  // A protobuf stream has no blank lines: it stays silent.
  if (stream->is_cancelled || !stream->has_head || IsProtobuf(stream->request)) return;
  stream->last_bytes = agenda_.Now();
  if (stream->callbacks.on_bytes) stream->callbacks.on_bytes("\n");
  agenda_.After(kBlankLines, stream->connection->loop, [this, stream] { SendBlanks(stream); });
}

Duration Network::Travel() {
  Duration travel = microseconds(200 + random_.Below(3000));
  if (Fault* fault = Hit(ItemKind::kLate)) {
    // Some requests take longer than any client waits.
    travel += fault->random.Below(10) == 0 ? Duration(seconds(35)) : milliseconds(fault->random.Below(3000));
  }
  return travel;
}

Duration Network::SlowTravel() {
  const Duration travel = Travel();
  Fault* fault = Hit(ItemKind::kServerSlow);
  return fault == nullptr ? travel : travel + Between(fault->random, kSlowServerMin, fault->amount);
}

// A webhook is asked before a request is carried out. Where a server's time goes is left to chance.
void Network::SlowDown(Call& call) {
  if (Fault* fault = Hit(ItemKind::kServerSlow)) {
    // A server that is quick again first answers the requests that had waited.
    const Duration left = Agenda::kStart + fault->item.until - agenda_.Now();
    const Duration slow = std::min(left, Between(fault->random, kSlowServerMin, fault->amount));
    call.slow_before = slow * static_cast<std::int64_t>(fault->random.Below(5)) / 4;
    call.slow_after = slow - call.slow_before;
  }
  if (AsksWebhook(call.subject, call.namespace_name)) {
    if (Fault* fault = Hit(WebhookOf(call.subject, ItemKind::kSlowBindings))) {
      call.hangs = fault->mode == 2 && fault->random.Below(4) == 0;
      if (!call.hangs) call.slow_before += Between(fault->random, kSlowWebhookMin, kSlowWebhookMax);
    }
  }
  const Duration slow = call.slow_before + call.slow_after;
  if (call.hangs) trace_("a webhook hangs: " + call.request.target);
  if (slow > Duration{0}) trace_("takes " + std::to_string(slow / milliseconds(1)) + " ms: " + call.request.target);
}

Duration Network::Hold(const Call& call) {
  Fault* fault = call.subject == Subject::kBinding ? Hit(ItemKind::kBindingHeld) : nullptr;
  if (fault == nullptr) return Duration{0};
  const Duration held = Between(fault->random, kHeldMin, kHeldMax);
  trace_("held for " + std::to_string(held / milliseconds(1)) + " ms: " + call.request.target);
  return held;
}

// Checks the fence from outside: no write may be sent after the time at which another process may hold the lease, as
// the server knows it.
void Network::CheckFence(const Call& call) {
  const Connection& connection = *call.connection;
  if (!has_election_ || connection.purpose == Purpose::kElection || call.subject == Subject::kRead) return;
  if (!ledger_.MayWrite(connection.life))
    violate_("fence", "life " + std::to_string(connection.life) + " sends " + call.request.method + " " +
                          call.request.target + " without the lease");
}

Author Network::AuthorOf(const Connection& connection, Time sent_at) const {
  if (has_election_) return {connection.life, sent_at, ledger_.IsWithinTerm(connection.life)};
  return {connection.life, sent_at, lives_.size() == 1 && lives_.front() == connection.life};
}

net::Response Network::Refusal(const net::Request& request, Subject subject, const std::string& namespace_name,
                               Call* call) {
  Duration* const held = call != nullptr ? &call->held : nullptr;
  const std::string wanted = "Bearer " + token_;
  const bool is_known = std::any_of(request.headers.begin(), request.headers.end(), [&](const net::Header& header) {
    return header.name == "Authorization" && header.value == wanted;
  });
  if (!is_known) {
    ++counts_.hits[static_cast<std::size_t>(ItemKind::kUnauthorized)];
    return StatusAnswer(401, "Unauthorized", "Unauthorized");
  }
  if (Fault* fault = Hit(ItemKind::kForbidden); fault != nullptr && fault->subject == subject)
    return StatusAnswer(403, "Forbidden", "the scheduler cannot do that: RBAC");
  if (Fault* fault = Hit(ItemKind::kTooMany)) {
    const int retry_after = static_cast<int>(fault->random.Below(4));
    return StatusAnswer(429, "TooManyRequests", "too many requests, please try again later", retry_after);
  }
  if (Fault* fault = Hit(ItemKind::kServerError); fault != nullptr && fault->random.Below(2) == 0)
    return ServerError(fault->random);
  if (subject != Subject::kRead) {
    if (Hit(ItemKind::kConflict) != nullptr)
      return StatusAnswer(409, "Conflict", "Operation cannot be fulfilled: the object has been modified");
    if (AsksWebhook(subject, namespace_name)) {
      if (Fault* fault = Hit(WebhookOf(subject, ItemKind::kWebhookBindings)))
        return WebhookAnswer(fault->mode, fault->random, held);
    }
    if (call != nullptr && call->hangs) return Hang(random_, held);
  }
  return {};
}

// ---- Requests ----

void Network::Send(const std::shared_ptr<Connection>& connection, net::Request request, net::SendOptions options,
                   net::Transport::Done done) {
  if (connection->is_dead) return;
  ++counts_.requests;
  auto call = std::make_shared<Call>();
  call->connection = connection;
  call->subject = SubjectOf(request);
  call->namespace_name = PartAfter(request.target, "/namespaces/");
  call->request = std::move(request);
  call->options = options;
  call->done = std::move(done);
  call->sent_at = agenda_.Now();
  if (call->request.fence != nullptr && !call->request.fence->IsOpen()) {
    connection->loop->Post([this, call] { Finish(call, net::FencedError("", false)); });
    return;
  }
  trace_(std::to_string(connection->life) + " sends " + call->request.method + " " + call->request.target);
  CheckFence(*call);
  if (Hit(ItemKind::kRefused) != nullptr || IsCutOff(*connection, CutOff::kRefused)) {
    connection->loop->PostAfter(milliseconds(1), [this, call] {
      Finish(call, Error{ErrorCode::kUnavailable, "connection refused", false, 0});
    });
    return;
  }
  call->cancel_deadline = connection->loop->PostAfter(options.timeout, [this, call] {
    Finish(call, Error{ErrorCode::kTimeout, "no whole answer within the timeout", true, 0});
  });
  if (Hit(ItemKind::kRequestLost) != nullptr) {
    trace_("lost: " + call->request.target);
    if (random_.Below(2) == 0)
      connection->loop->PostAfter(milliseconds(2 + random_.Below(500)), [this, call] { Finish(call, Reset()); });
    return;
  }
  if (IsCutOff(*connection, CutOff::kSilent)) return;
  call->is_answer_lost = Hit(ItemKind::kAnswerLost) != nullptr;
  SlowDown(*call);
  const Time arrives_at = agenda_.Now() + Travel() + call->slow_before + Hold(*call);
  Time last_at = arrives_at;
  agenda_.At(arrives_at, this, [this, call] { Arrive(call); });
  if (call->subject != Subject::kRead && Hit(ItemKind::kDoubled) != nullptr) {
    last_at += milliseconds(random_.Below(2000));
    agenda_.At(last_at, this, [this, call] { Arrive(call); });
  }
  call->last_arrival = last_at;
  if (call->subject == Subject::kBinding) CheckPromise(*call);
}

// While a binding of a pod is on its way, no binding of it to another node may be sent. Bindings in protobuf are not
// checked.
void Network::CheckPromise(Call& call) {
  const auto body = codec::ParseJson(call.request.body);
  if (!body.ok() || !body->is_object()) return;
  const auto text = [&](const char* part, const char* name) -> std::string {
    const codec::json::value* object = body->get_object().if_contains(part);
    if (object == nullptr || !object->is_object()) return {};
    const codec::json::value* found = object->get_object().if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->get_string().c_str()) : std::string();
  };
  Promise promise{call.connection->life, text("target", "name"), {}, call.last_arrival};
  if (const auto node = ledger_.nodes().find(promise.node); node != ledger_.nodes().end())
    promise.node_uid = node->second.uid;
  std::erase_if(promises_, [this](const auto& entry) { return entry.second.arrives_at < agenda_.Now(); });
  const std::string uid = call.promised_uid = text("metadata", "uid");
  if (const auto known = promises_.find(uid); known != promises_.end()) {
    const Promise& before = known->second;
    const auto node = ledger_.nodes().find(before.node);
    const bool is_there = node != ledger_.nodes().end() && node->second.uid == before.node_uid;
    if (before.life == promise.life && before.node != promise.node && is_there) {
      violate_("promised twice",
               "pod " + uid + " is bound to " + promise.node + " while a binding to " + before.node + " is on its way");
    }
    // A process does not know of bindings that another process has sent.
    if (before.life == promise.life) promise.arrives_at = std::max(promise.arrives_at, before.arrives_at);
  }
  promises_[uid] = std::move(promise);
}

// The call was refused, and so its duplicate will not be carried out either.
void Network::EndPromise(const Call& call) {
  const auto known = promises_.find(call.promised_uid);
  if (known != promises_.end() && known->second.arrives_at == call.last_arrival)
    known->second.arrives_at = agenda_.Now();
}

void Network::Arrive(const std::shared_ptr<Call>& call) {
  // A duplicate comes from a proxy that repeats a request, and a proxy repeats none that was refused.
  if (call->is_refused) return;
  call->held = Duration{0};
  net::Response response = Refusal(call->request, call->subject, call->namespace_name, call.get());
  // Nor does it pass on that nothing was done where the first of the two has taken effect.
  if (response.status != 0 && call->has_taken_effect) return;
  call->is_refused = response.status != 0 && call->subject != Subject::kRead;
  if (call->is_refused) EndPromise(*call);
  if (response.status != 0 && call->subject == Subject::kEvent && response.status != 401 && response.status != 429)
    events_refused_[call->namespace_name] = agenda_.Now();
  if (response.status == 0) {
    if (call->subject == Subject::kRead && MayBeStale(*call->connection, call->request)) {
      response = server_.CallReplica(call->request);
    } else {
      response = server_.Call(call->request, AuthorOf(*call->connection, call->sent_at));
      call->has_taken_effect |= call->subject != Subject::kRead && response.status / 100 == 2;
    }
    if (call->subject == Subject::kRead && response.status == 200)
      call->connection->listed.insert(call->request.target.substr(0, call->request.target.find('?')));
    // The server fails after it has carried out the write.
    if (Fault* fault = Hit(ItemKind::kServerError)) {
      response = ServerError(fault->random);
      if (call->subject == Subject::kEvent) events_refused_[call->namespace_name] = agenda_.Now();
    }
  }
  trace_("answer " + std::to_string(response.status) + " to " + call->request.method + " " + call->request.target);
  Answer(call, std::move(response));
}

void Network::Answer(const std::shared_ptr<Call>& call, net::Response response) {
  if (call->connection->is_dead) return;
  if (cut_off_.contains(call->connection->life)) {
    if (IsCutOff(*call->connection, CutOff::kRefused))
      call->connection->loop->PostAfter(milliseconds(1), [this, call] { Finish(call, Reset()); });
    return;
  }
  if (call->is_answer_lost) {
    if (random_.Below(2) == 0)
      call->connection->loop->PostAfter(milliseconds(2 + random_.Below(500)), [this, call] { Finish(call, Reset()); });
    return;
  }
  if (response.body.size() > call->options.body_bytes_max) {
    Finish(call, Error{ErrorCode::kTooLarge, "the answer is too long", true, 0});
    return;
  }
  call->connection->loop->PostAfter(
      call->held + call->slow_after + Travel(),
      [this, call, response = std::move(response)]() mutable { Finish(call, std::move(response)); });
}

void Network::Finish(const std::shared_ptr<Call>& call, Expected<net::Response> result) {
  if (!call->done || call->connection->is_dead) return;
  if (call->cancel_deadline) std::exchange(call->cancel_deadline, nullptr)();
  if (!result.ok()) trace_("no answer to " + call->request.target + ": " + result.error().message);
  std::exchange(call->done, nullptr)(std::move(result));
}

// ---- Streams ----

// The first list of a process is never stale: with an API server that answers a consistent read with an old state
// nobody could schedule correctly. Later lists may be, and the process must not forget what it has seen since.
bool Network::MayBeStale(const Connection& connection, const net::Request& request) {
  // A process that begins to lead relies on a consistent read of what it has listed before.
  if (has_election_ && !Contains(request.target, "resourceVersion=")) return false;
  const std::string path = request.target.substr(0, request.target.find('?'));
  const bool is_collection = !path.empty() && path.find("/namespaces/") == std::string::npos;
  return is_collection && connection.listed.contains(path) && Hit(ItemKind::kStaleReplica) != nullptr;
}

std::shared_ptr<Network::Stream> Network::Open(const std::shared_ptr<Connection>& connection, net::Request request,
                                               net::StreamOptions options, net::StreamCallbacks callbacks) {
  ++counts_.streams;
  auto stream = std::make_shared<Stream>();
  stream->connection = connection;
  stream->is_cancelled = connection->is_dead;
  if (stream->is_cancelled) return stream;
  stream->request = std::move(request);
  stream->options = options;
  stream->callbacks = std::move(callbacks);
  stream->last_bytes = agenda_.Now();
  streams_.push_back(stream);
  trace_(std::to_string(connection->life) + " opens " + stream->request.target);
  WatchIdle(stream);
  if (Hit(ItemKind::kRefused) != nullptr || IsCutOff(*connection, CutOff::kRefused)) {
    connection->loop->PostAfter(milliseconds(1), [this, stream] {
      EndStream(stream, Error{ErrorCode::kUnavailable, "connection refused", false, 0});
    });
  } else if (Hit(ItemKind::kRequestLost) == nullptr && !cut_off_.contains(connection->life)) {
    agenda_.After(SlowTravel(), this, [this, stream] { ArriveStream(stream); });
  }
  return stream;
}

void Network::ArriveStream(const std::shared_ptr<Stream>& stream) {
  if (stream->is_cancelled || stream->connection->is_dead) return;
  const auto writer = std::make_shared<StreamWriter>(*this, stream);
  net::Response refusal = Refusal(stream->request, Subject::kRead, "", nullptr);
  const bool is_watch = Contains(stream->request.target, "watch=true");
  const bool is_initial = Contains(stream->request.target, "sendInitialEvents=true");
  if (refusal.status == 0 && is_watch && !is_initial && Hit(ItemKind::kWatchGone) != nullptr)
    refusal = StatusAnswer(410, "Expired", "too old resource version");
  if (refusal.status != 0) {
    trace_("answer " + std::to_string(refusal.status) + " to " + stream->request.target);
    return writer->Send(std::move(refusal));
  }
  if (MayBeStale(*stream->connection, stream->request)) {
    trace_("from the copy: " + stream->request.target);
    server_.HandleOnReplica(stream->request, writer);
  } else {
    server_.Handle(stream->request, writer, AuthorOf(*stream->connection, agenda_.Now()));
  }
  stream->connection->listed.insert(stream->request.target.substr(0, stream->request.target.find('?')));
}

void Network::Deliver(const std::shared_ptr<Stream>& stream, std::function<void()> what) {
  if (stream->is_cancelled || stream->is_silent || stream->connection->is_dead) return;
  Duration travel = SlowTravel();
  if (Fault* fault = Hit(ItemKind::kWatchLags)) travel += fault->amount;
  stream->last_delivery = std::max(stream->last_delivery, agenda_.Now() + travel);
  agenda_.At(stream->last_delivery, stream->connection->loop, [this, stream, what = std::move(what)] {
    if (stream->is_cancelled || stream->is_silent) return;
    stream->last_bytes = agenda_.Now();
    what();
  });
}

void Network::EndStream(const std::shared_ptr<Stream>& stream, Expected<void> result) {
  if (stream->is_cancelled) return;
  stream->Close();
  if (stream->callbacks.on_end) stream->callbacks.on_end(std::move(result));
}

void Network::WatchIdle(const std::shared_ptr<Stream>& stream) {
  Duration limit = stream->has_head ? stream->options.idle_timeout : stream->options.head_timeout;
  if (stream->is_silent) limit = std::min(limit, kPingTimeout);
  const Duration left = stream->last_bytes + limit - agenda_.Now();
  if (left <= Duration{0})
    return EndStream(stream, Error{ErrorCode::kTimeout, "nothing came within the timeout", true, 0});
  stream->cancel_timer = stream->connection->loop->PostAfter(left, [this, stream] { WatchIdle(stream); });
}

}  // namespace berth::program_sim
