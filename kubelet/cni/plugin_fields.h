#pragma once
// The fields of CNI plugins' configurations that a NetworkAttachmentDefinition may set, with the check of each value.
// Source: the structures that the plugins decode their input into (t/interop/cni/testdata/structures.json names the versions).
// docs/interfaces.md shows these tables, docs/threat-model.md the reasons.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"
#include "reactor/base/vlan_ids.h"

namespace sliced::cni {

/// Who wrote a definition: a user of its namespace, or an administrator (a DeviceClass names the definition in a namespace
/// other than the claim's).
enum class Author { kNamespaceUser, kAdministrator };

/// What the policy of the device, or the options of the daemon, allow.
struct DefinitionRules {
  Author author = Author::kNamespaceUser;
  /// Plugin types that may run, and features of the bridge plugin ("bridge.ipMasq"). nullopt: not known, so any may be.
  std::optional<std::vector<std::string>> plugins = std::nullopt;
  std::string plugins_source = {};  // for error texts: "supportedCNIPlugins of the device's policy"
  /// Settings of a VF through its PF that the author may make (vf_settings()); nullopt: all.
  std::optional<std::vector<std::string>> settings = std::nullopt;
  VlanIds vlans = VlanIds::all();  // that `vlan` of settings may have
  std::string settings_source = {};
  /// Directory of host-local's addresses for a namespace user; "": the plugin's own.
  std::string address_directory = {};
  bool lists(std::string_view name) const;
};

/// How a plugin comes to run.
enum class Use {
  kMain,       // makes or moves an interface; runs when listed
  kCompanion,  // changes the interface of an earlier plugin, inside the pod only; runs behind another one
  kHost,       // changes the host; runs when listed
};

struct FieldContext {
  const DefinitionRules& rules;
  bool is_shared = false;  // others have the device, too
  std::string_view plugin = {};
};

/// One field. read: the value in its canonical form, or an error that begins with `path`.
struct Field {
  using Read = Result<kube::Json> (*)(const kube::Json& value, const std::string& path,
                                      const FieldContext& context);
  enum class Writer {
    kAuthor,         // any author
    kSetting,        // `condition` is a VF setting that must be allowed
    kListed,         // `condition` is a feature that must be listed
    kAddress,        // kSetting for an exclusive device; of a shared one an administrator's
    kListedHost,     // kListed, and an administrator's: the host gets addresses or rules from what IPAM gives
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
  std::string_view host_interface = {};  // the field that names an interface of the host: "master"; set by us
  bool takes_whole = false;              // takes the device from all others: for exclusive devices only
  bool has_ipam = false;
  bool puts_addresses_on_host =
      false;  // routes or rules of the host follow from what IPAM gives: an administrator's
};

/// nullptr: no known plugin.
const PluginFields* plugin_fields(std::string_view type);
const PluginFields* ipam_fields(std::string_view type);
std::span<const PluginFields> all_plugins();
std::span<const PluginFields> all_ipam_plugins();
/// Fields that every plugin has beside type, name, cniVersion and capabilities: dns.
std::span<const Field> common_fields();

/// Names that `allow` of a policy may have, in the order of the documentation: "vlan", "vlanQoS", ...
std::span<const std::string_view> vf_settings();
/// Capabilities that a definition may ask for: values come from us.
std::span<const std::string_view> capability_names();

/// The canonical form of an object whose fields are in the table. Fields that are null are left out.
/// Errors: kInvalid; the first field that is unknown, not allowed or has a bad value.
Result<kube::Json> read_fields(const kube::Json& object, std::span<const Field> fields,
                               const std::string& path, const FieldContext& context);
/// Like read_fields() for a plugin without a table, which an administrator has listed: any fields with ASCII keys but those
/// that name a device or an interface, select a delegate, or come from us. A field that a table has under the same name needs the
/// permission that it needs there.
Result<kube::Json> read_free(const kube::Json& value, const std::string& path, const FieldContext& context);
/// The field of a table whose permission a field of this name needs in a plugin without a table: such plugins give the names the same meaning
/// (vlan, max_tx_rate, ipMasq). Null where a plugin that acts on its own interface lets each author set it, as mtu.
const Field* permitted_field(std::string_view key);
/// A capability whose value the pod's user gives. wanted: as it was written; false asks for nothing.
/// Errors: kInvalid; `mac` where the author may not set a MAC address of the device.
Result<Unit> may_ask_for(std::string_view capability, const kube::Json& wanted, const FieldContext& context);
/// The networks that an IPAM configuration of whereabouts leaves out, of all its ranges together: what it looks at one by one.
/// ipam: what read_fields() has returned. Errors: kInvalid; more addresses than one definition may leave out.
Result<Unit> check_excluded(const kube::Json& ipam);
/// "plugins[0].vlan is 4095: expected 0 to 4094".
Error wrong_value(const std::string& path, const kube::Json& value, std::string_view wanted);
/// An unknown field: what is allowed, and what may be meant.
Error unknown_field(const std::string& path, std::string_view key, const std::vector<std::string_view>& known,
                    std::string_view of);

/// The key as encoding/json of Go compares it: Unicode simple case folding, for the runes that fold to ASCII.
std::string folded_key(std::string_view key);
/// The spelling of a name that is checked, set or reserved, which this key folds to; "" none.
std::string_view reserved_spelling(std::string_view key);
/// Refuses, at every depth: a key that is not plain ASCII, two keys of one object that fold to the same name, a key that
/// folds to a reserved name and is spelled differently. Errors: kInvalid; name the path.
Result<Unit> check_keys(const kube::Json& value, const std::string& path);

}  // namespace sliced::cni
