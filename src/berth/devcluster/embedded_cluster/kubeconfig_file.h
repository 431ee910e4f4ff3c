// SPDX-License-Identifier: Apache-2.0
// A kubeconfig for the embedded cluster, so that kubectl and others need no --server.
#pragma once

#include <string>

#include "berth/base/expected.h"

namespace berth::embedded_cluster {

// The text for a server that listens on `address` ("127.0.0.1:8001"); one that listens everywhere is reached by
// loopback.
std::string KubeconfigText(const std::string& address);

// Writes it to `path`. A file that is there and is not one of berth's is left alone: it may hold the way to a real
// cluster.
Expected<void> WriteKubeconfig(const std::string& path, const std::string& address);

}  // namespace berth::embedded_cluster
