// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace berth::embedded_cluster {
namespace {

std::string Read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Kubeconfig, NamesTheServer) {
  EXPECT_NE(KubeconfigText({"127.0.0.1:8001", "", ""})
                .find("server: http://127.0.0.1:8001\n    insecure-skip-tls-verify: true\n"),
            std::string::npos);
  EXPECT_EQ(ReachedAt("0.0.0.0:8001"), "127.0.0.1:8001");
  EXPECT_EQ(ReachedAt("[::]:8001"), "[::1]:8001");
  EXPECT_EQ(ReachedAt("10.0.0.1:8001"), "10.0.0.1:8001");
  EXPECT_NE(KubeconfigText({"0.0.0.0:8001", "", ""}).find("server: http://127.0.0.1:8001\n"), std::string::npos);
  EXPECT_NE(KubeconfigText({"[::]:8001", "", ""}).find("server: http://[::1]:8001\n"), std::string::npos);
}

// @kubernetes/client-node throws "HTTP protocol is not allowed when skipTLSVerify is not set or false".
TEST(Kubeconfig, AllowsPlainHttp) {
  const std::string allowed = "\n    insecure-skip-tls-verify: true\n";
  EXPECT_NE(KubeconfigText({"127.0.0.1:8001", "", ""}).find(allowed), std::string::npos);
  EXPECT_EQ(KubeconfigText({"127.0.0.1:8001", "PEM", ""}).find(allowed), std::string::npos);
}

TEST(Kubeconfig, HasCertificateAndToken) {
  const std::string text = KubeconfigText({"127.0.0.1:8001", "PEM", "a\"b"});
  EXPECT_NE(text.find("server: https://127.0.0.1:8001\n    certificate-authority-data: UEVN\n"), std::string::npos);
  EXPECT_EQ(text.find("insecure"), std::string::npos) << text;
  EXPECT_NE(text.find("user: {token: \"a\\\"b\"}\n"), std::string::npos) << text;
}

TEST(Kubeconfig, LeavesOtherFilesAlone) {
  const std::string path = ::testing::TempDir() + "berth-kubeconfig-test";
  std::filesystem::remove(path);
  ASSERT_TRUE(WriteKubeconfig(path, {"127.0.0.1:1", "", ""}).ok());
  ASSERT_TRUE(WriteKubeconfig(path, {"127.0.0.1:2", "", ""}).ok()) << "its own file is written anew";
  EXPECT_EQ(Read(path), KubeconfigText({"127.0.0.1:2", "", ""}));
  std::ofstream(path) << "apiVersion: v1\n";
  const auto written = WriteKubeconfig(path, {"127.0.0.1:3", "", ""});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, path + ": there is a file that berth has not written; name another one");
  EXPECT_EQ(Read(path), "apiVersion: v1\n");
  std::filesystem::remove(path);
  EXPECT_FALSE(WriteKubeconfig("/nonexistent/kubeconfig", {"127.0.0.1:3", "", ""}).ok());
}

}  // namespace
}  // namespace berth::embedded_cluster
