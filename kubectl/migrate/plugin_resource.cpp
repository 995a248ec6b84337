#include "kubectl/migrate/plugin_resource.h"

#include <algorithm>
#include <functional>
#include <set>

#include "hotplug/facts.h"
#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using hotplug::PciAddress;
using kube::Json;

constexpr size_t kSelectorsMax = 64;      // filters of a config
constexpr size_t kResourceBytesMax = 63;  // longest label value, which connects policy and DeviceAttributes
constexpr int kVfIndexMax = 65'535;
constexpr std::string_view kDeleteIt =
    ": leave the resource to the device plugin, and delete it from this file to "
    "carry over the others";

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_name(std::string_view text, size_t size_max, std::string_view beside) {
  return !text.empty() && text.size() <= size_max && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_plain(c) || beside.find(c) != std::string_view::npos;
  });
}

std::optional<std::vector<std::pair<int, int>>> read_ranges(std::string_view text) {
  std::vector<std::pair<int, int>> ranges;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kVfIndexMax) return std::nullopt;
    ranges.emplace_back(static_cast<int>(*first), static_cast<int>(*last));
  }
  return ranges;
}

// Reads the fields of one selector or resource, and reports their errors.
class Fields {
 public:
  Fields(std::string who, const std::string& file, Complaints& complaints)
      : who_(std::move(who)), file_(file), complaints_(complaints) {}

  /// deviceType is auxNetDevice.
  bool is_auxiliary = false;

  void error(const Json& at, std::string_view field, const std::string& what) {
    complaints_.error({file_, at.line()}, who_ + ": " + std::string(field) + " " + what);
  }
  bool boolean(const Json& value, std::string_view field) {
    if (value.is_null()) return false;
    if (value.boolean() == nullptr)
      error(value, field, "is a " + std::string(value.kind_name()) + ", expected true or false");
    return value.boolean() != nullptr && *value.boolean();
  }
  std::string text(const Json& value, std::string_view field) {
    if (value.is_null()) return {};
    if (value.string() == nullptr)
      error(value, field,
            "is a " + std::string(value.kind_name()) + ", expected a string" +
                (value.kind_name() == "number" ? ": put it in quotes" : ""));
    return value.string() != nullptr ? *value.string() : std::string();
  }
  // An entry that is_right() refuses is an error. wants: the expected form, for the message.
  std::vector<std::string> texts(const Json& value, std::string_view field,
                                 const std::function<bool(const std::string&)>& is_right,
                                 const std::string& wants) {
    std::vector<std::string> out;
    for (const Json* item : items(value, field)) {
      if (item->is_null()) {
        error(*item, field,
              "has a null, which the plugin reads as \"\", so that it matches nothing: delete it");
        continue;
      }
      const std::string one = text(*item, field);
      if (item->string() != nullptr && !is_right(one))
        error(*item, field, "has " + in_quotes(one, 64) + ", expected " + wants);
      else if (std::find(out.begin(), out.end(), one) == out.end())
        out.push_back(one);
    }
    return out;
  }
  std::vector<const Json*> items(const Json& value, std::string_view field) {
    std::vector<const Json*> out;
    if (value.is_null()) return out;
    if (value.array() == nullptr) {
      error(value, field,
            "is a " + std::string(value.kind_name()) +
                ", expected a list, so that the plugin ignores the "
                "resource");
      return out;
    }
    if (value.array()->size() > kEntriesMax)
      error(value, field,
            "has " + std::to_string(value.array()->size()) + " entries, at most " +
                std::to_string(kEntriesMax) + " can be said: split the selector in two");
    else
      for (const Json& item : *value.array()) out.push_back(&item);
    return out;
  }
  Place place_of(const Json& value) const { return {file_, value.line()}; }
  const std::string& who() const { return who_; }
  Complaints& complaints() { return complaints_; }

 private:
  const std::string who_;
  const std::string& file_;
  Complaints& complaints_;
};

constexpr std::string_view kAsText = "; the plugin compares it as text with the kernel's value";

