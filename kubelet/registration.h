#pragma once
// pluginregistration.Registration: the kubelet's plugin watcher asks the server of each socket in its
// directory for its identity, and reports the result (k8s.io/kubernetes/pkg/kubelet/pluginmanager: 1 s and 5
// s).
#include <functional>

#include "http/grpc/server.h"
#include "kubelet/messages.h"

namespace sliced::kubelet {

/// Returns the services of a driver's socket, in the order of preference.
std::vector<std::string> supported_versions();

/// endpoint: the socket with plugin_methods(). on_status: called for each NotifyRegistrationStatus.
grpc::Methods registration_methods(const std::string& driver, const std::string& endpoint,
                                   std::function<void(const RegistrationStatus&)> on_status);

}  // namespace sliced::kubelet
