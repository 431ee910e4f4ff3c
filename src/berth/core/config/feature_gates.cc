// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/feature_gates.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "berth/base/edit_distance.h"
#include "berth/base/text.h"
#include "berth/core/config/feature_gate_table.h"

namespace berth::config {
namespace {

constexpr std::size_t kErrorsMax = 20;
constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

struct Effect {
  std::string_view gate;
  GateEffect effect;
  bool only = false;
  std::string_view why;
  int first_release = framework::kOldestRelease;  // kSwitched: berth has no such feature for older releases
};

constexpr GateEffect kEither = GateEffect::kEither;
constexpr GateEffect kSwitched = GateEffect::kSwitched;
constexpr GateEffect kOnly = GateEffect::kOnly;
constexpr std::string_view kSameDecisions = "it saves upstream work; berth decides the same without it";
constexpr std::string_view kOldPodGroups = "berth has pod groups as in Kubernetes 1.37, and not the older ones";
constexpr std::string_view kNotHere = "berth does not have this feature";
constexpr std::string_view kDevices = "berth allocates devices as it is done by default";

// The gates that kube-scheduler's own code reads; all others have no effect on it. Sorted by name.
constexpr auto kEffects = std::to_array<Effect>({
    {"AllAlpha", kSwitched},
    {"AllBeta", kSwitched},
    {"AtomicFIFO", kEither, false, "it is about a queue inside client-go"},
    {"ComponentFlagz", kSwitched},
    {"ComponentStatusz", kSwitched},
    {"CompositePodGroup", kSwitched},
    {"ContextualLogging", kEither, false, "berth's lines name pod, node and profile in any case"},
    {"CoordinatedLeaderElection", kOnly, false, kNotHere},
    {"DRAConsumableCapacity", kSwitched},
    {"DRADeviceBindingConditions", kSwitched},
    {"DRADerivedAttributes", kOnly, false, kNotHere},
    {"DRADeviceCompatibilityGroups", kOnly, false, kNotHere},
    {"DRADeviceTaintRules", kSwitched},
    {"DRADeviceTaints", kSwitched},
    {"DRAExtendedResource", kSwitched},
    {"DRAFractionalCapacityRange", kSwitched},
    {"DRAListTypeAttributes", kOnly, false, kNotHere},
    {"DRANodeAllocatableResources", kOnly, false, kNotHere},
    {"DRAOptionalNodeOperations", kOnly, false, kNotHere},
    {"DRAPartitionableDevices", kSwitched},
    {"DRAPrioritizedList", kOnly, true, kDevices},
    {"DRAResourceClaimDeviceStatus", kOnly, true, kDevices},
    {"DRASchedulerFilterTimeout", kSwitched},
    {"DRAWorkloadResourceClaims", kSwitched, false, kOldPodGroups, 37},
    {"DynamicResourceAllocation", kOnly, true, "berth always allocates devices"},
    {"GangScheduling", kOnly, false, kOldPodGroups},
    {"GenericWorkload", kSwitched, false, kOldPodGroups, 37},
    {"InOrderInformersBatchProcess", kEither, false, "it is about a queue inside client-go"},
    {"InPlacePodLevelResourcesVerticalScaling", kSwitched},
    {"InPlacePodVerticalScaling", kOnly, true, "berth counts what a resized pod has been given"},
    {"InPlacePodVerticalScalingSchedulerPreemption", kOnly, false, kNotHere},
    {"InterPodAffinityHostnameFastPath", kEither, false, kSameDecisions},
    {"LoggingAlphaOptions", kSwitched},
    {"LoggingBetaOptions", kSwitched},
    {"MatchLabelKeysInPodTopologySpread", kOnly, true, "berth reads matchLabelKeys"},
    {"NodeDeclaredFeatures", kSwitched},
    {"NominatedNodeNameForExpectation", kSwitched},
    {"OpportunisticBatching", kEither, false, kSameDecisions},
    {"PodLevelResources", kOnly, true, "berth counts the requests of a pod as a whole"},
    {"PodGroupPreemptionPolicy", kSwitched},
    {"RemoteRequestHeaderUID", kSwitched},
    {"SchedulerAsyncAPICalls", kEither, false, "berth's decisions never wait for the API server"},
    {"SchedulerAsyncPreemption", kOnly, true, "berth deletes victims beside its decisions"},
    {"SchedulerPreQueueingHints", kEither, false, kSameDecisions},
    {"SchedulerPopFromBackoffQ", kOnly, true, "berth takes a pod from back-off when nothing else is ready"},
    {"StorageCapacityScoring", kSwitched},
    {"TaintTolerationComparisonOperators", kOnly, false, kNotHere},
    {"TopologyAwareWorkloadScheduling", kSwitched, false, kOldPodGroups, 37},
    {"UnauthenticatedHTTP2DOSMitigation", kSwitched},
    {"UnlockWhileProcessingFIFO", kEither, false, "it is about a queue inside client-go"},
    {"VolumeLimitScaling", kSwitched},
    {"WatchListClient", kEither, false, "berth asks for a streaming list, and lists where the server has none"},
    {"WorkloadAwarePreemption", kOnly, false, kOldPodGroups},
});

const Effect* FindEffect(std::string_view gate) {
  const auto found =
      std::find_if(kEffects.begin(), kEffects.end(), [gate](const Effect& each) { return each.gate == gate; });
  return found == kEffects.end() ? nullptr : &*found;
}

// Whether both of its values are available.
bool IsHad(const Effect& effect, int release_minor) {
  return effect.effect != GateEffect::kOnly && effect.first_release <= release_minor;
}

const GateRow* FindRow(std::string_view gate) {
  const std::span<const GateRow> table = FeatureGateTable();
  const auto found = std::lower_bound(table.begin(), table.end(), gate,
                                      [](const GateRow& row, std::string_view name) { return row.name < name; });
  return found == table.end() || found->name != gate ? nullptr : &*found;
}

std::string_view NextWord(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

int MinorOf(std::string_view version) {
  NextWord(version, '.');
  int minor = 0;
  std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor;
}

// Parses a stage: "1.36 beta on locked", "1.37 beta on min 1.37".
GateSpec ParseSpec(std::string_view text) {
  GateSpec spec;
  spec.minor = MinorOf(NextWord(text, ' '));
  const std::string_view stage = NextWord(text, ' ');
  spec.stage = stage == "alpha"        ? GateStage::kAlpha
               : stage == "beta"       ? GateStage::kBeta
               : stage == "ga"         ? GateStage::kGa
               : stage == "deprecated" ? GateStage::kDeprecated
                                       : GateStage::kPreAlpha;
  spec.is_on = NextWord(text, ' ') == "on";
  const std::string_view next = NextWord(text, ' ');
  spec.is_locked = next == "locked";
  if (next == "min") spec.compatible_minor = MinorOf(NextWord(text, ' '));
  return spec;
}

// The gate's state in `minor`. `compatible_minor` is the version of the oldest component.
GateSpec SpecOf(const GateRow& row, int minor, int compatible_minor = std::numeric_limits<int>::max()) {
  GateSpec at;
  for (std::string_view stages = row.stages; !stages.empty();) {
    const GateSpec spec = ParseSpec(Trim(NextWord(stages, ',')));
    if (spec.minor > minor || spec.compatible_minor > compatible_minor) break;
    at = spec;
  }
  return at;
}

// A version with an optional component: "kube=1.35", "1.35", "v1.35.0".
Expected<int> ParseVersion(std::string_view flag, std::string_view typed, int example_minor) {
  const auto wrong = [&](const std::string& why) {
    return InvalidError(std::string(flag) + ": " + Quoted(typed) + ' ' + why);
  };
  std::string_view version = typed;
  if (const std::size_t equals = typed.find('='); equals != std::string_view::npos) {
    if (const std::string_view component = Trim(typed.substr(0, equals)); component != "kube")
      return wrong("is of the component " + Quoted(component) + ", which there is not: should be kube");
    version = Trim(typed.substr(equals + 1));
  }
  version = Trim(version);
  if (version.starts_with('v')) version.remove_prefix(1);
  std::array<int, 3> parts{};
  std::size_t count = 0;
  bool is_version = !version.empty();
  while (!version.empty() && is_version) {
    const std::string_view part = NextWord(version, '.');
    const bool is_read =
        count < parts.size() && !part.empty() && part.size() < 6 &&
        std::from_chars(part.data(), part.data() + part.size(), parts[count]).ptr == part.data() + part.size() &&
        part[0] != '-';
    is_version = is_read;
    ++count;
  }
  if (!is_version || count < 2) return wrong("should be a version such as 1." + std::to_string(example_minor));
  if (parts[2] != 0) return wrong("should have no patch version");
  if (parts[0] != 1) return wrong("should be a version of Kubernetes 1.x");
  return parts[1];
}

std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

Expected<void> Result(const std::vector<std::string>& errors) {
  if (errors.empty()) return {};
  if (errors.size() == 1) return InvalidError("--feature-gates: " + errors.front());
  std::string text = "--feature-gates: [";
  for (std::size_t i = 0; i < std::min(errors.size(), kErrorsMax); ++i) text += (i == 0 ? "" : ", ") + errors[i];
  if (errors.size() > kErrorsMax) text += ", and " + std::to_string(errors.size() - kErrorsMax) + " more";
  return InvalidError(text + ']');
}

std::string Assigned(std::string_view gate, bool value) { return std::string(gate) + (value ? "=true" : "=false"); }

// Parses "Name=bool" lists of all occurrences of the flag; later ones take precedence.
Expected<std::map<std::string, bool, std::less<>>> ReadAssignments(const std::vector<std::string>& values) {
  std::map<std::string, bool, std::less<>> typed;
  bool has_prefix = false;
  bool has_none = false;
  for (const std::string& value : values) {
    for (std::string_view rest = value; !rest.empty();) {
      std::string_view pair = NextWord(rest, ',');
      if (pair.empty()) continue;
      if (const std::size_t colon = pair.find(':'); colon != std::string_view::npos) {
        const std::string_view component = Trim(pair.substr(0, colon));
        if (!component.empty() && component != "kube")
          return InvalidError("--feature-gates: " + Quoted(pair) + " is of the component " + Quoted(component) +
                              ", which there is not: should be kube");
        (component.empty() ? has_none : has_prefix) = true;
        pair = pair.substr(colon + 1);
      } else {
        has_none = true;
      }
      pair = Trim(pair);
      if (pair.empty()) continue;
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos)
        return InvalidError("--feature-gates: " + Quoted(pair) + " should be NAME=true or NAME=false");
      const std::string_view name = Trim(pair.substr(0, equals));
      const std::optional<bool> is_on = ParseBool(Trim(pair.substr(equals + 1)));
      if (!is_on)
        return InvalidError("--feature-gates: " + Quoted(pair) + " should be " + std::string(name) + "=true or " +
                            std::string(name) + "=false");
      typed[std::string(name)] = *is_on;
    }
  }
  if (has_prefix && has_none)
    return InvalidError(
        "--feature-gates: some gates have the prefix kube: and some have not; it should be all or none");
  return typed;
}

}  // namespace

std::string_view ToString(GateStage stage) {
  switch (stage) {
    case GateStage::kPreAlpha: return "PRE-ALPHA";
    case GateStage::kAlpha: return "ALPHA";
    case GateStage::kBeta: return "BETA";
    case GateStage::kGa: return "GA";
    case GateStage::kDeprecated: return "DEPRECATED";
  }
  return "";
}

Expected<FeatureGates> FeatureGates::Parse(const FeatureGateSettings& settings) {
  FeatureGates gates(settings.release_minor);
  BERTH_RETURN_IF_ERROR(gates.ReadVersions(settings));
  BERTH_ASSIGN_OR_RETURN(const auto typed, ReadAssignments(settings.gates));
  BERTH_RETURN_IF_ERROR(gates.ReadGates(typed));
  BERTH_RETURN_IF_ERROR(Result(gates.MissingDependencies()));
  // These gates were switched by AllAlpha or AllBeta and not by name: berth keeps the value that it has.
  std::string kept;
  for (const Effect& effect : kEffects) {
    const auto set = gates.set_.find(effect.gate);
    if (IsHad(effect, gates.release_minor_) || set == gates.set_.end() || set->second == effect.only) continue;
    if (typed.contains(effect.gate)) continue;
    set->second = effect.only;
    kept += (kept.empty() ? "" : ", ") + Assigned(effect.gate, effect.only);
  }
  if (!kept.empty())
    gates.warnings_.push_back("--feature-gates: berth has these gates in one way alone, in which they stay: " + kept);
  BERTH_RETURN_IF_ERROR(Result(gates.NotInBerth()));
  return gates;
}

Expected<void> FeatureGates::ReadVersions(const FeatureGateSettings& settings) {
  constexpr std::string_view kEmulated = "--emulated-version";
  constexpr std::string_view kCompatible = "--min-compatibility-version";
  const int emulated_minor_min = release_minor_ - kEmulatedMinorsBefore;
  const auto range = [emulated_minor_min](std::string_view flag, int minor, int max) -> Expected<void> {
    if (minor >= emulated_minor_min && minor <= max) return {};
    return InvalidError(std::string(flag) + ": 1." + std::to_string(minor) + " should be from 1." +
                        std::to_string(emulated_minor_min) + " to 1." + std::to_string(max));
  };
  const auto single = [](std::string_view flag, const std::vector<std::string>& values) -> Expected<void> {
    if (values.size() <= 1) return {};
    return InvalidError(std::string(flag) + ": " + Quoted(values[1]) + " is a second version: should be given once");
  };
  BERTH_RETURN_IF_ERROR(single(kEmulated, settings.emulated_versions));
  BERTH_RETURN_IF_ERROR(single(kCompatible, settings.min_compatibility_versions));
  if (!settings.emulated_versions.empty()) {
    BERTH_ASSIGN_OR_RETURN(emulated_minor_,
                           ParseVersion(kEmulated, settings.emulated_versions.front(), release_minor_));
    min_compatibility_minor_ = std::max(emulated_minor_min, emulated_minor_ - 1);
  }
  if (!settings.min_compatibility_versions.empty()) {
    BERTH_ASSIGN_OR_RETURN(min_compatibility_minor_,
                           ParseVersion(kCompatible, settings.min_compatibility_versions.front(), release_minor_));
  }
  BERTH_RETURN_IF_ERROR(range(kEmulated, emulated_minor_, release_minor_));
  return range(kCompatible, min_compatibility_minor_, emulated_minor_);
}

Expected<void> FeatureGates::ReadGates(const std::map<std::string, bool, std::less<>>& typed) {
  std::vector<std::string> errors;
  for (const auto& [name, is_on] : typed) {
    const GateRow* const row = FindRow(name);
    if (row == nullptr || !row->IsIn(release_minor_)) {
      std::vector<std::string_view> known;
      for (const GateRow& each : FeatureGateTable()) {
        if (each.IsIn(release_minor_)) known.push_back(each.name);
      }
      std::string text = "unrecognized feature gate: " + name.substr(0, 100);
      if (const std::string_view nearest = SimilarName(name, known); !nearest.empty())
        text += "; the nearest is " + std::string(nearest);
      errors.push_back(std::move(text));
      continue;
    }
    const GateSpec spec = SpecOf(*row, emulated_minor_);
    if (spec.is_locked && spec.is_on != is_on) {
      errors.push_back("cannot set feature gate " + Assigned(name, is_on) + ": it is locked to " +
                       (spec.is_on ? "true" : "false"));
    } else if (spec.stage == GateStage::kPreAlpha) {
      errors.push_back("cannot set feature gate " + Assigned(name, is_on) + ": it came after the emulated version 1." +
                       std::to_string(emulated_minor_));
    } else {
      set_[name] = is_on;
      if (spec.stage == GateStage::kGa || spec.stage == GateStage::kDeprecated) {
        warnings_.push_back("--feature-gates: " + Assigned(name, is_on) + " sets a gate that is " +
                            std::string(ToString(spec.stage)) + ": a later release will not know it");
      }
    }
  }
  BERTH_RETURN_IF_ERROR(Result(errors));
  for (const auto& [all, stage] : {std::pair(kAllAlpha, GateStage::kAlpha), std::pair(kAllBeta, GateStage::kBeta)}) {
    const auto found = typed.find(all);
    if (found == typed.end()) continue;
    for (const GateRow& row : FeatureGateTable()) {
      if (row.name == kAllAlpha || row.name == kAllBeta || !row.IsIn(release_minor_)) continue;
      if (SpecOf(row, emulated_minor_).stage != stage) continue;
      set_.try_emplace(std::string(row.name), found->second);
    }
  }
  return {};
}

std::vector<std::string> FeatureGates::MissingDependencies() const {
  std::vector<std::string> errors;
  for (const GateDependency& dependency : FeatureGateDependencies()) {
    if (!dependency.IsIn(release_minor_) || !Enabled(dependency.name)) continue;
    std::string missing;
    for (std::string_view needs = dependency.needs; !needs.empty();) {
      const std::string_view gate = NextWord(needs, ' ');
      if (!Enabled(gate)) missing += (missing.empty() ? "" : " ") + std::string(gate);
    }
    if (!missing.empty())
      errors.push_back(std::string(dependency.name) + " is enabled, but depends on features that are disabled: [" +
                       missing + ']');
  }
  return errors;
}

std::vector<std::string> FeatureGates::NotInBerth() const {
  std::vector<std::string> errors;
  for (const Effect& effect : kEffects) {
    const auto set = set_.find(effect.gate);
    if (IsHad(effect, release_minor_) || set == set_.end() || set->second == effect.only) continue;
    errors.push_back(Assigned(effect.gate, set->second) + " cannot be had: " + std::string(effect.why));
  }
  return errors;
}

bool FeatureGates::Enabled(std::string_view gate) const {
  if (const auto set = set_.find(gate); set != set_.end()) return set->second;
  const GateRow* const row = FindRow(gate);
  return row != nullptr && row->IsIn(release_minor_) && SpecOf(*row, emulated_minor_, min_compatibility_minor_).is_on;
}

framework::Release FeatureGates::FollowedRelease() const {
  framework::Release release(release_minor_);
  framework::DeviceRules& devices = release.devices;
  devices.has_partitionable_devices = Enabled("DRAPartitionableDevices");
  devices.has_consumable_capacity = Enabled("DRAConsumableCapacity");
  devices.has_device_taints = Enabled("DRADeviceTaints");
  devices.has_binding_conditions = Enabled("DRADeviceBindingConditions") && Enabled("DRAResourceClaimDeviceStatus");
  devices.has_extended_resources = Enabled("DRAExtendedResource");
  devices.has_fractional_capacities = Enabled("DRAFractionalCapacityRange");
  release.counts_pod_level_status = Enabled("InPlacePodLevelResourcesVerticalScaling");
  release.announces_nominations = Enabled("NominatedNodeNameForExpectation");
  release.scores_storage_capacity = Enabled("StorageCapacityScoring");
  release.reads_device_taint_rules = Enabled("DRADeviceTaintRules");
  release.scales_volume_limits = Enabled("VolumeLimitScaling");
  release.has_pod_groups = Enabled("GenericWorkload");
  release.places_pod_groups_by_topology = Enabled("TopologyAwareWorkloadScheduling");
  release.has_composite_pod_groups = Enabled("CompositePodGroup");
  release.has_pod_group_preemption_policy |= Enabled("PodGroupPreemptionPolicy");
  release.has_pod_group_claims = Enabled("DRAWorkloadResourceClaims");
  return release;
}

std::span<const GateRow> FeatureGates::Table() { return FeatureGateTable(); }

std::optional<GateSpec> FeatureGates::SpecAt(std::string_view gate, int minor) {
  const GateRow* const row = FindRow(gate);
  if (row == nullptr) return std::nullopt;
  return SpecOf(*row, minor);
}

GateEffect FeatureGates::EffectOf(std::string_view gate) {
  const Effect* const effect = FindEffect(gate);
  return effect == nullptr ? GateEffect::kNone : effect->effect;
}

bool FeatureGates::OnlyValueOf(std::string_view gate) {
  const Effect* const effect = FindEffect(gate);
  return effect != nullptr && effect->only;
}

std::string_view FeatureGates::WhyOf(std::string_view gate) {
  const Effect* const effect = FindEffect(gate);
  return effect == nullptr ? std::string_view() : effect->why;
}

}  // namespace berth::config
