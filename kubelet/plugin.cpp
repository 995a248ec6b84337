#include "kubelet/plugin.h"

#include <utility>

#include "kubelet/plugin_server.h"
#include "kubelet/registration.h"
#include "reactor/base/text.h"
#include "reactor/loop.h"

namespace sliced::kubelet {
namespace {

constexpr Millis kLookAgain{2'000};  // between two checks that the socket files exist
constexpr reactor::BackoffPolicy kTryAgain{.initial = Millis{500}, .cap = Millis{2'000}, .jitter = 0.2};

}  // namespace

// The sockets and services of one driver.
class Plugin::Served {
 public:
  // on_other: called after each check with the path at which another program answers, "" if none does.
  Served(const PluginPorts& ports, const Settings& settings, Driver driver,
         std::function<void(const std::string&)> on_other)
      : ports_(ports),
        settings_(settings),
        on_other_(std::move(on_other)),
        name_(driver.name),
        health_({ports.loop.scheduler(), std::move(driver.judge), ports.clock}),
        backoff_(reactor::system_random(), kTryAgain) {}

  // Opens the sockets that are not open.
  void tend() {
    const Result<Unit> served = open();
    if (served) backoff_.reset();
    note(served);
    reactor::Scheduler& time = ports_.loop.scheduler();
    next_ = time.after(served ? kLookAgain : backoff_.next(time.now()), [this] { tend(); });
  }
  // Called before the first tend().
  void look_for_others() {
    const auto paths = socket_paths(settings_.directories, name_, settings_.pod_uid);
    if (!paths) return;  // tend() logs the error
    note(remove_silent_others(settings_.directories, name_, {.folder = paths->folder}));
  }
  void refresh_health() { health_.look(); }
  const std::string& name() const { return name_; }
  bool is_serving() const { return service_ && registration_; }

 private:
  Result<Unit> open() {
    if (service_ && !service_->is_found()) {
      registration_.reset();
      service_.reset();
    }
    if (registration_ && !registration_->is_found()) registration_.reset();
    if (is_serving()) return Unit{};
    const auto paths = socket_paths(settings_.directories, name_, settings_.pod_uid);
    if (!paths) return Error(paths.error());
    if (auto made = make_folder(paths->folder); !made) return made;
    const SocketPaths open{paths->folder, service_ ? paths->service : "", ""};
    if (auto alone = remove_silent_others(settings_.directories, name_, open); !alone) return alone;
    if (!service_) {
      auto opened = Endpoint::open(ports_.loop, ports_.log, paths->service,
                                   plugin_methods(name_, ports_.preparer, health_));
      if (!opened) return Error(opened.error());
      service_ = std::move(*opened);
    }
    auto opened =
        Endpoint::open(ports_.loop, ports_.log, paths->registration,
                       registration_methods(name_, paths->service,
                                            [this](const RegistrationStatus& status) { on_status(status); }));
    if (!opened) return Error(opened.error());
    registration_ = std::move(*opened);
    return Unit{};
  }

  void note(const Result<Unit>& done) {
    const bool is_other = !done && done.error().code == Errc::kBusy;
    if (done)
      why_not_.forget();
    else if (why_not_.is_new(done.error().what))
      ports_.log.warning(
          is_other ? "another program serves this driver: nothing is published or prepared until it ends"
                   : "kubelet cannot find this driver",
          {{"driver", name_}, {"why", done.error().what}});
    on_other_(is_other ? done.error().what : "");
  }

  void on_status(const RegistrationStatus& status) {
    if (status.is_registered) {
      ports_.log.info("registered with the kubelet", {{"driver", name_}});
      return ports_.on_registered();
    }
    ports_.log.error("kubelet rejected the registration of this driver",
                     {{"driver", name_}, {"why", status.error}});
  }

  const PluginPorts ports_;
  const Settings settings_;
  const std::function<void(const std::string&)> on_other_;
  const std::string name_;
  HealthStreams health_;
  std::unique_ptr<Endpoint> service_, registration_;  // found by the second, which goes first
  reactor::Backoff backoff_;
  LastMessage why_not_;
  reactor::Ticket next_;
};

Plugin::Plugin(PluginPorts ports, Settings settings, std::vector<Driver> drivers) : ports_(std::move(ports)) {
  for (Driver& driver : drivers) {
    const auto on_other = [this, name = driver.name](const std::string& where) {
      set_other_program(name, where);
    };
    served_.push_back(std::make_unique<Served>(ports_, settings, std::move(driver), on_other));
  }
}

Plugin::~Plugin() = default;

void Plugin::start(std::function<void()> on_alone) {
  for (const auto& one : served_) one->look_for_others();
  on_alone_ = std::move(on_alone);
  if (others_.empty()) std::exchange(on_alone_, {})();
  for (const auto& one : served_) one->tend();
}

void Plugin::set_other_program(const std::string& driver, const std::string& where) {
  const auto before = others_;
  if (where.empty())
    others_.erase(driver);
  else
    others_[driver] = where;
  if (others_ == before) return;
  if (others_.empty() && on_alone_) std::exchange(on_alone_, {})();
  ports_.on_other_program();
}

void Plugin::refresh_health() {
  for (const auto& one : served_) one->refresh_health();
}

bool Plugin::is_serving(const std::string& driver) const {
  for (const auto& one : served_)
    if (one->name() == driver) return one->is_serving();
  return false;
}

}  // namespace sliced::kubelet
