#pragma once
// Programs that the fleet's page asks: this one (/proc/self/exe, so that they are of its version), of the cluster and the drivers
// that it was told of itself. They read a whole cluster and compute, and the page goes on meanwhile. Pure.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::cli {

/// pod: "ns/name".
std::vector<std::string> why_program(const config::Options& options, const std::string& pod);

/// What the policies in options.diff_file would change on each node, as JSON.
std::vector<std::string> edit_program(const config::Options& options);

}  // namespace sliced::cli
