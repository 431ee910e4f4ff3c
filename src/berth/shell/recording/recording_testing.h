// SPDX-License-Identifier: Apache-2.0
// What tests of recordings share. Tests only.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "berth/base/check.h"

namespace berth::recording {

// A directory that is deleted with its files.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-recording-XXXXXX").string();
    BERTH_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace berth::recording
