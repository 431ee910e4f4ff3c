// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/gatekeeper.h"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/framework/plugin.h"

namespace berth::program_sim {
namespace {

using framework::Operation;
using framework::PodInfo;
using framework::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPermitMax = seconds(3);
constexpr Duration kActivatedAfter = seconds(4);  // when no pod that had to wait still does
constexpr std::size_t kRememberedMax = 4;

class Gatekeeper final : public framework::PermitPlugin,
                         public framework::PreBindPlugin,
                         public framework::EnqueueExtensions {
 public:
  Gatekeeper(framework::Handle& handle, const Clock& clock, Time strict_until)
      : handle_(handle), clock_(clock), strict_until_(strict_until) {}

  std::string_view Name() const override { return kGatekeeper; }
  // No event helps a pod that was refused, or has waited in vain: the plugin activates it.
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override { return {}; }

  framework::PermitResult Permit(const framework::Cycle& cycle, const PodInfo& pod, std::string_view) override {
    if (!IsStrict()) return {};
    Random random(cycle.seed);
    if (!waited_.empty() && random.Below(2) == 0) DecideAboutOne(random);
    switch (random.Below(6)) {
      case 0:
        waited_.push_back(pod.uid);
        if (waited_.size() > kRememberedMax) waited_.pop_front();
        ActivateLater(pod);
        return {Status::Wait(), kPermitMax};
      case 1: ActivateLater(pod); return {Status::Unschedulable("not now"), {}};
      default: return {};
    }
  }

  Status PreBindPreFlight(const PodInfo& pod) override { return Dice(pod) % 3 == 0 ? Status() : Status::Skip(); }

  Operation PreBind(const PodInfo& pod) override {
    const bool fails = IsStrict() && Dice(pod) % 2 == 0;
    return Operation::After(milliseconds(static_cast<int>(Dice(pod) % 2000)), [fails](const framework::StepResult&) {
      return Operation::Done(fails ? Status::Error("the volume is stuck") : Status());
    });
  }

 private:
  bool IsStrict() const { return clock_.Now() < strict_until_; }

  void ActivateLater(const PodInfo& pod) {
    handle_.Start(Operation::After(kActivatedAfter, [this, uid = pod.uid](const framework::StepResult&) {
      handle_.Activate(uid);
      return Operation::Done();
    }));
  }

  // The pod may have stopped waiting.
  void DecideAboutOne(Random& random) {
    const std::string& uid = waited_[random.Below(waited_.size())];
    handle_.Decide({uid, std::string(kGatekeeper), random.Below(3) != 0, "no entry"});
  }

  static std::size_t Dice(const PodInfo& pod) { return std::hash<std::string>{}(pod.uid); }

  framework::Handle& handle_;
  const Clock& clock_;
  const Time strict_until_;
  std::deque<std::string> waited_;  // the last pods that had to wait
};

}  // namespace

config::KnownPlugin GatekeeperPlugin(const Clock& clock, Time strict_until) {
  return {std::string(kGatekeeper),
          [&clock, strict_until](const config::PluginArgs&,
                                 framework::Handle& handle) -> Expected<std::unique_ptr<framework::Plugin>> {
            return std::unique_ptr<framework::Plugin>(std::make_unique<Gatekeeper>(handle, clock, strict_until));
          }};
}

}  // namespace berth::program_sim
