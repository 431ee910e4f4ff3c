// SPDX-License-Identifier: Apache-2.0
// PluginAbi: in a shared object with plugins, the record of the berth version and toolchain that it was built for. The
// scheduler reads it from the file before loading it, so that code compiled against other types or virtual functions
// never runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/plugin.h"
#include "berth/framework/plugin_args.h"
#include "berth/framework/plugin_registration.h"
#include "berth/framework/profile_aware.h"

// Must be raised with every change to an installed header that breaks plugins built before and does not change a size:
// a virtual function added, removed, moved or changed in a class that plugins derive from or call, a member with
// another position or meaning, an enumerator with another number, a function removed. Also when a class is added that
// plugins may derive from, because an older berth would load such a plugin and never call it.
#ifndef BERTH_PLUGIN_ABI_VERSION
#define BERTH_PLUGIN_ABI_VERSION 7
#endif

namespace berth::framework {

// Plain bytes without pointers, in the layout of the file. The first two members never move.
struct PluginAbi {
  char magic[16];
  std::uint32_t abi_version;
  std::uint32_t compiler_major;
  std::uint64_t type_sizes;  // a hash of the sizes of all types in the interface
  std::uint64_t language;    // __cplusplus
  char compiler[16];         // "gcc", "clang"
  char library[64];          // the C++ library, with settings that change its types
  bool operator==(const PluginAbi&) const = default;
};

inline constexpr std::string_view kPluginAbiMagic = "berth plugin";
// The section of the file that holds the record.
inline constexpr std::string_view kPluginAbiSection = ".berth_plugin";
// The function that appends the registrations.
inline constexpr const char* kPluginEntry = "berth_plugins";
using PluginEntry = void (*)(std::vector<PluginRegistration>&);

namespace internal {

template <typename... Types>
constexpr std::uint64_t HashOfSizes() {
  std::uint64_t hash = 0xcbf29ce484222325;
  ((hash = (hash ^ (sizeof(Types) * 64 + alignof(Types))) * 0x100000001b3), ...);
  return hash;
}

template <std::size_t N>
constexpr void Append(char (&to)[N], std::string_view text) {
  std::size_t end = 0;
  while (to[end] != '\0') ++end;
  // A text that is too long is no constant expression, so that the build fails.
  for (const char c : text) to[end++] = c;
}

constexpr PluginAbi AbiOfThisBuild() {
  PluginAbi abi{};
  Append(abi.magic, kPluginAbiMagic);
  abi.abi_version = BERTH_PLUGIN_ABI_VERSION;
  abi.language = __cplusplus;
#if defined(__clang__)
  abi.compiler_major = __clang_major__;
  Append(abi.compiler, "clang");
#else
  abi.compiler_major = __GNUC__;
  Append(abi.compiler, "gcc");
#endif
#if defined(_LIBCPP_VERSION)
  Append(abi.library, "libc++");
#else
  Append(abi.library, _GLIBCXX_USE_CXX11_ABI ? "libstdc++" : "libstdc++ with _GLIBCXX_USE_CXX11_ABI=0");
#if defined(_GLIBCXX_DEBUG)
  Append(abi.library, " with _GLIBCXX_DEBUG");
#endif
#endif
  abi.type_sizes =
      HashOfSizes<Error, Expected<void>, Status, Plugin, Cycle, CycleState, PodInfo, PodClass, NodeInfo, Resource,
                  NodeList, PreFilterResult, PostFilterResult, PermitResult, NodeScore, QueuedPod, Operation, ApiWrite,
                  StepResult, ClusterEventWithHint, EventObjects, Handle, SharedState, PodEvent, PermitDecision,
                  Objects, AnyObject, OutsideSource, OutsideChange, FileText, PluginRegistration, api::Pod,
                  api::PodSpec, api::Container, api::Node, api::ObjectMeta>();
  return abi;
}

}  // namespace internal

inline constexpr PluginAbi kPluginAbi = internal::AbiOfThisBuild();

}  // namespace berth::framework

// Makes a shared object of the plugins: BERTH_PLUGIN("NodeMatch", NodeMatch::Create), once, at the end of one source.
// For several plugins: BERTH_PLUGINS(berth::WithPlugin("A", A::Create), berth::WithPlugin("B", B::Create)). Has no
// effect in a program, whose objects are compiled for an executable.
#define BERTH_PLUGIN(name, create) BERTH_PLUGINS(::berth::framework::WithPlugin(name, create))

#if defined(__PIC__) && !defined(__PIE__)
#define BERTH_PLUGINS(...)                                                                               \
  extern "C" {                                                                                           \
  __attribute__((visibility("default"),                                                                  \
                 section(".berth_plugin"))) extern const ::berth::framework::PluginAbi berth_plugin_abi; \
  const ::berth::framework::PluginAbi berth_plugin_abi = ::berth::framework::kPluginAbi;                 \
  __attribute__((visibility("default"))) void berth_plugins(                                             \
      ::std::vector<::berth::framework::PluginRegistration>& registrations);                             \
  void berth_plugins(::std::vector<::berth::framework::PluginRegistration>& registrations) {             \
    for (::berth::framework::PluginRegistration & plugin :                                               \
         ::std::vector<::berth::framework::PluginRegistration>{__VA_ARGS__}) {                           \
      registrations.push_back(::std::move(plugin));                                                      \
    }                                                                                                    \
  }                                                                                                      \
  }                                                                                                      \
  static_assert(true, "so that a semicolon may follow")
#else
#define BERTH_PLUGINS(...) static_assert(true, "so that a semicolon may follow")
#endif
