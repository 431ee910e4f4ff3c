// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/manifest_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "berth/shell/client/file.h"

namespace berth::app {
namespace {

namespace fs = std::filesystem;

// Of one directory.
constexpr std::size_t kManifestFilesMax = 10'000;

Expected<std::string> ReadStandardInput() {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    text.append(buffer.data(), count);
    if (text.size() > whatif::kManifestFileBytesMax) {
      return Error{ErrorCode::kTooLarge, "standard input: more than " +
                                             std::to_string(whatif::kManifestFileBytesMax >> 20) + " MiB of manifests"};
    }
  }
  return text;
}

Expected<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".yaml" || extension == ".yml" || extension == ".json") files.push_back(entry->path().string());
    if (files.size() > kManifestFilesMax)
      return Error{ErrorCode::kTooLarge, path + ": more than " + std::to_string(kManifestFilesMax) + " manifests"};
  }
  if (error) return InvalidError(path + ": " + error.message());
  if (files.empty()) return InvalidError(path + ": no .yaml, .yml or .json file in it");
  std::ranges::sort(files);
  return files;
}

}  // namespace

Expected<std::vector<whatif::ManifestFile>> ReadManifestFiles(const std::vector<std::string>& paths) {
  std::vector<whatif::ManifestFile> files;
  for (const std::string& path : paths) {
    if (path == "-") {
      BERTH_ASSIGN_OR_RETURN(std::string text, ReadStandardInput());
      files.push_back({"standard input", std::move(text)});
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> found, FilesOf(path));
    for (const std::string& file : found) {
      BERTH_ASSIGN_OR_RETURN(std::string text, client::ReadSmallFile(file, whatif::kManifestFileBytesMax));
      files.push_back({file, std::move(text)});
    }
  }
  return files;
}

}  // namespace berth::app
