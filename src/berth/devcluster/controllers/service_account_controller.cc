// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/service_account_controller.h"

#include <utility>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::WorkQueue;

constexpr const char* kDefaultAccount = "default";

client::Informer<ObjectView>::Options Options(const std::string& plural, std::uint64_t seed) {
  client::Informer<ObjectView>::Options options;
  options.name = plural;
  options.path = std::string(kCorePrefix) + '/' + plural;
  options.decode = DecodeObjectView;
  options.seed = seed;
  return options;
}

}  // namespace

ServiceAccountController::ServiceAccountController(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = context.options.in_flight_max, .seed = context.options.seed + 33},
          [this](const std::string& name, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(name, std::move(done));
          })) {
  client::Informer<ObjectView>::Handler of_namespace;
  of_namespace.on_add = [this](const auto& space) { queue_->Add(space->name); };
  namespaces_ = std::make_unique<client::Informer<ObjectView>>(
      context.rest, Options("namespaces", context.options.seed + 61), std::move(of_namespace));
  client::Informer<ObjectView>::Handler of_account;
  of_account.on_delete = [this](const auto& account) {
    if (account->name == kDefaultAccount) queue_->Add(account->namespace_name);
  };
  of_account.on_synced = [this] { namespaces_->Start(); };
  accounts_ = std::make_unique<client::Informer<ObjectView>>(
      context.rest, Options("serviceaccounts", context.options.seed + 62), std::move(of_account));
}

// Namespaces come after the accounts that there are.
void ServiceAccountController::Start() { accounts_->Start(); }

void ServiceAccountController::Stop() {
  accounts_->Stop();
  namespaces_->Stop();
}

void ServiceAccountController::Sync(const std::string& namespace_name, WorkQueue::Done done) {
  const auto space = namespaces_->Find(namespace_name);
  if (!space || space->is_deleted || accounts_->Find(namespace_name + '/' + kDefaultAccount)) return done(true);
  context_.Send("POST", client::ObjectPath(kCorePrefix, namespace_name, "serviceaccounts"),
                {{"metadata", {{"name", kDefaultAccount}}}}, {},
                [this, namespace_name, done = std::move(done)](Expected<net::Response> response) {
                  // Somebody was faster, or the namespace is on its way out.
                  const bool is_settled = response.ok() || response.error().code == ErrorCode::kAlreadyExists ||
                                          response.error().code == ErrorCode::kNotFound ||
                                          response.error().code == ErrorCode::kForbidden;
                  if (!is_settled) {
                    context_.CountFailure("making the ServiceAccount of", namespace_name, response.error());
                  }
                  done(is_settled);
                });
}

}  // namespace berth::controllers
