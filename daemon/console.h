#pragma once
// Exit codes, standard output and standard error of the three programs.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Exit codes are an interface (docs/command-line.md). No command has two of those that are 2.
/// Others say 2 in the sense of one of these: policies --diff and migrate --check (kExitChanges), why
/// (kExitNone); status, that a daemon is not ready.
inline constexpr int kExitSame = 0;     // nothing to change, all well
inline constexpr int kExitError = 1;    // the command could not do its work
inline constexpr int kExitChanges = 2;  // plan: something would be written
inline constexpr int kExitNone = 2;     // match: an answer, and nothing matches
inline constexpr int kExitDrift = 2;    // drift: a field differs
inline constexpr int kExitUnsure = 3;   // why: an answer, and not a sure one

/// Sets the name that complain() begins with; without it: that of Program::kNode. Called once, before threads start.
void speak_as(config::Program program);

/// Before anything else is opened: no file or connection of ours gets the number of a standard file that the parent process
/// has closed. What is printed then fails, as it should.
void open_standard_files();

/// Writes to stdout and says on stderr when that fails (a full disk, a closed pipe).
/// False then; a command that prints more ends with kExitError.
bool print(std::string_view text);
/// On stderr, after the name of the program and ": ": a line, or several. Foreign text in it is made fit for a terminal.
void complain(std::string_view text);

/// While it exists, complain() on its thread collects lines here, without the program's name, and writes nothing: for a command
/// that is run within another one. One per thread at a time.
class CapturedComplaints {
 public:
  CapturedComplaints();
  ~CapturedComplaints();
  CapturedComplaints(const CapturedComplaints&) = delete;
  CapturedComplaints& operator=(const CapturedComplaints&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace sliced::cli
