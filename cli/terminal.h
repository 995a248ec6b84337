#pragma once
// Standard output as a terminal, and repeated drawing on it.
#include <termios.h>

#include <functional>
#include <memory>
#include <string_view>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"
#include "reactor/loop.h"
#include "reactor/poll.h"

namespace sliced::cli {

/// Returns whether standard output is a terminal.
bool is_terminal();
/// Returns whether it is one that supports colors: not with NO_COLOR (https://no-color.org) or TERM=dumb.
bool has_colours();

/// The terminal in full-screen mode: the alternate screen, and unbuffered keys. The destructor restores it.
/// Signals are unchanged: Ctrl-C is SIGINT, and a program that ends because of it destroys this object first.
/// Keys are read from the controlling terminal (/dev/tty), independent of standard input; output is on
/// standard output.
class Screen {
 public:
  struct Size {
    size_t rows = 24, columns = 80;
  };
  /// on_key: called on the loop for each typed byte. Errors: there is no terminal to read from.
  static Result<std::unique_ptr<Screen>> open(reactor::Loop& loop, std::function<void(char key)> on_key);
  ~Screen();
  Screen(const Screen&) = delete;

  /// Returns the current size (TIOCGWINSZ); 24 rows of 80 if the terminal does not report it.
  Size size() const;
  /// Replaces the screen's content. text: whole lines that fit.
  void show(std::string_view text);

 private:
  Screen(reactor::Descriptor terminal, std::function<void(char key)> on_key)
      : terminal_(std::move(terminal)), on_key_(std::move(on_key)) {}
  void read_keys();

  // A separate descriptor, whose flags the shell does not share.
  const reactor::Descriptor terminal_;
  const std::function<void(char key)> on_key_;
  termios before_{};
  std::unique_ptr<reactor::Poll> poll_;
};

}  // namespace sliced::cli
