#pragma once
// Exit codes, standard output and standard error of the three programs.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::daemon {

/// Exit codes are an interface (docs/command-line.md). No command uses two of the constants with value 2.
/// Other commands use 2 in a similar meaning: policies --diff and migrate --check (kExitChanges), why
/// (kExitNone); status, if the daemon is not ready.
inline constexpr int kExitSame = 0;     // no difference, or success
inline constexpr int kExitError = 1;    // the command failed
inline constexpr int kExitChanges = 2;  // plan: there are changes to write
inline constexpr int kExitNone = 2;     // match: valid answer, no match
inline constexpr int kExitDrift = 2;    // drift: a field differs
inline constexpr int kExitUnsure = 3;   // why: an uncertain answer

/// Sets the program's name for print_error(); the default is that of Program::kNode. Called once, before threads
/// start.
void set_program_name(config::Program program);

/// Opens /dev/null for standard files that the parent process has closed, so that no other file or connection
/// gets their numbers. Printing to them then fails. Called before anything else is opened.
void open_standard_files();

/// Writes to stdout. Returns false and reports on stderr if that fails (a full disk, a closed pipe); a
/// command that prints more ends with kExitError.
bool print(std::string_view text);
/// Writes one or several lines to stderr, after the name of the program and ": ". Escapes control characters.
void print_error(std::string_view text);

/// While it exists, print_error() on its thread appends lines here, without the program's name, instead of
/// writing them: for a command that is run within another one. One per thread at a time.
class CapturedErrors {
 public:
  CapturedErrors();
  ~CapturedErrors();
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace sliced::daemon
