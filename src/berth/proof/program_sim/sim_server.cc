// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/sim_server.h"

#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/shell/net/one_answer.h"

namespace berth::program_sim {
namespace {

constexpr Duration kTick = std::chrono::seconds(1);

// As far as the simulation needs it.
constexpr const char* kRequestsDefinition = R"({"metadata":{"name":"provisioningrequests.autoscaling.x-k8s.io"},
  "spec":{"group":"autoscaling.x-k8s.io","scope":"Namespaced",
          "names":{"plural":"provisioningrequests","singular":"provisioningrequest","kind":"ProvisioningRequest",
                   "listKind":"ProvisioningRequestList"},
          "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
                       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

// Gives the lines of a watch to the ledger.
class LedgerWriter final : public net::ResponseWriter {
 public:
  explicit LedgerWriter(Ledger& ledger) : ledger_(ledger) {}
  void Send(net::Response response) override {
    BERTH_CHECK(false, "the ledger's watch was refused:", response.status, response.body);
  }
  void StartStream(net::Response response) override { ledger_.TakeLines(response.body); }
  bool Write(std::string_view bytes) override {
    ledger_.TakeLines(bytes);
    return true;
  }
  void End() override {}
  void OnClosed(std::function<void()>) override {}

 private:
  Ledger& ledger_;
};

}  // namespace

class SimServer::ReplicaClock final : public Clock {
 public:
  Time Now() const override { return now_; }
  void Set(Time now) { now_ = now; }

 private:
  Time now_ = Agenda::kStart;
};

SimServer::SimServer(Agenda& agenda, Ledger& ledger, SimServerOptions options) : agenda_(agenda), ledger_(ledger) {
  apiserver::ApiServerOptions server;
  server.seed = options.seed;
  server.namespaces = {"a", "b", "tenant"};
  if (options.has_leases) server.namespaces.emplace_back("kube-system");
  server_ = std::make_unique<apiserver::ApiServer>(objects::ResourceTypes(), agenda_, server);
  handler_ = server_->handler();
  if (options.has_replica) {
    replica_clock_ = std::make_unique<ReplicaClock>();
    replica_ = std::make_unique<apiserver::ApiServer>(objects::ResourceTypes(), *replica_clock_, server);
    replica_handler_ = replica_->handler();
  }
  std::vector<std::string> paths = {"/api/v1/nodes", "/api/v1/pods", "/api/v1/events"};
  if (options.has_requests) {
    const net::Response made =
        Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kRequestsDefinition);
    BERTH_CHECK(made.status == 201, made.body);
    paths.emplace_back("/apis/autoscaling.x-k8s.io/v1/provisioningrequests");
  }
  if (options.has_leases) paths.emplace_back("/apis/coordination.k8s.io/v1/leases");
  for (const std::string& path : paths) {
    net::Request request;
    // The watch's timeout is longer than any simulation.
    request.target = path + "?watch=true&timeoutSeconds=86400";
    handler_(std::move(request), std::make_shared<LedgerWriter>(ledger_));
  }
  Tick();
}

SimServer::~SimServer() { agenda_.Forget(this); }

void SimServer::Tick() {
  server_->Tick();
  if (replica_) {
    replica_clock_->Set(agenda_.Now());
    replica_->Tick();
  }
  agenda_.After(kTick, this, [this] { Tick(); });
}

void SimServer::Handle(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer, const Author& author) {
  ledger_.SetAuthor(author);
  handler_(request, std::move(writer));
  ledger_.SetAuthor({});
  if (replica_ && request.method != "GET") Journal({agenda_.Now(), request, server_->resource_version()});
}

net::Response SimServer::Call(const net::Request& request, const Author& author) {
  const auto writer = std::make_shared<net::OneAnswer>();
  Handle(request, writer, author);
  return std::move(writer->answer);
}

net::Response SimServer::Do(const std::string& method, const std::string& target, const std::string& body) {
  net::Request request{method, target, {}, body};
  if (method == "PATCH") request.headers.push_back({"Content-Type", "application/strategic-merge-patch+json"});
  return Call(request, Author{kOutsider, agenda_.Now(), true});
}

void SimServer::HandleOnReplica(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer) {
  BERTH_CHECK(replica_ != nullptr, "there is no copy");
  CatchUp();
  replica_clock_->Set(agenda_.Now());
  replica_handler_(request, std::move(writer));
}

net::Response SimServer::CallReplica(const net::Request& request) {
  const auto writer = std::make_shared<net::OneAnswer>();
  HandleOnReplica(request, writer);
  return std::move(writer->answer);
}

void SimServer::SetReplicaLag(Duration lag) {
  lag_ = lag;
  CatchUp();
}

void SimServer::Compact() {
  server_->Compact();
  if (replica_) Journal({agenda_.Now(), {"", "", {}, ""}, server_->resource_version()});
}

void SimServer::Journal(Write write) {
  journal_.push_back(std::move(write));
  CatchUpLater();
}

void SimServer::CatchUpLater() {
  if (journal_.empty() || std::exchange(is_catching_up_, true)) return;
  agenda_.At(journal_.front().time + lag_, this, [this] {
    is_catching_up_ = false;
    CatchUp();
  });
}

void SimServer::CatchUp() {
  while (!journal_.empty() && journal_.front().time + lag_ <= agenda_.Now()) {
    const Write write = std::move(journal_.front());
    journal_.pop_front();
    replica_clock_->Set(write.time);
    if (write.request.method.empty()) {
      replica_->Compact();
    } else {
      replica_handler_(write.request, std::make_shared<net::OneAnswer>());
    }
    BERTH_CHECK(replica_->resource_version() == write.version,
                "the copy is not what it was copied from:", write.request.method, write.request.target);
  }
  CatchUpLater();
}

}  // namespace berth::program_sim
