#pragma once
// The selectors of a resource as one expression of a DeviceExposurePolicy. Pure.
#include <string>

#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// True of the devices that the device plugin would look at, and that one of the selectors takes. driver: the
/// domain of the attributes. Values need no escapes: the readers let through names and addresses alone.
std::string expression_of(const Resource& resource, const std::string& driver);

}  // namespace sliced::migrate
