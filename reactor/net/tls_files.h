#pragma once
// A server's certificate, key and client authorities as files that are replaced at runtime: by cert-manager
// and the kubelet through links (`..data`), by operators directly.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/callback_guard.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"
#include "reactor/executor.h"
#include "reactor/inotify.h"
#include "reactor/net/tls_context.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

struct TlsFilePaths {
  std::string cert, key;  // PEM, as in TlsServerConfig; may be one file
  std::string client_ca;  // "": no client certificates are requested
};

/// Certificate and key are two files: between two writes they do not match, which must neither be served nor
/// reported. The times follow how cert-manager and the kubelet replace files, and are no options.
constexpr Millis kTlsFilesQuiet{200};         // from an event to the read
constexpr Millis kTlsFilesErrorDelay{2'000};  // an error is reported if it persists for this long
constexpr Millis kTlsFilesInterval{
    60'000};  // for changes without an event: other file systems, a moved parent
constexpr Millis kTlsFilesReadMax{10'000};  // of one read; then it is repeated
constexpr int64_t kTlsEndIsNear =
    7 * 86'400;  // seconds; or a fifth of a certificate's time, where that is less

/// Reads the files at the start, after events in their folders, and once a minute.
/// Errors:    invalid files (missing, empty, not matching, outside of their validity) change nothing: the
/// last valid ones stay in use. An empty authority file is invalid, and never disables client authentication.
/// Files:     read on the executor, at most 1 MiB each; their texts are kept.
/// Reentry:   the constructor calls nothing.
/// Ownership: the members of Needs must outlive it. A running read ends on its worker without effect.
/// Trouble:   reported after two consecutive reads with the same error, so never for files that are being
/// replaced.
/// Memory:    the texts of all three files, and the context in use.
/// Threads:   the loop thread; the executor reads files and creates contexts.
class TlsFiles {
 public:
  /// clock: wall time, for validity; delays use the scheduler.
  struct Needs {
    Loop& loop;
    Scheduler& scheduler;
    Executor& executor;
    std::function<int64_t()> clock;  // seconds since 1970
  };
  struct Events {
    /// The files are valid, for the first time or after a change: for http::Server::use().
    std::function<void(std::shared_ptr<const TlsContext>)> on_context;
    /// Reported once while it lasts: the error with file and remedy; once a day, that the certificate in use
    /// expires soon or has expired.
    std::function<void(const Error&)> on_trouble;
  };
  /// The first read is in a later turn.
  TlsFiles(Needs needs, TlsFilePaths paths, std::vector<std::string> alpn, Events events);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;

 private:
  struct Reading;
  // Schedules a read; the earlier of two due times counts. During a read, another one follows.
  void schedule_reload(Millis delay);
  void reload();
  void take(const Result<Reading>& reading);
  // Returns why the new certificate is not used: it is not valid now, and the present one is. If neither is,
  // the newer one is used.
  std::optional<Error> why_not_now(const TlsContext& found) const;
  // Stores the error; reports it if the next read has the same.
  void refuse(Error why);
  // Reports the expiry of the certificate in use.
  void check_expiry();

  const Needs needs_;
  const TlsFilePaths paths_;
  const std::vector<std::string> alpn_;
  const Events events_;
  CallbackGuard callbacks_{"TlsFiles"};
  std::unique_ptr<Inotify> inotify_;           // nullptr: no instance left; the timer suffices
  std::shared_ptr<const TlsContext> context_;  // in use; nullptr: nothing was valid yet
  std::string texts_;                          // the source of context_
  std::string bad_;                            // error of the last read
  LastMessage bad_message_, expiry_message_;
  Ticket soon_;
  TimePoint soon_at_{};
  std::unique_ptr<Job> job_;
  bool is_stale_ = false;  // an event occurred during a read
};

}  // namespace sliced::reactor::net
