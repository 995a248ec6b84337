#pragma once
// Where a driver's two sockets are: that of its services, and that by which the kubelet finds it
// (k8s.io/dynamic-resource-allocation/kubeletplugin: the same names).
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

struct SocketDirectories {
  std::string plugins;    // of the kubelet's: one folder a driver
  std::string registrar;  // which the kubelet watches
};

struct SocketPaths {
  std::string folder;  // the driver's
  std::string service, registration;
};

/// pod_uid: "" for names that are the driver's alone; else those of one pod of it, so that an old one and a new
/// one stand beside each other during an upgrade. Where a name with it would be longer than a socket's path may
/// be, a hash stands in its place.
/// Errors: kInvalid, where even that is too long; names the driver and the path.
Result<SocketPaths> socket_paths(const SocketDirectories& directories, const std::string& driver,
                                 const std::string& pod_uid);

/// Removes the sockets of other pods of the driver, and those with its name alone, at which nobody answers: of a pod
/// that ended suddenly, and the kubelet would try them for ever. Own paths that are "" spare none: for a process that has
/// opened no socket yet.
/// Errors: kBusy where somebody answers, and so serves the driver; names the path. kDenied, kIo.
Result<Unit> remove_silent_others(const SocketDirectories& directories, const std::string& driver,
                                  const SocketPaths& own);

/// Makes the folder, and those above it. Errors: kDenied, kIo; names the folder.
Result<Unit> make_folder(const std::string& folder);

}  // namespace sliced::kubelet
