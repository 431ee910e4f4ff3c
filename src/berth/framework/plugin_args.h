// SPDX-License-Identifier: Apache-2.0
// PluginArgs: the arguments of an author's plugin, from its entry in pluginConfig. The plugin's factory reads each
// field by name, on the thread that starts the scheduler, and need not check for errors: these are collected with their
// paths, and if there are any when the factory returns, the plugin is refused with all of them:
//   plugin "NodeMatch": [args.label: Required value, args.wieght: unknown field; known here: label, weight]
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"

namespace berth::framework {

class PluginArgs {
 public:
  using Visit = std::function<void(PluginArgs&)>;
  using StringsByKey = std::map<std::string, std::string>;

  virtual ~PluginArgs();

  // Sets `out` if the field exists and has the right type. Otherwise `out` keeps its value, which is the default.
  virtual void Read(std::string_view field, std::string& out) = 0;
  virtual void Read(std::string_view field, bool& out) = 0;
  virtual void Read(std::string_view field, double& out) = 0;
  // A duration as Go writes it: "15s", "1m30s".
  virtual void Read(std::string_view field, Duration& out) = 0;
  virtual void Read(std::string_view field, std::vector<std::string>& out) = 0;
  virtual void Read(std::string_view field, StringsByKey& out) = 0;
  void Read(std::string_view field, std::int64_t& out) { ReadInRange(field, out, kInt64Min, kInt64Max); }
  // An integer from `min` to `max`, inclusive.
  virtual void ReadInRange(std::string_view field, std::int64_t& out, std::int64_t min, std::int64_t max) = 0;

  // The same for a field that is required and must not be empty.
  void Require(std::string_view field, std::string& out) {
    Read(field, out);
    if (out.empty() && !IsBad(field)) Required(field);
  }

  // Calls `visit` with the fields of an object, or of each object of a list.
  virtual void Object(std::string_view field, const Visit& visit) = 0;
  virtual void Objects(std::string_view field, const Visit& visit) = 0;

  // Whether the field exists and is not null.
  virtual bool Has(std::string_view field) = 0;
  // Whether this field, or any field, has an error.
  virtual bool IsBad(std::string_view field) const = 0;
  virtual bool IsBad() const = 0;

  // Adds an error: the field is missing, or its value is invalid for the reason in `message` ("must be the key of a
  // label").
  virtual void Required(std::string_view field) = 0;
  virtual void Invalid(std::string_view field, std::string_view message) = 0;

 private:
  static constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
};

}  // namespace berth::framework