std::vector<std::string> read_ids(Fields& in, const Json& value, std::string_view field) {
  return in.texts(
      value, field, [](const std::string& id) { return id.size() == 4 && parse_hex(id) && id == lower(id); },
      "four hexadecimal digits in lower case, such as \"8086\"" + std::string(kAsText));
}

std::vector<std::string> read_drivers(Fields& in, const Json& value) {
  auto drivers = in.texts(
      value, "drivers", [](const std::string& name) { return is_name(name, 256, "_.-"); },
      "the name of a driver");
  for (const std::string& driver : drivers)
    if (driver == "uio" || driver == "igb_uio" || driver == "uio_pci_generic")
      in.error(value, "drivers",
               "has " + in_quotes(driver) +
                   ": pods get no /dev/uio node from sliced; bind the VFs to vfio-pci, and write that");
  return drivers;
}

std::vector<std::string> read_addresses(Fields& in, const Json& value) {
  return in.texts(
      value, "pciAddresses",
      [](const std::string& text) {
        const auto address = PciAddress::decode(text);
        return address && address->text() == text;
      },
      "PCI addresses such as \"0000:3b:02.0\" in lower case" + std::string(kAsText));
}

std::vector<std::string> read_link_types(Fields& in, const Json& value) {
  auto types = in.texts(
      value, "linkTypes", [](const std::string& type) { return type == "ether" || type == "infiniband"; },
      "\"ether\" or \"infiniband\"; policies know no other type");
  for (std::string& type : types)
    if (type == "ether") type = "ethernet";
  return types;
}

void read_pfs(Fields& in, const Json& value, bool is_address, std::vector<PfVfs>& out) {
  for (const Json* item : in.items(value, is_address ? "rootDevices" : "pfNames"))
    read_pf_entry(in.text(*item, is_address ? "rootDevices" : "pfNames"), is_address, in.who(),
                  in.place_of(*item), out, in.complaints());
}

// Adds the error `what` unless the value is null or empty: it selects by a fact that sliced does not have.
void refuse_unless_empty(Fields& in, const Json& value, std::string_view field, const std::string& what) {
  const bool is_empty = value.is_null() || (value.array() != nullptr && value.array()->empty()) ||
                        (value.string() != nullptr && value.string()->empty());
  if (!is_empty) in.error(value, field, what);
}

// Returns false if the plugin has no such field.
bool read_unsupported(Fields& in, const Json& value, std::string_view field) {
  if (field == "acpiindexes")
    refuse_unless_empty(in, value, "acpiIndexes",
                        "is not known of devices: name them by pciAddresses or pfNames");
  else if (field == "ddpprofiles")
    refuse_unless_empty(in, value, "ddpProfiles",
                        "is not known of devices: name the PFs with that profile by pfNames or rootDevices");
  else if (field == "pkeys")
    refuse_unless_empty(
        in, value, "pKeys",
        "is not a field of a SriovResourcePolicy: name the functions with that key by pciAddresses, or by pfNames and VFs; or select by "
        "the attribute pKeys in the DeviceClass");
  else if (field == "vdpatype")
    refuse_unless_empty(
        in, value, "vdpaType",
        "is not a field of a SriovResourcePolicy. Select by the attribute vdpa in a DeviceClass, or leave the resource to the device plugin. If no "
        "other resource selects its devices, delete it from this file to carry over the others");
  else if (field == "auxtypes" && in.is_auxiliary)
    in.texts(
        value, "auxTypes", [](const std::string& type) { return type == "sf"; },
        "\"sf\": sliced offers scalable functions alone");
  else if (field == "auxtypes")
    refuse_unless_empty(in, value, "auxTypes", "is for deviceType auxNetDevice: delete it");
  else
    return false;
  return true;
}

