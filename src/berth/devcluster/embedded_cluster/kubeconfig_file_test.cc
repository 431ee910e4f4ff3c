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
  EXPECT_NE(KubeconfigText({"127.0.0.1:8001", "", ""}).find("server: http://127.0.0.1:8001\n"), std::string::npos);
  EXPECT_NE(KubeconfigText({"0.0.0.0:8001", "", ""}).find("server: http://127.0.0.1:8001\n"), std::string::npos);
  EXPECT_NE(KubeconfigText({"[::]:8001", "", ""}).find("server: http://[::1]:8001\n"), std::string::npos);
}

TEST(Kubeconfig, HasCertificateAndToken) {
  const std::string text = KubeconfigText({"127.0.0.1:8001", "PEM", "a\"b"});
  EXPECT_NE(text.find("server: https://127.0.0.1:8001\n    certificate-authority-data: UEVN\n"), std::string::npos);
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
