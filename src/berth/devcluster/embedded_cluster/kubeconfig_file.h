// SPDX-License-Identifier: Apache-2.0
// A kubeconfig for the embedded cluster, so that kubectl and others need no --server.
#pragma once

#include <string>

#include "berth/base/expected.h"

namespace berth::embedded_cluster {

// How a server is reached.
struct ServerAccess {
  std::string address;          // that it listens on, "127.0.0.1:8001"; one that listens everywhere: by loopback
  std::string certificate_pem;  // its own; empty: it has no TLS
  std::string token;            // empty: none is asked for
};

// Where a server that listens at the address is reached from this machine: one that listens everywhere by loopback.
std::string ReachedAt(const std::string& address);

std::string KubeconfigText(const ServerAccess& server);

// Writes it to `path`. A file that is there and is not one of berth's is left alone: it may hold the way to a real
// cluster.
Expected<void> WriteKubeconfig(const std::string& path, const ServerAccess& server);

}  // namespace berth::embedded_cluster
