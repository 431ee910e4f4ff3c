// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/pod_resources.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "berth/api/quantity.h"
#include "berth/codec/json_reader.h"

namespace berth::serving {
namespace {

using Amounts = std::map<std::string, api::Quantity>;

Expected<Amounts> AmountsIn(const std::optional<simdjson::dom::element>& resources, std::string_view key) {
  Amounts amounts;
  if (!resources) return amounts;
  const auto object = codec::FindObject(*resources, key);
  if (!object) return amounts;
  for (const auto& [name, value] : *object) {
    std::string_view text;
    std::string number;
    if (value.is_string()) {
      text = value.get_string().value_unsafe();
    } else {  // a quantity may be a number
      number = simdjson::minify(value);
      text = number;
    }
    BERTH_ASSIGN_OR_RETURN(const api::Quantity amount, api::Quantity::Parse(text));
    amounts.emplace(std::string(name), amount);
  }
  return amounts;
}

// Magnitudes are far below what would overflow: Quantity::Parse caps them at 2^63 units of 10^9 nanos, and no object
// has room for as many containers as it would take.
void AddAll(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    api::Quantity& sum = to[name];
    sum = api::Quantity::FromNanos(sum.nanos() + amount.nanos());
  }
}

void RaiseAll(Amounts& to, const Amounts& others) {
  for (const auto& [name, amount] : others) {
    const auto [it, is_new] = to.emplace(name, amount);
    if (!is_new && it->second < amount) it->second = amount;
  }
}

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

// component-helpers' PodRequests and PodLimits, without statuses: `key` is "requests" or "limits".
Expected<Amounts> Aggregate(const simdjson::dom::element& spec, std::string_view key) {
  Amounts sum;
  if (const auto containers = codec::FindArray(spec, "containers")) {
    for (const simdjson::dom::element container : *containers) {
      BERTH_ASSIGN_OR_RETURN(const Amounts own, AmountsIn(codec::FindMember(container, "resources"), key));
      AddAll(sum, own);
    }
  }
  Amounts sidecars;
  Amounts init_max;
  if (const auto containers = codec::FindArray(spec, "initContainers")) {
    for (const simdjson::dom::element container : *containers) {
      BERTH_ASSIGN_OR_RETURN(Amounts own, AmountsIn(codec::FindMember(container, "resources"), key));
      if (codec::StringOrEmpty(container, "restartPolicy") == "Always") {
        AddAll(sum, own);
        AddAll(sidecars, own);
        own = sidecars;
      } else {
        AddAll(own, sidecars);
      }
      RaiseAll(init_max, own);
    }
  }
  RaiseAll(sum, init_max);
  BERTH_ASSIGN_OR_RETURN(const Amounts of_pod, AmountsIn(codec::FindMember(spec, "resources"), key));
  for (const auto& [name, amount] : of_pod) {
    if (IsPodLevelResource(name)) sum[name] = amount;
  }
  BERTH_ASSIGN_OR_RETURN(const Amounts overhead, AmountsIn(spec, "overhead"));
  if (key == "requests") {
    AddAll(sum, overhead);
  } else {
    for (const auto& [name, amount] : overhead) {
      const auto it = sum.find(name);
      if (it != sum.end() && !it->second.IsZero())
        it->second = api::Quantity::FromNanos(it->second.nanos() + amount.nanos());
    }
  }
  return sum;
}

std::string_view UnitOf(std::string_view resource) {
  if (resource == "cpu") return "cores";
  if (resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
      resource.starts_with("hugepages-")) {
    return "bytes";
  }
  return resource.starts_with("attachable-volumes-") ? "integer" : "";
}

// A label's value; names of objects need no escape, but a server may send anything.
void AppendLabel(std::string& out, std::string_view name, std::string_view value) {
  if (!out.empty()) out += ',';
  out.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

// The shortest text of the number, as Go prints a float64 (strconv, 'g').
std::string NumberText(double value) {
  char text[64];
  const auto scientific = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view written(text, static_cast<std::size_t>(scientific.ptr - text));
  int exponent = 0;
  std::string_view digits = written.substr(written.find('e') + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(written);
  const auto fixed = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  return {text, fixed.ptr};
}

}  // namespace

Expected<std::shared_ptr<const PodResourceLines>> DecodePodResources(const simdjson::dom::element& pod) {
  const auto metadata = codec::FindMember(pod, "metadata");
  const auto spec = codec::FindMember(pod, "spec");
  if (!metadata || !spec || codec::StringOrEmpty(*metadata, "name").empty())
    return InvalidError("a pod without a name or a spec");
  auto lines = std::make_shared<PodResourceLines>();
  const std::string_view node = codec::StringOrEmpty(*spec, "nodeName");
  const auto status = codec::FindMember(pod, "status");
  const std::string_view phase = status ? codec::StringOrEmpty(*status, "phase") : "";
  // A pod without a node cannot have ended.
  if (!node.empty() && (phase == "Succeeded" || phase == "Failed"))
    return std::shared_ptr<const PodResourceLines>(std::move(lines));
  const auto priority = codec::FindInt(*spec, "priority");
  const auto add = [&](const Amounts& amounts, std::vector<std::string>& to) {
    for (const auto& [resource, amount] : amounts) {
      if (amount.IsZero()) continue;
      std::string line;
      AppendLabel(line, "namespace", codec::StringOrEmpty(*metadata, "namespace"));
      AppendLabel(line, "node", node);
      AppendLabel(line, "pod", codec::StringOrEmpty(*metadata, "name"));
      AppendLabel(line, "priority", priority ? std::to_string(*priority) : "");
      AppendLabel(line, "resource", resource);
      AppendLabel(line, "scheduler", codec::StringOrEmpty(*spec, "schedulerName"));
      AppendLabel(line, "unit", UnitOf(resource));
      to.push_back(line + "} " + NumberText(static_cast<double>(amount.nanos()) / 1e9));
    }
  };
  BERTH_ASSIGN_OR_RETURN(const Amounts requests, Aggregate(*spec, "requests"));
  BERTH_ASSIGN_OR_RETURN(const Amounts limits, Aggregate(*spec, "limits"));
  add(requests, lines->requests);
  add(limits, lines->limits);
  return std::shared_ptr<const PodResourceLines>(std::move(lines));
}

PodResources::~PodResources() {
  if (cancel_idle_check_) cancel_idle_check_();
  if (cancel_patience_) cancel_patience_();
  if (pods_ != nullptr) pods_->Stop();
}

void PodResources::Ask(Done done) {
  asked_at_ = rest_.loop().Now();
  if (pods_ == nullptr) Begin();
  if (pods_->HasSynced()) {
    done(Text());
  } else if (waiting_.size() >= kWaitingMax) {
    done(Error{ErrorCode::kUnavailable, "the pods have not been listed yet, please try again later"});
  } else {
    waiting_.push_back(std::move(done));
  }
}

void PodResources::Begin() {
  client::Informer<PodResourceLines>::Options pods;
  pods.name = "pods for /metrics/resources";
  pods.path = "/api/v1/pods";
  pods.decode = DecodePodResources;
  client::Informer<PodResourceLines>::Handler handler;
  handler.on_synced = [this] {
    // Posted, since the store must not be read in the reflector's own callback.
    rest_.loop().Post([this] { AnswerWaiting(); });
  };
  pods_ = std::make_unique<client::Informer<PodResourceLines>>(rest_, std::move(pods), std::move(handler));
  pods_->Start();
  cancel_patience_ = rest_.loop().PostAfter(kListTimeMax, [this] { AnswerWaiting(); });
  cancel_idle_check_ = rest_.loop().PostAfter(kIdleMax, [this] { CheckIdle(); });
}

void PodResources::CheckIdle() {
  const Time until = asked_at_ + kIdleMax;
  const Time now = rest_.loop().Now();
  if (now < until) {
    cancel_idle_check_ = rest_.loop().PostAfter(until - now, [this] { CheckIdle(); });
    return;
  }
  AnswerWaiting();
  pods_->Stop();
  pods_.reset();
}

void PodResources::AnswerWaiting() {
  const auto waiting = std::exchange(waiting_, {});
  for (const Done& done : waiting) done(Text());
}

Expected<std::string> PodResources::Text() const {
  if (pods_ == nullptr || !pods_->HasSynced())
    return Error{ErrorCode::kUnavailable, "the pods have not been listed yet, please try again later"};
  std::string requests;
  std::string limits;
  pods_->ForEach([&](const std::string&, const std::shared_ptr<const PodResourceLines>& pod) {
    for (const std::string& line : pod->requests)
      requests.append("kube_pod_resource_request{").append(line).append("\n");
    for (const std::string& line : pod->limits) limits.append("kube_pod_resource_limit{").append(line).append("\n");
  });
  std::string text;
  if (!limits.empty()) {
    text +=
        "# HELP kube_pod_resource_limit [STABLE] Resources limit for workloads on the cluster, broken down by pod. "
        "This "
        "shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the "
        "resource if any.\n# TYPE kube_pod_resource_limit gauge\n" +
        limits;
  }
  if (!requests.empty()) {
    text +=
        "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads on the cluster, broken down by "
        "pod. "
        "This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for "
        "the resource if any.\n# TYPE kube_pod_resource_request gauge\n" +
        requests;
  }
  return text;
}

}  // namespace berth::serving