// field: in lower case.
bool is_of_resource(std::string_view field) {
  constexpr std::string_view kOfResource[] = {"resourcename", "resourceprefix", "devicetype",
                                              "excludetopology", "additionalinfo"};
  return std::find(std::begin(kOfResource), std::end(kOfResource), field) != std::end(kOfResource);
}
bool is_of_selector(std::string_view field) {
  constexpr std::string_view kOfSelector[] = {
      "vendors", "devices",      "drivers",     "pciaddresses", "pfnames", "rootdevices", "linktypes",
      "isrdma",  "needvhostnet", "acpiindexes", "ddpprofiles",  "pkeys",   "vdpatype",    "auxtypes"};
  return std::find(std::begin(kOfSelector), std::end(kOfSelector), field) != std::end(kOfSelector);
}

// needs_vhost: set to the selector's needVhostNet.
void read_field(Fields& in, const std::string& key, const Json& value, Selector& out, bool& needs_vhost) {
  const std::string field = lower(key);
  if (in.is_auxiliary && (field == "drivers" || field == "pciaddresses" || field == "needvhostnet"))
    refuse_unless_empty(
        in, value, key,
        "is not known of scalable functions: name their PFs by pfNames or rootDevices, and delete it");
  else if (field == "vendors")
    out.vendors = read_ids(in, value, "vendors");
  else if (field == "devices")
    out.devices = read_ids(in, value, "devices");
  else if (field == "drivers")
    out.drivers = read_drivers(in, value);
  else if (field == "pciaddresses")
    out.pci_addresses = read_addresses(in, value);
  else if (field == "pfnames")
    read_pfs(in, value, false, out.pf_names);
  else if (field == "rootdevices")
    read_pfs(in, value, true, out.root_devices);
  else if (field == "linktypes")
    out.link_types = read_link_types(in, value);
  else if (field == "isrdma")
    out.needs_rdma = in.boolean(value, "isRdma");
  else if (field == "needvhostnet")
    needs_vhost = in.boolean(value, "needVhostNet");
  else if (is_of_resource(field))
    in.error(
        value, escaped(key, 64),
        "is a field of the resource, beside selectors: the plugin ignores it here; move it there if it is meant, "
        "or delete it");
  else if (!read_unsupported(in, value, field)) {
    const std::string near = nearest(key, {"vendors", "devices", "drivers", "pciAddresses", "pfNames",
                                           "rootDevices", "linkTypes", "isRdma", "needVhostNet"});
    in.error(value, escaped(key, 64),
             "is a field that the plugin ignores, so that it narrows nothing: delete it" +
                 (near.empty() ? "" : ", or write " + near + " if that is meant"));
  }
}

// Adds an error for each field that is given twice; the plugin uses the last one.
void refuse_twice(Fields& in, const Json& object) {
  std::set<std::string> seen;
  for (const auto& [key, value] : *object.object())
    if (!seen.insert(lower(key)).second)
      in.error(value, escaped(key, 64), "is there twice in different cases of letters: keep one");
}

// A DeviceClass determines what pods get beside the device, so all selectors of a resource must agree. vhost:
// how many selectors need vhost-net.
void check_together(Fields& in, const Json& value, size_t vhost, Resource& resource) {
  size_t vfio_alone = 0;
  for (const Selector& selector : resource.selectors) {
    const auto& drivers = selector.drivers;
    vfio_alone += drivers.size() == 1 && drivers.front() == "vfio-pci";
  }
  const size_t all = resource.selectors.size();
  // Otherwise the device's driver at allocation decides, as with the plugin.
  resource.gives_vfio = vfio_alone == all;
  resource.gives_vhost = vhost > 0;
  if (vhost > 0 && vhost < all)
    in.error(value, "selectors",
             "differ in needVhostNet: a DeviceClass says that for all its devices; make two "
             "resources of it");
}

