// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/kubelet_simulator.h"

#include <utility>

#include "berth/api/meta.h"
#include "berth/api/quantity.h"
#include "berth/base/check.h"
#include "berth/devcluster/kubelet/context.h"
#include "berth/devcluster/kubelet/node_keeper.h"
#include "berth/devcluster/kubelet/node_objects.h"
#include "berth/devcluster/kubelet/pod_runner.h"
#include "berth/devcluster/kubelet/simulated_nodes.h"

namespace berth::kubelet {

Expected<void> CheckKubeletOptions(const KubeletOptions& options) {
  if (options.nodes < 0 || options.nodes > kNodesMax) {
    return InvalidError("the number of simulated nodes is " + std::to_string(options.nodes) + ", and should be 0 to " +
                        std::to_string(kNodesMax));
  }
  for (const NodeShape& shape : options.shapes) {
    if (!api::IsDnsSubdomain(shape.name)) return InvalidError("\"" + shape.name + "\" is no name of a node");
  }
  if (options.shapes.size() > static_cast<std::size_t>(kNodesMax))
    return InvalidError("there are " + std::to_string(options.shapes.size()) + " node shapes, and should be at most " +
                        std::to_string(kNodesMax));
  if (options.zones < 1)
    return InvalidError("the number of zones is " + std::to_string(options.zones) + ", and should be above 0");
  if (!api::IsDnsSubdomain(options.node_prefix + std::to_string(kNodesMax))) {
    return InvalidError("the node prefix \"" + options.node_prefix +
                        "\" should be lower-case letters, digits, '-' and '.'");
  }
  if (!api::IsLabelValue(options.region))
    return InvalidError("the region \"" + options.region + "\" should be a label value");
  const std::pair<const char*, const std::string&> quantities[] = {
      {"cpu", options.cpu}, {"memory", options.memory}, {"pods", options.pods}};
  for (const auto& [name, text] : quantities) {
    const auto quantity = api::Quantity::Parse(text);
    if (!quantity.ok()) return quantity.error().Wrap(std::string("while reading the nodes' ") + name);
  }
  if (options.in_flight_max < 1 || options.renewals_per_second_max < 1 || options.heartbeat <= Duration::zero() ||
      options.start_latency < Duration::zero() || options.shutdown_latency < Duration::zero()) {
    return InvalidError("the simulated kubelets' bounds and times should be above 0");
  }
  return {};
}

class KubeletSimulator::Impl {
 public:
  Impl(client::RestClient& rest, KubeletOptions options)
      : context_(std::make_shared<Context>(rest, std::move(options))),
        simulated_(ShapesOf(context_->options)),
        pods_(*context_, simulated_),
        nodes_(*context_, simulated_, [this](const std::string& node) { pods_.TakeWaitingPods(node); }) {}

  void Start() {
    nodes_.Start();
    pods_.Start();
  }
  void Stop() {
    if (context_->is_stopped.exchange(true)) return;
    nodes_.Stop();
    pods_.Stop();
  }
  KubeletStats Stats() const {
    return {nodes_.ready_count(), pods_.count(),     pods_.started(),   pods_.finished(),
            pods_.removed(),      nodes_.renewals(), context_->failures};
  }

 private:
  const std::shared_ptr<Context> context_;
  SimulatedNodes simulated_;
  PodRunner pods_;
  NodeKeeper nodes_;
};

KubeletSimulator::KubeletSimulator(client::RestClient& rest, KubeletOptions options) {
  const auto check = CheckKubeletOptions(options);
  BERTH_CHECK(check.ok(), check.error().message);
  impl_ = std::make_shared<Impl>(rest, std::move(options));
}

KubeletSimulator::~KubeletSimulator() { Stop(); }

void KubeletSimulator::Start() { impl_->Start(); }
void KubeletSimulator::Stop() { impl_->Stop(); }
KubeletStats KubeletSimulator::Stats() const { return impl_->Stats(); }

}  // namespace berth::kubelet
