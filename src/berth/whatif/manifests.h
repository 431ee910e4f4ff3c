// SPDX-License-Identifier: Apache-2.0
// Manifests for `berth simulate`: the YAML or JSON documents of files, checked and with defaults filled in as the API
// server would on their creation. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::whatif {

class AdmissionRules;

struct ManifestFile {
  std::string name;  // "web.yaml"; of standard input "standard input"
  std::string text;
};

struct Manifest {
  std::string where;  // "web.yaml:14: Deployment shop/web", for messages
  std::string kind;
  std::string namespace_name;  // empty: of a kind without namespaces
  std::string name;            // empty: it has a generateName
  codec::json::object object;
};

struct Manifests {
  std::vector<Manifest> documents;  // in the order of the files, items of lists one by one
  // Documents of kinds that are not simulated, one line each: "web.yaml:30: CronJob shop/tidy: ...".
  std::vector<std::string> left_out;
};

inline constexpr std::size_t kManifestFileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kManifestsMax = 100'000;

// Documents without a namespace get `default_namespace`. An error is one line with the file, the line of the
// first wrong field or, where it is not known, of the document, and all field paths of that document.
Expected<Manifests> ReadManifests(const std::vector<ManifestFile>& files, const std::string& default_namespace);

// Upstream's message of each error that a create of `pod` would meet, with "spec.template." or the like in front of its
// field paths; fills in defaults and what `rules` say.
Expected<void> PreparePod(codec::json::object& pod, std::string_view path_prefix, const AdmissionRules& rules);
// Checks a PodGroup or a CompositePodGroup in the same way, and fills in its defaults.
Expected<void> PreparePodGroup(codec::json::object& group, const AdmissionRules& rules);

}  // namespace berth::whatif
