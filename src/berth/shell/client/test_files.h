// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share that have to do with files: a folder of their own, and a clock for what is read
// again after a while.
#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "berth/base/time.h"

namespace berth::client {

// A clock that tests set, starting at the real time: certificates are made with that.
class SettableClock final : public Clock {
 public:
  Time Now() const override { return now_.load(); }
  void Advance(Duration by) { now_ = now_.load() + by; }

 private:
  std::atomic<Time> now_{SystemClock().Now()};
};

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-client-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + '/' + name; }
  std::string Write(const std::string& name, std::string_view text, int mode = 0600) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary | std::ios::trunc) << text;
    ::chmod(Path(name).c_str(), static_cast<mode_t>(mode));
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace berth::client
