#pragma once
// The services at a driver's socket: DRAPlugin v1 and v1beta1, DRAResourceHealth v1 and v1alpha1
// (k8s.io/kubelet/pkg/apis/dra, dra-health). Messages in, Preparer's values out, and back.
#include <string>

#include "http/grpc/server.h"
#include "kubelet/health_streams.h"
#include "kubelet/preparer_port.h"

namespace sliced::kubelet {

constexpr Millis kClaimsAnswerMax{45'000};  // what the kubelet waits

/// Each claim of a call is asked for by itself, all at once; the answer has an entry for each, whatever becomes
/// of the others. What goes on when the client's time is over is the Preparer's business: the kubelet asks
/// again. Both outlive every server of these.
grpc::Methods plugin_methods(const std::string& driver, Preparer& preparer, HealthStreams& health);

}  // namespace sliced::kubelet
