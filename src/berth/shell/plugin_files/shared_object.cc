// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/plugin_files/shared_object.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::plugin_files {

using framework::PluginAbi;

namespace {

constexpr const char* kNoPlugin =
    "is a shared object, but no plugin of berth: its source needs a line BERTH_PLUGIN(\"Name\", Factory)";

Error NotLoadable() {
  return InvalidError("is no shared object for this machine: build it with berth_add_plugin(), or take it away");
}

// A file that is read at given positions. Reads beyond its end fail.
class File {
 public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool IsRegular() const {
    struct stat status{};
    return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  bool HasByte(std::uint64_t offset) const {
    char byte = 0;
    return Read(offset, byte);
  }
  template <typename T>
  bool Read(std::uint64_t offset, T& out) const {
    return ReadBytes(offset, &out, sizeof out);
  }
  bool ReadBytes(std::uint64_t offset, void* out, std::size_t count) const {
    if (offset > INT64_MAX) return false;
    return ::pread(descriptor_, out, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  }

 private:
  const int descriptor_;
};

constexpr std::uint16_t MachineOfThisBuild() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

bool IsLoadable(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_DYN && header.e_machine == MachineOfThisBuild();
}

// Whether the section has the name that a plugin's has.
bool IsPluginSection(const File& file, const Elf64_Shdr& names, const Elf64_Shdr& section) {
  constexpr std::size_t kSize = framework::kPluginAbiSection.size() + 1;  // with the zero at its end
  char name[kSize] = {};
  if (section.sh_name > names.sh_size || names.sh_size - section.sh_name < kSize) return false;
  if (names.sh_offset > INT64_MAX || !file.ReadBytes(names.sh_offset + section.sh_name, name, kSize)) return false;
  return std::string_view(name, kSize - 1) == framework::kPluginAbiSection && name[kSize - 1] == '\0';
}

// The text as messages may show it, whatever the file holds.
std::string Text(const char* text, std::size_t max) {
  std::string shown(text, ::strnlen(text, max));
  for (char& c : shown) c = c >= ' ' && c < 0x7f ? c : '?';
  return shown;
}

}  // namespace

Expected<PluginAbi> ReadPluginAbi(const std::string& path) {
  const File file(path);
  if (!file.is_open()) return InvalidError(std::string("cannot be read: ") + std::strerror(errno));
  if (!file.IsRegular()) return InvalidError("is no file");
  Elf64_Ehdr header;
  if (!file.Read(0, header) || !IsLoadable(header)) return NotLoadable();
  // The table of sections is at the end of a file, or near it.
  const std::uint64_t table_bytes = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (table_bytes > 0 && header.e_shoff <= INT64_MAX && !file.HasByte(header.e_shoff + table_bytes - 1))
    return InvalidError("ends too early: was it copied in part?");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > INT64_MAX) return InvalidError(kNoPlugin);
  const auto section_at = [&](std::size_t index, Elf64_Shdr& section) {
    return file.Read(header.e_shoff + index * sizeof section, section);
  };
  Elf64_Shdr names;
  if (header.e_shstrndx >= header.e_shnum || !section_at(header.e_shstrndx, names)) return InvalidError(kNoPlugin);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!section_at(i, section)) return InvalidError(kNoPlugin);
    if (!IsPluginSection(file, names, section)) continue;
    // The structure of another version may be shorter: missing fields stay zero.
    PluginAbi abi{};
    const std::size_t size = section.sh_size < sizeof abi ? static_cast<std::size_t>(section.sh_size) : sizeof abi;
    if (!file.ReadBytes(section.sh_offset, &abi, size) ||
        Text(abi.magic, sizeof abi.magic) != framework::kPluginAbiMagic) {
      return InvalidError(kNoPlugin);
    }
    return abi;
  }
  return InvalidError(kNoPlugin);
}

Expected<void> CheckPluginAbi(const PluginAbi& theirs, const PluginAbi& ours) {
  const auto differs = [](const std::string& what, const std::string& their_value, const std::string& our_value,
                          const std::string& remedy) {
    return InvalidError("is built for " + what + their_value + ", and this berth is for " + our_value + ": " + remedy);
  };
  if (theirs.abi_version != ours.abi_version) {
    return differs("plugin ABI ", std::to_string(theirs.abi_version), std::to_string(ours.abi_version),
                   "build it anew with the headers of this berth");
  }
  const auto compiler = [](const PluginAbi& abi) {
    return Text(abi.compiler, sizeof abi.compiler) + ' ' + std::to_string(abi.compiler_major);
  };
  if (compiler(theirs) != compiler(ours))
    return differs("the compiler ", compiler(theirs), compiler(ours), "build it with " + compiler(ours));
  const auto library = [](const PluginAbi& abi) { return Text(abi.library, sizeof abi.library); };
  if (library(theirs) != library(ours)) {
    return differs("the C++ library ", library(theirs), library(ours),
                   "build it without flags that change the library's types");
  }
  if (theirs.language != ours.language) {
    return differs("C++ ", std::to_string(theirs.language), std::to_string(ours.language),
                   "build it as C++20 (berth_add_plugin() does)");
  }
  if (theirs.type_sizes != ours.type_sizes) {
    return InvalidError(
        "is built with types of other sizes than this berth's: build it anew with the headers of this "
        "berth, and without flags that change the layout of types");
  }
  return {};
}

}  // namespace berth::plugin_files
