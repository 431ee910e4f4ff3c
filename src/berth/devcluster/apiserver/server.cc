// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/server.h"

#include <atomic>
#include <string>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/devcluster/apiserver/in_process.h"
#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/request_origin.h"
#include "berth/devcluster/apiserver/rest.h"
#include "berth/devcluster/apiserver/status_response.h"
#include "berth/devcluster/apiserver/store.h"
#include "berth/devcluster/apiserver/watch.h"

namespace berth::apiserver {
namespace {

constexpr Duration kTickInterval = std::chrono::seconds(1);

}  // namespace

struct ApiServer::Core {
  Core(const std::vector<objects::ResourceType>& types, const Clock& clock_in, const ApiServerOptions& options,
       const std::vector<TableOptions>& tables, const TableOptions& usual)
      : clock(clock_in),
        io(options.io),
        host_names(options.host_names),
        store(tables, options.log),
        watches(std::make_shared<WatchHub>(store, clock, io, tables.size())),
        registry(types, store, clock, options.seed, usual, [this](TableId table) { watches->Notify(table); }),
        rest(registry, *watches, options.token_key.empty() ? "seed " + std::to_string(options.seed) : options.token_key,
             options.admin_token, options.release_minor, options.creation_warnings) {}

  // As upstream lets anonymous users ask.
  static bool IsForEverybody(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version";
  }

  void HandleFromOutside(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    if (!IsForEverybody(request.target) && !rest.IsAuthenticated(request)) {
      writer->Send(ToResponse(objects::StatusError{.code = 401, .reason = "Unauthorized", .message = "Unauthorized"}));
      return;
    }
    Handle(request, writer);
  }

  void Handle(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    if (is_closed.load()) {
      writer->Send(ToResponse(objects::StatusError{
          .code = 503, .reason = "ServiceUnavailable", .message = "the API server is shutting down"}));
      return;
    }
    if (const auto refused = RefuseForeignOrigin(request, host_names)) {
      writer->Send(ToResponse(*refused));
      return;
    }
    rest.Handle(request, writer);
  }

  void Tick() {
    if (is_closed.load()) return;
    store.Expire(clock.Now());
    watches->Tick();
  }

  const Clock& clock;
  net::IoContext* const io;
  const std::vector<std::string> host_names;
  Store store;
  std::shared_ptr<WatchHub> watches;
  Registry registry;
  Rest rest;
  std::atomic<bool> is_closed{false};
};

ApiServer::ApiServer(const std::vector<objects::ResourceType>& types, const Clock& clock, ApiServerOptions options) {
  BERTH_CHECK(options.admin_token.empty() || !options.token_key.empty(),
              "with an admin_token anybody could get in by a service account's token that is signed with the seed");
  TableOptions usual{.history_events_max = options.history_events_max, .history_bytes_max = options.history_bytes_max};
  TableOptions events = usual;
  events.objects_max = options.event_objects_max;
  events.time_to_live = options.event_time_to_live;
  core_ = std::make_shared<Core>(types, clock, options, Registry::Tables(types, usual, events), usual);
  if (options.saved_version > 0) {
    if (const std::size_t count = core_->registry.Restore(options.saved, options.saved_version); count > 0) {
      log::Warning("apiserver", "Passed over objects that cannot be served", {{"objects", count}});
    }
  }
  if (const objects::ServedType* namespaces = core_->registry.Find("", "v1", "namespaces")) {
    for (const std::string& name : options.namespaces) {
      if (core_->registry.Get(*namespaces, "", name).ok()) continue;
      const auto created = core_->registry.Create(
          *namespaces, "",
          {{"metadata", json::object{{"name", name}, {"labels", json::object{{"kubernetes.io/metadata.name", name}}}}}},
          {});
      BERTH_CHECK(created.ok(), name, created.ok() ? "" : created.error().message);
    }
  }
  if (options.io != nullptr) ScheduleTick(core_);
}

ApiServer::~ApiServer() {
  core_->is_closed.store(true);
  core_->watches->Close();
}

void ApiServer::ScheduleTick(const std::shared_ptr<Core>& core) {
  // The handle only cancels, which the weak pointer makes needless.
  (void)core->io->PostAfter(kTickInterval, [weak = std::weak_ptr<Core>(core)] {
    const auto alive = weak.lock();
    if (alive == nullptr || alive->is_closed.load()) return;
    alive->Tick();
    ScheduleTick(alive);
  });
}

net::Handler ApiServer::handler() const {
  return [core = core_](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    core->Handle(request, writer);
  };
}

net::Handler ApiServer::outside_handler() const {
  return [core = core_](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    core->HandleFromOutside(request, writer);
  };
}

std::unique_ptr<net::Transport> ApiServer::InProcessTransport(net::IoContext& io) const {
  return MakeInProcessTransport(io, handler());
}

net::Response ApiServer::MalformedRequest(int status, std::string_view message) {
  objects::StatusError error{.code = status, .reason = "BadRequest", .message = std::string(message)};
  if (status == 413) error.reason = "RequestEntityTooLarge";
  if (status == 429) {
    error.reason = "TooManyRequests";
    error.retry_after_seconds = 1;
  }
  return ToResponse(error);
}

std::int64_t ApiServer::resource_version() const { return core_->store.resource_version(); }

std::size_t ApiServer::watch_count() const { return core_->watches->size(); }

void ApiServer::Compact() { core_->store.Compact(core_->store.resource_version()); }

void ApiServer::Tick() { core_->Tick(); }

}  // namespace berth::apiserver
