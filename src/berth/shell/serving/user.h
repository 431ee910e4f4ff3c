// SPDX-License-Identifier: Apache-2.0
// User: the user of a request, as user.Info of k8s.io/apiserver. A plain value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::serving {

inline constexpr std::string_view kAnonymous = "system:anonymous";
inline constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
inline constexpr std::string_view kMastersGroup = "system:masters";

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool operator==(const User&) const = default;
};

}  // namespace berth::serving
