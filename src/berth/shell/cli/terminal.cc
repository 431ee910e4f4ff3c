// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/terminal.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace berth::cli {
namespace {

std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

FileTerminal::FileTerminal(int fd) : fd_(fd) {
  // A dumb terminal cannot move its cursor either.
  is_tty_ = ::isatty(fd) == 1 && Environment("TERM") != "dumb";
  has_color_ = is_tty_ && Environment("NO_COLOR").empty();
}

TerminalSize FileTerminal::Size() const {
  winsize size{};
  TerminalSize result;
  if (is_tty_ && ::ioctl(fd_, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) result.columns = size.ws_col;
    if (size.ws_row > 0) result.rows = size.ws_row;
  }
  return result;
}

void FileTerminal::Write(std::string_view text) {
  while (!text.empty() && !is_broken_) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Somebody who shares the terminal made it non-blocking.
      pollfd wait{.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      is_broken_ = true;
    }
  }
}

}  // namespace berth::cli
