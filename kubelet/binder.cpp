#include "kubelet/binder.h"

#include <utility>

namespace sliced::kubelet {

Result<std::string> bind_or_restore(const Host& host, Binding what, const PreparedDevice& device) {
  if (what == Binding::kBind) return host.bind(device);
  if (auto restored = host.restore(device); !restored) return std::move(restored.error());
  return std::string();
}

std::unique_ptr<reactor::Job> HostBinder::run(Binding what, std::vector<PreparedDevice> devices, Done done) {
  using Results = std::vector<Result<std::string>>;
  auto results = std::make_shared<Results>();
  const size_t count = devices.size();
  auto work = [results, what, host = host_, devices = std::move(devices)] {
    for (const PreparedDevice& device : devices) results->push_back(bind_or_restore(*host, what, device));
  };
  return executor_.run(std::move(work), kBindMax, [results, count, done = std::move(done)](bool finished) {
    done(finished ? std::move(*results)
                  : Results(count, Error{Errc::kTimeout, "the kernel does not answer about its devices"}));
  });
}

}  // namespace sliced::kubelet
