// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/plugin_files/plugin_loader.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "berth/base/log.h"
#include "berth/shell/plugin_files/shared_object.h"

namespace berth::plugin_files {
namespace {

using framework::PluginRegistration;
using Milliseconds = std::chrono::milliseconds;

constexpr std::string_view kLoaded = "+";  // what the child says when all went well
constexpr std::size_t kWordMax = 4096;

// The text of dlerror() without the file's name, which callers add.
std::string LoaderError(const std::string& path) {
  const char* said = ::dlerror();
  std::string_view text = said == nullptr ? "unknown reason" : said;
  if (text.starts_with(path + ": ")) text.remove_prefix(path.size() + 2);
  return "cannot be loaded: " + std::string(text) +
         ": build it with the headers of this berth and with the libraries that it needs";
}

Expected<std::vector<PluginRegistration>> LoadFile(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return InvalidError(LoaderError(path));
  const auto entry = reinterpret_cast<framework::PluginEntry>(::dlsym(library, framework::kPluginEntry));
  if (entry == nullptr) return InvalidError(LoaderError(path));
  std::vector<PluginRegistration> registrations;
  try {
    entry(registrations);
  } catch (const std::exception& e) {
    return InvalidError(std::string("throws while it names its plugins: ") + e.what());
  } catch (...) {
    return InvalidError("throws while it names its plugins");
  }
  if (registrations.empty()) return InvalidError("names no plugin: give BERTH_PLUGINS one at least");
  return registrations;
}

// Runs in the child: writes the result to the pipe and ends without destructors, since its state is a copy of the
// parent's.
[[noreturn]] void TryToLoad(const std::string& path, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const auto loaded = LoadFile(path);
  const std::string word = loaded.ok() ? std::string(kLoaded) : loaded.error().message;
  const ssize_t written = ::write(pipe, word.data(), std::min(word.size(), kWordMax));
  ::_exit(written < 0 ? 1 : 0);
}

// Reads until the other end is closed. False after `patience`.
bool ReadAll(int pipe, Milliseconds patience, std::string& out) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= Milliseconds{0} || out.size() > kWordMax) return false;
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char bytes[512];
    const ssize_t count = ::read(pipe, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    out.append(bytes, static_cast<std::size_t>(count));
  }
}

constexpr const char* kLookAtIt = ": look at what it does in the initialisers of its global variables";

// Why a child ended that wrote nothing.
std::string EndOf(int status) {
  if (!WIFSIGNALED(status)) {
    return "ends the process while it is loaded (exit status " + std::to_string(WEXITSTATUS(status)) + ")" + kLookAtIt;
  }
  const int number = WTERMSIG(status);
  return "crashes while it is loaded (signal " + std::to_string(number) + ", " + ::strsignal(number) + ")" + kLookAtIt;
}

// Loads the file in a child process first, so that a crash does not end this one.
Expected<void> TryInChild(const std::string& path, Milliseconds patience) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return InvalidError(std::string("cannot be tried: no pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    TryToLoad(path, pipe[1]);
  }
  const int fork_error = errno;
  ::close(pipe[1]);
  if (child < 0) {
    ::close(pipe[0]);
    return InvalidError(std::string("cannot be tried: no process: ") + std::strerror(fork_error));
  }
  std::string word;
  const bool has_ended = ReadAll(pipe[0], patience, word);
  ::close(pipe[0]);
  if (!has_ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!has_ended) {
    return InvalidError("was not loaded within " + std::to_string(patience.count()) + " ms" + kLookAtIt);
  }
  if (word == kLoaded) return {};
  return InvalidError(word.empty() ? EndOf(status) : word);
}

Expected<std::vector<std::string>> FilesOf(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".so") files.push_back(at->path().string());
  }
  if (error) {
    return InvalidError("--plugin-dir " + directory + ": cannot be read: " + error.message() +
                        ": it should be a directory with shared objects (*.so)");
  }
  if (files.size() > kPluginFilesMax) {
    return InvalidError("--plugin-dir " + directory + ": has " + std::to_string(files.size()) +
                        " shared objects; it should have " + std::to_string(kPluginFilesMax) + " at most");
  }
  if (files.empty()) log::Warning("app", "The plugin directory has no *.so", {{"directory", directory}});
  std::sort(files.begin(), files.end());
  return files;
}

// Follows links. False for a file that does not exist: reading it will report that.
bool MayBeWrittenBy(std::filesystem::perms who, const std::string& path) {
  std::error_code error;
  const std::filesystem::perms perms = std::filesystem::status(path, error).permissions();
  return !error && (perms & who) != std::filesystem::perms::none;
}

// Whoever may write a plugin's file can run anything with berth's rights. A directory that anybody may write is
// allowed: kubelets make an emptyDir like that, which only containers of the same pod can reach.
Expected<void> CheckWriters(const std::string& file) {
  if (MayBeWrittenBy(std::filesystem::perms::others_write, file))
    return InvalidError("may be written by anybody: chmod o-w it, or take it away");
  if (MayBeWrittenBy(std::filesystem::perms::group_write, file))
    return InvalidError("may be written by its group: chmod g-w it, or take it away");
  return {};
}

}  // namespace

Expected<std::vector<plugins::OwnPlugin>> LoadPlugins(const std::string& directory, Milliseconds patience) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(directory));
  if (MayBeWrittenBy(std::filesystem::perms::others_write, directory)) {
    log::Warning("app", "The plugin directory may be written by anybody, who could put plugins into it",
                 {{"directory", directory}});
  }
  std::vector<plugins::OwnPlugin> loaded;
  for (const std::string& file : files) {
    if (const auto safe = CheckWriters(file); !safe.ok()) return safe.error().Wrap(file);
    const auto abi = ReadPluginAbi(file);
    if (!abi.ok()) return abi.error().Wrap(file);
    if (const auto fits = CheckPluginAbi(*abi, framework::kPluginAbi); !fits.ok()) return fits.error().Wrap(file);
    if (const auto tried = TryInChild(file, patience); !tried.ok()) return tried.error().Wrap(file);
    auto registrations = LoadFile(file);
    if (!registrations.ok()) return registrations.error().Wrap(file);
    for (PluginRegistration& registration : *registrations) loaded.push_back({std::move(registration), file});
  }
  return loaded;
}

}  // namespace berth::plugin_files
