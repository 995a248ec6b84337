#include "hotplug/uevent_socket.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "hotplug/datagrams.h"
#include "hotplug/uevent_decode.h"
#include "reactor/base/text.h"
#include "reactor/loop.h"

namespace sliced::hotplug {
namespace {

constexpr const char* kName = "uevents";

int open_beneath(int root, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
}

class UeventSocket final : public EventSource {
 public:
  UeventSocket(reactor::Loop& loop, std::string root) : loop_(loop), root_(std::move(root)) {}

  ~UeventSocket() override {
    datagrams_.reset();
    if (is_bound_) ::unlinkat(dir_.get(), kName, 0);
  }

  std::string name() const override { return root_ + "/run/sliced/" + kName; }

  Result<Unit> start(OnEvent on_event) override {
    on_event_ = std::move(on_event);
    if (auto made = make_dir(); !made) return made;
    reactor::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return failed("socket");
    if (auto bound = bind_here(socket.get()); !bound) return bound;
    auto opened = Datagrams::open(loop_, std::move(socket), kUeventSizeMax + 1,
                                  {[this](const Datagram& datagram) { handle(datagram.bytes); },
                                   [this] { on_event_(Overflow{name() + ": ENOBUFS"}); }});
    if (!opened) return opened.error();
    datagrams_ = std::move(*opened);
    return Unit{};
  }

 private:
  Error failed(const char* step) const {
    const char* text = ::strerrorname_np(errno);
    return Error{Errc::kIo,
                 in_quotes(name()) + ": " + step + ": " + (text != nullptr ? text : "unknown error")};
  }

  Result<Unit> make_dir() {
    const reactor::Descriptor root(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return failed("open");
    reactor::Descriptor parent;
    for (const auto& [path, leaf] : {std::pair{".", "run"}, {"run", "sliced"}}) {
      parent = reactor::Descriptor(open_beneath(root.get(), path));
      if (!parent) return failed("open");
      if (::mkdirat(parent.get(), leaf, 0755) != 0 && errno != EEXIST) return failed("mkdir");
    }
    dir_ = reactor::Descriptor(open_beneath(root.get(), "run/sliced"));
    if (!dir_) return failed("open");
    return Unit{};
  }

  // Binds through /proc/self/fd: no path is too long for a socket address, and none leads outside.
  Result<Unit> bind_here(int socket) {
    struct stat old{};
    if (::fstatat(dir_.get(), kName, &old, AT_SYMLINK_NOFOLLOW) == 0) {
      errno = EEXIST;
      if (!S_ISSOCK(old.st_mode) || ::unlinkat(dir_.get(), kName, 0) != 0)
        return failed("something else is in the way");
    }
    grow_receive_buffer(socket);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(dir_.get()) + "/" + kName;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return failed("bind");
    is_bound_ = true;
    return Unit{};
  }

  void handle(std::string_view bytes) {
    if (auto event = decode_uevent(bytes)) on_event_(std::move(*event));
  }

  reactor::Loop& loop_;
  const std::string root_;
  OnEvent on_event_;
  reactor::Descriptor dir_;
  bool is_bound_ = false;
  std::unique_ptr<Datagrams> datagrams_;
};

}  // namespace

std::unique_ptr<EventSource> make_uevent_socket(reactor::Loop& loop, std::string root) {
  return std::make_unique<UeventSocket>(loop, std::move(root));
}

}  // namespace sliced::hotplug
