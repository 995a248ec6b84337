#pragma once
// Binds functions in a helper process (daemon/bind_helper.h), so that a kernel call that hangs blocks no
// thread of the daemon and does not delay its exit.
//
// Hang: after the deadline the process is killed, and its devices get kTimeout. A process in an
// uninterruptible write does not end. Until it does, calls for any of its devices get kBusy immediately.
// Load: a boot or a drain can request hundreds of bindings. At most `at_once` processes run; the others wait
// in order, and their deadline starts with their process. A call gets kTimeout without a process if too
// little time remains before the kubelet gives up. A process that hangs holds its permit only until its
// answer is due.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/binder.h"
#include "reactor/child.h"
#include "reactor/scheduler.h"
#include "reactor/semaphore.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::kubelet {

/// Ownership: the loop outlives this object. The destructor kills the processes that still run.
class ChildBinder final : public Binder {
 public:
  struct Settings {
    std::vector<std::string> program;  // with its first arguments
    Millis deadline = kBindMax;
    Millis kill_after{2'000};  // from SIGTERM to SIGKILL
    Millis patience{3'000};    // from the deadline to the answer
    size_t at_once = 16;
    Millis answer_max{43'000};  // from the call to its answer, including the wait
    Millis least{5'000};        // remaining time below which no process is started

    /// Longest wait for a permit. A call that waits longer gets kTimeout without a process.
    Millis wait_max() const { return answer_max - patience - least; }
    /// Deadline of a process that starts after `waited`, from its start. It is shorter than `deadline` if the
    /// answer would be late.
    Millis deadline_after(Millis waited) const;
  };
  ChildBinder(reactor::Loop& loop, Settings settings);
  ~ChildBinder() override;

  std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices, Done done) override;

 private:
  // One running process, or an answer that is due in the next turn.
  struct Run;
  // The caller's handle. Dropping it does not stop the process: a half-finished binding leaves the device
  // without a driver.
  struct Handle;
  // Starts the process of a run that got its permit.
  void begin(uint64_t number);
  // Schedules an error as the answer of a run without a process.
  void answer(uint64_t number, const Error& error);
  // Delivers the process's output as the answer, unless the run was answered before.
  void end(uint64_t number, const reactor::ChildResult& result);
  // Returns which process works on one of these devices, and whether it hangs; "" if no process does.
  std::string who_binds(const std::vector<PreparedDevice>& devices) const;

  reactor::Loop& loop_;
  const Settings settings_;
  reactor::Semaphore permits_;
  std::map<uint64_t, std::shared_ptr<Run>> runs_;
  uint64_t next_ = 0;
};

/// Returns the helper's arguments: "bind", "restore" or "take-again", then one for each device:
/// "0000:03:00.2=igbvf". It is followed by "=02:00:00:00:00:00:0a" if the PF sets an address for the VF, and
/// by a second address if the interface's own one is restored.
std::vector<std::string> arguments_of(Binding what, const std::vector<PreparedDevice>& devices);
struct BindOrder {
  Binding what;
  std::vector<PreparedDevice> devices;  // only pci and vfio are set, and held for own_mac_of()
};
/// Errors: kInvalid.
Result<BindOrder> decode_order(const std::vector<std::string>& arguments);
/// Formats the helper's result for one device: a line "ok GROUP", or "failed CODE TEXT".
std::string line_of(const Result<std::string>& result);
/// Returns as many results as `devices`, regardless of the text. Lines of another form are ignored. Devices
/// without a line get `missing`.
std::vector<Result<std::string>> decode_lines(const std::string& text, size_t devices, const Error& missing);

}  // namespace sliced::kubelet
