// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/own_plugins.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "berth/core/config/args_reader.h"
#include "berth/plugins/registry.h"

namespace berth::plugins {
namespace {

using Created = Expected<std::unique_ptr<framework::Plugin>>;

constexpr std::size_t kNameMax = 128;

std::string Called(std::string_view name) { return "plugin \"" + std::string(name.substr(0, kNameMax)) + '"'; }

// What is wrong with the arguments goes before what the factory says, which may only follow from it.
Created CreateChecked(const framework::PluginRegistration& own, const config::PluginArgs& args,
                      framework::Handle& handle) {
  codec::json::value document = codec::json::object();
  if (const auto* raw = std::get_if<config::RawArgs>(&args)) {
    BERTH_ASSIGN_OR_RETURN(document, codec::ParseJson(raw->json));
  } else if (!std::holds_alternative<std::monostate>(args)) {
    return InvalidError("arguments of another plugin");
  }
  config::FieldErrors errors;
  Created created = InvalidError("its factory made no plugin");
  {
    config::ArgsReader reader(document, "args", errors);
    // Kubernetes' own arguments have them, so that they may stand here, too.
    std::string ignored;
    reader.Read("apiVersion", ignored);
    reader.Read("kind", ignored);
    created = own.create(reader, handle);
  }
  BERTH_RETURN_IF_ERROR(errors.Result());
  if (!created.ok()) return created.error();
  if (*created == nullptr) return InvalidError("its factory made no plugin");
  if (const std::string_view name = (*created)->Name(); name != own.name) {
    return InvalidError("calls itself \"" + std::string(name.substr(0, kNameMax)) +
                        "\": its Name() should be the name that it is registered under");
  }
  return created;
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kNameMax && name != "*" &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
}

std::string From(const OwnPlugin& own) { return own.file.empty() ? std::string() : own.file + ": "; }

}  // namespace

config::KnownPlugin KnownPluginOf(framework::PluginRegistration own) {
  std::string name = own.name;
  return {std::move(name),
          [plugin = std::move(own)](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            Created created = CreateChecked(plugin, args, handle);
            if (!created.ok()) return created.error().Wrap(Called(plugin.name));
            return created;
          },
          {},
          /*is_own=*/true};
}

Expected<std::vector<config::KnownPlugin>> AllPlugins(std::span<const OwnPlugin> own) {
  std::vector<config::KnownPlugin> all = InTreePlugins();
  std::map<std::string_view, const OwnPlugin*> taken;
  for (const config::KnownPlugin& plugin : InTreePlugins()) taken.emplace(plugin.name, nullptr);
  for (const OwnPlugin& plugin : own) {
    const std::string& name = plugin.registration.name;
    if (!IsName(name)) {
      return InvalidError(From(plugin) + Called(name) +
                          ": a name should have 1 to 128 visible ASCII characters, quotes aside, and not be *");
    }
    const auto [other, is_new] = taken.emplace(name, &plugin);
    if (!is_new && other->second == nullptr)
      return InvalidError(From(plugin) + Called(name) + ": comes with berth: give yours another name");
    if (!is_new) {
      return InvalidError(From(plugin) + Called(name) + ": the name is taken by a plugin of " +
                          (other->second->file.empty() ? "this program" : other->second->file) +
                          ": take one of the two away");
    }
    all.push_back(KnownPluginOf(plugin.registration));
  }
  return all;
}

}  // namespace berth::plugins
