#pragma once
// build/sliced as a child of the test.
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace sliced::process {

class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Runs the program words[0] with these outputs; `prepare` runs in the child before it. Returns why the program could not be
  /// run, or "". It ends with the test.
  std::string start(std::vector<std::string> words, std::vector<std::string> variables, int out, int err,
                    void (*prepare)() = nullptr);
  pid_t pid() const { return pid_; }
  bool has_ended() const;
  /// Waits until it has ended and returns its exit status, or 1000 + the signal that ended it; -1 when there is none.
  int wait();
  /// SIGTERM, and then wait().
  int stop();
  /// Calls `holds` every 0.1 s until it returns true; false when the child has ended before, or patience().
  bool wait_until(const std::function<bool()>& holds) const;

 private:
  pid_t pid_ = -1;
};

}  // namespace sliced::process
