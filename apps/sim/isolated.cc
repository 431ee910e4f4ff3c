// SPDX-License-Identifier: Apache-2.0
#include "isolated.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::program_sim {
namespace {

// One line: "begin SEED", or "end SEED HASH SETTLED BOUND ... CHECK\tVIOLATION".
std::string Line(std::uint64_t seed, const Report& report) {
  std::ostringstream line;
  line << "end " << seed << ' ' << report.hash << ' ' << report.settled.count() << ' ' << report.bound << ' '
       << report.evicted << ' ' << report.requests << ' ' << report.faults << ' ' << report.lives << ' '
       << report.leaders << ' ' << report.promises << ' ' << report.waiting << ' ';
  std::string violation = report.violation;
  for (char& c : violation) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  line << report.check << '\t' << violation << '\n';
  return line.str();
}

std::pair<std::uint64_t, Report> ParseEnd(const std::string& line) {
  std::istringstream in(line);
  std::string word;
  std::uint64_t seed = 0;
  Report report;
  std::int64_t settled = 0;
  in >> word >> seed >> report.hash >> settled >> report.bound >> report.evicted >> report.requests >> report.faults >>
      report.lives >> report.leaders >> report.promises >> report.waiting;
  report.settled = Duration(settled);
  in.get();
  std::getline(in, report.check, '\t');
  std::getline(in, report.violation);
  return {seed, std::move(report)};
}

void WriteAll(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count <= 0) std::_Exit(3);
    written += static_cast<std::size_t>(count);
  }
}

struct Child {
  pid_t process = -1;
  int file = -1;
  std::string unread;
  std::uint64_t next = 0;  // the seed after the current one
  std::optional<std::uint64_t> running;
};

// Starts a process that runs `work`, whose output lines can be read.
Child Start(const std::function<void(int file)>& work) {
  std::array<int, 2> files{};
  if (::pipe(files.data()) != 0) {
    std::perror("berth-sim: pipe");
    std::exit(3);
  }
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) {
    std::perror("berth-sim: fork");
    std::exit(3);
  }
  if (process == 0) {
    ::close(files[0]);
    work(files[1]);
    std::fflush(nullptr);
    std::_Exit(0);
  }
  ::close(files[1]);
  Child child;
  child.process = process;
  child.file = files[0];
  return child;
}

// Waits for the process and describes how it ended: "killed by signal 6".
std::string Reap(const Child& child) {
  ::close(child.file);
  int status = 0;
  ::waitpid(child.process, &status, 0);
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

Report Crash(const std::string& how) {
  Report report;
  report.check = "crash";
  report.violation = "the process ended: " + how + "; what it said is above";
  return report;
}

}  // namespace

Report SimulateIsolated(const Plan& plan) {
  const Child child = Start([&plan](int file) { WriteAll(file, Line(plan.seed, Simulate(plan))); });
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t count = 0; (count = ::read(child.file, bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(count));
  const std::string how = Reap(child);
  if (!text.ends_with('\n')) return Crash(how);
  text.pop_back();
  return ParseEnd(text).second;
}

void SimulateSeeds(std::uint64_t first, std::uint64_t last, int jobs,
                   const std::function<bool(std::uint64_t seed, const Report& report)>& tell) {
  const auto stride = static_cast<std::uint64_t>(jobs);
  const auto start = [&](std::uint64_t from) {
    Child child = Start([from, last, stride](int file) {
      for (std::uint64_t seed = from; seed <= last; seed += stride) {
        WriteAll(file, "begin " + std::to_string(seed) + '\n');
        WriteAll(file, Line(seed, Simulate(MakePlan(seed))));
      }
    });
    child.next = from;
    return child;
  };
  std::vector<Child> children;
  for (std::uint64_t i = 0; i < stride && first + i <= last; ++i) children.push_back(start(first + i));
  bool goes_on = true;
  while (goes_on && !children.empty()) {
    std::vector<pollfd> files;
    for (const Child& child : children) files.push_back({child.file, POLLIN, 0});
    if (::poll(files.data(), files.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      Child& child = children[i];
      std::array<char, 4096> bytes{};
      const ssize_t count = ::read(child.file, bytes.data(), bytes.size());
      if (count > 0) {
        child.unread.append(bytes.data(), static_cast<std::size_t>(count));
        for (std::size_t end = 0; (end = child.unread.find('\n')) != std::string::npos;) {
          const std::string line = child.unread.substr(0, end);
          child.unread.erase(0, end + 1);
          if (line.starts_with("begin ")) {
            child.running = std::strtoull(line.c_str() + 6, nullptr, 10);
          } else {
            child.running.reset();
            const auto [seed, report] = ParseEnd(line);
            child.next = seed + stride;
            goes_on = tell(seed, report) && goes_on;
          }
        }
        continue;
      }
      const std::string how = Reap(child);
      child.process = -1;
      if (child.running) {
        goes_on = tell(*child.running, Crash(how)) && goes_on;
        child.next = *child.running + stride;
      }
      if (goes_on && child.next <= last && child.running) child = start(child.next);
    }
    std::erase_if(children, [](const Child& child) { return child.process < 0; });
  }
  // Ends processes whose results are no longer needed.
  for (const Child& child : children) {
    ::kill(child.process, SIGKILL);
    Reap(child);
  }
}

}  // namespace berth::program_sim
