#include "kubelet/child_binder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

#include "reactor/descriptor.h"
#include "reactor/loop.h"
#include "t/fixture/patience.h"

namespace sliced::kubelet {
namespace child_binder_test {
namespace {

PreparedDevice vf(const std::string& pci, const std::string& driver = "igbvf") {
  return {.pci = pci, .vfio = VfioBinding{driver, ""}};
}
const std::vector<PreparedDevice> kTwo = {vf("0000:03:00.2"), vf("0000:03:00.3", std::string(kNoDriver))};

using Results = std::vector<Result<std::string>>;

struct ChildBinderTest : testing::Test {
  // A shell in the program's place; its arguments are $0, $1 and so on. A deadline of `deadline` is only for a program that hangs.
  static ChildBinder::Settings settings(const std::string& script, Millis deadline = fixture::patience()) {
    return {.program = {"/bin/sh", "-c", script},
            .deadline = deadline,
            .kill_after = 2 * fixture::patience(),
            .patience = Millis{200},
            .at_once = 1,  // a hanging process does not delay others
            .answer_max = 2 * fixture::patience()};
  }
  ChildBinder binder(const std::string& script) { return {loop, settings(script)}; }
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

TEST_F(ChildBinderTest, PassesOrdersAndReturnsAnswers) {
  auto one = binder(R"(echo "ok $0-$1-$2"; echo "failed busy process 7 (qemu) has it open")");
  const Results results = run(one, Binding::kRestore);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(*results[0], "restore-0000:03:00.2=igbvf-0000:03:00.3=(none)");
  EXPECT_EQ(results[1].error(), (Error{Errc::kBusy, "process 7 (qemu) has it open"}));
}

TEST_F(ChildBinderTest, UnfinishedDevicesHaveFailed) {
  auto one = binder("echo ok 7; echo it is broken >&2; exit 3");
  const Results results = run(one);
  EXPECT_EQ(*results.at(0), "7");
  EXPECT_EQ(results.at(1).error().what, "the program that binds ended with status 3: it is broken");
  ChildBinder none(loop, {.program = {"/nonexistent"}});
  EXPECT_NE(run(none).at(0).error().what.find("/nonexistent"), std::string::npos);
}

// Red when a program that still works counts as hanging.
TEST_F(ChildBinderTest, DoesNotReportARunningBindAsHanging) {
  auto one = binder("sleep 1000000; echo ok 8");
  const auto job = one.run(Binding::kBind, kTwo, [](const Results&) {});
  loop.turn(Millis{0});
  const Results beside = run(one);
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(beside[0].error().code, Errc::kBusy);
  EXPECT_NE(beside[0].error().what.find("has not ended yet"), std::string::npos) << beside[0].error().what;
}

// As a write to `unbind` does while a process has the device: no signal ends it.
TEST_F(ChildBinderTest, ReportsAHangAndStartsNothingBesideIt) {
  std::string pattern = testing::TempDir() + "hangs.XXXXXX";
  const std::string directory = ::mkdtemp(pattern.data());
  const std::string script = "trap '' TERM; case $1 in *00.2*) touch " + directory +
                             "/hangs; sleep 1000000 & wait; wait; wait;; esac; echo ok 8";
  Millis deadline{300};
  auto made = std::make_unique<ChildBinder>(loop, settings(script, deadline));
  Results hangs = run(*made);
  // A slow machine needs more time to start the shell.
  while (!std::filesystem::exists(directory + "/hangs")) {
    made = std::make_unique<ChildBinder>(loop, settings(script, deadline *= 2));
    hangs = run(*made);
  }
  ChildBinder& one = *made;
  ASSERT_EQ(hangs.size(), 2u);
  EXPECT_EQ(hangs[1].error().code, Errc::kTimeout);
  EXPECT_NE(hangs[0].error().what.find("hangs in the kernel"), std::string::npos);
  const int pid = std::stoi(hangs[0].error().what.substr(std::string("process ").size()));
  const Results again = run(one);
  EXPECT_EQ(again.at(0).error().code, Errc::kBusy);
  EXPECT_NE(again.at(0).error().what.find("process " + std::to_string(pid)), std::string::npos);
  EXPECT_NE(again.at(0).error().what.find("still hangs in the kernel"), std::string::npos);
  Results others = run(one, Binding::kBind, {vf("0000:03:00.4")});
  while (!others.at(0)) others = run(one, Binding::kBind, {vf("0000:03:00.4")});  // the deadline is short
  EXPECT_EQ(*others.at(0), "8") << "others are bound meanwhile";
  ::kill(-pid, SIGKILL);
  Results once_more = run(one);
  while (once_more.at(0).error().code == Errc::kBusy) once_more = run(one);  // until its end is noticed
  EXPECT_EQ(once_more[0].error().code, Errc::kTimeout) << "another program was begun";
  std::filesystem::remove_all(directory);
}

struct ManyBindings : testing::Test {
  ManyBindings() {
    std::string pattern = testing::TempDir() + "bindings.XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~ManyBindings() override { std::filesystem::remove_all(directory); }

  // All at the same time; their answers are in `answers`.
  std::vector<std::unique_ptr<reactor::Job>> begin(ChildBinder& binder, size_t count) {
    std::vector<std::unique_ptr<reactor::Job>> jobs;
    answers.assign(count, std::nullopt);
    for (size_t i = 0; i < count; ++i)
      jobs.push_back(binder.run(Binding::kRestore, {vf("0000:03:00." + std::to_string(i))},
                                [this, i](Results results) { answers[i] = std::move(results.at(0)); }));
    return jobs;
  }
  void turn_until(const std::function<bool()>& holds) {
    while (!holds()) loop.turn(Millis{20});
  }
  std::vector<Result<std::string>> run(ChildBinder& binder, size_t count) {
    const auto jobs = begin(binder, count);
    turn_until([this] {
      return std::all_of(answers.begin(), answers.end(), [](const auto& one) { return one.has_value(); });
    });
    std::vector<Result<std::string>> out;
    for (const auto& one : answers) out.push_back(one.value_or(Error{Errc::kIo, "never answered"}));
    return out;
  }
  // A program writes down whose turn it is, and beside how many it runs.
  std::string script(const std::string& work) const {
    return "cd " + directory + " && touch run.$$ && echo $1 >>order && ls run.* | wc -l >>beside && " + work +
           "; rm run.$$; echo 'ok '";
  }
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> out;
    std::ifstream file(directory + "/" + name);
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }

