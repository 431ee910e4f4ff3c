// SPDX-License-Identifier: Apache-2.0
#include "berth/base/subject.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

thread_local std::array<char, 64> current{};

}  // namespace

Subject::Subject(std::string_view name) noexcept {
  const std::size_t size = std::min(name.size(), current.size() - 1);
  std::copy_n(name.data(), size, current.data());
  current[size] = '\0';
}

Subject::~Subject() { current[0] = '\0'; }

const char* Subject::Current() noexcept { return current.data(); }

}  // namespace berth
