// SPDX-License-Identifier: Apache-2.0
// Asks a running berth, by its secure port, why a pod is where it is. Blocking; main thread.
#pragma once

#include <string>

#include "berth/app/connection.h"
#include "berth/base/expected.h"
#include "berth/whatif/explanation.h"

namespace berth::app {

struct SchedulerPort {
  std::string url;                        // --scheduler: "https://host:port"; empty: no scheduler is asked
  std::string ca_file;                    // empty: the kubeconfig's authority
  bool insecure_skip_tls_verify = false;  // anybody may be there
};

// `connection` says who asks: its kubeconfig or the pod's service account, or nobody where there is neither. Errors
// are one line each.
Expected<whatif::Explanation> AskScheduler(const SchedulerPort& port, const ConnectionOptions& connection,
                                           const std::string& namespace_name, const std::string& name);

}  // namespace berth::app
