#pragma once
// Rules between the fields of a `network` that is not complete yet: another author sets the rest. Pure.
#include <string>

#include "kubelet/native_network.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Checks the network of a DeviceClass or of a claim alone, by the rules of check_native_network() that no
/// field of the other one can satisfy. A field that is set keeps its value in the merged network, and one
/// that is not set may be set by the other author. Errors: kInvalid.
Result<Unit> check_partial_network(const NativeNetwork& network, const std::string& path);

}  // namespace sliced::kubelet
