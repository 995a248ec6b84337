#pragma once
// The fields of CNI plugins' configurations that a NetworkAttachmentDefinition may set, with a check of each
// value. Source: the structures that the plugins decode their input into
// (t/interop/cni/structures.json names the versions). docs/interfaces.md shows these tables,
// docs/threat-model.md the reasons.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"
#include "reactor/base/vlan_ids.h"

namespace sliced::cni {

/// The author of a definition: a user of its namespace, or an administrator (a DeviceClass names the
/// definition in a namespace other than the claim's).
enum class Author { kNamespaceUser, kAdministrator };

/// Permissions from the policy of the device, or from the options of the daemon.
struct DefinitionRules {
  Author author = Author::kNamespaceUser;
  /// Permitted plugin types, and features of the bridge plugin ("bridge.ipMasq"). nullopt: unknown, so all
  /// are permitted.
  std::optional<std::vector<std::string>> plugins = std::nullopt;
  std::string plugins_source = {};  // for error texts: "supportedCNIPlugins of the device's policy"
  /// VF settings that the author may change through the PF (vf_settings()); nullopt: all.
  std::optional<std::vector<std::string>> settings = std::nullopt;
  VlanIds vlans = VlanIds::all();  // permitted values of the setting `vlan`
  std::string settings_source = {};
  /// How an administrator sets a field that no other author may set, for error texts.
  std::string_view by_administrator = "have a DeviceClass name a definition of another namespace";
  /// Directory of host-local's addresses for a namespace user; "": the plugin's default.
  std::string address_directory = {};
  bool lists(std::string_view name) const;
};

/// Conditions under which a plugin runs.
enum class Use {
  kMain,       // creates or moves an interface; must be listed
  kCompanion,  // changes the interface of an earlier plugin, inside the pod only; runs after another plugin
  kHost,       // changes the host; must be listed
};

struct FieldContext {
  const DefinitionRules& rules;
  bool is_shared = false;  // other claims have the device, too
  std::string_view plugin = {};
};

/// One field. read: returns the value in its canonical form, or an error that begins with `path`.
struct Field {
  using Read = Result<kube::Json> (*)(const kube::Json& value, const std::string& path,
                                      const FieldContext& context);
  enum class Writer {
    kAuthor,         // any author
    kSetting,        // `condition` is a VF setting that must be allowed
    kListed,         // `condition` is a feature that must be listed
    kAddress,        // kSetting for an exclusive device; an administrator for a shared one
    kListedHost,     // kListed, and an administrator: the host gets addresses or rules that depend on IPAM's
                     // result
    kAdministrator,  // a path, socket, store or credential
  };
  std::string_view name;
  Read read;
  std::string_view wanted;  // "0 to 4094"
  Writer writer = Writer::kAuthor;
  std::string_view condition = {};
};

/// The table of a plugin, or of an IPAM plugin.
struct PluginFields {
  std::string_view type;
  Use use = Use::kMain;
  std::span<const Field> fields;
  std::string_view host_interface = {};  // the field that names an interface of the host: "master"; sliced
                                         // sets it
  bool takes_whole = false;              // makes the device unavailable to all others: for exclusive devices
                                         // only
  bool has_ipam = false;
  bool puts_addresses_on_host =
      false;  // the host's routes or rules depend on IPAM's result: administrators only
};

/// Returns nullptr for an unknown plugin.
const PluginFields* plugin_fields(std::string_view type);
const PluginFields* ipam_fields(std::string_view type);
std::span<const PluginFields> all_plugins();
std::span<const PluginFields> all_ipam_plugins();
/// Returns the fields that every plugin has in addition to type, name, cniVersion and capabilities: dns.
std::span<const Field> common_fields();

/// Returns the permitted names in `allow` of a policy, in the order of the documentation: "vlan", "vlanQoS",
/// ...
std::span<const std::string_view> vf_settings();
/// Returns the capabilities that a definition may request; sliced supplies their values.
std::span<const std::string_view> capability_names();

/// Returns the canonical form of an object whose fields are in the table. Omits fields that are null. Errors:
/// kInvalid for the first field that is unknown, not permitted or has a bad value.
Result<kube::Json> read_fields(const kube::Json& object, std::span<const Field> fields,
                               const std::string& path, const FieldContext& context);
/// As read_fields(), for a plugin without a table that an administrator has listed. Accepts any fields with
/// ASCII keys, except those that name a device or an interface, select a delegate, or are set by sliced. A
/// field that a table has under the same name requires that table's permission.
Result<kube::Json> read_free(const kube::Json& value, const std::string& path, const FieldContext& context);
/// Returns the table field whose permission a field of this name requires in a plugin without a table,
/// because such plugins use the names with the same meaning (vlan, max_tx_rate, ipMasq). Null for a field
/// that any author may set in a plugin that changes only its own interface, such as mtu.
const Field* permitted_field(std::string_view key);
/// Checks a capability whose value the pod's user supplies. wanted: as written; false requests nothing.
/// Errors: kInvalid for `mac` if the author may not set a MAC address of the device.
Result<Unit> check_capability(std::string_view capability, const kube::Json& wanted,
                              const FieldContext& context);
/// Checks the number of addresses that an IPAM configuration of whereabouts excludes, over all its ranges,
/// because whereabouts iterates over them. ipam: a result of read_fields(). Errors: kInvalid above the limit
/// of one definition.
Result<Unit> check_excluded(const kube::Json& ipam);
/// "plugins[0].vlan is 4095: expected 0 to 4094".
Error wrong_value(const std::string& path, const kube::Json& value, std::string_view wanted);
/// The error for an unknown field, with the known ones and a suggestion.
Error unknown_field(const std::string& path, std::string_view key, const std::vector<std::string_view>& known,
                    std::string_view of);

/// Returns the key as Go's encoding/json compares it: Unicode simple case folding, for the runes that fold to
/// ASCII.
std::string folded_key(std::string_view key);
/// Returns the spelling of a checked, set or reserved name to which this key folds; "" if none.
std::string_view reserved_spelling(std::string_view key);
/// Refuses, at every depth: a key that is not plain ASCII, two keys of one object that fold to the same name,
/// a key that folds to a reserved name and is spelled differently. Errors: kInvalid; each names the path.
Result<Unit> check_keys(const kube::Json& value, const std::string& path);

}  // namespace sliced::cni
