#pragma once
// What publishing needs of the outside.
#include "kube/ports.h"

namespace sliced::publishers {

using kube::Ports;

}  // namespace sliced::publishers
