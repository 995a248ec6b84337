#include "webhook/opaque_config.h"

#include <utility>

#include "kubelet/vf_config.h"

namespace sliced::webhook {

policy::Problem problem_from(const Error& error, int line) {
  const size_t end = error.what.find(" is ");
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

}  // namespace sliced::webhook
