// SPDX-License-Identifier: Apache-2.0
#include "berth/app/authors/plugin_crash.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include "berth/base/fixed_text.h"
#include "berth/framework/plugin_abi.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"

// A handler of signals may use what is here and nothing else: texts of fixed size that were written before.

namespace berth::app {
namespace {

constexpr std::size_t kTextMax = 1024;
constexpr std::size_t kPluginsMax = 256;
constexpr int kFramesMax = 64;
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

struct Plugin {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  char file[kTextMax] = {};
};

struct State {
  std::atomic<bool> is_watching{false};
  std::size_t plugin_count = 0;
  Plugin plugins[kPluginsMax];
  char where[kTextMax] = {};  // "case ..., of file ..."
  char stack[std::size_t{64} << 10];
};

State& TheState() {
  static State state;
  return state;
}

void Copy(char (&to)[kTextMax], const std::string& text) {
  const std::string shown = cli::Printable(text);
  const std::size_t size = std::min(shown.size(), kTextMax - 1);
  std::memcpy(to, shown.data(), size);
  to[size] = '\0';
}

struct LoadedObject {
  std::string name;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

int RecordObject(dl_phdr_info* info, std::size_t, void* to) {
  LoadedObject object{.name = info->dlpi_name};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    object.begin = std::min(object.begin, begin);
    object.end = std::max(object.end, begin + segment.p_memsz);
  }
  if (!object.name.empty()) static_cast<std::vector<LoadedObject>*>(to)->push_back(std::move(object));
  return 0;
}

void RecordPlugins(State& state) {
  std::vector<LoadedObject> objects;
  ::dl_iterate_phdr(RecordObject, &objects);
  state.plugin_count = 0;
  for (const LoadedObject& object : objects) {
    void* const library = ::dlopen(object.name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (::dlsym(library, framework::kPluginEntry) != nullptr && state.plugin_count < kPluginsMax) {
      Plugin& plugin = state.plugins[state.plugin_count++];
      plugin.begin = object.begin;
      plugin.end = object.end;
      Copy(plugin.file, object.name);
    }
    ::dlclose(library);
  }
}

// The plugin that runs, or has called what runs.
std::string_view PluginOnStack(const State& state) {
  void* frames[kFramesMax];
  const int count = ::backtrace(frames, kFramesMax);
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    for (std::size_t p = 0; p < state.plugin_count; ++p) {
      if (address >= state.plugins[p].begin && address < state.plugins[p].end) return state.plugins[p].file;
    }
  }
  return "a plugin, or berth itself,";
}

[[noreturn]] void PrintAndEnd(std::string_view what, int number, std::string_view name) {
  const State& state = TheState();
  FixedText<3 * kTextMax> line;
  line.Add("berth: ");
  line.Add(PluginOnStack(state));
  line.Add(what);
  if (number > 0) {
    line.AddNumber(number);
    line.Add(", ");
    line.Add(name);
    line.Add(")");
  }
  line.Add(state.where);
  line.Add("\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.view().data(), line.view().size());
  ::_exit(cli::kExitFailed);
}

std::string_view SignalName(int number) {
  switch (number) {
    case SIGSEGV: return "Segmentation fault";
    case SIGBUS: return "Bus error";
    case SIGFPE: return "Floating point exception";
    case SIGILL: return "Illegal instruction";
    case SIGABRT: return "Aborted";
    default: return "Trap";
  }
}

extern "C" void BerthOnFatalSignal(int number) {
  // A second one, in here, ends the process.
  if (TheState().is_watching.exchange(false)) PrintAndEnd(" crashes (signal ", number, SignalName(number));
  ::_exit(cli::kExitFailed);
}

void OnExit() {
  if (TheState().is_watching.exchange(false)) PrintAndEnd(" ends the process", 0, "");
}

}  // namespace

PluginCrash::PluginCrash() {
  State& state = TheState();
  state.where[0] = '\0';
  RecordPlugins(state);
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);  // loads what it needs
  stack_t stack{};
  stack.ss_sp = state.stack;
  stack.ss_size = sizeof state.stack;
  ::sigaltstack(&stack, nullptr);  // where the other has overflowed
  for (const int number : kSignals) {
    struct sigaction before{};
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_handler = BerthOnFatalSignal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(number, &action, nullptr);
  }
  static const bool kRegistered = std::atexit(OnExit) == 0;
  (void)kRegistered;
  state.is_watching.store(true);
}

PluginCrash::~PluginCrash() {
  TheState().is_watching.store(false);
  for (const int number : kSignals) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == BerthOnFatalSignal) std::signal(number, SIG_DFL);
  }
}

void PluginCrash::SetCase(const std::string& file, const std::string& test) {
  Copy(TheState().where, ": in the case \"" + test + "\" of " + file);
}

}  // namespace berth::app