  std::string directory;
  std::vector<std::optional<Result<std::string>>> answers;
  reactor::Loop loop;
};

// As when a node boots. Red when each is begun at once: pipes, memory, and locks of the kernel for all of them.
TEST_F(ManyBindings, RunsAFewAndQueuesTheOthers) {
  for (const int at_once : {2, 1}) {
    ChildBinder binder(loop, {.program = {"/bin/sh", "-c", script("sleep 0.02")},
                              .deadline = fixture::patience(),
                              .at_once = static_cast<size_t>(at_once),
                              .answer_max = 2 * fixture::patience()});
    for (const auto& one : run(binder, 8)) EXPECT_TRUE(one) << one.error().what;
    const auto beside = lines("beside");
    ASSERT_EQ(beside.size(), 8u);
    for (const std::string& count : beside) EXPECT_LE(std::stoi(count), at_once);
    const auto order = lines("order");
    EXPECT_TRUE(at_once > 1 || std::is_sorted(order.begin(), order.end())) << testing::PrintToString(order);
    for (const char* name : {"beside", "order"}) std::filesystem::remove(directory + "/" + name);
  }
}

// Red when a program is begun although the kubelet has given up already: each of these would be, once the gate is open.
TEST_F(ManyBindings, SkipsOrdersWithoutRemainingTime) {
  const std::string gate = directory + "/gate";
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const ChildBinder::Settings settings{.program = {"/bin/sh", "-c", script(": <gate")},
                                       .deadline = fixture::patience(),
                                       .patience = Millis{100},
                                       .at_once = 1,
                                       .answer_max = fixture::patience() + Millis{200},
                                       .least = fixture::patience()};
  ASSERT_EQ(settings.wait_max(), Millis{100});
  ChildBinder binder(loop, settings);
  const auto jobs = begin(binder, 4);
  turn_until([&] { return std::count(answers.begin(), answers.end(), std::nullopt) == 1; });
  ASSERT_FALSE(answers[0]) << "it is at the gate";
  for (size_t i = 1; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i] && !*answers[i]) << i;
    EXPECT_EQ((*answers[i]).error().code, Errc::kTimeout);
    EXPECT_NE((*answers[i]).error().what.find("it was not started; the kubelet retries"), std::string::npos)
        << (*answers[i]).error().what;
  }
  const reactor::Descriptor opened(::open(gate.c_str(), O_RDWR | O_CLOEXEC));
  turn_until([&] { return answers[0].has_value(); });
  EXPECT_TRUE(answers[0] && *answers[0]);
  EXPECT_TRUE(run(binder, 1)[0]) << "and the next call is";
  EXPECT_EQ(lines("order").size(), 2u);
}

// Red when what waits counts the time of those before it, or an answer comes when the kubelet (45 s) has given up.
TEST(BindDeadlines, StartWithTheProgramAndEndBeforeTheKubeletsTimeout) {
  const ChildBinder::Settings settings{.program = {}};
  const struct {
    Millis waited, deadline;
  } rows[] = {{Millis{0}, Millis{30'000}},
              {Millis{10'000}, Millis{30'000}},
              {Millis{11'000}, Millis{29'000}},
              {settings.wait_max(), Millis{5'000}},
              {Millis{60'000}, Millis{5'000}}};  // a turn that was late
  for (const auto& row : rows) {
    EXPECT_EQ(settings.deadline_after(row.waited), row.deadline) << row.waited.count();
    if (row.waited <= settings.wait_max()) {
      EXPECT_LE(row.waited + row.deadline + settings.patience, settings.answer_max);
    }
  }
}

TEST_F(ManyBindings, SkipsACancelledOrder) {
  ChildBinder binder(loop, {.program = {"/bin/sh", "-c", script("true")}, .at_once = 1});
  auto none = [](const Results&) { FAIL() << "nobody asks"; };
  binder.run(Binding::kBind, {vf("0000:03:00.1")}, none).reset();
  EXPECT_TRUE(run(binder, 1)[0]);
  EXPECT_EQ(lines("order").size(), 1u);
}

TEST(BindOrders, AreDecodedAsTheyWereEncoded) {
  const auto order = decode_order(arguments_of(Binding::kRestore, kTwo));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->what, Binding::kRestore);
  EXPECT_EQ(order->devices, kTwo);
  EXPECT_EQ(decode_order(arguments_of(Binding::kRebind, kTwo))->what, Binding::kRebind);
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
  // One that no interface can be given is left to the driver, and keeps no function from being bound or restored.
  for (const char* mac : {"00:00:10:49:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77", "00:00:00:00:00:00",
                          "01:00:5e:00:00:01", "00:11:22:33:44:55:66:77", "x=y"})
    for (const Binding what : {Binding::kBind, Binding::kRestore, Binding::kRebind}) {
      chosen.held->netdev->mac = mac;
      const auto read = decode_order(arguments_of(what, {machine, chosen}));
      ASSERT_TRUE(read) << mac << ": " << read.error().what;
      EXPECT_EQ(read->devices[1], (PreparedDevice{.pci = "0000:03:00.2", .vfio = VfioBinding{"igbvf"}}));
    }
  machine.vfio->original_mac = "01:00:5e:00:00:01";
  const auto restored = decode_order(arguments_of(Binding::kRestore, {machine}));
  ASSERT_TRUE(restored) << restored.error().what;
  EXPECT_EQ(mac_for(Binding::kRestore, restored->devices[0]), "");
  EXPECT_TRUE(decode_order(arguments_of(Binding::kBind, {machine})));
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

TEST(BindOrders, AnAnswerHasALinePerDevice) {
  for (const Errc code : {Errc::kIo, Errc::kTimeout, Errc::kNotFound, Errc::kBusy}) {
    const Result<std::string> failed = Error{code, "two\nlines"};
    EXPECT_EQ(decode_lines(line_of(failed), 1, {})[0].error(), (Error{code, "two lines"}));
  }
  EXPECT_EQ(*decode_lines(line_of(std::string("two\nlines")), 1, {})[0], "two lines");
  const Results all = decode_lines("ok noiommu-0\nnonsense\nfailed\nok \nok too many\n", 2, {});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(*all[0], "noiommu-0");
  EXPECT_EQ(*all[1], "");
}

}  // namespace
}  // namespace child_binder_test
}  // namespace sliced::kubelet
