#include "kubelet/commits.h"

#include <utility>

namespace sliced::kubelet {
namespace {

Error not_begun() { return {Errc::kBusy, "the node's files cannot be written: too many reads of it hang"}; }

}  // namespace

struct Commits::Batch {
  std::vector<FileChange> changes;
  std::string checkpoint;
  std::vector<Done> done, filed;
  std::vector<Result<Unit>> results;
  Result<Unit> written = Unit{};
};

Commits::Commits(reactor::Executor& executor, std::shared_ptr<const Host> host,
                 std::function<std::string()> encode)
    : executor_(executor), host_(std::move(host)), encode_(std::move(encode)) {}

void Commits::add(Make make, Done done, Done filed) {
  waiting_.push_back({std::move(make), std::move(done), std::move(filed)});
  if (!is_running_) begin();
}

void Commits::begin() {
  is_running_ = true;
  auto batch = std::make_shared<Batch>();
  for (Waiting& one : std::exchange(waiting_, {})) {
    batch->changes.push_back(one.make());
    batch->done.push_back(std::move(one.done));
    batch->filed.push_back(std::move(one.filed));
  }
  const auto work = [batch, host = host_] { batch->results = host->apply(batch->changes); };
  job_ = executor_.run(work, Millis{0}, [this, batch](bool finished) {
    if (!finished) batch->results.assign(batch->done.size(), Result<Unit>(not_begun()));
    for (size_t i = 0; i < batch->filed.size(); ++i)
      if (batch->filed[i]) batch->filed[i](batch->results[i]);
    write_checkpoint(batch);
  });
}

// Its own copy, as finish(): the job that called this ends with it.
void Commits::write_checkpoint(std::shared_ptr<Batch> batch) {  // NOLINT(performance-unnecessary-value-param)
  batch->checkpoint = encode_();
  const auto work = [batch, host = host_] { batch->written = host->write_checkpoint(batch->checkpoint); };
  job_ = executor_.run(work, Millis{0}, [this, batch](bool finished) {
    if (!finished) batch->written = not_begun();
    finish(batch);
  });
}

// Its own copy: the job that called this ends with it.
void Commits::finish(std::shared_ptr<Batch> batch) {  // NOLINT(performance-unnecessary-value-param)
  const std::weak_ptr<int> alive = life_;
  job_.reset();
  is_running_ = false;
  for (size_t i = 0; i < batch->done.size(); ++i) {
    batch->done[i](batch->written.ok() ? batch->results[i] : batch->written);
    if (alive.expired()) return;
  }
  if (!is_running_ && !waiting_.empty()) begin();
}

}  // namespace sliced::kubelet
