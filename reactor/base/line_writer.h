#pragma once
// Writes lines to a descriptor on a separate thread, so that callers never wait for the reader. Lines that do
// not fit into the buffer are dropped and counted.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sliced {

/// Blocking:   put() never blocks. The descriptor stays in blocking mode: O_NONBLOCK would affect all
///             processes that share it, such as the user's shell.
/// Bounds:     at most bytes_max of buffered lines. Further lines are dropped, and the text of
///             report_loss(count) is written in their place.
/// Errors:     a line that the descriptor refuses (EPIPE, ENOSPC) is dropped. REQUIRES: SIGPIPE is ignored.
/// Threads:    put() and flush() from one thread. report_loss runs on the writing thread.
/// Ownership:  fd is not owned and must stay open while lines are buffered. The destructor waits at most
///             kFlushMax and joins the thread; a blocked one is left to the end of the process.
class LineWriter {
 public:
  using ReportLoss = std::function<std::string(uint64_t lines)>;
  static constexpr size_t kBytesMax = 1u << 20;
  static constexpr std::chrono::milliseconds kFlushMax{1'000};

  LineWriter(int fd, ReportLoss report_loss, size_t bytes_max = kBytesMax);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Appends one or several lines, with their line ends; they are written or dropped together. The first call
  /// starts the thread; if that fails, the lines are dropped and the next call tries again.
  void put(std::string line);
  /// Waits until everything is written; returns false on timeout.
  bool flush(std::chrono::milliseconds longest = kFlushMax);
  /// Returns true if the descriptor refused the last line (closed pipe, full disk).
  bool is_refused() const;
  /// Returns the number of dropped lines since the start.
  uint64_t lost() const;

 private:
  struct Shared;  // outlives the writer while its thread is blocked
  std::shared_ptr<Shared> shared_;
};

/// Writes all bytes, blocking as long as needed; returns false on error.
bool write_all(int fd, const char* bytes, size_t size);

}  // namespace sliced
