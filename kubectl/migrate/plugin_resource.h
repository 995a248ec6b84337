#pragma once
// One resource of the device plugin's configuration, field by field. Names of fields are found as Go's encoding/json
// finds them: in any case of letters.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// What of the plugin is not in its configuration.
struct PluginSettings {
  // Its --resource-prefix; "": openshift.io of a configuration that the SR-IOV network operator writes, else intel.com.
  std::string resource_prefix = {};
};

/// Entries of a field of a selector that can be carried over.
inline constexpr size_t kEntriesMax = 256;

/// The member of that name in any case of letters, the last where there are several; nullptr: none.
const kube::Json* folded_member(const kube::Json& object, std::string_view name);

/// nullopt: it has no name to go on with; what is wrong is among the complaints. At most 64 selectors, and a
///          name of 63 bytes: it becomes the value of a label.
std::optional<Resource> read_plugin_resource(const kube::Json& value, const std::string& file,
                                             const PluginSettings& settings, Complaints& complaints);

/// Of a name of an extended resource: "" or what is wrong with it.
std::string wrong_with_resource_name(const std::string& name);
/// "ens1f0#0-3,7" into `out`, unless its PF is there already, of which the first entry alone counts. is_address: the PF
/// is one. place: of the entry.
void read_pf_entry(const std::string& text, bool is_address, const std::string& who, const Place& place,
                   std::vector<PfVfs>& out, Complaints& complaints);

}  // namespace sliced::migrate
