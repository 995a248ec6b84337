#include "reactor/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::reactor {
namespace {

constexpr const char* kVariables[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

std::optional<int64_t> number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

bool would_block(int error) { return error == EAGAIN || error == ENOBUFS; }

}  // namespace

ServiceAddress read_service_address(const Environment& env, int pid) {
  ServiceAddress address;
  address.socket = env("NOTIFY_SOCKET").value_or("");
  const bool is_ours = !env("WATCHDOG_PID") || number(env("WATCHDOG_PID")) == pid;
  const int64_t watchdog = number(env("WATCHDOG_USEC")).value_or(0);
  if (is_ours && watchdog > 0) address.watchdog = std::chrono::microseconds(watchdog);
  return address;
}

ServiceAddress take_service_address() {
  const auto env = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  ServiceAddress address = read_service_address(env, ::getpid());
  for (const char* name : kVariables) ::unsetenv(name);
  return address;
}

ServiceManager::ServiceManager(Scheduler& scheduler, Log& log, ServiceAddress address)
    : scheduler_(scheduler),
      log_(log),
      address_(std::move(address)),
      socket_(address_.socket.empty() ? -1
                                      : ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  arm_watchdog();
}

void ServiceManager::ready() {
  is_ready_ = true;
  notify({"READY=1\n"});
}

void ServiceManager::reloading() {
  if (!is_ready_) return;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t micros = int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  notify({"RELOADING=1\nMONOTONIC_USEC=" + std::to_string(micros) + "\n"});
}

void ServiceManager::stopping() { notify({"STOPPING=1\n"}); }

void ServiceManager::status(std::string_view text) {
  const std::string line = printable(text, kStatusBytesMax);
  if (status_.is_new(line)) notify({"STATUS=" + line + "\n", true});
}

void ServiceManager::notify(Notification notification) {
  if (address_.socket.empty()) return;
  if (notification.is_status && !unsent_.empty() && unsent_.back().is_status) unsent_.pop_back();
  if (unsent_.size() == kKeptMax) unsent_.pop_front();
  unsent_.push_back(std::move(notification));
  flush();
}

void ServiceManager::flush() {
  retry_.reset();
  int error = 0;
  while (!unsent_.empty() && (error = send(unsent_.front().text)) == 0) unsent_.pop_front();
  const char* why = error == 0 ? "" : ::strerrordesc_np(error);
  if (problem_.is_new(why))
    log_.warning("service manager not notified", {{"NOTIFY_SOCKET", address_.socket}, {"why", why}});
  if (would_block(error)) retry_ = scheduler_.after(kRetry, [this] { flush(); });
}

void ServiceManager::arm_watchdog() {
  if (address_.socket.empty() || address_.watchdog.count() == 0) return;
  const auto half = std::chrono::floor<Millis>(address_.watchdog / 2);
  watchdog_ = scheduler_.after(std::max(half, Millis{1}), [this] {
    // Not kept: an old watchdog notification is not evidence for the present.
    send("WATCHDOG=1\n");
    if (!unsent_.empty()) flush();
    arm_watchdog();
  });
}

int ServiceManager::send(std::string_view text) const {
  const std::string& name = address_.socket;
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  const bool is_abstract = name.starts_with('@');
  if (!is_abstract && !name.starts_with('/')) return EAFNOSUPPORT;
  if (name.size() >= sizeof peer.sun_path) return ENAMETOOLONG;
  std::memcpy(peer.sun_path, name.data(), name.size());
  if (is_abstract) peer.sun_path[0] = '\0';
  // Each byte of an abstract name counts; it has no final NUL.
  const socklen_t size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  const ssize_t sent = ::sendto(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&peer), size);
  return sent < 0 ? errno : 0;
}

}  // namespace sliced::reactor
