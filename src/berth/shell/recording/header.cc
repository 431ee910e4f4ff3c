// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include <elf.h>
#include <link.h>

#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/core/config/write.h"
#include "berth/framework/release.h"
#include "berth/shell/recording/records.h"

namespace berth::recording {
namespace {

namespace json = codec::json;
using simdjson::dom::element;

constexpr std::string_view kFormat = "berth-recording";
constexpr std::int64_t kVersion = 1;

json::array Texts(const auto& texts) {
  json::array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

std::vector<std::string> FindTexts(element object, std::string_view key) {
  std::vector<std::string> texts;
  const auto array = codec::FindArray(object, key);
  if (!array) return texts;
  for (const element each : *array) {
    std::string_view text;
    if (each.get(text) == simdjson::SUCCESS) texts.emplace_back(text);
  }
  return texts;
}

std::set<std::string, std::less<>> FindSet(element object, std::string_view key) {
  const auto texts = FindTexts(object, key);
  return {texts.begin(), texts.end()};
}

std::int64_t Micros(Time time) { return time.time_since_epoch().count(); }
Time FindTime(element object, std::string_view key) { return Time(Duration(codec::FindInt(object, key).value_or(0))); }

std::string Find(element object, std::string_view key) { return std::string(codec::StringOrEmpty(object, key)); }

// The minor version of "1.37". A berth that followed 1.36 alone wrote none.
Expected<int> ReleaseOf(std::string_view kubernetes) {
  if (kubernetes.empty()) return framework::kDefaultRelease;
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) {
    if (kubernetes == "1." + std::to_string(minor)) return minor;
  }
  return InvalidError("it follows Kubernetes " + std::string(kubernetes.substr(0, 20)) + "; this berth follows 1." +
                      std::to_string(framework::kOldestRelease) + " to 1." + std::to_string(framework::kNewestRelease));
}

// Finds the build id of the program, which dl_iterate_phdr lists first.
int FindBuildId(dl_phdr_info* info, std::size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const auto aligned = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
      const char* const name = at + sizeof(note);
      const char* const bytes = name + aligned(note.n_namesz);
      at = bytes + aligned(note.n_descsz);
      if (at > end) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(name, "GNU", 4) != 0) continue;
      constexpr std::string_view kDigits = "0123456789abcdef";
      for (std::size_t j = 0; j < note.n_descsz; ++j) {
        const auto byte = static_cast<unsigned char>(bytes[j]);
        static_cast<std::string*>(out)->append({kDigits[byte >> 4], kDigits[byte & 15]});
      }
      return 1;
    }
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(&FindBuildId, &id);
  return id;
}

namespace {

std::string ConfigurationText(config::KubeSchedulerConfiguration configuration, const config::FeatureGates& gates) {
  configuration.client_connection = {};
  configuration.leader_election = {};
  for (config::Extender& extender : configuration.extenders) extender.tls.reset();
  return config::ShowConfiguration(std::move(configuration), gates);
}

}  // namespace

RecordingHeader MakeHeader(const config::KubeSchedulerConfiguration& configuration,
                           const config::FeatureGateSettings& settings, const config::FeatureGates& gates) {
  RecordingHeader header;
  header.build = BuildId();
  header.layout = Layout();
  header.configuration = ConfigurationText(configuration, gates);
  header.gates = settings;
  header.gates.release_minor = gates.release_minor();
  header.kubernetes = "1." + std::to_string(gates.release_minor());
  return header;
}

std::function<Expected<framework::FileText>(const std::string&)> FilesOf(const RecordingHeader& header) {
  return [&header](const std::string& path) -> Expected<framework::FileText> {
    const auto at = header.files.find(path);
    if (at == header.files.end()) return InvalidError(path + ": is not in the recording");
    return at->second;
  };
}

std::string WriteHeader(const RecordingHeader& header) {
  json::object files;
  for (const auto& [name, file] : header.files) files[name] = json::object{{"path", file.path}, {"text", file.text}};
  json::object out;
  out["format"] = kFormat;
  out["version"] = kVersion;
  out["build"] = header.build;
  out["berth"] = header.version;
  out["layout"] = header.layout;
  out["startedAt"] = FormatRfc3339Micro(header.started_at);
  out["originMicros"] = Micros(header.origin);
  out["seed"] = std::to_string(header.seed);
  out["configuration"] = header.configuration;
  out["featureGates"] = Texts(header.gates.gates);
  out["emulatedVersions"] = Texts(header.gates.emulated_versions);
  out["minCompatibilityVersions"] = Texts(header.gates.min_compatibility_versions);
  out["kubernetes"] = header.kubernetes;
  out["podsByAnnotation"] = header.pods.by_annotation;
  out["namespaces"] = Texts(header.pods.namespaces);
  out["setAside"] = Texts(header.pods.set_aside);
  out["unschedulableMaxMicros"] = header.unschedulable_max.count();
  out["pluginDirectory"] = header.plugin_directory;
  out["ownPlugins"] = Texts(header.own_plugins);
  out["files"] = std::move(files);
  return codec::WriteJson(out);
}

Expected<RecordingHeader> ReadHeader(std::string_view text) {
  codec::JsonReader reader;
  const auto parsed = reader.Parse(text);
  if (!parsed.ok() || codec::StringOrEmpty(*parsed, "format") != kFormat)
    return InvalidError("its beginning is damaged");
  RecordingHeader header;
  header.version = Find(*parsed, "berth");
  if (const std::int64_t version = codec::FindInt(*parsed, "version").value_or(0); version != kVersion) {
    return InvalidError("it has format " + std::to_string(version) + ", written by berth " + header.version +
                        "; this berth reads format " + std::to_string(kVersion));
  }
  header.build = Find(*parsed, "build");
  header.layout = Find(*parsed, "layout");
  header.started_at = ParseRfc3339(Find(*parsed, "startedAt")).value_or(Time{});
  header.origin = FindTime(*parsed, "originMicros");
  const std::string seed = Find(*parsed, "seed");
  std::from_chars(seed.data(), seed.data() + seed.size(), header.seed);
  header.configuration = Find(*parsed, "configuration");
  header.kubernetes = Find(*parsed, "kubernetes");
  BERTH_ASSIGN_OR_RETURN(const int release_minor, ReleaseOf(header.kubernetes));
  header.gates = {release_minor, FindTexts(*parsed, "featureGates"), FindTexts(*parsed, "emulatedVersions"),
                  FindTexts(*parsed, "minCompatibilityVersions")};
  header.pods.by_annotation = codec::FindBool(*parsed, "podsByAnnotation").value_or(false);
  header.pods.namespaces = FindSet(*parsed, "namespaces");
  header.pods.set_aside = FindSet(*parsed, "setAside");
  header.unschedulable_max = Duration(codec::FindInt(*parsed, "unschedulableMaxMicros").value_or(0));
  header.plugin_directory = Find(*parsed, "pluginDirectory");
  header.own_plugins = FindTexts(*parsed, "ownPlugins");
  if (const auto files = codec::FindMember(*parsed, "files")) {
    simdjson::dom::object each;
    if (files->get(each) == simdjson::SUCCESS) {
      for (const auto& [name, file] : each) header.files[std::string(name)] = {Find(file, "path"), Find(file, "text")};
    }
  }
  return header;
}

}  // namespace berth::recording
