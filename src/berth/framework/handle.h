// Handle: what the scheduler offers to a plugin for its whole life. Outlives the plugin.
#pragma once

#include <string>
#include <string_view>

namespace berth::framework {

// A plugin's word about a pod that it made wait at Permit.
struct PermitDecision {
  std::string pod_uid;
  std::string plugin;
  bool allow = false;
  std::string message;  // why it is rejected
};

class Handle {
 public:
  virtual ~Handle() = default;

  // Reaches the core as an input; without effect when the pod waits no longer. Thread-safe.
  virtual void Decide(PermitDecision decision) = 0;
};

}  // namespace berth::framework
