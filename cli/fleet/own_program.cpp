#include "cli/fleet/own_program.h"

#include <utility>
#include <variant>

namespace sliced::cli {
namespace {

std::vector<std::string> cluster_words(const config::Options& options) {
  std::vector<std::string> out;
  const auto* file = std::get_if<config::KubeconfigFile>(&options.cluster);
  if (file == nullptr || (file->context.empty() && file->others.empty())) {
    out.insert(out.end(), {"--cluster", describe(options.cluster)});
  } else {
    // Of several files kubectl's variable has them all, and the program inherits it.
    if (file->others.empty()) out.insert(out.end(), {"--kubeconfig", file->path});
    if (!file->context.empty()) out.insert(out.end(), {"--context", file->context});
  }
  out.insert(out.end(), {"--sriov-driver-name", options.sriov_driver_name, "--exposure-driver-name",
                         options.exposure_driver_name});
  return out;
}

}  // namespace

std::vector<std::string> why_program(const config::Options& options, const std::string& pod) {
  std::vector<std::string> out = {"/proc/self/exe", "why", "pod", pod};
  for (std::string& word : cluster_words(options)) out.push_back(std::move(word));
  return out;
}

std::vector<std::string> edit_program(const config::Options& options) {
  std::vector<std::string> out = {"/proc/self/exe", "policies", "--diff",      options.diff_file,
                                  "--output",       "json",     "--namespace", options.namespace_};
  for (std::string& word : cluster_words(options)) out.push_back(std::move(word));
  return out;
}

}  // namespace sliced::cli
