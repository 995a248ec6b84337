#include "reactor/base/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "reactor/base/thread.h"

namespace sliced {
namespace {

constexpr size_t kStackBytes = 128 * 1024;

}  // namespace

struct LineWriter::Shared {
  struct Line {
    std::string text;
    uint64_t lost_before = 0;  // lines that had no room between the one before and this one
    size_t size() const { return sizeof(Line) + text.size(); }
  };

  Shared(int to, ReportLoss how, size_t most) : fd(to), report_loss(std::move(how)), bytes_max(most) {}

  static void write_on(Shared& shared) noexcept;
  std::optional<Line> take();
  // unreported: number of unreported losses before the line. is_lost: the line itself was dropped.
  void finish(const Line& line, uint64_t unreported, bool is_lost);
  bool is_idle() const { return lines.empty() && !is_writing && (lost == 0 || is_refused); }

  const int fd;
  const ReportLoss report_loss;
  const size_t bytes_max;
  std::mutex mutex;
  std::condition_variable work_arrived, work_done;
  std::deque<Line> lines;
  size_t bytes = 0;   // of the lines that wait and of the one that is being written
  uint64_t lost = 0;  // since the last of them
  uint64_t lost_in_all = 0;
  bool is_refused = false;  // the last write failed: the loss is reported with the next line that succeeds
  bool is_writing = false, is_closed = false;
  std::optional<Thread> thread;  // nullopt: not started, or the writer was destroyed
};

// Returns the next line, or the report of lost ones; nullopt at the end.
std::optional<LineWriter::Shared::Line> LineWriter::Shared::take() {
  std::unique_lock lock(mutex);
  work_arrived.wait(lock, [this] { return is_closed || !lines.empty() || (lost > 0 && !is_refused); });
  if (is_closed) return std::nullopt;
  is_writing = true;
  if (lines.empty()) return Line{"", std::exchange(lost, 0)};
  Line line = std::move(lines.front());
  lines.pop_front();
  return line;
}

void LineWriter::Shared::finish(const Line& line, uint64_t unreported, bool is_lost) {
  const std::lock_guard lock(mutex);
  const uint64_t refused = unreported + (is_lost ? 1 : 0);
  is_writing = false;
  if (!line.text.empty()) bytes -= line.size();
  is_refused = refused > 0;
  lost_in_all += is_lost ? 1 : 0;
  // Before the lines that were added meanwhile.
  (lines.empty() ? lost : lines.front().lost_before) += refused;
  work_done.notify_all();
}

void LineWriter::Shared::write_on(Shared& shared) noexcept {
  while (const auto line = shared.take()) {
    uint64_t unreported = 0;
    if (line->lost_before > 0) {
      const std::string loss = shared.report_loss(line->lost_before);
      if (!write_all(shared.fd, loss.data(), loss.size())) unreported = line->lost_before;
    }
    shared.finish(*line, unreported, !write_all(shared.fd, line->text.data(), line->text.size()));
  }
}

LineWriter::LineWriter(int fd, ReportLoss report_loss, size_t bytes_max)
    : shared_(std::make_shared<Shared>(fd, std::move(report_loss), bytes_max)) {}

LineWriter::~LineWriter() {
  const bool is_idle = flush();
  std::optional<Thread> thread;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
    thread.swap(shared_->thread);
    shared_->work_arrived.notify_all();
  }
  if (is_idle && thread) thread->join();
}

void LineWriter::put(std::string line) {
  if (line.empty()) return;
  Shared& shared = *shared_;
  const std::lock_guard lock(shared.mutex);
  if (!shared.thread) shared.thread = Thread::start<&Shared::write_on>(kStackBytes, shared_);
  Shared::Line next{std::move(line), shared.lost};
  if (!shared.thread || next.size() > shared.bytes_max - shared.bytes) {
    ++shared.lost_in_all;
    ++shared.lost;
    return;
  }
  shared.lost = 0;
  shared.bytes += next.size();
  shared.lines.push_back(std::move(next));
  shared.work_arrived.notify_one();
}

bool LineWriter::flush(std::chrono::milliseconds longest) {
  std::unique_lock lock(shared_->mutex);
  return shared_->work_done.wait_for(lock, longest,
                                     [this] { return !shared_->thread || shared_->is_idle(); });
}

bool LineWriter::is_refused() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_refused;
}

uint64_t LineWriter::lost() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost_in_all;
}

bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written > 0) {
      bytes += written;
      size -= static_cast<size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {  // another process that shares it set O_NONBLOCK
      pollfd room{fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (written >= 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace sliced
