#pragma once
// A file as the signal: it exists, and is empty or contains the id of this boot. A file with another boot's
// id has no effect, so that its path may survive a reboot; an empty file belongs below /run.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "watchers/configured/signal.h"

namespace sliced::configured {

/// Returns why the file is not a signal, for people; "" if it is one. text: the content, or a failed read,
/// which is not a signal. White space at both ends is ignored; zero bytes are not a signal: a crash may leave
/// them in a file that contained another boot's id. boot_id: "" if unknown; then only an empty file is a
/// signal.
std::string fault_of_file(const Result<std::string>& text, std::string_view boot_id);

struct FileSignalPorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  /// Blocks; called on a worker. kNotFound if there is no file.
  std::function<Result<std::string>(const std::string& path)> read;
};

/// Reads the file once a second on the executor: its directory may be missing or hang. A read of more than 5
/// s is abandoned and repeated, without a limit.
/// Log: the missing signal, and its arrival.
class FileSignal final : public ConfiguredSignal {
 public:
  FileSignal(FileSignalPorts ports, std::string path, std::string boot_id, OnChange on_change);

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  void poll();
  void on_read(const Result<std::string>& text);

  const FileSignalPorts ports_;
  const std::string path_, boot_id_;
  const OnChange on_change_;
  bool is_seen_ = false;
  std::string awaited_;
  const std::string given_up_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket timer_;
};

}  // namespace sliced::configured
