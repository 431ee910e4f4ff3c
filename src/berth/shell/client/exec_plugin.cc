// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/codec/json.h"

namespace berth::client {
namespace {

constexpr int kSliceMs = 20;  // how often we look whether the child has ended or we should stop
constexpr std::size_t kErrorTextMax = 512;

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

bool OpenPipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.reader = FileDescriptor(ends[0]);
  pipe.writer = FileDescriptor(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

std::string ErrnoText(int number) { return std::generic_category().message(number); }

// The child's environment: ours, the plugin's own variables, and what Kubernetes tells a plugin.
std::vector<std::string> Environment(const ExecPlugin& plugin, bool is_interactive) {
  std::vector<std::string> variables;
  const auto set = [&variables](const std::string& name, const std::string& value) {
    std::erase_if(variables, [&](const std::string& v) { return v.starts_with(name + '='); });
    variables.push_back(name + '=' + value);
  };
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  for (const auto& [name, value] : plugin.env) set(name, value);

  codec::json::object spec{{"interactive", is_interactive}};
  if (plugin.provide_cluster_info) spec["cluster"] = plugin.cluster_info;
  const codec::json::object info{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}};
  set("KUBERNETES_EXEC_INFO", codec::WriteJson(info));
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Reads what the pipe holds now. False when the writer's end is closed.
bool Drain(int fd, std::string& text, std::size_t bytes_max) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count > 0) {
      if (text.size() <= bytes_max) text.append(chunk.data(), static_cast<std::size_t>(count));
      if (text.size() > bytes_max) return true;
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    return count < 0 && errno == EAGAIN;
  }
}

class Child {
 public:
  Child(pid_t pid, bool has_group) : pid_(pid), has_group_(has_group) {}
  ~Child() {
    if (!has_ended_) {
      Kill();
      while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Kill() const { ::kill(has_group_ ? -pid_ : pid_, SIGKILL); }
  bool HasEnded() {
    if (!has_ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) has_ended_ = true;
    return has_ended_;
  }
  std::string Failure() const {
    if (WIFSIGNALED(status_)) return "was ended by signal " + std::to_string(WTERMSIG(status_));
    if (WIFEXITED(status_) && WEXITSTATUS(status_) != 0)
      return "exited with code " + std::to_string(WEXITSTATUS(status_));
    return {};
  }

 private:
  pid_t pid_;
  bool has_group_;
  bool has_ended_ = false;
  int status_ = 0;
};

std::string LastWords(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty()) return {};
  std::string line(text.substr(text.size() - std::min(text.size(), kErrorTextMax)));
  std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return ": " + line;
}

}  // namespace

Expected<std::string> RunExecPlugin(const ExecPlugin& plugin, const std::atomic<bool>& is_stopping) {
  const auto fail = [&plugin](std::string what) {
    std::string message = "credential plugin " + plugin.command + ' ' + std::move(what);
    return Error{ErrorCode::kUnauthorized, std::move(message)};
  };
  const bool is_interactive = plugin.interactive != ExecPlugin::Interactive::kNever && ::isatty(STDIN_FILENO) != 0;
  if (plugin.interactive == ExecPlugin::Interactive::kAlways && !is_interactive) {
    return fail("wants to talk to somebody (interactiveMode: Always), but standard input is no terminal");
  }

  Pipe out;
  Pipe err;
  if (!OpenPipe(out) || !OpenPipe(err)) return fail("cannot be started: " + ErrnoText(errno));

  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = Environment(plugin, is_interactive);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.writer.get(), STDOUT_FILENO);
  // With a terminal the user must see the plugin's questions. Without one its error output becomes a part of our error.
  if (!is_interactive) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, err.writer.get(), STDERR_FILENO);
  }
  // Closes what libraries have left open: a child that does not end must not keep one of our ports.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // In a process group of its own we can end its children, too. An interactive plugin stays in our group: a background
  // group could not read from the terminal.
  const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  posix_spawnattr_setflags(&attributes, is_interactive ? flags : static_cast<short>(flags | POSIX_SPAWN_SETPGROUP));
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int problem = ::posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes, argument_pointers.data(),
                                     environment_pointers.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) {
    std::string what = "cannot be started: " + ErrnoText(problem);
    if (!plugin.install_hint.empty()) what += "; " + plugin.install_hint;
    std::replace(what.begin(), what.end(), '\n', ' ');
    return fail(std::move(what));
  }
  out.writer.Close();
  err.writer.Close();

  Child child(pid, !is_interactive);
  std::string printed;
  std::string complaint;
  bool is_out_open = true;
  bool is_err_open = true;
  const SystemClock clock;
  const Time until = clock.Now() + plugin.time_limit;
  for (;;) {
    if (is_stopping)
      return Error{ErrorCode::kCancelled, "credential plugin " + plugin.command + " was ended: we are shutting down"};
    const bool had_ended = child.HasEnded();
    std::array<pollfd, 2> fds{pollfd{is_out_open ? out.reader.get() : -1, POLLIN, 0},
                              pollfd{is_err_open ? err.reader.get() : -1, POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), had_ended ? 0 : kSliceMs);
    if (ready > 0) {
      if (fds[0].revents != 0) is_out_open = Drain(out.reader.get(), printed, plugin.output_bytes_max);
      if (fds[1].revents != 0) {
        is_err_open = Drain(err.reader.get(), complaint, 8 * kErrorTextMax);
        if (complaint.size() > 4 * kErrorTextMax) complaint.erase(0, complaint.size() - kErrorTextMax);
      }
      if (printed.size() > plugin.output_bytes_max) {
        return fail("printed more than " + std::to_string(plugin.output_bytes_max) +
                    " bytes; it should print one ExecCredential");
      }
      if (!is_out_open && !is_err_open && !child.HasEnded()) {
        ::poll(nullptr, 0, 1);
      }
    } else {
      // The plugin has ended and there is nothing more to read. A process that it left behind may hold the pipe open
      // for ever.
      if (had_ended) break;
    }
    // The limit holds even while the plugin keeps writing.
    if (clock.Now() >= until) {
      return fail("gave no answer within " + FormatGoDuration(plugin.time_limit) + " and was ended" +
                  LastWords(complaint));
    }
  }
  if (const std::string failure = child.Failure(); !failure.empty()) {
    std::string what = failure + LastWords(complaint);
    if (!plugin.install_hint.empty() && failure.ends_with("127")) what += "; " + plugin.install_hint;
    return fail(std::move(what));
  }
  return printed;
}

}  // namespace berth::client
