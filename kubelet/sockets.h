#pragma once
// Paths of a driver's two sockets: the service, and the registration socket that the kubelet watches (names
// as in k8s.io/dynamic-resource-allocation/kubeletplugin).
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

struct SocketDirectories {
  std::string plugins;    // the kubelet's; one folder per driver
  std::string registrar;  // watched by the kubelet
};

struct SocketPaths {
  std::string folder;  // the driver's
  std::string service, registration;
};

/// pod_uid: "" for names that contain only the driver. Otherwise the names contain the pod, so that the old
/// and the new pod can run together during an upgrade. A hash replaces the uid if the path would be too long
/// for a socket. Errors: kInvalid if even that is too long; names the driver and the path.
Result<SocketPaths> socket_paths(const SocketDirectories& directories, const std::string& driver,
                                 const std::string& pod_uid);

/// Removes sockets without a listener, of other pods of the driver and those with the driver's name only. A
/// pod that was killed leaves them, and the kubelet would connect to them forever. Own paths that are ""
/// exclude none: for a process that has opened no socket yet. Errors: kBusy if a listener answers and so
/// serves the driver; names the path. kDenied, kIo.
Result<Unit> remove_silent_others(const SocketDirectories& directories, const std::string& driver,
                                  const SocketPaths& own);

/// Creates the folder and its parents. Errors: kDenied, kIo; names the folder.
Result<Unit> make_folder(const std::string& folder);

}  // namespace sliced::kubelet
