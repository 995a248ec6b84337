#include "daemon/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "config/command_table.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

config::Program speaker = config::Program::kNode;
thread_local std::string* captured = nullptr;

}  // namespace

void set_program_name(config::Program program) { speaker = program; }

void open_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // open() uses the lowest free number
      (void)::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

bool print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return true;
  // The reader has closed the pipe after reading enough: `| head`.
  if (errno == EPIPE) return true;
  print_error("standard output cannot be written");
  return false;
}

void print_error(std::string_view text) {
  constexpr size_t kLineMax = 16u << 10;
  std::string out = captured != nullptr ? "" : std::string(config::info_of(speaker).name) + ": ";
  for (const std::string_view line : split(text, '\n')) out += printable(line, kLineMax) + "\n";
  if (captured != nullptr)
    *captured += out;
  else
    std::fputs(out.c_str(), stderr);
}

CapturedErrors::CapturedErrors() { captured = &text_; }
CapturedErrors::~CapturedErrors() { captured = nullptr; }

}  // namespace sliced::daemon
