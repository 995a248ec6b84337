#pragma once
// Binding by a program of its own (daemon/bind_helper.h), so that what hangs in the kernel costs no thread of the daemon and
// does not keep it from ending.
//
// Hang: past the deadline the program is killed, and its devices are answered with kTimeout. Where it does not end even
//       so, as in a write that the kernel does not let go, none is begun beside it for any of its devices: calls about
//       them are answered with kBusy at once, until it ends.
// Many: when a node boots, or is drained, hundreds are asked for at once. A few run; the others wait in the order in which
//       they came, and their deadline begins with their program. One for which there is no time any more before the kubelet
//       gives up is not begun: it is answered with kTimeout. One that hangs keeps its permit no longer than it is waited for.
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

/// Ownership: the loop outlives this. Programs that still run are killed with it.
class ChildBinder final : public Binder {
 public:
  struct Settings {
    std::vector<std::string> program;  // and its first arguments
    Millis deadline = kBindMax;
    Millis kill_after{2'000};  // from SIGTERM to SIGKILL
    Millis patience{3'000};    // from the deadline to the answer
    size_t at_once = 16;
    Millis answer_max{43'000};  // from the call to its answer, the wait included
    Millis least{5'000};        // that a program is begun for

    /// For its turn: whoever waits longer is not begun.
    Millis wait_max() const { return answer_max - patience - least; }
    /// Of a program that begins after so long a wait, from its own beginning: shorter where the answer would come too late.
    Millis deadline_after(Millis waited) const;
  };
  ChildBinder(reactor::Loop& loop, Settings settings);
  ~ChildBinder() override;

  std::unique_ptr<reactor::Job> run(Binding what, std::vector<PreparedDevice> devices, Done done) override;

 private:
  // One program that runs, or an answer that is due in the next turn.
  struct Run;
  // What the caller holds. Dropping it does not end the program: half a binding helps nobody.
  struct Handle;
  // Its turn has come.
  void begin(uint64_t number);
  // Without a program, or where none is begun.
  void answer(uint64_t number, const Error& error);
  // The program has ended: what it said is the answer, unless it was given up before.
  void end(uint64_t number, const reactor::ChildResult& result);
  // Which program has one of these devices, and whether it hangs; "" none has.
  std::string who_binds(const std::vector<PreparedDevice>& devices) const;

  reactor::Loop& loop_;
  const Settings settings_;
  reactor::Semaphore permits_;
  std::map<uint64_t, std::shared_ptr<Run>> runs_;
  uint64_t next_ = 0;
};

/// What the program is told: "bind", "restore" or "take-again", then for each device "0000:03:00.2=igbvf", "=02:00:00:00:00:0a" where
/// its PF gives the VF an address, and another one that its own interface had, where that is to be had again.
std::vector<std::string> arguments_of(Binding what, const std::vector<PreparedDevice>& devices);
struct BindOrder {
  Binding what;
  std::vector<PreparedDevice> devices;  // pci and vfio alone
};
/// Errors: kInvalid.
Result<BindOrder> decode_order(const std::vector<std::string>& arguments);
/// What it says of each device, in order: a line "ok GROUP", or "failed CODE TEXT".
std::string line_of(const Result<std::string>& result);
/// missing: of devices that it has not come to.
/// As many as `devices`, whatever the text says; lines of another form are passed over.
std::vector<Result<std::string>> decode_lines(const std::string& text, size_t devices, const Error& missing);

}  // namespace sliced::kubelet
