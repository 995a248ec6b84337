#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "daemon/console.h"

namespace sliced::cli {
namespace {

// xterm's alternate screen, with a hidden cursor; leaving it restores the content.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

}  // namespace

bool is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }

bool has_colours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return is_terminal() && (no_colour == nullptr || *no_colour == '\0') && kind != nullptr &&
         std::strcmp(kind, "dumb") != 0;
}

Result<std::unique_ptr<Screen>> Screen::open(reactor::Loop& loop, std::function<void(char)> on_key) {
  reactor::Descriptor terminal(::open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!terminal) return Error{Errc::kIo, std::string("/dev/tty: ") + std::strerror(errno)};
  std::unique_ptr<Screen> out(new Screen(std::move(terminal), std::move(on_key)));
  if (::tcgetattr(out->terminal_.get(), &out->before_) != 0)
    return Error{Errc::kIo, std::string("/dev/tty: ") + std::strerror(errno)};
  auto poll = reactor::Poll::open(loop, out->terminal_.get(),
                                  [screen = out.get()](reactor::Poll::Ready) { screen->read_keys(); });
  if (!poll) return std::move(poll.error());
  out->poll_ = std::move(*poll);
  out->poll_->interest(/*readable=*/true, /*writable=*/false);
  termios raw = out->before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(out->terminal_.get(), TCSANOW, &raw);
  daemon::print(kEnter);
  return out;
}

Screen::~Screen() {
  if (!poll_) return;
  daemon::print(kLeave);
  ::tcsetattr(terminal_.get(), TCSANOW, &before_);
}

Screen::Size Screen::size() const {
  winsize found{};
  if (::ioctl(terminal_.get(), TIOCGWINSZ, &found) != 0 || found.ws_row == 0 || found.ws_col == 0) return {};
  return {found.ws_row, found.ws_col};
}

void Screen::show(std::string_view text) {
  // A line end in the last line of the screen would have it scroll.
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string out(kHome);
  for (const char c : text) {
    if (c == '\n') out += kClearLine;
    out += c;
  }
  daemon::print(out += kClearBelow);
}

void Screen::read_keys() {
  char keys[64];
  const ssize_t size = ::read(terminal_.get(), keys, sizeof keys);
  if (size == 0) poll_->interest(false, false);  // the terminal is closed; SIGHUP follows
  for (ssize_t i = 0; i < size; ++i) on_key_(keys[i]);
}

}  // namespace sliced::cli
