// SPDX-License-Identifier: Apache-2.0
// Feature gates: known gates, their state by version, the user's settings, and their effect on berth. Upstream:
// component-base/featuregate and component-base/compatibility, with the gates that kube-scheduler is linked with (those
// of all components, because clusters pass one list to all of them). Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/release.h"

namespace berth::config {

// How many minor versions before the release can be emulated.
inline constexpr int kEmulatedMinorsBefore = 3;

// kPreAlpha: the gate was added after the emulated version.
enum class GateStage : std::uint8_t { kPreAlpha, kAlpha, kBeta, kGa, kDeprecated };

// "ALPHA", "BETA", "GA" ...
std::string_view ToString(GateStage stage);

// The state of a gate from a minor version of Kubernetes 1.x on.
struct GateSpec {
  int minor = 0;
  GateStage stage = GateStage::kPreAlpha;
  bool is_on = false;
  bool is_locked = false;
  int compatible_minor = 0;  // minimum minor version of all other components
};

// The effect of a gate on berth.
enum class GateEffect : std::uint8_t {
  kNone,      // none: it belongs to another component, or does not influence kube-scheduler
  kEither,    // both values are accepted: upstream's feature has no counterpart here, or makes no difference
  kSwitched,  // both values take effect
  kOnly,      // berth has the behaviour of one value only; the other one is refused
};

// Values of the flags, unparsed; lists are in the order of the command line.
struct FeatureGateSettings {
  int release_minor = framework::kDefaultRelease;  // the kube-scheduler release that is followed
  std::vector<std::string> gates;                  // --feature-gates: "Name=bool", "kube:Name=bool"
  std::vector<std::string> emulated_versions;      // --emulated-version: "1.35", "kube=1.35"
  std::vector<std::string> min_compatibility_versions;
};

// A gate's row of the table.
struct GateRow {
  std::string_view name;
  std::string_view stages;  // "1.35 alpha off, 1.36 beta on"
  // The first and the last followed release that have the gate.
  int first_release = framework::kOldestRelease;
  int last_release = framework::kNewestRelease;

  bool IsIn(int release_minor) const { return first_release <= release_minor && release_minor <= last_release; }
};

class FeatureGates {
 public:
  // No gate is set, no version emulated.
  FeatureGates() : FeatureGates(framework::kDefaultRelease) {}
  explicit FeatureGates(int release_minor)
      : release_minor_(release_minor), emulated_minor_(release_minor), min_compatibility_minor_(release_minor - 1) {}

  // Refuses what upstream refuses: an unknown gate, a locked one with the other value, one whose feature was added
  // after the emulated version, one without the gates that it needs, a version out of range. Also refuses values with
  // GateEffect::kOnly that berth does not have. Several errors are listed as "[a, b]".
  static Expected<FeatureGates> Parse(const FeatureGateSettings& settings);

  // The gate's value; false for an unknown gate.
  bool Enabled(std::string_view gate) const;

  // A line for each gate that was set and will be removed, because it is GA or deprecated.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // The release with the switches that the gates determine.
  framework::Release FollowedRelease() const;
  // Minor versions of Kubernetes 1.x.
  int release_minor() const { return release_minor_; }
  int emulated_minor() const { return emulated_minor_; }
  int min_compatibility_minor() const { return min_compatibility_minor_; }

  // The gates of all releases, sorted by name.
  static std::span<const GateRow> Table();
  static std::optional<GateSpec> SpecAt(std::string_view gate, int minor);
  static GateEffect EffectOf(std::string_view gate);
  // OnlyValueOf: the value that a kOnly gate has. WhyOf: a reason of half a sentence, or empty; for
  // kSwitched it is why the gate is not available in releases before the first that berth has it for.
  static bool OnlyValueOf(std::string_view gate);
  static std::string_view WhyOf(std::string_view gate);

 private:
  Expected<void> ReadVersions(const FeatureGateSettings& settings);
  Expected<void> ReadGates(const std::map<std::string, bool, std::less<>>& typed);
  std::vector<std::string> MissingDependencies() const;
  std::vector<std::string> NotInBerth() const;

  std::map<std::string, bool, std::less<>> set_;
  std::vector<std::string> warnings_;
  int release_minor_;
  int emulated_minor_;
  int min_compatibility_minor_;
};

}  // namespace berth::config
