#include "controller/webhook/opaque_config.h"

#include <algorithm>
#include <utility>

#include "kubelet/partial_network.h"
#include "kubelet/vf_config.h"
#include "reactor/base/text.h"

namespace sliced::webhook {

policy::Problem problem_from(const Error& error, int line) {
  // A path may contain spaces, in the name of an unknown field. So the end of the path is the first verb of
  // an error.
  size_t end = std::string::npos;
  for (const char* verb : {" is ", " has ", " differs ", " and "}) end = std::min(end, error.what.find(verb));
  if (end == std::string::npos) return {"", error.what, line};
  return {error.what.substr(0, end), error.what.substr(end + 1), line};
}

bool is_ours(const Drivers& drivers, std::string_view driver) {
  return driver == drivers.sriov || driver == drivers.exposure;
}

bool is_our_config(const kube::Json& config, const Drivers& drivers) {
  const kube::Json* opaque = config.find("opaque");
  return opaque != nullptr && is_ours(drivers, opaque->text("driver"));
}

std::optional<policy::Problem> problem_of_ignored_config(const kube::Json& config, const std::string& path,
                                                         const std::set<std::string>& drivers_of_devices,
                                                         const Drivers& drivers) {
  constexpr std::string_view kPeer = "sriovnetwork.k8snetworkplumbingwg.io";
  const kube::Json* opaque = config.find("opaque");
  if (opaque == nullptr) return std::nullopt;
  const std::string driver(opaque->text("driver"));
  const kube::Json* found = opaque->find("parameters");
  const kube::Json parameters = found == nullptr ? kube::Json() : *found;
  const auto ignored = [&](const std::string& why, const std::string& remedy) {
    return policy::Problem{
        path + ".opaque.driver",
        "is " + in_quotes(driver, 64) + why +
            ": nodes ignore the configuration, so pods get no interface or binding by it; " + remedy,
        opaque->line()};
  };
  if (drivers_of_devices.empty()) {
    if (is_ours(drivers, driver) || driver == kPeer || parameters.text("kind") != "VfConfig")
      return std::nullopt;
    const std::string near = nearest(driver, {drivers.sriov, drivers.exposure});
    return ignored(", of which no VfConfig is known",
                   near.empty() ? "VfConfigs are for " + drivers.sriov + " or " + drivers.exposure
                                : "did you mean " + near + "?");
  }
  if (drivers_of_devices.contains(driver)) return std::nullopt;
  for (const std::string& one : drivers_of_devices)
    if (is_ours(drivers, one) && kubelet::may_be_meant_for(one, driver, parameters))
      return ignored(", and the devices that it is for are of driver " + one, "write " + one);
  return std::nullopt;
}

std::optional<policy::Problem> problem_of_config(const kube::Json& config, std::string path, bool is_claims,
                                                 const std::string& namespace_) {
  const kube::Json& opaque = *config.find("opaque");
  const std::string driver(opaque.text("driver"));
  kubelet::AllocatedConfig allocated{
      .is_claims = is_claims, .has_opaque = true, .driver = driver, .path = std::move(path)};
  if (const kube::Json* parameters = opaque.find("parameters"); parameters != nullptr)
    allocated.parameters = *parameters;
  const int line = allocated.parameters.line();
  kubelet::Claim claim;
  claim.namespace_ = namespace_;
  claim.configs = {std::move(allocated)};
  const auto read = kubelet::VfConfigs::decode(claim, driver);
  if (read) return std::nullopt;
  return problem_from(read.error(), line);
}

std::optional<kubelet::NativeNetwork> network_in(const kube::Json& config, bool is_claims) {
  const kube::Json* network = config.find({"opaque", "parameters", "network"});
  if (network == nullptr || network->object() == nullptr) return std::nullopt;
  auto decoded = kubelet::decode_native_network(
      *network, "network", is_claims ? cni::Author::kNamespaceUser : cni::Author::kAdministrator);
  if (!decoded) return std::nullopt;
  return *std::move(decoded);
}

std::optional<policy::Problem> problem_of_network(const kubelet::NativeNetwork& network,
                                                  const kube::Json& config, const std::string& path) {
  const auto good = kubelet::check_partial_network(network, path + ".opaque.parameters.network");
  if (good) return std::nullopt;
  return problem_from(good.error(), config.find({"opaque", "parameters", "network"})->line());
}

}  // namespace sliced::webhook
