// SPDX-License-Identifier: Apache-2.0
// Files in a directory of plugins are read before anybody has looked at them.
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "berth/base/check.h"
#include "berth/shell/plugin_files/shared_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("plugin", MFD_CLOEXEC);
  if (file < 0) return 0;
  if (::write(file, data, size) == static_cast<ssize_t>(size)) {
    const auto abi = berth::plugin_files::ReadPluginAbi("/proc/self/fd/" + std::to_string(file));
    const auto fits = abi.ok() ? berth::plugin_files::CheckPluginAbi(*abi, berth::framework::kPluginAbi) : abi.error();
    BERTH_CHECK(fits.ok() || fits.error().message.find_first_of("\n\x1b") == std::string::npos);
  }
  ::close(file);
  return 0;
}
