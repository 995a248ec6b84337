#pragma once
// Standard output as a terminal: whether it is one, and drawing it anew again and again.
#include <termios.h>

#include <functional>
#include <memory>
#include <string_view>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"
#include "reactor/loop.h"
#include "reactor/poll.h"

namespace sliced::cli {

/// Standard output is a terminal.
bool is_terminal();
/// It is one and takes colours: not with NO_COLOR (https://no-color.org) or TERM=dumb.
bool has_colours();

/// The terminal while somebody draws on it: its other screen, and keys as they are pressed. Given back when this goes.
/// Signals stay: Ctrl-C is SIGINT, and who ends by one destroys this first. It is the process' controlling
/// terminal (/dev/tty), whatever standard input is; standard output is drawn on.
/// Reentry: on_key may not destroy the Screen.
class Screen {
 public:
  struct Size {
    size_t rows = 24, columns = 80;
  };
  /// on_key: on the loop, each byte that is typed. Errors: there is no terminal to read from.
  static Result<std::unique_ptr<Screen>> open(reactor::Loop& loop, std::function<void(char key)> on_key);
  ~Screen();
  Screen(const Screen&) = delete;

  /// As it is now (TIOCGWINSZ); where the terminal does not say it, 24 rows of 80.
  Size size() const;
  /// In place of what is there. text: whole lines that fit.
  void show(std::string_view text);

 private:
  Screen(reactor::Descriptor terminal, std::function<void(char key)> on_key)
      : terminal_(std::move(terminal)), on_key_(std::move(on_key)) {}
  void read_keys();

  // A descriptor of its own: what is set of it is not the shell's.
  const reactor::Descriptor terminal_;
  const std::function<void(char key)> on_key_;
  termios before_{};
  std::unique_ptr<reactor::Poll> poll_;
};

}  // namespace sliced::cli
