#pragma once
// pluginregistration.Registration: how the kubelet's plugin watcher asks who listens at a socket of its
// directory, and says what it made of it (k8s.io/kubernetes/pkg/kubelet/pluginmanager: 1 s and 5 s).
#include <functional>

#include "http/grpc/server.h"
#include "kubelet/messages.h"

namespace sliced::kubelet {

/// The services that a socket of ours has, first what the kubelet is to prefer.
std::vector<std::string> supported_versions();

/// endpoint: the socket with plugin_methods(). on_status: with each NotifyRegistrationStatus.
grpc::Methods registration_methods(const std::string& driver, const std::string& endpoint,
                                   std::function<void(const RegistrationStatus&)> on_status);

}  // namespace sliced::kubelet