void read_selectors(Fields& in, const Json& value, Resource& out) {
  std::vector<const Json*> all;
  if (value.object() != nullptr)
    all.push_back(&value);
  else if (value.array() != nullptr)
    for (const Json& one : *value.array()) all.push_back(&one);
  if (value.object() == nullptr && value.array() == nullptr)
    return in.error(value, "selectors",
                    "is a " + std::string(value.kind_name()) + ", expected a map or a list of maps");
  if (all.empty())
    return in.error(value, "selectors",
                    "has none, so that the plugin offers nothing: write {} for every device, or "
                    "delete the resource");
  if (all.size() > kSelectorsMax)
    return in.error(value, "selectors",
                    "has " + std::to_string(all.size()) + ", at most " + std::to_string(kSelectorsMax) +
                        " can be said: join those that differ in one field");
  size_t vhost = 0;
  for (const Json* one : all) {
    if (one->object() == nullptr) {
      in.error(*one, "selectors", "has a " + std::string(one->kind_name()) + ", expected a map");
      continue;
    }
    refuse_twice(in, *one);
    Selector selector{.place = in.place_of(*one)};
    bool needs_vhost = false;
    for (const auto& [key, field] : *one->object()) read_field(in, key, field, selector, needs_vhost);
    vhost += needs_vhost;
    out.selectors.push_back(std::move(selector));
  }
  out.is_auxiliary = in.is_auxiliary;
  for (const Selector& selector : out.selectors)
    for (const auto* pfs : {&selector.pf_names, &selector.root_devices})
      for (const PfVfs& pf : *pfs)
        if (out.is_auxiliary && !pf.ranges.empty())
          in.error(
              value, "selectors",
              "have " + escaped(pf.pf) +
                  " with numbers, which the plugin compares with the numbers of the auxiliary bus: these change when the host "
                  "restarts. Delete #...; a selector of a DeviceClass may use the attribute sfNumber");
  check_together(in, value, vhost, out);
}

void refuse_field(Fields& in, const std::string& key, const Json& value) {
  const std::string near = nearest(key, {"resourceName", "resourcePrefix", "deviceType", "excludeTopology",
                                         "additionalInfo", "selectors"});
  std::string what = "is a field that the plugin ignores: ";
  if (is_of_selector(lower(key)))
    what = "belongs into selectors: the plugin ignores it here, beside selectors" +
           std::string(lower(key) == "isrdma" ? " (up to v3.1 it read isRdma here)" : "") +
           "; move it into selectors if it is meant, or delete it";
  else
    what += near.empty() ? "delete it" : "write " + near + " if that is meant, or delete it";
  in.error(value, escaped(key, 64), what);
}

void read_resource_field(Fields& in, const std::string& key, const Json& value) {
  const std::string field = lower(key);
  if (field == "excludetopology")
    in.boolean(value, "excludeTopology");
  else if (field == "resourceprefix")
    in.text(value, "resourcePrefix");
  else if (field == "additionalinfo") {
    if (!value.is_null() && !(value.object() != nullptr && value.object()->empty()))
      in.error(value, "additionalInfo",
               "is not carried over: give the pods its content in a ConfigMap of their own, and "
               "delete it here");
  } else if (field != "resourcename" && field != "devicetype" && field != "selectors" &&
             field != "selectorobj" && field != "selectorobjs")
    refuse_field(in, key, value);
}

// Returns true if the resource's devices are network functions.
bool check_device_type(Fields& in, const Json& value) {
  const Json* type = folded_member(value, "deviceType");
  const std::string text = type != nullptr ? in.text(*type, "deviceType") : "";
  if (text.empty() || text == "netDevice") return true;
  if (text == "auxNetDevice") {
    in.is_auxiliary = true;
    return true;
  }
  if (text == "accelerator")
    in.error(*type, "deviceType",
             "is " + text + ", and sliced offers network functions alone" + std::string(kDeleteIt));
  else
    in.error(*type, "deviceType",
             "is " + in_quotes(text, 64) +
                 ", with which the plugin does not start: write netDevice, or delete it");
  return false;
}

}  // namespace

const Json* folded_member(const Json& object, std::string_view name) {
  const Json* found = nullptr;
  if (object.object() == nullptr) return nullptr;
  for (const auto& [key, value] : *object.object())
    if (lower(key) == lower(name)) found = &value;
  return found;
}

