// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "berth/base/base64.h"
#include "berth/codec/json.h"
#include "berth/shell/net/url.h"

namespace berth::embedded_cluster {
namespace {

constexpr std::string_view kFirstLine = "# Written by berth for its embedded cluster; written anew at each start.";

std::string FirstLineOf(const std::string& path, bool& exists) {
  std::ifstream file(path, std::ios::binary);
  exists = file.is_open();
  std::string line(kFirstLine.size(), '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line;
}

}  // namespace

std::string ReachedAt(const std::string& address) {
  const auto split = net::SplitHostPort(address);
  if (split.ok() && split->first == "0.0.0.0") return "127.0.0.1:" + std::to_string(split->second);
  if (split.ok() && split->first == "::") return "[::1]:" + std::to_string(split->second);
  return address;
}

std::string KubeconfigText(const ServerAccess& server) {
  const bool has_tls = !server.certificate_pem.empty();
  const std::string reached = ReachedAt(server.address);
  return std::string(kFirstLine) + R"(
apiVersion: v1
kind: Config
clusters:
- name: berth
  cluster:
    server: )" +
         (has_tls ? "https://" : "http://") + reached +
         // The JavaScript client refuses plain HTTP without the word that it may; nobody else cares.
         (has_tls ? "\n    certificate-authority-data: " + EncodeBase64(server.certificate_pem)
                  : std::string("\n    insecure-skip-tls-verify: true")) +
         R"(
users:
- name: berth
  user: {)" +
         (server.token.empty() ? std::string()
                               : "token: " + codec::json::serialize(codec::json::string(server.token))) +
         R"(}
contexts:
- name: berth
  context: {cluster: berth, user: berth}
current-context: berth
)";
}

Expected<void> WriteKubeconfig(const std::string& path, const ServerAccess& server) {
  bool exists = false;
  if (FirstLineOf(path, exists) != kFirstLine && exists) {
    return InvalidError(path + ": there is a file that berth has not written; name another one");
  }
  // The file may hold a token, so only its owner may read it.
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::error_code failure;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, failure);
  file << KubeconfigText(server);
  file.close();
  if (!file) return InvalidError(path + ": cannot be written");
  return {};
}

}  // namespace berth::embedded_cluster
