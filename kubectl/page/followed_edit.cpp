#include "kubectl/page/followed_edit.h"

#include <sys/stat.h>

#include <utility>

namespace sliced::kubectl {
namespace {

constexpr Millis kEditMax{120'000};

std::string stamp_of(const std::string& file) {
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

}  // namespace

struct FollowedEdit::Waiting final : http::Call {
  Waiting(FollowedEdit& of, std::function<void()> then) : of(of), then(std::move(then)) {
    of.waiting_.push_back(this);
  }
  ~Waiting() override { of.waiting_.remove(this); }
  FollowedEdit& of;
  std::function<void()> then;
};

const EditEffect& FollowedEdit::look() {
  const bool is_old = world_.scheduler.now() - computed_at_ > kEditOldAfter;
  if (question_ == nullptr && (!is_known_ || is_old || world_.stamp() != shown_stamp_)) {
    again_ = 0;
    ask();
  }
  return effect_;
}

std::unique_ptr<http::Call> FollowedEdit::when_current(std::function<void()> then) {
  look();
  if (is_known_ && world_.stamp() == shown_stamp_) {
    then();
    return nullptr;
  }
  // The computation cannot be started; the result contains the reason.
  if (question_ == nullptr) {
    then();
    return nullptr;
  }
  if (waiting_.size() >= kEditWaitingMax) {
    then();
    return nullptr;
  }
  return std::make_unique<Waiting>(*this, std::move(then));
}

void FollowedEdit::ask() {
  stamp_ = world_.stamp();
  auto question = world_.start([this](const CommandResult& result) { take(result); });
  if (question)
    question_ = std::move(*question);
  else
    take({.exit_status = daemon::kExitError, .out = {}, .err = question.error().what});
}

void FollowedEdit::take(const CommandResult& result) {
  question_.reset();
  if (world_.stamp() != stamp_ && ++again_ <= kEditedAgainMax) return ask();
  effect_ = edit_effect(world_.file, result);
  shown_stamp_ = stamp_;
  computed_at_ = world_.scheduler.now();
  is_known_ = true;
  if (std::string said = html_of(effect_); said != shown_text_) {
    shown_text_ = std::move(said);
    ++moment_;
  }
  while (!waiting_.empty()) {
    Waiting* const first = waiting_.front();
    waiting_.pop_front();
    std::exchange(first->then, nullptr)();
  }
}

FollowedEdit::World edit_world(reactor::Scheduler& scheduler, Questions& questions,
                               const config::Options& options) {
  return {.file = options.diff_file,
          .scheduler = scheduler,
          .stamp = [&options] { return stamp_of(options.diff_file); },
          .start = [&questions, &options](Questions::Done done) -> Result<std::shared_ptr<void>> {
            // Reading a pipe would block, and can be done once only.
            struct stat is{};
            if (stat(options.diff_file.c_str(), &is) == 0 && !S_ISREG(is.st_mode))
              return Error{Errc::kInvalid,
                           options.diff_file + ": is not a regular file, which a page could follow"};
            auto question = questions.ask(
                [options](const IsCancelled& is_cancelled) { return answer_edit(options, is_cancelled); },
                kEditMax, std::move(done));
            if (!question)
              return Error{Errc::kTooLarge, "an earlier question has not ended; it is asked again"};
            return std::shared_ptr<void>(std::move(question));
          }};
}

}  // namespace sliced::kubectl
