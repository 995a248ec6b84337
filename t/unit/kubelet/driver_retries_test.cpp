#include "kubelet/driver_retries.h"

#include <algorithm>

#include "t/fixture/golden.h"
#include "t/unit/kubelet/preparer_world.h"

namespace sliced::kubelet {
namespace driverless_test {
namespace {

using sample::ClaimText;
using sample::config;

constexpr const char* kVf = "0000:03:00.2";

// The module of the driver that a function had is unloaded while a pod has it on vfio-pci.
class DriverlessTest : public sample::PreparerWorld {
 protected:
  DriverlessTest() {
    EXPECT_EQ(prepare(machine)->error, "");
    node.unloaded_driver = "igbvf";
  }
  size_t tries() const {
    return static_cast<size_t>(
        std::count(node.steps.begin(), node.steps.end(), std::string("restore ") + kVf));
  }
  const ClaimText machine = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
};

// Red when the pod stays Terminating, or the function on vfio-pci, until the module is loaded.
TEST_F(DriverlessTest, ReportsADeviceWithoutADriverAfterThePodEnds) {
  EXPECT_EQ(unprepare(request(machine)), "");
  EXPECT_EQ(driver_of(kVf), "");
  EXPECT_TRUE(preparer->prepared().empty() && charged.empty() && held.empty() && node.specs.empty());
  EXPECT_EQ(log.count("original driver not bound"), 1u);
}

// Red when it stays without a driver although that is there, or is bound again under a pod.
TEST_F(DriverlessTest, RetriesUntilTheDriverIsBound) {
  EXPECT_EQ(unprepare(request(machine)), "");
  const size_t before = tries();
  scheduler.advance(2 * DriverRetries::kAgain);
  EXPECT_EQ(tries(), before + 2);
  EXPECT_EQ(log.count("original driver not bound"), 1u) << "said once";
  node.unloaded_driver.clear();
  scheduler.advance(DriverRetries::kAgain);
  EXPECT_EQ(driver_of(kVf), "igbvf");
  EXPECT_EQ(log.count("original driver bound again, or device removed"), 1u);
  const size_t after = tries();
  scheduler.advance(10 * DriverRetries::kAgain);
  EXPECT_EQ(tries(), after);
}

// Red when a container is given a device whose interface is not there, or the driver is forgotten with the next machine.
TEST_F(DriverlessTest, AllowsVfioMeanwhileAndNoInterface) {
  EXPECT_EQ(unprepare(request(machine)), "");
  const ClaimText plain = put(claim(2, "0000-03-00-2"));
  const std::string why = prepare(plain)->error;
  fixture::expect_golden(why);
  EXPECT_TRUE(preparer->prepared().empty());
  EXPECT_EQ(prepare(put(claim(3, "0000-03-00-3")))->error, "") << "others are had as before";
  facts_driver = "";  // by now it is decided over so
  EXPECT_EQ(prepare(machine)->error, "");
  EXPECT_EQ(driver_of(kVf), "vfio-pci");
  scheduler.advance(2 * DriverRetries::kAgain);
  EXPECT_EQ(driver_of(kVf), "vfio-pci") << "under a machine nothing is bound";
  node.unloaded_driver.clear();
  EXPECT_EQ(unprepare(request(machine)), "");
  EXPECT_EQ(driver_of(kVf), "igbvf");
  EXPECT_EQ(prepare(plain)->error, "");
}

// Answers about what is asked together as ChildBinder does: one program, which a driver may keep.
struct OneHangs final : Binder {
  struct Call final : reactor::Job {
    reactor::Ticket turn;
  };
  explicit OneHangs(reactor::Scheduler& on) : scheduler(on) {}
  std::unique_ptr<reactor::Job> run(Binding, std::vector<PreparedDevice> devices, Done done) override {
    const bool hangs = std::any_of(devices.begin(), devices.end(),
                                   [](const PreparedDevice& device) { return device.pci == kVf; });
    const Result<std::string> answer =
        hangs ? Result<std::string>(Error{Errc::kTimeout, "hangs"}) : Result<std::string>(std::string());
    auto call = std::make_unique<Call>();
    call->turn = scheduler.after(hangs ? kBindMax : Millis{1}, [answer, count = devices.size(), done] {
      const Done then = done;  // the call is dropped by it
      then(std::vector<Result<std::string>>(count, answer));
    });
    return call;
  }
  reactor::Scheduler& scheduler;
};

// Red when a driver that hangs with one function keeps the others from theirs.
TEST(DriverlessFunctions, AHangingDriverAffectsNoOther) {
  fake::FakeScheduler scheduler;
  fake::MemoryLog log;
  DriverRetries driverless(scheduler, log);
  driverless.use(std::make_shared<OneHangs>(scheduler));
  for (const char* pci : {"0000:03:00.1", kVf, "0000:03:00.3"})
    driverless.add({.pci = pci, .vfio = VfioBinding{.original_driver = "igbvf"}}, "no driver");
  scheduler.advance(DriverRetries::kAgain + Binder::kBindMax + Millis{10});
  EXPECT_EQ(driverless.driver_of("0000:03:00.1"), "");
  EXPECT_EQ(driverless.driver_of(kVf), "igbvf");
  EXPECT_EQ(driverless.driver_of("0000:03:00.3"), "");
}

}  // namespace
}  // namespace driverless_test
}  // namespace sliced::kubelet
