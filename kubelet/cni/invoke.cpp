#include "kubelet/cni/invoke.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

using reactor::Child;
using reactor::ChildResult;

constexpr Millis kKillAfter{200};  // from SIGTERM to SIGKILL after the deadline
constexpr size_t kSaidMax = 512;   // quoted part of a plugin's standard error

// Returns the reason of a failed plugin, from its output.
std::string complaint_of(const ChildResult& ended) {
  if (auto error = decode_plugin_error(ended.out)) return *std::move(error);
  std::string why = ended.signal != 0 ? "killed by signal " + std::to_string(ended.signal)
                                      : "exit status " + std::to_string(ended.exit_status);
  const std::string_view output = trim(ended.err.empty() ? ended.out : ended.err);
  if (!output.empty()) why += ": " + printable(output, kSaidMax);
  return why;
}

class Chain final : public Run {
 public:
  Chain(reactor::Loop& loop, Place place, Network network, Command command, Attachment attachment,
        std::optional<Attached> previous, Millis deadline, OnRun on_run)
      : loop_(loop),
        place_(std::move(place)),
        network_(std::move(network)),
        command_(command),
        attachment_(std::move(attachment)),
        previous_(std::move(previous)),
        deadline_(deadline),
        ends_(loop.now() + deadline),
        on_run_(std::move(on_run)) {
    if (command_ == Command::kAdd || network_.cni_version < "0.4") previous_.reset();
    next_ = loop_.scheduler().after(Millis{0}, [this] { begin(); });
  }

 private:
  void begin() {
    if (auto good = check(attachment_); !good) return end(std::move(good.error()));
    const bool is_unchecked = network_.is_check_disabled || network_.cni_version < "0.4";
    if (command_ == Command::kCheck && is_unchecked) return end(Attached{});
    if (command_ == Command::kAdd)
      for (const PluginConfig& plugin : network_.plugins)
        if (std::string missing = missing_of(plugin); !missing.empty())
          return end(failure_of(plugin, not_there(missing)));
    step();
  }

  // Checks all plugins before the first one runs, because an ADD that fails half way must be undone.
  bool is_missing(const std::string& type) const {
    for (const std::string& directory : place_.directories)
      if (access((directory + "/" + type).c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return false;
    return true;
  }
  // Returns the missing one of the plugin and its IPAM plugin; "" if both exist. host-device moves the
  // interface before it runs its IPAM plugin, and its DEL begins with the IPAM plugin.
  std::string missing_of(const PluginConfig& plugin) const {
    const kube::Json* ipam = plugin.config.find("ipam");
    for (const std::string_view type : {std::string_view(plugin.type), ipam ? ipam->text("type") : ""})
      if (!type.empty() && is_missing(std::string(type))) return std::string(type);
    return "";
  }
  Error not_there(const std::string& type) const {
    return {Errc::kNotFound, "there is no plugin " + escaped(type, 64) + " in " +
                                 escaped(join(place_.directories, ":"), 1024)};
  }

  size_t index() const { return command_ == Command::kDel ? network_.plugins.size() - 1 - done_ : done_; }

  void step() {
    if (done_ == network_.plugins.size()) {
      if (first_error_) return end(*std::move(first_error_));
      return end(command_ == Command::kAdd && previous_ ? *previous_ : Attached{});
    }
    const Millis left = time_left();
    if (left <= Millis{0}) return fail({Errc::kTimeout, late()});
    for (const std::string& directory : place_.directories) {
      auto child =
          Child::start(loop_, spec(directory, left), [this](ChildResult ended) { take(std::move(ended)); });
      if (child) {
        child_ = *std::move(child);
        return;
      }
      if (child.error().code != Errc::kNotFound) return fail_unrun(std::move(child.error()));
    }
    fail_unrun(not_there(network_.plugins[index()].type));
  }

  // For DEL the remaining time is shared, so that a plugin that hangs leaves time for the following ones.
  Millis time_left() const {
    const Millis left = std::chrono::duration_cast<Millis>(ends_ - loop_.now());
    if (command_ != Command::kDel) return left;
    return left / static_cast<Millis::rep>(network_.plugins.size() - done_);
  }

  reactor::ChildSpec spec(const std::string& directory, Millis left) const {
    return {.argv = {directory + "/" + network_.plugins[index()].type},
            .env = environment_for(command_, attachment_, place_.directories, place_.environment),
            .input = input_for(network_, index(), attachment_, previous_),
            .deadline = left,
            .kill_after = kKillAfter,
            .output_bytes_max = kResultBytesMax};
  }

  void take(ChildResult ended) {
    child_.reset();
    if (ended.timed_out) return fail({Errc::kTimeout, late()});
    if (!ended.ok()) return fail({Errc::kIo, complaint_of(ended)});
    if (command_ == Command::kAdd) {
      if (ended.truncated)
        return fail(
            {Errc::kTooLarge, "its output has more than " + std::to_string(kResultBytesMax) + " bytes"});
      auto result = decode_result(ended.out, network_.cni_version);
      if (!result) return fail(std::move(result.error()));
      // The encoded result may be longer than the plugin's output, because it contains omitted members. A
      // record above the limit could not be read again, so DEL would not run.
      if (kube::encode_json(encode_result(*result)).size() > kResultBytesMax)
        return fail({Errc::kTooLarge,
                     "its output needs more than " + std::to_string(kResultBytesMax) + " bytes to keep"});
      previous_ = *std::move(result);
    }
    ++done_;
    step();
  }

  std::string late() const {
    return "not done within the chain's " + std::to_string(deadline_.count()) + " ms";
  }

  // The plugin could not be started. If ADD has run an earlier one, its changes must be undone.
  void fail_unrun(Error error) {
    if (command_ == Command::kAdd && done_ == 0 && error.code != Errc::kNotFound) error.code = Errc::kDenied;
    if (command_ == Command::kAdd && done_ > 0) error.code = Errc::kIo;
    fail(std::move(error));
  }

  void fail(Error error) {
    error = failure_of(network_.plugins[index()], std::move(error));
    if (command_ != Command::kDel) return end(std::move(error));
    if (!first_error_) first_error_ = std::move(error);
    ++done_;
    // On a turn of the loop, so that a chain of missing plugins does not recurse.
    next_ = loop_.scheduler().after(Millis{0}, [this] { step(); });
  }

  Error failure_of(const PluginConfig& plugin, Error error) const {
    return std::move(error).in("network " + network_.name + ": plugin " + plugin.type + ": " +
                               std::string(name_of(command_)));
  }

  void end(Result<Attached> outcome) {
    // Calls back in a turn of its own, without any frame of this run on the stack.
    next_ = loop_.scheduler().after(Millis{0},
                                    [call = std::exchange(on_run_, nullptr), outcome] { call(outcome); });
  }

  reactor::Loop& loop_;
  const Place place_;
  const Network network_;
  const Command command_;
  const Attachment attachment_;
  std::optional<Attached> previous_;
  const Millis deadline_;
  const TimePoint ends_;
  OnRun on_run_;
  size_t done_ = 0;
  std::optional<Error> first_error_;  // of DEL
  std::unique_ptr<Child> child_;
  reactor::Ticket next_;
};

}  // namespace

std::unique_ptr<Run> run_chain(reactor::Loop& loop, Place place, Network network, Command command,
                               Attachment attachment, std::optional<Attached> previous, Millis deadline,
                               OnRun on_run) {
  return std::make_unique<Chain>(loop, std::move(place), std::move(network), command, std::move(attachment),
                                 std::move(previous), deadline, std::move(on_run));
}

}  // namespace sliced::cni
