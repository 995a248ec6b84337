#pragma once
// A file as a sign: it is there, and says nothing or the id of this boot. One that names another boot was left by it
// and counts for nothing, so that a path that outlives a reboot is safe; an empty one belongs below /run.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "watchers/configured/sign.h"

namespace sliced::configured {

/// What is wrong with it as a sign, for people; "" it is one.
/// text: the file's, white space at both ends counts for nothing; bytes of zero are what a crash leaves of a file that
/// named another boot, and no sign. boot_id "" is not known: then only an empty file
/// is a sign.
/// A read that failed is no sign either, for whatever reason.
std::string fault_of_file(const Result<std::string>& text, std::string_view boot_id);

/// Looked at once a second, on the executor: the file's directory need not be there, and may hang. A read
/// that takes longer than 5 s is given up and begun again; it is never given up for good.
/// Log: what is waited for, and that it is over.
class FileSign final : public Sign {
 public:
  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    /// Blocks; on a worker. kNotFound: there is none.
    std::function<Result<std::string>(const std::string& path)> read;
  };
  FileSign(Ports ports, std::string path, std::string boot_id, OnChange on_change);

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  void look();
  void on_looked(const Result<std::string>& text);

  const Ports ports_;
  const std::string path_, boot_id_;
  const OnChange on_change_;
  bool is_seen_ = false;
  std::string awaited_;
  const std::string given_up_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket timer_;
};

}  // namespace sliced::configured
