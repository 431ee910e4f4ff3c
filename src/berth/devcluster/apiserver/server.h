// SPDX-License-Identifier: Apache-2.0
// ApiServer: the embedded, in-memory Kubernetes API server. Reach it over HTTP with net::StartHttpServer and handler(),
// or in process with InProcessTransport(): same semantics. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/devcluster/apiserver/object_log.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

struct ApiServerOptions {
  // Seeds uids and generated names: the same seed and the same requests give the same objects.
  std::uint64_t seed = 1;
  // Sends watch events and keeps the time of watches and Events. Null: each write sends its events itself before it is
  // answered, and Tick() must be called; for simulations and tests.
  net::IoContext* io = nullptr;
  // Created at the start.
  std::vector<std::string> namespaces = {"default", "kube-system", "kube-public", "kube-node-lease"};
  // History of each type for watches: events, and bytes of the objects they hold. Older ones are answered with 410.
  std::size_t history_events_max = 100'000;
  std::size_t history_bytes_max = std::size_t{512} << 20;
  // Events (the objects): the oldest go first; those not written for this time go as well.
  std::size_t event_objects_max = 50'000;
  Duration event_time_to_live = std::chrono::hours(1);
  // Signs the tokens of TokenRequests, which TokenReviews recognise by it. Empty: made of the seed, so that anybody
  // could make such tokens; nothing is protected by them.
  std::string token_key;
  // What clients of outside_handler() have to send as bearer token, unless they have a service account's; empty:
  // nothing. With it there must be a token_key that nobody can guess.
  std::string admin_token;
  // Keeps each write; outlives the server. Null: nothing is kept. The objects of an earlier server with the version
  // that it had come with it.
  ObjectLog* log = nullptr;
  std::vector<SavedObject> saved;
  std::int64_t saved_version = 0;
  // The minor version of Kubernetes in the answer to /version.
  int release_minor = 36;
  // Warnings, beside the server's own, for the creator of an object of the type, whose document is `json`. Any
  // thread; null: nothing.
  std::function<std::vector<std::string>(const objects::ResourceType& type, std::string_view json)> creation_warnings;
  // Beside addresses and localhost: what clients may call the server (request_origin.h).
  std::vector<std::string> host_names;
};

class ApiServer {
 public:
  // `types`, `clock` and options.io outlive the server and its transports. Types are mostly ResourceTypes().
  ApiServer(const std::vector<objects::ResourceType>& types, const Clock& clock, ApiServerOptions options = {});
  // Ends all watches. Handlers that are still called answer 503.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // May outlive the server.
  net::Handler handler() const;
  // The same for clients of whom the server wants to know who they are (options.admin_token).
  net::Handler outside_handler() const;

  // A client of this server without sockets, whose callbacks come on `io`'s threads.
  std::unique_ptr<net::Transport> InProcessTransport(net::IoContext& io) const;

  // The answer to bytes that are no request, for HttpServerOptions::malformed: a Status.
  static net::Response MalformedRequest(int status, std::string_view message);

  std::int64_t resource_version() const;
  std::size_t watch_count() const;

  // Forgets the history of events up to now, as etcd's compaction does: watches from before get 410.
  void Compact();

  // Bookmarks, watches whose time is up, Events that have expired. Called by the server itself when it has an
  // IoContext.
  void Tick();

 private:
  struct Core;
  static void ScheduleTick(const std::shared_ptr<Core>& core);
  std::shared_ptr<Core> core_;
};

}  // namespace berth::apiserver
