// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/re_exec.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "berth/base/fixed_text.h"
#include "berth/base/log_writer.h"
#include "berth/base/subject.h"
#include "berth/shell/recording/recorder.h"

namespace berth::app {
namespace {

// What one program tells the next: when it failed (CLOCK_MONOTONIC, seconds), and the subjects, by spaces.
constexpr const char* kVariable = "BERTH_BEGUN_ANEW";
constexpr std::size_t kSubjectsMax = 64;
constexpr long kApart = 60;  // seconds
constexpr int kDescriptorsMax = 65536;

// All that the signal handler needs, made before: it may allocate nothing.
struct NextProgram {
  std::string arguments;         // each ends with a 0, as in /proc/self/cmdline
  std::vector<char*> argv, env;  // env's first is `variable`
  FixedText<8192> variable;
  std::string subjects;  // of earlier failures
  long failed_at = -1;   // the last time; -1: never
  pid_t process = 0;     // whose it is: a child's failures are its own
};
NextProgram* next = nullptr;

void Say(const char* text) noexcept {
  // There is nobody to tell that this failed.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

// Connections end; the standard streams stay. Safe in a signal handler; returns when it fails.
void ReplaceProgram() noexcept {
  for (int fd = STDERR_FILENO + 1; fd < kDescriptorsMax; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  execve("/proc/self/exe", next->argv.data(), next->env.data());
}

// Only what is safe in a signal handler.
void OnAbort(int) {
  if (getpid() != next->process) return;
  recording::Recorder::WriteTailsOnFailure();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (next->failed_at >= 0 && now.tv_sec - next->failed_at < kApart) {
    Say("berth: this is the second failure within a minute: ending\n");
    return;  // and abort() goes on
  }
  const char* const subject = Subject::Current();
  FixedText<8192>& variable = next->variable;
  variable.Add(kVariable);
  variable.Add("=");
  variable.AddNumber(now.tv_sec);
  if (*subject != '\0') {
    Say("berth: it happened while the pod of this uid was being worked on, which is set aside: ");
    Say(subject);
    Say("\n");
    variable.Add(" ");
    variable.Add(subject);
  }
  variable.Add(next->subjects.c_str());
  Say("berth: beginning anew, with what the API server has; a second failure within a minute ends the process\n");
  // The mask is inherited, and this signal is blocked while it is handled.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGABRT);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ReplaceProgram();
  Say("berth: cannot begin anew: ");
  Say(strerrorname_np(errno));
  Say("\n");
}

std::set<std::string, std::less<>> ReadSubjects(NextProgram& program) {
  std::set<std::string, std::less<>> subjects;
  const char* const value = std::getenv(kVariable);
  if (value == nullptr) return subjects;
  std::istringstream words(value);
  if (!(words >> program.failed_at)) program.failed_at = -1;
  for (std::string subject; subjects.size() < kSubjectsMax && words >> subject;) {
    if (subjects.insert(subject).second) program.subjects += " " + subject;
  }
  // No business of the programs that this one starts.
  unsetenv(kVariable);
  return subjects;
}

}  // namespace

std::set<std::string, std::less<>> ReExecOnFailure() {
  static NextProgram program;
  std::set<std::string, std::less<>> subjects = ReadSubjects(program);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  program.arguments.assign(std::istreambuf_iterator<char>(file), {});
  for (std::size_t at = 0; at < program.arguments.size(); at = program.arguments.find('\0', at) + 1) {
    program.argv.push_back(&program.arguments[at]);
  }
  if (program.argv.empty()) return subjects;  // no /proc: failures end the process
  program.argv.push_back(nullptr);
  program.env.push_back(program.variable.data());
  for (char** entry = environ; *entry != nullptr; ++entry) program.env.push_back(*entry);
  program.env.push_back(nullptr);
  program.process = getpid();
  next = &program;
  struct sigaction action{};
  action.sa_handler = OnAbort;
  sigaction(SIGABRT, &action, nullptr);
  return subjects;
}

Error ReExec() {
  if (next == nullptr) return {ErrorCode::kInternal, "/proc/self/cmdline cannot be read"};
  next->variable.Add((std::string(kVariable) + "=" + std::to_string(next->failed_at) + next->subjects).c_str());
  log::Flush(log::AsyncWriter::kEndMax);
  ReplaceProgram();
  return {ErrorCode::kInternal, strerrorname_np(errno)};
}

}  // namespace berth::app
