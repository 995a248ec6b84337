#include "kubelet/child_binder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hotplug/facts.h"
#include "kubelet/mac_requests.h"
#include "reactor/base/text.h"
#include "reactor/loop.h"

namespace sliced::kubelet {
namespace {

// Codes of "failed CODE": those that the preparer distinguishes.
constexpr std::pair<Errc, std::string_view> kCodes[] = {
    {Errc::kIo, "io"}, {Errc::kTimeout, "timeout"}, {Errc::kNotFound, "gone"}, {Errc::kBusy, "busy"}};

constexpr std::pair<Binding, std::string_view> kOrders[] = {
    {Binding::kBind, "bind"}, {Binding::kRestore, "restore"}, {Binding::kRebind, "take-again"}};

std::string_view name_of(Errc code) {
  for (const auto& [one, name] : kCodes)
    if (one == code) return name;
  return "io";
}

Errc code_of(std::string_view name) {
  for (const auto& [code, one] : kCodes)
    if (one == name) return code;
  return Errc::kIo;
}

std::string addresses(const std::vector<PreparedDevice>& devices) {
  std::vector<std::string> all;
  for (const PreparedDevice& device : devices) all.push_back(device.pci);
  return join(all, ", ");
}

Error why_missing(const reactor::ChildResult& result) {
  if (result.timed_out) return {Errc::kTimeout, "the kernel did not answer in time; the kubelet retries"};
  return {Errc::kIo, "the program that binds ended " +
                         (result.signal != 0 ? "by signal " + std::to_string(result.signal)
                                             : "with status " + std::to_string(result.exit_status)) +
                         (result.err.empty() ? "" : ": " + escaped(trim(result.err), 256))};
}

}  // namespace

std::vector<std::string> arguments_of(Binding what, const std::vector<PreparedDevice>& devices) {
  std::vector<std::string> out;
  for (const auto& [one, name] : kOrders)
    if (one == what) out.emplace_back(name);
  for (const PreparedDevice& device : devices) {
    // A failed bind is undone. For an address that is not a MAC (20 bytes of IPoIB, all zeros) the driver
    // chooses one.
    std::vector<std::string> fields{device.pci, device.vfio ? device.vfio->original_driver : "",
                                    device.vfio ? mac_for(what, device) : "", own_mac_of(device)};
    while (fields.size() > 2 && fields.back().empty()) fields.pop_back();
    out.push_back(join(fields, "="));
  }
  return out;
}

Result<BindOrder> decode_order(const std::vector<std::string>& arguments) {
  const auto* order = std::find_if(std::begin(kOrders), std::end(kOrders), [&](const auto& one) {
    return !arguments.empty() && one.second == arguments[0];
  });
  if (order == std::end(kOrders)) return Error{Errc::kInvalid, "expected bind, restore or take-again"};
  BindOrder out{order->first, {}};
  for (size_t i = 1; i < arguments.size(); ++i) {
    const auto parts = split(arguments[i], '=');
    const auto part = [&](size_t index) { return std::string(index < parts.size() ? parts[index] : ""); };
    const std::string pci = part(0), driver = part(1), mac = part(2), own = part(3);
    // The driver's name becomes part of a sysfs path.
    if (!hotplug::PciAddress::decode(pci) || driver.find('/') != std::string::npos || parts.size() > 4 ||
        !(mac.empty() || mac == kNoMac || decode_mac(mac)) || !(own.empty() || decode_mac(own)))
      return Error{Errc::kInvalid, in_quotes(arguments[i], 64) +
                                       " is not a function: expected ADDRESS=DRIVER[=MAC[=OWN-MAC]]"};
    PreparedDevice device{.pci = pci, .vfio = VfioBinding{driver, "", mac}};
    if (!own.empty()) device.held.emplace().netdev = hotplug::Netdev{.mac = own};
    out.devices.push_back(std::move(device));
  }
  return out;
}

std::string line_of(const Result<std::string>& result) {
  std::string what = result ? *result : result.error().what;
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (result) return "ok " + what + "\n";
  return "failed " + std::string(name_of(result.error().code)) + " " + what + "\n";
}

std::vector<Result<std::string>> decode_lines(const std::string& text, size_t devices, const Error& missing) {
  std::vector<Result<std::string>> out;
  for (const std::string_view line : split(text, '\n')) {
    if (out.size() == devices) break;
    if (line.starts_with("ok ")) {
      out.emplace_back(std::string(line.substr(3)));
    } else if (line.starts_with("failed ")) {
      const std::string_view rest = line.substr(7);
      const size_t at = std::min(rest.find(' '), rest.size());
      out.emplace_back(
          Error{code_of(rest.substr(0, at)), std::string(rest.substr(std::min(at + 1, rest.size())))});
    }
  }
  while (out.size() < devices) out.emplace_back(missing);
  return out;
}

Millis ChildBinder::Settings::deadline_after(Millis waited) const {
  return std::min(deadline, std::max(answer_max - patience - waited, least));
}

struct ChildBinder::Run {
  Binding what;
  std::vector<PreparedDevice> devices;
  TimePoint asked;
  Done done;  // null: answered, or cancelled by the caller
  reactor::Semaphore::PermitPtr permit = {};
  std::unique_ptr<reactor::Child> child = {};  // null: it waits for its turn
  reactor::Ticket given_up = {};
  bool is_late = false;  // answered with kTimeout while the process still runs

