#pragma once
// The services on a driver's socket: DRAPlugin v1 and v1beta1, DRAResourceHealth v1 and v1alpha1
// (k8s.io/kubelet/pkg/apis/dra, dra-health). Converts between messages and the values of Preparer.
#include <string>

#include "http/grpc/server.h"
#include "kubelet/health_streams.h"
#include "kubelet/preparer_port.h"

namespace sliced::kubelet {

constexpr Millis kClaimsAnswerMax{45'000};  // the kubelet's timeout

/// Requests each claim of a call separately and concurrently; the answer has an entry for each. After the
/// client's timeout the Preparer may continue; the kubelet repeats the call. Both references outlive every
/// server of these methods.
grpc::Methods plugin_methods(const std::string& driver, Preparer& preparer, HealthStreams& health);

}  // namespace sliced::kubelet
