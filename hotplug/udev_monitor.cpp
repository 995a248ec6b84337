#include "hotplug/udev_monitor.h"

#include <libudev.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hotplug/datagrams.h"
#include "hotplug/uevent_decode.h"
#include "reactor/loop.h"
#include "reactor/poll.h"

namespace sliced::hotplug {
namespace {

constexpr const char* kSubsystems[] = {"pci", "net", "infiniband", "vdpa", "auxiliary"};

struct Unref {
  void operator()(udev* one) const { udev_unref(one); }
  void operator()(udev_monitor* one) const { udev_monitor_unref(one); }
  void operator()(udev_device* one) const { udev_device_unref(one); }
};
template <class T>
using Owned = std::unique_ptr<T, Unref>;

std::string text(const char* value) { return value == nullptr ? std::string() : std::string(value); }

Uevent to_event(udev_device* device) {
  Uevent event{text(udev_device_get_action(device)),
               text(udev_device_get_devpath(device)),
               text(udev_device_get_subsystem(device)),
               {}};
  udev_list_entry* entry = nullptr;
  udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device)) {
    if (event.properties.size() == kUeventPropertiesMax) break;
    event.properties.emplace(text(udev_list_entry_get_name(entry)), text(udev_list_entry_get_value(entry)));
  }
  return event;
}

class UdevMonitor final : public EventSource {
 public:
  UdevMonitor(reactor::Loop& loop, UdevKind kind) : loop_(loop), kind_(kind) {}

  std::string name() const override { return kind_ == UdevKind::kUdev ? "udev" : "kernel uevents"; }

  Result<Unit> start(OnEvent on_event) override {
    on_event_ = std::move(on_event);
    context_.reset(udev_new());
    if (context_ == nullptr) return failed("udev_new", -errno);
    monitor_.reset(
        udev_monitor_new_from_netlink(context_.get(), kind_ == UdevKind::kUdev ? "udev" : "kernel"));
    if (monitor_ == nullptr) return failed("udev_monitor_new_from_netlink", -errno);
    for (const char* subsystem : kSubsystems)
      if (const int rc = udev_monitor_filter_add_match_subsystem_devtype(monitor_.get(), subsystem, nullptr);
          rc < 0)
        return failed("filter", rc);
    grow_receive_buffer(udev_monitor_get_fd(monitor_.get()));
    if (const int rc = udev_monitor_enable_receiving(monitor_.get()); rc < 0)
      return failed("enable_receiving", rc);
    auto poll = reactor::Poll::open(loop_, udev_monitor_get_fd(monitor_.get()),
                                    [this](reactor::Poll::Ready) { receive(); });
    if (!poll) return poll.error();
    poll_ = std::move(*poll);
    poll_->interest(true, false);
    return Unit{};
  }

 private:
  Error failed(const char* step, int rc) const {
    const char* text = ::strerrorname_np(-rc);
    return Error{Errc::kIo, name() + ": " + step + ": " + (text != nullptr ? text : "unknown error")};
  }

  void receive() {
    for (int turn = 0; turn < kDatagramsPerTurnMax; ++turn) {
      errno = 0;
      const Owned<udev_device> device(udev_monitor_receive_device(monitor_.get()));
      if (device != nullptr) {
        on_event_(to_event(device.get()));
      } else if (errno == ENOBUFS) {
        on_event_(Overflow{name() + ": ENOBUFS"});
      } else if (errno == EAGAIN || errno == 0) {
        return;
      }  // otherwise: the sender is neither the kernel nor udevd
    }
  }

  reactor::Loop& loop_;
  const UdevKind kind_;
  OnEvent on_event_;
  Owned<udev> context_;
  Owned<udev_monitor> monitor_;  // owns the descriptor; outlives the Poll on it
  std::unique_ptr<reactor::Poll> poll_;
};

}  // namespace

UdevKind udev_kind_here() {
  return ::access("/run/udev/control", F_OK) == 0 ? UdevKind::kUdev : UdevKind::kKernel;
}

std::unique_ptr<EventSource> make_udev_monitor(reactor::Loop& loop, UdevKind kind) {
  return std::make_unique<UdevMonitor>(loop, kind);
}

}  // namespace sliced::hotplug
