#include "kubectl/page/questions.h"

#include <utility>

namespace sliced::kubectl {
namespace {

// Shared by worker and loop. The worker owns `result` until the executor reports its end.
struct QuestionState {
  std::atomic<bool> is_cancelled = false;
  CommandResult result;
};

// Counts a question from its start until the worker has ended, or never starts.
class Running {
 public:
  explicit Running(std::shared_ptr<std::atomic<size_t>> count) : count_(std::move(count)) { ++*count_; }
  ~Running() { --*count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const std::shared_ptr<std::atomic<size_t>> count_;
};

struct RunningQuestion final : Questions::Question {
  ~RunningQuestion() override { shared->is_cancelled = true; }
  std::shared_ptr<QuestionState> shared = std::make_shared<QuestionState>();
  std::unique_ptr<reactor::Job> job;
};

}  // namespace

std::unique_ptr<Questions::Question> Questions::ask(Answer answer, Millis deadline, Done done) {
  if (*running_ >= max_) return nullptr;
  auto question = std::make_unique<RunningQuestion>();
  const std::shared_ptr<QuestionState> shared = question->shared;
  question->job = executor_.run(
      [shared, answer = std::move(answer), running = std::make_shared<Running>(running_)] {
        shared->result = answer([&] { return shared->is_cancelled.load(); });
      },
      deadline,
      [shared, done = std::move(done)](bool finished) {
        if (finished) return done(shared->result);
        shared->is_cancelled = true;
        done({.exit_status = daemon::kExitError, .timed_out = true, .out = {}, .err = {}});
      });
  return question;
}

}  // namespace sliced::kubectl
