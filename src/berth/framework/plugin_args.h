// PluginArgs: the arguments of a plugin of one's own, as its entry in pluginConfig has them. Each field is asked for by
// name. What is wrong with one is noted with its path and the plugin is refused after its factory has returned, so that
// a factory need not look at errors itself, and one start tells about all of them:
//   plugin "NodeMatch": [args.label: Required value, args.wieght: unknown field; known here: label, weight]
// For the call of the factory alone; not thread-safe.
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

  // A field that is absent, null or of another type leaves `out` as it is: its value before is the default.
  virtual void Read(std::string_view field, std::string& out) = 0;
  virtual void Read(std::string_view field, bool& out) = 0;
  virtual void Read(std::string_view field, double& out) = 0;
  // Text as Go writes durations: "15s", "1m30s".
  virtual void Read(std::string_view field, Duration& out) = 0;
  virtual void Read(std::string_view field, std::vector<std::string>& out) = 0;
  virtual void Read(std::string_view field, StringsByKey& out) = 0;
  void Read(std::string_view field, std::int64_t& out) { ReadInRange(field, out, kInt64Min, kInt64Max); }
  // A whole number from `min` to `max`, both included.
  virtual void ReadInRange(std::string_view field, std::int64_t& out, std::int64_t min, std::int64_t max) = 0;

  // The same for a field that must be there and not be empty.
  void Require(std::string_view field, std::string& out) {
    Read(field, out);
    if (out.empty() && !IsBad(field)) Required(field);
  }

  // Asks `visit` about an object, or about each object of a list. What it reads has the path of that object.
  virtual void Object(std::string_view field, const Visit& visit) = 0;
  virtual void Objects(std::string_view field, const Visit& visit) = 0;

  // Whether the field is there and not null.
  virtual bool Has(std::string_view field) = 0;
  // Whether something is wrong with this field, or with any.
  virtual bool IsBad(std::string_view field) const = 0;
  virtual bool IsBad() const = 0;

  // Notes that a field is missing, or what its value should be ("must be the key of a label").
  virtual void Required(std::string_view field) = 0;
  virtual void Invalid(std::string_view field, std::string_view message) = 0;

 private:
  static constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
};

}  // namespace berth::framework
