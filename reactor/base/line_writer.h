#pragma once
// Text to a descriptor that others read as they please: a thread of its own writes, and who gives it a line
// never waits. What nobody reads in time is lost, and counted.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sliced {

/// Blocking:   put() never waits for the descriptor. It stays a blocking one: O_NONBLOCK would be set for
///             everybody who shares it, the user's shell included.
/// Bounds:     bytes_max of lines that wait. A line beyond is lost; once writing works again, what
///             tell_loss(count) makes is written in the place of those that were lost.
/// Errors:     a line that the descriptor refuses (EPIPE, ENOSPC) is lost; SIGPIPE is to be ignored.
/// Threads:    put() and flush() from one thread. tell_loss runs on the writer's, and may touch nothing else.
/// Ownership:  fd is not owned, and must stay open as long as there is something to write. The destructor
///             waits for what is written, at most kFlushMax; a thread that is stuck then is left behind, and
///             ends with the process.
class LineWriter {
 public:
  using TellLoss = std::function<std::string(uint64_t lines)>;
  static constexpr size_t kBytesMax = 1u << 20;
  static constexpr std::chrono::milliseconds kFlushMax{1'000};

  LineWriter(int fd, TellLoss tell_loss, size_t bytes_max = kBytesMax);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// One line with its end, or several that belong together: it is written by one write(2) where the kernel
  /// takes it whole, and lost whole where there is no room. Starts the thread when it is called first; a
  /// system that has none to give makes each line a lost one, and the next call tries again.
  void put(std::string line);
  /// Waits until everything is written. False when it was not in time.
  /// True at once where nothing was ever put, and where all that is left is a loss that cannot be told
  /// because the descriptor takes nothing.
  bool flush(std::chrono::milliseconds longest = kFlushMax);
  /// The descriptor did not take the last line: nobody is there to read it, or the disk is full.
  bool is_refused() const;
  /// Lines that were lost since the start, told or not.
  uint64_t lost() const;

 private:
  struct Shared;  // outlives the writer while its thread is stuck
  std::shared_ptr<Shared> shared_;
};

/// Writes all of it, waiting as long as the reader wants; false when it cannot be written.
bool write_all(int fd, const char* bytes, size_t size);

}  // namespace sliced
