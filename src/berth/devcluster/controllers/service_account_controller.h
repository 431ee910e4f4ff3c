// SPDX-License-Identifier: Apache-2.0
// ServiceAccountController: each namespace has a ServiceAccount "default", as long as it is not being deleted. On the
// loop's thread.
#pragma once

#include <memory>
#include <string>

#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class ServiceAccountController {
 public:
  // `context` owns what uses it and outlives it.
  explicit ServiceAccountController(Context& context);

  void Start();
  // Any thread.
  void Stop();

 private:
  void Sync(const std::string& namespace_name, client::WorkQueue::Done done);

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  std::unique_ptr<client::Informer<ObjectView>> namespaces_;
  std::unique_ptr<client::Informer<ObjectView>> accounts_;
};

}  // namespace berth::controllers
