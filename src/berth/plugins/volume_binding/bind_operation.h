// SPDX-License-Identifier: Apache-2.0
// BindOperation: PreBind of a pod's volumes as a state machine without threads. Upstream: binder.go's BindPodVolumes.
//
//   write 1 -> write 2 -> ... -> wait 1 s -> are all bound? -> done
//      |  ^                         ^            | not yet
//      v  | seen, or not yet there  +------------+
//     read (the answer was lost)
//
// Writes name the resourceVersion that they were decided on, so that one that comes late or twice does no harm. Within
// turns only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/base/time.h"
#include "berth/framework/handle.h"
#include "berth/framework/operation.h"
#include "berth/plugins/volume_binding/reservation.h"
#include "berth/plugins/volume_binding/volume_writes.h"

namespace berth::plugins::volumes {

class BindOperation : public std::enable_shared_from_this<BindOperation> {
 public:
  // `handle` and `sources` must outlive the operation. `timeout` is for the wait after the writes, and for each write
  // whose outcome is unknown. `on_bound` is called when all is bound.
  BindOperation(const framework::Handle& handle, const Sources& sources, std::shared_ptr<Reservation> reservation,
                Duration timeout, std::function<void()> on_bound)
      : handle_(handle),
        sources_(sources),
        reservation_(std::move(reservation)),
        timeout_(timeout),
        on_bound_(std::move(on_bound)) {}

  framework::Operation Start() { return WriteNext(); }

 private:
  using Operation = framework::Operation;
  using StepResult = framework::StepResult;

  std::size_t write_count() const { return reservation_->bindings.size() + reservation_->provisions.size(); }
  // Calls visit(binding or provision) for the write under way.
  template <typename Visit>
  auto WithCurrent(const Visit& visit) const;

  Operation WriteNext();
  Operation OnWritten(const StepResult& result);
  Operation Written(std::string version);
  Operation Read();
  Operation OnRead(const StepResult& result);
  Operation Wait(Time now);
  Operation OnWaited(const StepResult& result);
  Operation Fail(std::string error);

  // checkBindings: true when all is bound; not yet: false; the error's text in `error`.
  bool IsBound(std::string& error) const;
  bool IsBindingDone(const Reservation::Binding& binding, const api::Node& node, std::string& error) const;
  bool IsProvisionDone(const Reservation::Provision& provision, const api::Node& node, std::string& error) const;
  // The node now; null when it is gone.
  const api::Node* FindNode() const;

  const framework::Handle& handle_;
  const Sources& sources_;
  const std::shared_ptr<Reservation> reservation_;
  const Duration timeout_;
  const std::function<void()> on_bound_;
  std::size_t next_ = 0;               // the write under way, bindings first
  std::optional<Time> unknown_since_;  // its answer was lost
  std::optional<Time> deadline_;       // of the wait
};

}  // namespace berth::plugins::volumes
