#pragma once
// A server's certificate, its key and its clients' authorities as files that others replace while it runs:
// cert-manager and the kubelet by links (`..data`), operators by hand.
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
  std::string cert, key;  // PEM, as TlsServerConfig has them; may be one file
  std::string client_ca;  // "": clients are not asked for a certificate
};

/// A certificate and its key are two files and are not replaced at once: between the two writes they do not
/// belong together, which must neither be served nor said.
/// Times of looking. None is an option: they follow how cert-manager and the kubelet replace files.
constexpr Millis kTlsFilesSettle{200};       // from an event to the look
constexpr Millis kTlsFilesLookAgain{2'000};  // what is bad is said when it still is
constexpr Millis kTlsFilesLookEvery{
    60'000};  // for what no event tells: other file systems, a parent that moves
constexpr Millis kTlsFilesReadMax{10'000};  // then it is tried again
constexpr int64_t kTlsEndIsNear =
    7 * 86'400;  // seconds; or a fifth of a certificate's time, where that is less

/// Looks at the files at once, whenever something happens in their folders, and once a minute.
/// Never worse: files that are bad (missing, empty, not belonging together, of another time than now) change
///            nothing: what was good before stays in use. An empty file of authorities is bad, and never
///            means that nobody is asked.
/// Files:     read on the executor, 1 MiB each at most. Their texts are kept.
/// Reentry:   nothing is called from within the constructor. No callback may destroy the TlsFiles.
/// Ownership: what Needs names outlives it. A reading under way ends on its worker, and is passed over.
/// Failure: trouble is told after the second look in a row that finds the same, so never of files that are
/// being replaced.
/// Memory: the texts of all three files, to know whether anything changed; the context in use.
/// Threads: the loop's, but for reading and for making a context, which are the executor's.
class TlsFiles {
 public:
  /// clock: the wall's, since certificates are; waiting goes by the scheduler's own.
  struct Needs {
    Loop& loop;
    Scheduler& scheduler;
    Executor& executor;
    std::function<int64_t()> clock;  // seconds since 1970
  };
  struct Events {
    /// The files hold something good, for the first time or anew: for http::Server::use().
    std::function<void(std::shared_ptr<const TlsContext>)> on_context;
    /// Said once while it lasts: why the files are of no use, naming the file and the remedy; that the
    /// certificate in use ends soon, or has ended (once a day).
    std::function<void(const Error&)> on_trouble;
  };
  /// The first look is made in a turn after this.
  TlsFiles(Needs needs, TlsFilePaths paths, std::vector<std::string> alpn, Events events);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;

 private:
  struct Reading;
  // The earlier of two looks that are asked for counts; while one is under way, another follows it.
  void look_within(Millis delay);
  void look();
  void take(const Result<Reading>& reading);
  // Why what was found is not used in the place of what is: it is not valid now, and the other is. Where
  // neither is, the newer one is used.
  std::optional<Error> why_not_now(const TlsContext& found) const;
  // Kept until the next look; said if that finds the same.
  void refuse(Error why);
  // That of the certificate in use.
  void look_at_the_end();

  const Needs needs_;
  const TlsFilePaths paths_;
  const std::vector<std::string> alpn_;
  const Events events_;
  CallbackGuard callbacks_{"TlsFiles"};
  std::unique_ptr<Inotify> inotify_;           // none: the system has none left, and the minute does
  std::shared_ptr<const TlsContext> context_;  // in use; none: nothing was good yet
  std::string texts_;                          // it was made of these
  std::string bad_;                            // as the look before found it
  LastMessage said_bad_, said_end_;
  Ticket soon_;
  TimePoint soon_at_{};
  std::unique_ptr<Job> job_;
  bool is_stale_ = false;  // something happened while the files were read
};

}  // namespace sliced::reactor::net
