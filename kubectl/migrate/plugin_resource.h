#pragma once
// Reads one resource of the device plugin's configuration, field by field. Field names are matched as Go's
// encoding/json does: case-insensitively.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Settings of the plugin outside its configuration file.
struct PluginSettings {
  // --resource-prefix. "": openshift.io in a configuration that the SR-IOV network operator writes, otherwise
  // intel.com.
  std::string resource_prefix = {};
};

/// Most entries in a field of a selector that can be converted.
inline constexpr size_t kEntriesMax = 256;

/// Returns the member of that name in any case, the last one if there are several, nullptr if there is none.
const kube::Json* folded_member(const kube::Json& object, std::string_view name);

/// Returns nullopt if the resource has no name. Errors are added to the complaints. A resource has at most 64
/// selectors, and a name of 63 bytes because it becomes a label value.
std::optional<Resource> read_plugin_resource(const kube::Json& value, const std::string& file,
                                             const PluginSettings& settings, Complaints& complaints);

/// Returns the error in the name of an extended resource; "" if it is valid.
std::string wrong_with_resource_name(const std::string& name);
/// Reads an entry such as "ens1f0#0-3,7" and adds it to `out`. A second entry for a PF is skipped with a
/// warning, as by the plugin. is_address: the PF is given by its address. place: of the entry.
void read_pf_entry(const std::string& text, bool is_address, const std::string& who, const Place& place,
                   std::vector<PfVfs>& out, Complaints& complaints);

}  // namespace sliced::migrate
