#pragma once
// Writes the selectors of a resource as one CEL expression of a DeviceExposurePolicy. Pure.
#include <string>

#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Returns an expression that is true for the devices that the device plugin considers and one of the
/// selectors matches. driver: the domain of the attributes. Values need no escapes: the readers accept only
/// names and addresses.
std::string expression_of(const Resource& resource, const std::string& driver);

}  // namespace sliced::migrate
