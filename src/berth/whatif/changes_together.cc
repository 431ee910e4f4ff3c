// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/changes_together.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "berth/whatif/pod_changes.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::Status;
using scheduler::Overlay;

struct Step {
  std::function<void(api::Node&, api::Pod&, std::vector<std::string>&)> make;
  bool changes_node = false;
  // Of a step that cuts a request: of which resource, and to how much.
  std::string resource;
  std::int64_t amount_max = 0;
};

Step Cut(const std::string& resource, std::int64_t amount_max) {
  return {[=](api::Node&, api::Pod& pod, std::vector<std::string>& what) {
            pod = WithRequestAtMost(pod, resource, amount_max, &what);
          },
          false, resource, amount_max};
}

class TogetherSearch {
 public:
  TogetherSearch(Overlay& overlay, const api::Pod& pod, NodeIndex row)
      : overlay_(overlay), pod_(pod), info_(overlay.nodes().Info(row)), node_(info_.node_ptr()) {}

  std::optional<ChangedTogether> Go(const std::vector<Status>& statuses) {
    AddSteps(statuses);
    if (steps_.size() < 2 || !Fits(steps_)) return std::nullopt;
    for (std::size_t i = 0; i < steps_.size();) {
      std::vector<Step> fewer = steps_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (Fits(fewer)) {
        steps_ = std::move(fewer);
      } else {
        ++i;
      }
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].resource.empty()) CutLess(i);
    }
    return Make(steps_);
  }

 private:
  void AddSteps(const std::vector<Status>& statuses) {
    const std::string node = "node " + node_->metadata.name + ": ";
    for (const auto& [key, value] : MissingLabels(pod_, *node_)) {
      steps_.push_back({[=](api::Node& n, api::Pod&, std::vector<std::string>& what) {
                          n.metadata.labels.Set(key, value);
                          what.push_back(node + "label " + key + "=" + value);
                        },
                        true});
    }
    if (node_->unschedulable) {
      steps_.push_back({[=](api::Node& n, api::Pod&, std::vector<std::string>& what) {
                          n = Uncordoned(n);
                          what.push_back(node + "uncordoned");
                        },
                        true});
    }
    for (const api::Taint& taint : UntoleratedTaints(pod_, Uncordoned(*node_))) {
      steps_.push_back({[=](api::Node&, api::Pod& pod, std::vector<std::string>& what) {
                          pod.spec.tolerations.push_back(TolerationOf(taint));
                          what.push_back("a toleration of " + TaintText(taint));
                        },
                        false});
    }
    for (const Status& status : statuses) {
      for (const std::string& reason : status.reasons()) {
        if (!reason.starts_with(kInsufficientPrefix)) continue;
        const std::string name = reason.substr(kInsufficientPrefix.size());
        const bool is_known =
            std::any_of(steps_.begin(), steps_.end(), [&](const Step& s) { return s.resource == name; });
        if (is_known) continue;
        const std::int64_t free = info_.allocatable().Get(name) - info_.requested().Get(name);
        steps_.push_back(Cut(name, std::max<std::int64_t>(free, 0)));
      }
    }
  }

  ChangedTogether Make(const std::vector<Step>& steps) const {
    ChangedTogether made{{}, pod_, nullptr};
    api::Node node = *node_;
    for (const Step& step : steps) step.make(node, made.pod, made.what);
    made.node = std::make_shared<const api::Node>(std::move(node));
    return made;
  }

  bool Fits(const std::vector<Step>& steps) {
    const ChangedTogether made = Make(steps);
    const Overlay::Mark before = overlay_.mark();
    if (std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.changes_node; }))
      overlay_.SetNode(made.node);
    const auto answer = overlay_.Evaluate(overlay_.MakePod(made.pod), Overlay::Detail::kChoice);
    const bool fits = answer.outcome.result == runtime::Result::kFeasible;
    overlay_.UndoTo(before);
    return fits;
  }

  // Cuts the i-th step's request by no more than is needed: with the other steps the pod may fit another node, which
  // has more room than this one.
  void CutLess(std::size_t i) {
    const std::string resource = steps_[i].resource;
    const std::int64_t total = overlay_.MakePod(pod_)->pod_class->requests.Get(resource);
    if (total <= steps_[i].amount_max) return;
    const std::int64_t taken = Least(0, total - steps_[i].amount_max, [&](std::int64_t less) {
      steps_[i] = Cut(resource, total - less);
      return Fits(steps_);
    });
    steps_[i] = Cut(resource, total - taken);
  }

  Overlay& overlay_;
  const api::Pod& pod_;
  const framework::NodeInfo& info_;
  const std::shared_ptr<const api::Node> node_;
  std::vector<Step> steps_;
};

}  // namespace

std::int64_t Least(std::int64_t no, std::int64_t yes, const std::function<bool(std::int64_t)>& fits) {
  while (yes - no > 1) {
    const std::int64_t middle = no + (yes - no) / 2;
    (fits(middle) ? yes : no) = middle;
  }
  return yes;
}

std::optional<ChangedTogether> ChangesTogether(Overlay& overlay, const api::Pod& pod, NodeIndex row,
                                               const std::vector<Status>& statuses) {
  return TogetherSearch(overlay, pod, row).Go(statuses);
}

}  // namespace berth::whatif