std::string wrong_with_resource_name(const std::string& name) {
  const size_t slash = name.find('/');
  const std::string prefix = name.substr(0, slash);
  const std::string rest = slash == std::string::npos ? "" : name.substr(slash + 1);
  if (!is_name(rest, name.size(), "_-")) return "must consist of letters, digits, _ and - behind the prefix";
  if (!kube::is_dns_subdomain(prefix) || prefix.ends_with("kubernetes.io"))
    return "must have a prefix that is a domain name, and not one of kubernetes.io";
  if (name.size() > kResourceBytesMax)
    return "has " + std::to_string(name.size()) + " bytes, at most " + std::to_string(kResourceBytesMax) +
           " can be published: take a shorter name, here and in the pods";
  if (!kube::is_label_key(name)) return "must begin and end with a letter or digit behind the prefix";
  return "";
}

void read_pf_entry(const std::string& text, bool is_address, const std::string& who, const Place& place,
                   std::vector<PfVfs>& out, Complaints& complaints) {
  const std::string field = is_address ? "rootDevices" : "pfNames";
  const size_t hash = text.find('#');
  PfVfs entry{text.substr(0, hash), {}};
  const auto ranges =
      hash == std::string::npos ? std::optional(entry.ranges) : read_ranges(text.substr(hash + 1));
  bool is_right = ranges.has_value();
  if (is_address) {
    entry.pf = lower(entry.pf);  // the plugin compares PFs case-insensitively
    const auto address = PciAddress::decode(entry.pf);
    is_right &= address && address->text() == entry.pf;
  } else {
    is_right &= is_name(entry.pf, 15, "_.-:@+~");
  }
  if (!is_right)
    return complaints.error(place,
                            who + ": " + field + " has " + in_quotes(text, 96) + ", expected " +
                                (is_address ? "the PCI address of a PF" : "the name of a PF's interface") +
                                ", optionally with VFs such as #0,2-7");
  entry.ranges = *ranges;
  if (entry.pf != lower(entry.pf))
    complaints.warning(
        place, who + ": " + field + " has " + escaped(entry.pf) +
                   ", which the plugin compares in any case of letters, and sliced as the kernel has it");
  if (std::any_of(out.begin(), out.end(),
                  [&](const PfVfs& other) { return lower(other.pf) == lower(entry.pf); }))
    return complaints.warning(place, who + ": " + field + " has " + escaped(entry.pf) +
                                         " twice: the plugin uses the first alone, and so does the result");
  out.push_back(std::move(entry));
}

std::optional<Resource> read_plugin_resource(const Json& value, const std::string& file,
                                             const PluginSettings& settings, Complaints& complaints) {
  Resource out{.place = {file, value.line()}};
  const Json* name = folded_member(value, "resourceName");
  if (value.object() == nullptr || name == nullptr || name->string() == nullptr) {
    complaints.error(
        out.place, "resourceList has an entry without a resourceName, with which the plugin does not start");
    return std::nullopt;
  }
  const Json* prefix = folded_member(value, "resourcePrefix");
  const bool has_prefix = prefix != nullptr && prefix->string() != nullptr && !prefix->string()->empty();
  out.name = (has_prefix ? *prefix->string() : settings.resource_prefix) + "/" + *name->string();
  Fields in("resource " + escaped(out.name, 128), file, complaints);
  if (const std::string wrong = wrong_with_resource_name(out.name); !wrong.empty())
    in.error(*name, "resourceName", wrong);
  refuse_twice(in, value);
  for (const auto& [key, member] : *value.object()) read_resource_field(in, key, member);
  if (!check_device_type(in, value)) return out;
  const Json* selectors = folded_member(value, "selectors");
  if (selectors == nullptr || selectors->is_null()) {
    in.error(value, "selectors", "is missing, with which the plugin ends: write {} for every device");
    return out;
  }
  read_selectors(in, *selectors, out);
  return out;
}

}  // namespace sliced::migrate
