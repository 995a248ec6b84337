#include "cli/fleet/followed_edit.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "cli/fleet/own_program.h"

namespace sliced::cli {
namespace {

constexpr Millis kEditOldAfter{30'000}, kEditMax{120'000};
constexpr int kEditedAgainMax = 3;  // for those who wait while somebody writes the file

}  // namespace

struct FollowedEdit::Waiting final : http::Call {
  Waiting(FollowedEdit& of, std::function<void()> then) : of(of), then(std::move(then)) {
    of.waiting_.push_back(this);
  }
  ~Waiting() override { of.waiting_.remove(this); }
  FollowedEdit& of;
  std::function<void()> then;
};

std::string FollowedEdit::stamp_of(const std::string& file) {
  struct stat is{};
  if (stat(file.c_str(), &is) != 0) return "";
  std::string out;
  for (const auto part :
       {static_cast<int64_t>(is.st_dev), static_cast<int64_t>(is.st_ino), static_cast<int64_t>(is.st_size),
        static_cast<int64_t>(is.st_mtim.tv_sec), static_cast<int64_t>(is.st_mtim.tv_nsec),
        static_cast<int64_t>(is.st_ctim.tv_sec), static_cast<int64_t>(is.st_ctim.tv_nsec)})
    out += std::to_string(part) + " ";
  return out;
}

const EditEffect& FollowedEdit::look() {
  const bool is_old = loop_.scheduler().now() - told_at_ > kEditOldAfter;
  if (child_ == nullptr && (!is_known_ || is_old || stamp_of(options_.diff_file) != told_stamp_)) {
    again_ = 0;
    ask();
  }
  return told_;
}

std::unique_ptr<http::Call> FollowedEdit::when_current(std::function<void()> then) {
  look();
  if (is_known_ && stamp_of(options_.diff_file) == told_stamp_) return then(), nullptr;
  if (child_ == nullptr) return then(), nullptr;  // it cannot be asked, which is told
  return std::make_unique<Waiting>(*this, std::move(then));
}

void FollowedEdit::ask() {
  stamp_ = stamp_of(options_.diff_file);
  auto child = reactor::Child::start(loop_,
                                     {.argv = edit_program(options_),
                                      .env = {},
                                      .input = {},
                                      .deadline = kEditMax,
                                      .output_bytes_max = kEditBytesMax},
                                     [this](const reactor::ChildResult& result) { take(result); });
  if (child)
    child_ = std::move(*child);
  else
    take({.exit_status = 1, .out = {}, .err = child.error().what});
}

void FollowedEdit::take(const reactor::ChildResult& result) {
  child_.reset();
  if (stamp_of(options_.diff_file) != stamp_ && ++again_ <= kEditedAgainMax) return ask();
  told_ = edit_effect(options_.diff_file, result);
  told_stamp_ = stamp_;
  told_at_ = loop_.scheduler().now();
  is_known_ = true;
  if (std::string said = html_of(told_); said != said_) said_ = std::move(said), ++moment_;
  while (!waiting_.empty()) {
    Waiting* const first = waiting_.front();
    waiting_.pop_front();
    std::exchange(first->then, nullptr)();
  }
}

}  // namespace sliced::cli
