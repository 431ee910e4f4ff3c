// SPDX-License-Identifier: Apache-2.0
// Feature gates: which are known, what they are by version, what the user has set, and what each means for berth.
// Upstream: component-base/featuregate and component-base/compatibility, with the gates that kube-scheduler is linked
// with (those of all components: clusters pass one list to all of them). Plain values.
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

// How many minor versions before the release may be emulated.
inline constexpr int kEmulatedMinorsBefore = 3;

// kPreAlpha: the gate came later than the emulated version.
enum class GateStage : std::uint8_t { kPreAlpha, kAlpha, kBeta, kGa, kDeprecated };

// "ALPHA", "BETA", "GA" ...
std::string_view ToString(GateStage stage);

// What a gate is from a minor version of Kubernetes 1.x on.
struct GateSpec {
  int minor = 0;
  GateStage stage = GateStage::kPreAlpha;
  bool is_on = false;
  bool is_locked = false;
  int compatible_minor = 0;  // all other components have to be of this minor version at least
};

// What a gate means for berth.
enum class GateEffect : std::uint8_t {
  kNone,      // nothing: another component's, or one without influence on what kube-scheduler does
  kEither,    // either value: what it switches upstream has no counterpart, or makes no difference here
  kSwitched,  // both values take effect
  kOnly,      // berth does what one value means and has not the other, which is refused
};

// As the flags have them, unparsed; each list in the order of the command line.
struct FeatureGateSettings {
  int release_minor = framework::kOldestRelease;  // of the kube-scheduler that is followed
  std::vector<std::string> gates;                 // --feature-gates: "Name=bool", "kube:Name=bool"
  std::vector<std::string> emulated_versions;     // --emulated-version: "1.35", "kube=1.35"
  std::vector<std::string> min_compatibility_versions;
};

// The table's row of a gate.
struct GateRow {
  std::string_view name;
  std::string_view stages;  // "1.35 alpha off, 1.36 beta on"
  // The releases that know it, of those that berth follows.
  int first_release = framework::kOldestRelease;
  int last_release = framework::kNewestRelease;

  bool IsIn(int release_minor) const { return first_release <= release_minor && release_minor <= last_release; }
};

class FeatureGates {
 public:
  // Nothing set, no version emulated.
  FeatureGates() : FeatureGates(framework::kOldestRelease) {}
  explicit FeatureGates(int release_minor)
      : release_minor_(release_minor), emulated_minor_(release_minor), min_compatibility_minor_(release_minor - 1) {}

  // Refuses what upstream refuses (an unknown gate, a locked one with the other value, one whose feature came later
  // than the emulated version, one without the gates that it needs, a version out of range) and, of gates that berth
  // has one value of only, the other one. Several errors are listed as "[a, b]".
  static Expected<FeatureGates> Parse(const FeatureGateSettings& settings);

  // The gate's value; false for one that is not known.
  bool Enabled(std::string_view gate) const;

  // A line for each gate that was set and that will go, as it is GA or deprecated.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What the release and the gates mean for decisions.
  framework::Release FollowedRelease() const;
  // Of Kubernetes 1.x.
  int release_minor() const { return release_minor_; }
  int emulated_minor() const { return emulated_minor_; }
  int min_compatibility_minor() const { return min_compatibility_minor_; }

  // The gates of all releases, by name.
  static std::span<const GateRow> Table();
  static std::optional<GateSpec> SpecAt(std::string_view gate, int minor);
  static GateEffect EffectOf(std::string_view gate);
  // Of a gate with kOnly: the value that it has. Of all: why, in half a sentence, or empty; of
  // kSwitched it says why not in 1.36.
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
