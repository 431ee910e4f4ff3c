// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "berth/base/text.h"

namespace berth::client {

Expected<std::string> ReadSmallFile(const std::string& path, std::size_t bytes_max) {
  const auto fail = [&path](int number) {
    const ErrorCode code = number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid;
    std::string text = std::generic_category().message(number);
    if (!text.empty()) text[0] = LowerCase(text[0]);
    return Error{code, path + ": " + text};
  };
  // Opening a pipe without a writer would block.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(errno);
  std::string text;
  std::array<char, 16384> chunk;
  int problem = 0;
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(count));
      if (text.size() > bytes_max) break;
    } else if (count == 0) {
      break;
    } else if (errno != EINTR) {
      problem = errno;
      break;
    }
  }
  ::close(fd);
  if (problem != 0) return fail(problem);
  if (text.size() > bytes_max) {
    return Error{ErrorCode::kTooLarge,
                 path + ": longer than " + std::to_string(bytes_max) + " bytes, is it the right file?"};
  }
  return text;
}

Expected<std::string> ReadTokenFile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, std::size_t{64} << 10));
  std::string token(Trim(text, " \t\r\n"));
  if (token.empty()) return InvalidError(path + ": holds no token");
  if (token.find_first_of("\r\n") != std::string::npos) return InvalidError(path + ": a token is one line");
  return token;
}

}  // namespace berth::client