  void answer(std::vector<Result<std::string>> results) {
    if (const Done call = std::exchange(done, nullptr)) call(std::move(results));
  }
};

// The process continues after the caller has cancelled: a half-finished binding leaves the device without a
// driver.
struct ChildBinder::Handle final : reactor::Job {
  explicit Handle(std::shared_ptr<Run> one) : run(std::move(one)) {}
  ~Handle() override { run->done = nullptr; }
  const std::shared_ptr<Run> run;
};

ChildBinder::ChildBinder(reactor::Loop& loop, Settings settings)
    : loop_(loop), settings_(std::move(settings)), permits_(loop.scheduler(), settings_.at_once) {}
ChildBinder::~ChildBinder() = default;

std::string ChildBinder::who_binds(const std::vector<PreparedDevice>& devices) const {
  for (const auto& [number, run] : runs_)
    for (const PreparedDevice& device : devices)
      if (run->child && std::any_of(run->devices.begin(), run->devices.end(),
                                    [&](const PreparedDevice& one) { return one.pci == device.pci; }))
        return "process " + std::to_string(run->child->pid()) + ", which binds " + addresses(run->devices) +
               (run->is_late
                    ? ", still hangs in the kernel: it ends when the process that has the device open ends"
                    : ", has not ended yet; the kubelet retries");
  return "";
}

std::unique_ptr<reactor::Job> ChildBinder::run(Binding what, std::vector<PreparedDevice> devices, Done done) {
  const std::string binding = who_binds(devices);
  const uint64_t number = next_++;
  const auto run = runs_[number] =
      std::make_shared<Run>(Run{what, std::move(devices), loop_.scheduler().now(), std::move(done)});
  if (!binding.empty()) {
    run->given_up = loop_.scheduler().after(
        Millis{0}, [this, number, binding] { answer(number, {Errc::kBusy, binding}); });
  } else {
    run->permit = permits_.acquire([this, number] { begin(number); });
    run->given_up = loop_.scheduler().after(settings_.wait_max(), [this, number] {
      answer(number, {Errc::kTimeout, "others are being bound, " + std::to_string(permits_.in_use()) +
                                          " at once, and " + std::to_string(permits_.waiting()) +
                                          " wait: it was not started; the kubelet retries"});
    });
  }
  return std::make_unique<Handle>(run);
}

void ChildBinder::answer(uint64_t number, const Error& error) {
  const auto own = std::move(runs_.extract(number).mapped());  // it owns the function that called this
  own->permit.reset();
  own->answer(std::vector<Result<std::string>>(own->devices.size(), error));
}

void ChildBinder::begin(uint64_t number) {
  const std::shared_ptr<Run> run = runs_.at(number);
  if (!run->done) {  // nothing was started, and the caller has cancelled
    runs_.erase(number);
    return;
  }
  if (const std::string binding = who_binds(run->devices); !binding.empty())
    return answer(number, {Errc::kBusy, binding});
  std::vector<std::string> argv = settings_.program;
  for (std::string& one : arguments_of(run->what, run->devices)) argv.push_back(std::move(one));
  const auto waited = std::chrono::duration_cast<Millis>(loop_.scheduler().now() - run->asked);
  const Millis deadline = settings_.deadline_after(waited);
  auto child = reactor::Child::start(
      loop_, {.argv = std::move(argv), .deadline = deadline, .kill_after = settings_.kill_after},
      [this, number](const reactor::ChildResult& result) { end(number, result); });
  if (!child) return answer(number, child.error());
  run->child = std::move(*child);
  run->given_up = loop_.scheduler().after(deadline + settings_.patience, [run = run.get()] {
    run->is_late = true;
    run->permit.reset();  // a hung process does not count against the limit
    run->answer(std::vector<Result<std::string>>(
        run->devices.size(),
        Error{Errc::kTimeout, "process " + std::to_string(run->child->pid()) + ", which binds " +
                                  addresses(run->devices) + ", hangs in the kernel; the kubelet retries"}));
  });
}

void ChildBinder::end(uint64_t number, const reactor::ChildResult& result) {
  const auto at = runs_.find(number);
  const std::shared_ptr<Run> run = std::move(at->second);
  runs_.erase(at);
  run->given_up.reset();
  run->permit.reset();
  const auto child = std::move(run->child);  // it owns the function that called this
  run->answer(decode_lines(result.out, run->devices.size(), why_missing(result)));
}

}  // namespace sliced::kubelet
