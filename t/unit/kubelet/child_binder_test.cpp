#include "kubelet/child_binder.h"

#include <gtest/gtest.h>

#include <csignal>

#include "reactor/loop.h"

namespace sliced::kubelet {
namespace child_binder_test {
namespace {

PreparedDevice vf(const std::string& pci, const std::string& driver = "igbvf") {
  return {.pci = pci, .vfio = VfioBinding{driver, ""}};
}
const std::vector<PreparedDevice> kTwo = {vf("0000:03:00.2"), vf("0000:03:00.3", std::string(kNoDriver))};

using Results = std::vector<Result<std::string>>;

struct ChildBinderTest : testing::Test {
  // A shell in the program's place; its arguments are $0, $1 and so on.
  ChildBinder binder(const std::string& script) {
    return {loop,
            {.program = {"/bin/sh", "-c", script},
             .deadline = Millis{300},
             .kill_after = Millis{60'000},
             .patience = Millis{200}}};
  }
  Results run(ChildBinder& binder, Binding what = Binding::kBind,
              const std::vector<PreparedDevice>& devices = kTwo) {
    Results out;
    const auto job = binder.run(what, devices, [&](Results results) {
      out = std::move(results);
      loop.stop();
    });
    loop.run();
    return out;
  }
  reactor::Loop loop;
};

TEST_F(ChildBinderTest, TheProgramIsToldAndBelieved) {
  auto one = binder(R"(echo "ok $0-$1-$2"; echo "failed busy process 7 (qemu) has it open")");
  const Results results = run(one, Binding::kRestore);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(*results[0], "restore-0000:03:00.2=igbvf-0000:03:00.3=(none)");
  EXPECT_EQ(results[1].error(), (Error{Errc::kBusy, "process 7 (qemu) has it open"}));
}

TEST_F(ChildBinderTest, WhatItDoesNotComeToHasFailed) {
  auto one = binder("echo ok 7; echo it is broken >&2; exit 3");
  const Results results = run(one);
  EXPECT_EQ(*results.at(0), "7");
  EXPECT_EQ(results.at(1).error().what, "the program that binds ended with status 3: it is broken");
  ChildBinder none(loop, {.program = {"/nonexistent"}});
  EXPECT_NE(run(none).at(0).error().what.find("/nonexistent"), std::string::npos);
}

// As a write to `unbind` does while a process has the device: no signal ends it.
TEST_F(ChildBinderTest, WhatHangsIsSaidAndNothingIsBegunBesideIt) {
  auto one = binder("trap '' TERM; case $1 in *00.2*) sleep 1000 & wait; wait; wait;; esac; echo ok 8");
  const Results hangs = run(one);
  ASSERT_EQ(hangs.size(), 2u);
  EXPECT_EQ(hangs[1].error().code, Errc::kTimeout);
  EXPECT_NE(hangs[0].error().what.find("hangs in the kernel"), std::string::npos);
  const int pid = std::stoi(hangs[0].error().what.substr(std::string("process ").size()));
  const Results again = run(one);
  EXPECT_EQ(again.at(0).error().code, Errc::kBusy);
  EXPECT_NE(again.at(0).error().what.find("process " + std::to_string(pid)), std::string::npos);
  EXPECT_EQ(*run(one, Binding::kBind, {vf("0000:03:00.4")}).at(0), "8") << "others are bound meanwhile";
  ::kill(-pid, SIGKILL);
  Results once_more;
  for (int i = 0; i < 100 && (once_more.empty() || once_more[0].error().code == Errc::kBusy); ++i) {
    reactor::Ticket pause = loop.scheduler().after(Millis{20}, [&] { loop.stop(); });
    loop.run();
    once_more = run(one);
  }
  EXPECT_EQ(once_more[0].error().code, Errc::kTimeout) << "another program was begun";
}

TEST(BindOrders, AreReadAsTheyWereWritten) {
  const auto order = decode_order(arguments_of(Binding::kRestore, kTwo));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->what, Binding::kRestore);
  EXPECT_EQ(order->devices, kTwo);
  // A machine's address goes to the VF with the binding, and the original one comes back with it.
  PreparedDevice machine{.pci = "0000:03:00.2",
                         .vfio = VfioBinding{"igbvf", "", std::string(kNoMac)},
                         .mac = "02:00:00:00:00:0a"};
  EXPECT_EQ(arguments_of(Binding::kBind, {machine})[1], "0000:03:00.2=igbvf=02:00:00:00:00:0a");
  EXPECT_EQ(mac_for(Binding::kBind, decode_order(arguments_of(Binding::kBind, {machine}))->devices[0]),
            "02:00:00:00:00:0a");
  EXPECT_EQ(arguments_of(Binding::kRestore, {machine})[1], "0000:03:00.2=igbvf=00:00:00:00:00:00");
  EXPECT_EQ(mac_for(Binding::kRestore, decode_order(arguments_of(Binding::kRestore, {machine}))->devices[0]),
            kNoMac);
  // What its interface chose is the interface's again, whether its PF gives one or not.
  PreparedDevice chosen{.pci = "0000:03:00.2", .vfio = VfioBinding{"igbvf"}};
  chosen.held.emplace().netdev = hotplug::Netdev{.mac = "02:00:00:00:00:77"};
  EXPECT_EQ(arguments_of(Binding::kRestore, {chosen})[1], "0000:03:00.2=igbvf==02:00:00:00:00:77");
  EXPECT_EQ(arguments_of(Binding::kBind, {chosen})[1], "0000:03:00.2=igbvf==02:00:00:00:00:77")
      << "a bind that fails is taken back";
  EXPECT_EQ(decode_order(arguments_of(Binding::kRestore, {chosen}))->devices[0].held->netdev->mac,
            "02:00:00:00:00:77");
  using Arguments = std::vector<std::string>;
  for (const Arguments& bad : {Arguments{},
                               {"unbind"},
                               {"bind", "x=y"},
                               {"bind", "0000:03:00.2/..=y"},
                               {"bind", "0000:03:00.2=../y"},
                               {"bind", "0000:03:00.2=igbvf=01:00:5e:00:00:01"},
                               {"restore", "0000:03:00.2=igbvf==x"},
                               {"restore", "0000:03:00.2=igbvf===02:00:00:00:00:77"}})
    EXPECT_FALSE(decode_order(bad));
}

TEST(BindOrders, AnAnswerIsOneLineOfEachDevice) {
  for (const Errc code : {Errc::kIo, Errc::kTimeout, Errc::kNotFound, Errc::kBusy}) {
    const Result<std::string> failed = Error{code, "two\nlines"};
    EXPECT_EQ(decode_lines(line_of(failed), 1, {})[0].error(), (Error{code, "two lines"}));
  }
  const Results all = decode_lines("ok noiommu-0\nnonsense\nfailed\nok \nok too many\n", 2, {});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(*all[0], "noiommu-0");
  EXPECT_EQ(*all[1], "");
}

}  // namespace
}  // namespace child_binder_test
}  // namespace sliced::kubelet
