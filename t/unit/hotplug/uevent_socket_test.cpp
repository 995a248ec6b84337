#include "hotplug/uevent_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "reactor/descriptor.h"
#include "t/fixture/loop_fixture.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::hotplug {
namespace {

struct UeventSocketTest : fixture::LoopTest {
  fixture::SysfsTree tree;
  std::vector<HostEvent> events;

  std::string path() const { return tree.root() + "/run/sliced/uevents"; }
  void send(const std::string& datagram) {
    const reactor::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path().size(), sizeof address.sun_path);
    std::strcpy(address.sun_path, path().c_str());
    ASSERT_EQ(::sendto(socket.get(), datagram.data(), datagram.size(), 0,
                       reinterpret_cast<sockaddr*>(&address), sizeof address),
              static_cast<ssize_t>(datagram.size()))
        << std::strerror(errno);
  }
  EventSource::OnEvent keep() {
    return [this](HostEvent event) { events.push_back(std::move(event)); };
  }
};

TEST_F(UeventSocketTest, DatagramsAreEvents) {
  const auto source = make_uevent_socket(loop, tree.root());
  const auto started = source->start(keep());
  ASSERT_TRUE(started) << started.error().what;
  send(std::string("add@/devices/a\0SUBSYSTEM=pci\0", 29));
  send("junk");
  send(std::string("remove@/devices/a\0SUBSYSTEM=pci\0", 32));
  ASSERT_TRUE(run_until([&] { return events.size() == 2; }));
  EXPECT_EQ(std::get<Uevent>(events[0]).action, "add");
  EXPECT_EQ(std::get<Uevent>(events[1]).action, "remove");
}

TEST_F(UeventSocketTest, ReplacesAStaleSocketAndCleansUp) {
  {
    const auto first = make_uevent_socket(loop, tree.root());
    ASSERT_TRUE(first->start(keep()));
    EXPECT_TRUE(std::filesystem::is_socket(path()));
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
  const auto left = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path().c_str());
  ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  const auto second = make_uevent_socket(loop, tree.root());
  ASSERT_TRUE(second->start(keep()));
  send(std::string("add@/devices/a\0SUBSYSTEM=pci\0", 29));
  EXPECT_TRUE(run_until([&] { return events.size() == 1; }));
}

TEST_F(UeventSocketTest, KeepsAFileThatIsNoSocket) {
  tree.write("run/sliced/uevents", "precious");
  const auto source = make_uevent_socket(loop, tree.root());
  const auto started = source->start(keep());
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().what.find("something else is in the way"), std::string::npos)
      << started.error().what;
  EXPECT_EQ(*tree.view()->read("run/sliced/uevents"), "precious");
}

TEST_F(UeventSocketTest, ALinkInTheTreeDoesNotLeaveTheRoot) {
  fixture::SysfsTree outside;
  std::filesystem::create_directories(outside.root() + "/run");
  tree.symlink(outside.root() + "/run", "run");
  const auto source = make_uevent_socket(loop, tree.root());
  EXPECT_FALSE(source->start(keep()));
  EXPECT_TRUE(std::filesystem::is_empty(outside.root() + "/run"));
}

TEST_F(UeventSocketTest, AcceptsARootWithALongName) {
  const std::string root = tree.root() + "/" + std::string(200, 'x');
  std::filesystem::create_directory(root);
  const auto source = make_uevent_socket(loop, root);
  const auto started = source->start(keep());
  EXPECT_TRUE(started) << started.error().what;
}

TEST_F(UeventSocketTest, RefusesAMissingRoot) {
  const auto source = make_uevent_socket(loop, tree.root() + "/no");
  EXPECT_FALSE(source->start(keep()));
}

}  // namespace
}  // namespace sliced::hotplug
