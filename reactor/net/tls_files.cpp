#include "reactor/net/tls_files.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/small_file.h"

namespace sliced::reactor::net {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string moment(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[32] = "";
  if (::gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace

// Converts the files' content into a context.
struct TlsFiles::Reading {
  std::shared_ptr<const TlsContext> context;  // none: the texts are unchanged
  std::string texts;

  // Blocks.
  static Result<Reading> read(const TlsFilePaths& paths, const std::vector<std::string>& alpn,
                              const std::string& before) {
    auto cert = read_small_file(paths.cert);
    if (!cert) return std::move(cert.error()).in("certificate");
    auto key = read_small_file(paths.key);
    if (!key) return std::move(key.error()).in("key");
    auto anchors = paths.client_ca.empty() ? Result<std::string>("") : read_small_file(paths.client_ca);
    if (!anchors) return std::move(anchors.error()).in("authorities of clients");
    const std::string end(1, '\0');
    std::string texts = *cert + end + *key + end + *anchors;
    if (texts == before) return Reading{nullptr, std::move(texts)};
    TlsServerConfig config{.cert_pem = *cert, .key_pem = *key, .client_ca_pem = "", .alpn = alpn};
    auto made = TlsContext::make_server(config);
    if (!made)
      return std::move(made.error())
          .in("certificate " + in_quotes(paths.cert) + ", key " + in_quotes(paths.key));
    if (paths.client_ca.empty()) return Reading{*made, std::move(texts)};
    const std::string source = "authorities of clients: " + in_quotes(paths.client_ca);
    if (anchors->empty()) return Error{Errc::kInvalid, source + ": is empty"};
    config.client_ca_pem = *anchors;
    made = TlsContext::make_server(config);
    if (!made) return std::move(made.error()).in(source);
    return Reading{*made, std::move(texts)};
  }
};

TlsFiles::TlsFiles(Needs needs, TlsFilePaths paths, std::vector<std::string> alpn, Events events)
    : needs_(std::move(needs)), paths_(std::move(paths)), alpn_(std::move(alpn)), events_(std::move(events)) {
  if (auto opened = Inotify::open(needs_.loop, [this](const FileEvent&) { schedule_reload(kTlsFilesQuiet); }))
    inotify_ = std::move(opened).value();
  schedule_reload(Millis{0});
}

TlsFiles::~TlsFiles() = default;

void TlsFiles::schedule_reload(Millis delay) {
  is_stale_ = true;
  const TimePoint at = needs_.scheduler.now() + delay;
  if (job_ || (soon_ && soon_at_ <= at)) return;
  soon_at_ = at;
  soon_ = needs_.scheduler.after(delay, [this] { reload(); });
}

void TlsFiles::reload() {
  const auto over = std::move(soon_);
  is_stale_ = false;
  // Watches again before each read, because a folder may have been replaced.
  if (inotify_)
    for (const std::string& path : {paths_.cert, paths_.key, paths_.client_ca})
      if (!path.empty()) (void)inotify_->watch(folder_of(path));
  const auto slot = std::make_shared<std::optional<Result<Reading>>>();
  job_ = needs_.executor.run([slot, paths = paths_, alpn = alpn_,
                              before = texts_] { slot->emplace(Reading::read(paths, alpn, before)); },
                             kTlsFilesReadMax,
                             [this, slot](bool finished) {
                               const auto done = std::move(job_);
                               const bool is_stale = is_stale_;
                               schedule_reload(is_stale ? kTlsFilesQuiet : kTlsFilesInterval);
                               if (finished) return take(**slot);
                               refuse({Errc::kTimeout, "certificate " + in_quotes(paths_.cert) +
                                                           ": its files cannot be read in time"});
                             });
}

void TlsFiles::take(const Result<Reading>& reading) {
  if (!reading) return refuse(reading.error());
  if (reading->context)
    if (auto why = why_not_now(*reading->context)) return refuse(*std::move(why));
  bad_.clear();
  bad_message_.forget();
  if (!reading->context) return check_expiry();
  context_ = reading->context;
  texts_ = reading->texts;
  schedule_reload(kTlsFilesQuiet);  // at its end
  const CallbackGuard::Call running(callbacks_);
  events_.on_context(context_);
}

// An invalid certificate does not replace a valid one, but is used if there is none.
std::optional<Error> TlsFiles::why_not_now(const TlsContext& found) const {
  const int64_t now = needs_.clock();
  const auto [begins, ends] = found.validity();
  const bool is_in_use = context_ && context_->validity().begins <= now && now < context_->validity().ends;
  if (!is_in_use || (begins <= now && now < ends)) return std::nullopt;
  const std::string when = now < begins ? "is not valid before " + moment(begins) + " (or the clock is wrong)"
                                        : "has ended on " + moment(ends);
  return Error{Errc::kInvalid, "certificate " + in_quotes(paths_.cert) + ": " + when};
}

// Two files are not replaced atomically: an error is reported if a second read confirms it.
void TlsFiles::refuse(Error why) {
  if (std::exchange(bad_, why.what) != why.what) return schedule_reload(kTlsFilesErrorDelay);
  why.what += context_ ? "; the previous one remains in use" : "; clients are not served until then";
  why.what += "; put a certificate and its key there that are valid now, as PEM";
  if (!bad_message_.is_new(why.what)) return check_expiry();
  const CallbackGuard::Call running(callbacks_);
  events_.on_trouble(why);
}

void TlsFiles::check_expiry() {
  if (!context_) return;
  const int64_t now = needs_.clock();
  const auto [begins, ends] = context_->validity();
  const int64_t near = std::min(kTlsEndIsNear, (ends - begins) / 5);
  if (now + near < ends) return expiry_message_.forget();
  const int64_t days = (ends - now) / 86'400;
  const std::string when = now >= ends ? "has ended on " + moment(ends) + ", and clients refuse it"
                                       : "ends in " +
                                             (days > 0 ? std::to_string(days) + " days" : "less than a day") +
                                             ", on " + moment(ends);
  const Error why{Errc::kInvalid, "certificate " + in_quotes(paths_.cert) + ": " + when + "; renew it"};
  if (!expiry_message_.is_new(why.what)) return;
  const CallbackGuard::Call running(callbacks_);
  events_.on_trouble(why);
}

}  // namespace sliced::reactor::net
