#include "watchers/configured/file_signal.h"

#include <utility>

#include "reactor/base/text.h"

namespace sliced::configured {
namespace {

constexpr Millis kPollInterval{1'000}, kFileReadMax{5'000};

}  // namespace

std::string fault_of_file(const Result<std::string>& text, std::string_view boot_id) {
  if (!text) return text.error().code == Errc::kNotFound ? "there is no such file" : text.error().what;
  // trim() treats NUL as white space.
  if (text->find('\0') != std::string::npos)
    return "it holds bytes of zero, as a machine leaves that stopped while it was written; remove it, or run "
           "`sliced configured` again";
  const std::string_view named = trim(*text);
  if (named.empty() || (!boot_id.empty() && named == boot_id)) return "";
  return "it names boot " + in_quotes(named, 64) + ", and this is boot " +
         (boot_id.empty() ? "unknown" : in_quotes(boot_id, 64)) +
         "; remove it, or run `sliced configured` again";
}

FileSignal::FileSignal(FileSignalPorts ports, std::string path, std::string boot_id, OnChange on_change)
    : ports_(std::move(ports)),
      path_(std::move(path)),
      boot_id_(std::move(boot_id)),
      on_change_(std::move(on_change)),
      awaited_(escaped(path_) + ": not looked at yet") {}

void FileSignal::start() {
  timer_ = ports_.scheduler.after(Millis{0}, [this] { poll(); });
}

void FileSignal::poll() {
  auto found = std::make_shared<Result<std::string>>(Error{Errc::kCanceled, ""});
  job_ = ports_.executor.run(
      [found, read = ports_.read, path = path_] { *found = read(path); }, kFileReadMax,
      [this, found](bool finished) {
        // A worker that was given up may still write there.
        on_read(finished ? *found : Result<std::string>(Error{Errc::kTimeout, "reading it hangs"}));
      });
}

void FileSignal::on_read(const Result<std::string>& text) {
  const std::string fault = fault_of_file(text, boot_id_);
  is_seen_ = fault.empty();
  std::string awaited = is_seen_ ? "" : escaped(path_) + ": " + fault;
  if (!is_seen_) timer_ = ports_.scheduler.after(kPollInterval, [this] { poll(); });
  if (awaited == awaited_) return;
  awaited_ = std::move(awaited);
  if (is_seen_)
    ports_.log.info("node configured", {{"file", path_}});
  else
    ports_.log.info("waiting for the configuration of this node", {{"awaited", awaited_}});
  if (on_change_) on_change_();
}

}  // namespace sliced::configured
