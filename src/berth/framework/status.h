// SPDX-License-Identifier: Apache-2.0
// Status: a plugin's verdict. A refusal is an ordinary answer; kError is for failures. A value that any thread may
// read; success is a null pointer. Codes, names and effects are those of the Scheduling Framework
// (k8s.io/kube-scheduler/framework).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::framework {

enum class Code : std::uint8_t {
  kSuccess,
  kError,                         // the plugin failed; the pod is tried again after its error back-off
  kUnschedulable,                 // refused now; preemption may help
  kUnschedulableAndUnresolvable,  // refused; preemption cannot help on that node
  kWait,                          // Permit only
  kSkip,     // PreFilter, PreScore, PreBindPreFlight, Bind: the plugin has nothing to do for the pod
  kPending,  // refused until something outside of the cluster's objects happens
};

// Go's text, for example "UnschedulableAndUnresolvable".
std::string_view ToString(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Code code, std::vector<std::string> reasons);

  static Status Success() { return {}; }
  static Status Error(std::string reason) { return {Code::kError, {std::move(reason)}}; }
  static Status Unschedulable(std::string reason) { return {Code::kUnschedulable, {std::move(reason)}}; }
  static Status UnschedulableAndUnresolvable(std::string reason) {
    return {Code::kUnschedulableAndUnresolvable, {std::move(reason)}};
  }
  static Status Skip();
  static Status Wait() { return {Code::kWait, {}}; }

  Code code() const { return rep_ ? rep_->code : Code::kSuccess; }
  bool IsSuccess() const { return rep_ == nullptr; }
  bool IsSkip() const { return code() == Code::kSkip; }
  bool IsWait() const { return code() == Code::kWait; }
  bool IsRejected() const {
    const Code c = code();
    return c == Code::kUnschedulable || c == Code::kUnschedulableAndUnresolvable || c == Code::kPending;
  }
  const std::vector<std::string>& reasons() const;
  // The plugin that returned it; set by the runtime.
  std::string_view plugin() const { return rep_ ? std::string_view(rep_->plugin) : std::string_view(); }
  Status WithPlugin(std::string_view plugin) const;
  // The reasons, joined with ", ".
  std::string Message() const;

  friend bool operator==(const Status& a, const Status& b);

 private:
  struct Rep {
    Code code;
    std::vector<std::string> reasons;
    std::string plugin;
  };
  static const Rep& SkippedRep();

  std::shared_ptr<const Rep> rep_;  // null: success
};

}  // namespace berth::framework
