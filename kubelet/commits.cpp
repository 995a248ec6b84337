#include "kubelet/commits.h"

#include <utility>

namespace sliced::kubelet {
namespace {

Error not_begun() { return {Errc::kBusy, "the node's files cannot be written: too many reads of it hang"}; }

}  // namespace

struct Commits::Batch {
  std::vector<FileChange> changes;
  std::optional<CheckpointLog::Write> checkpoint;
  std::vector<Done> done, filed;
  std::vector<Result<Unit>> results;
  Result<Unit> written = Unit{};
};

Commits::Commits(reactor::Executor& executor, std::shared_ptr<const Host> host,
                 const PreparedClaims& prepared, std::function<std::string()> boot_id)
    : executor_(executor), host_(std::move(host)), prepared_(prepared), boot_id_(std::move(boot_id)) {}

void Commits::add(Make make, Done done, Done filed) {
  waiting_.push_back({std::move(make), std::move(done), std::move(filed)});
  if (!is_running_) begin();
}

void Commits::close() {
  log_.close();
  if (!is_running_ && log_.wants_rewrite()) rewrite();
}

void Commits::rewrite() {
  is_running_ = true;
  auto batch = std::make_shared<Batch>();
  batch->checkpoint = log_.rewrite(boot_id_(), prepared_);
  run(std::move(batch));
}

void Commits::begin() {
  is_running_ = true;
  auto batch = std::make_shared<Batch>();
  for (Waiting& one : std::exchange(waiting_, {})) {
    batch->changes.push_back(one.make());
    batch->done.push_back(std::move(one.done));
    batch->filed.push_back(std::move(one.filed));
  }
  const auto work = [batch, host = host_] {
    for (const FileChange& change : batch->changes) batch->results.push_back(host->apply(change));
  };
  job_ = executor_.run(work, Millis{0}, [this, batch](bool finished) {
    if (!finished) batch->results.assign(batch->done.size(), Result<Unit>(not_begun()));
    for (size_t i = 0; i < batch->filed.size(); ++i)
      if (batch->filed[i]) batch->filed[i](batch->results[i]);
    write_checkpoint(batch);
  });
}

// Its own copy, as finish(): the job that called this ends with it.
void Commits::write_checkpoint(std::shared_ptr<Batch> batch) {  // NOLINT(performance-unnecessary-value-param)
  batch->checkpoint = log_.next(boot_id_(), prepared_);
  if (!batch->checkpoint) return finish(batch);
  run(batch);
}

void Commits::run(std::shared_ptr<Batch> batch) {  // NOLINT(performance-unnecessary-value-param)
  const auto work = [batch, host = host_] {
    const CheckpointLog::Write& one = *batch->checkpoint;
    batch->written =
        one.is_whole ? host->write_checkpoint(one.text, one.room) : host->append_checkpoint(one.text);
  };
  job_ = executor_.run(work, Millis{0}, [this, batch](bool finished) {
    if (!finished) batch->written = not_begun();
    log_.done(batch->written.ok());
    // The file is not the one that was written, or has no room.
    if (!batch->written && batch->written.error().code == Errc::kInvalid && !batch->checkpoint->is_whole)
      return write_checkpoint(batch);
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
  if (is_running_) return;
  if (!waiting_.empty())
    begin();
  else if (batch->written.ok() && log_.wants_rewrite())
    rewrite();
}

}  // namespace sliced::kubelet
