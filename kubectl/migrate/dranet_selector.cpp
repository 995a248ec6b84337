#include "kubectl/migrate/dranet_selector.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "cel/lexer.h"
#include "cel/parser.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

constexpr std::string_view kCloudSuffix = ".dra.net";  // gce.dra.net, azure.dra.net: pkg/cloudprovider
constexpr std::string_view kStandard = "resource.kubernetes.io";

// How an attribute of dranet is expressed over sliced's attributes.
enum class TranslationForm {
  kSame,         // the same value under another name, absent for the same devices
  kWithDefault,  // dranet publishes it for each device
  kCondition,    // a condition over other attributes
  kByText,       // only comparisons with known texts
  kNone
};

// "$" in a target stands for the map of sliced's attributes.
struct Counterpart {
  std::string_view id;
  TranslationForm form;
  std::string_view target;    // kSame, kByText: sliced's id; kWithDefault, kCondition: the expression
  std::string_view presence;  // sliced's attribute that exists where dranet has this one
  std::string_view why = {}, remedy = {};
};

constexpr std::string_view kByName =
    "select by ifName, pciAddress, pfName or an attribute of your own (additionalAttributes of a DeviceExposurePolicy)";
constexpr std::string_view kNoPrograms = "sliced does not look at eBPF programs";
constexpr std::string_view kFunctionTypes = R"($.type in ["pf", "vf", "nic"])";

constexpr Counterpart kCounterparts[] = {
    {"ifName", TranslationForm::kSame, "ifName", "ifName"},
    {"pciAddress", TranslationForm::kSame, "pciAddress", "pciAddress"},
    {"mac", TranslationForm::kSame, "mac", "mac"},
    {"pciSubsystem", TranslationForm::kSame, "subsystemProduct", "subsystemProduct"},
    {"numaNode", TranslationForm::kSame, "numaNode", "numaNode"},
    {"mtu", TranslationForm::kSame, "mtu", "mtu"},
    {"sriovVfs", TranslationForm::kSame, "numVFs", "numVFs"},
    {"rdmaDevice", TranslationForm::kSame, "rdmaDevice", "rdmaDevice"},
    {"rdma", TranslationForm::kWithDefault, "rdma", "type"},
    {"sriov", TranslationForm::kWithDefault, "sriovCapable", "ifName"},
    {"virtual", TranslationForm::kCondition, kFunctionTypes, "ifName"},  // negated
    {"isSriovVf", TranslationForm::kCondition, R"($.type == "vf")", ""},
    {"type", TranslationForm::kByText, "type", "ifName",
     "sliced knows pf, vf, nic, bridge, vlan, bond and virtual, and no other kinds of interfaces", kByName},
    {"encapsulation", TranslationForm::kByText, "linkType", "ifName",
     "sliced knows the link types ethernet and infiniband", "compare linkType"},
    {"pciVendor", TranslationForm::kByText, "vendor", "vendor", "sliced publishes the PCI id and no name",
     "compare vendor with the id that lspci -n shows"},
    {"pciDevice", TranslationForm::kByText, "product", "product", "sliced publishes the PCI id and no name",
     "compare product with the id that lspci -n shows"},
    {"state", TranslationForm::kNone, "", "", "sliced does not publish facts that change with the link",
     "require a state in the policy: selector.cel may read operState, or readiness"},
    {"ipv4", TranslationForm::kNone, "", "", "sliced publishes no IP addresses", kByName},
    {"ipv6", TranslationForm::kNone, "", "", "sliced publishes no IP addresses", kByName},
    {"alias", TranslationForm::kNone, "", "", "sliced publishes no alias of an interface", kByName},
    {"ebpf", TranslationForm::kNone, "", "", kNoPrograms, kByName},
    {"tcFilterNames", TranslationForm::kNone, "", "", kNoPrograms, kByName},
    {"tcxProgramNames", TranslationForm::kNone, "", "", kNoPrograms, kByName},
    {"name", TranslationForm::kNone, "", "", "dranet does not publish it any more",
     "write ifName where the interface's name is meant"},
    {"cloudNetwork", TranslationForm::kNone, "", "",
     "dranet does not publish it any more, and sliced asks no cloud provider", kByName},
};

const Counterpart* counterpart_of(std::string_view id) {
  const auto* const found =
      std::ranges::find_if(kCounterparts, [&](const Counterpart& one) { return one.id == id; });
  return found == std::end(kCounterparts) ? nullptr : found;
}

Untranslated why_none(std::string_view domain, std::string_view id, std::string part) {
  if (domain != kDranetDriver)
    return {std::move(part), "sliced asks no cloud provider",
            "have a DeviceExposurePolicy for these nodes publish it: additionalAttributes: {" +
                escaped(std::string(domain) + "/" + std::string(id), 128) + ": VALUE}"};
  const Counterpart* known = counterpart_of(id);
  if (known == nullptr)
    return {std::move(part), "sliced publishes no such attribute",
            "have a DeviceExposurePolicy publish it (additionalAttributes), or leave it out"};
  if (known->why.empty())
    return {std::move(part), "it is used in a way that cannot be translated",
            "write the condition over the attributes of docs/attributes.md"};
  return {std::move(part), std::string(known->why), std::string(known->remedy)};
}

// Names from pci.ids, which dranet publishes instead of the ids.
struct NamedId {
  std::string_view name, id;
};
constexpr NamedId kVendorNames[] = {{"Mellanox Technologies", "15b3"},
                                    {"Intel Corporation", "8086"},
                                    {"Broadcom Inc. and subsidiaries", "14e4"},
                                    {"Amazon.com, Inc.", "1d0f"},
                                    {"Google, Inc.", "1ae0"},
                                    {"Microsoft Corporation", "1414"},
                                    {"Red Hat, Inc.", "1af4"},
                                    {"VMware", "15ad"},
                                    {"Chelsio Communications Inc", "1425"},
                                    {"AMD Pensando Systems", "1dd8"},
                                    {"Alibaba (China) Co., Ltd.", "1ded"},
                                    {"QLogic Corp.", "1077"},
                                    {"AMD Solarflare", "1924"},
                                    {"NVIDIA Corporation", "10de"},
                                    {"Cavium, Inc.", "177d"},
                                    {"Marvell Technology Group Ltd.", "11ab"},
                                    {"Huawei Technologies Co., Ltd.", "19e5"},
                                    {"Cisco Systems Inc", "1137"}};
constexpr std::string_view kEfaName = "Elastic Fabric Adapter (EFA)",
                           kEnaName = "Elastic Network Adapter (ENA)";

struct TextCondition {
  std::string text;  // "$" as above; "": no counterpart
  bool is_never = false;
  bool has_no_interface = false;
};

// IFLA_INFO_KIND of links that are type virtual in sliced. A device with a driver is "device"
// (vishvananda/netlink).
TextCondition condition_of_type(std::string_view kind, bool is_filter) {
  if (kind == "device") return {std::string(kFunctionTypes)};
  if (kind == "bridge" || kind == "vlan" || kind == "bond")
    return {"$.type == \"" + std::string(kind) + "\""};
  if (kind == "ipoib")
    return {std::string(kFunctionTypes) + " && $.?linkType.orValue(\"\") == \"infiniband\""};
  return is_filter ? TextCondition{.text = "false", .is_never = true} : TextCondition{};
}

TextCondition condition_of(const Counterpart& of, std::string_view text, bool is_filter) {
  if (of.id == "type") return condition_of_type(text, is_filter);
  if (of.id == "encapsulation") {
    const std::string_view type = text == "ether" ? "ethernet" : text == "infiniband" ? "infiniband" : "";
    if (type.empty()) return {};
    return {"$.?linkType.orValue(\"\") == \"" + std::string(type) + "\""};
  }
  if (of.id == "pciDevice" && text == kEfaName)
    return {
        .text =
            R"($.?vendor.orValue("") == "1d0f" && $.?product.orValue("") in ["efa0", "efa1", "efa2", "efa3"])",
        .has_no_interface = true};
  if (of.id == "pciDevice" && text == kEnaName)
    return {R"($.?vendor.orValue("") == "1d0f" && $.?product.orValue("") == "ec20")"};
  if (of.id != "pciVendor") return {};
  for (const NamedId& one : kVendorNames)
    if (one.name == text) return {"$.?vendor.orValue(\"\") == \"" + std::string(one.id) + "\""};
  return {};
}

struct Piece {
  cel::Token kind;
  std::string_view spelled;
  std::string content;  // of a string literal, unescaped
  size_t start, end;
};

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> out;
  for (cel::Lexer lexer(text); lexer.token() != cel::Token::kEnd; lexer.next())
    out.push_back({lexer.token(), lexer.spelled(),
                   lexer.token() == cel::Token::kString ? lexer.content() : std::string(),
                   static_cast<size_t>(lexer.offset()), static_cast<size_t>(lexer.end())});
  return out;
}

// For messages, where escaped() would escape double quotes. CEL accepts both quotes.
std::string in_single_quotes(std::string text) {
  std::ranges::replace(text, '"', '\'');
  return escaped(text, 160);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Translates one expression. It edits tokens, so that text that does not refer to dranet keeps its spelling.
// REQUIRES: the text has been parsed without error.
class Translator {
 public:
  Translator(const std::string& text, std::string_view driver, bool is_filter)
      : text_(text), driver_(driver), is_filter_(is_filter), pieces_(pieces_of(text)) {}

  Translated run() {
    mentions_driver_ = has_driver_field();
    for (size_t i = 0; i < pieces_.size();) i = step(i);
    find_only_interface();
    size_t at = 0;
    for (const Edit& edit : edits_) {
      out_.text += text_.substr(at, edit.start - at) + edit.text;
      at = edit.end;
    }
    out_.text += text_.substr(at);
    return std::move(out_);
  }

 private:
  struct Edit {
    size_t start, end;
    std::string text;
  };
  // Tokens first..last-1 read an attribute. id "": the whole map of the domain.
  struct Reference {
    size_t first = 0, last = 0;
    std::string domain, id;
    bool is_optional = false;
  };

  bool is(size_t i, std::string_view sign) const {
    return i < pieces_.size() && pieces_[i].kind == cel::Token::kSign && pieces_[i].spelled == sign;
  }
  bool is_name(size_t i, std::string_view name) const {
    return i < pieces_.size() && pieces_[i].kind == cel::Token::kName && pieces_[i].spelled == name;
  }
  bool is_text(size_t i) const { return i < pieces_.size() && pieces_[i].kind == cel::Token::kString; }
  std::string ours() const { return "device.attributes[" + quoted(driver_) + "]"; }
  std::string filled(std::string_view target) const {
    std::string out;
    for (const char c : target) out += c == '$' ? ours() : std::string(1, c);
    return out;
  }
  std::string written(size_t first, size_t last) const {
    return text_.substr(pieces_[first].start, pieces_[last - 1].end - pieces_[first].start);
  }
  void edit(size_t first, size_t last, std::string text) {
    edits_.push_back({pieces_[first].start, pieces_[last - 1].end, std::move(text)});
  }
  void keep(const Reference& of) {
    Untranslated one = why_none(of.domain, of.id, in_single_quotes(written(of.first, of.last)));
    if (std::ranges::none_of(out_.untranslated,
                             [&](const Untranslated& other) { return other.part == one.part; }))
      out_.untranslated.push_back(std::move(one));
  }

  bool has_driver_field() const {
    for (size_t i = 0; i + 2 < pieces_.size(); ++i)
      if (is_name(i, "device") && is(i + 1, ".") && is_name(i + 2, "driver")) return true;
    return false;
  }

  // Handles the construct that begins at token i. Returns the next token.
  size_t step(size_t i) {
    if (is_text(i) && is(i + 1, "in")) {
      if (const auto next = translate_in(i)) return *next;
    }
    if (const auto reference = reference_at(i)) {
      if (is_ours(*reference)) return translate(*reference);
      return reference->last;
    }
    if (is_text(i) && pieces_[i].content == kDranetDriver) {
      out_.names_dranet = true;
      if (mentions_driver_ && !is_filter_)
        edit(i, i + 1, quoted(driver_));
      else
        out_.untranslated.push_back(
            {quoted(kDranetDriver), "the value that it is compared with is not clear",
             "write the condition over device.driver and the attributes of docs/attributes.md"});
    }
    return i + 1;
  }

  // Returns true for a domain that dranet publishes; in a filter also for the domain of the standard
  // attributes.
  bool is_ours(const Reference& of) const {
    return of.domain == kDranetDriver || of.domain.ends_with(kCloudSuffix) ||
           (is_filter_ && of.domain == kStandard);
  }

  std::optional<Reference> reference_at(size_t i) const {
    if (i > 0 && is(i - 1, ".")) return std::nullopt;
    return is_filter_ ? filter_reference_at(i) : device_reference_at(i);
  }

  // Recognizes device.attributes["domain"].id, device.attributes["domain"]["id"], and both with "?".
  std::optional<Reference> device_reference_at(size_t i) const {
    if (!is_name(i, "device") || !is(i + 1, ".") ||
        !(is_name(i + 2, "attributes") || is_name(i + 2, "capacity")) || !is(i + 3, "["))
      return std::nullopt;
    Reference out{.first = i};
    size_t at = i + 4;
    if (is(at, "?")) {
      ++at;
      out.is_optional = true;
    }
    if (!is_text(at) || !is(at + 1, "]")) return std::nullopt;
    out.domain = pieces_[at].content;
    out.last = at + 2;
    if (is_name(i + 2, "capacity")) return out;  // dranet publishes no capacity
    at = out.last;
    if (is(at, ".")) {
      size_t name = at + 1;
      const bool is_optional = is(name, "?");
      name += is_optional;
      if (name < pieces_.size() && pieces_[name].kind == cel::Token::kName && !is(name + 1, "(")) {
        out.id = pieces_[name].spelled;
        out.is_optional |= is_optional;
        out.last = name + 1;
      }
    } else if (is(at, "[")) {
      size_t key = at + 1;
      const bool is_optional = is(key, "?");
      key += is_optional;
      if (is_text(key) && is(key + 1, "]")) {
        out.id = pieces_[key].content;
        out.is_optional |= is_optional;
        out.last = key + 2;
      }
    }
    return out;
  }

  // Recognizes attributes["domain/id"].StringValue.
  std::optional<Reference> filter_reference_at(size_t i) const {
    if (!is_name(i, "attributes") || !is(i + 1, "[") || !is_text(i + 2) || !is(i + 3, "]"))
      return std::nullopt;
    Reference out{.first = i, .last = i + 4};
    const std::string& key = pieces_[i + 2].content;
    const size_t slash = key.find('/');
    out.domain = key.substr(0, slash);
    if (slash != std::string::npos) out.id = key.substr(slash + 1);
    if (!is(i + 4, ".")) {
      out.id.clear();  // the value as a whole
      return out;
    }
    for (const std::string_view field : {"StringValue", "BoolValue", "IntValue", "VersionValue"})
      if (is_name(i + 5, field)) {
        out.last = i + 6;
        return out;
      }
    out.id.clear();
    return out;
  }

  // Recognizes "id" in device.attributes["domain"], "domain" in device.attributes, "domain/id" in attributes.
  std::optional<size_t> translate_in(size_t i) {
    if (is_filter_) {
      if (!is_name(i + 2, "attributes") || is(i + 3, "[") || is(i + 3, ".")) return std::nullopt;
      const std::string& key = pieces_[i].content;
      const size_t slash = key.find('/');
      if (slash == std::string::npos) return std::nullopt;
      const Reference of{
          .first = i, .last = i + 3, .domain = key.substr(0, slash), .id = key.substr(slash + 1)};
      if (!is_ours(of)) return std::nullopt;
      return translate_presence(of, of.first, of.last);
    }
    const auto map = device_reference_at(i + 2);
    if (map && map->id.empty() && is_ours(*map) && !is_name(i + 4, "capacity")) {
      const Reference of{.first = i, .last = map->last, .domain = map->domain, .id = pieces_[i].content};
      return translate_presence(of, of.first, of.last);
    }
    const bool is_domain = is_name(i + 2, "device") && is(i + 3, ".") && is_name(i + 4, "attributes") &&
                           !is(i + 5, "[") && !is(i + 5, ".");
    const std::string& domain = pieces_[i].content;
    if (!is_domain || (domain != kDranetDriver && !domain.ends_with(kCloudSuffix))) return std::nullopt;
    out_.names_dranet = true;
    if (domain == kDranetDriver) edit(i, i + 1, quoted(driver_));
    return i + 5;  // a cloud's domain stays: sliced publishes no such attribute, so it is false
  }

  size_t translate_presence(const Reference& of, size_t first, size_t last) {
    out_.names_dranet = true;
    if (of.domain == kStandard) {
      edit(first, last, "has(device.attributes[" + quoted(kStandard) + "]." + of.id + ")");
      return last;
    }
    const Counterpart* known = of.domain == kDranetDriver ? counterpart_of(of.id) : nullptr;
    if (known == nullptr || known->form == TranslationForm::kNone)
      keep(of);
    else if (known->presence.empty())
      edit(first, last, "(" + filled(known->target) + ")");
    else
      edit(first, last, "has(" + ours() + "." + std::string(known->presence) + ")");
    note(of);
    return last;
  }

  void note(const Reference& of) {
    out_.selects_rdma |= of.domain == kDranetDriver && (of.id == "rdma" || of.id == "rdmaDevice");
    out_.selects_without_interface |= of.domain == "alibaba.dra.net" && of.id == "erdma";
  }

  size_t translate(const Reference& of) {
    out_.names_dranet = true;
    note(of);
    const bool is_has =
        of.first >= 2 && is(of.first - 1, "(") && is_name(of.first - 2, "has") && is(of.last, ")");
    if (of.id.empty()) {
      keep(of);
      return of.last;
    }
    if (of.domain == kStandard) {
      edit(of.first, of.last, "device.attributes[" + quoted(kStandard) + "]." + of.id);
      return of.last;
    }
    if (is_has) {
      // Replaces the text from `has(` to `)`.
      return translate_presence(of, of.first - 2, of.last + 1);
    }
    const Counterpart* known = of.domain == kDranetDriver ? counterpart_of(of.id) : nullptr;
    if (is_filter_ && of.domain == kDranetDriver && of.id == "state") {
      edit(of.first, of.last, ours() + ".operState");
      return of.last;
    }
    if (known == nullptr || known->form == TranslationForm::kNone) {
      keep(of);
      return of.last;
    }
    if (of.id == "ifName") note_interfaces(of);
    switch (known->form) {
      case TranslationForm::kSame:
        edit(of.first, of.last, ours() + (of.is_optional ? ".?" : ".") + std::string(known->target));
        return of.last;
      case TranslationForm::kWithDefault:
        edit(of.first, of.last,
             is_filter_       ? ours() + "." + std::string(known->target)
             : of.is_optional ? ours() + ".?" + std::string(known->target)
                              : ours() + ".?" + std::string(known->target) + ".orValue(false)");
        return of.last;
      case TranslationForm::kCondition: {
        const auto last = behind_default(of);
        if (!last) {
          keep(of);
          return of.last;
        }
        const std::string condition = "(" + filled(known->target) + ")";
        edit(of.first, *last, of.id == "virtual" ? "(!" + condition + ")" : condition);
        return *last;
      }
      case TranslationForm::kByText:
        return translate_comparison(of, *known);
      case TranslationForm::kNone:
        break;
    }
    return of.last;
  }

  // Returns the token after .orValue(X) of an optional reference. The default is dropped: the condition is
  // known for every device.
  std::optional<size_t> behind_default(const Reference& of) const {
    if (!of.is_optional) return of.last;
    const size_t i = of.last;
    if (is(i, ".") && is_name(i + 1, "orValue") && is(i + 2, "(") && is(i + 4, ")")) return i + 5;
    return std::nullopt;
  }

  // Translates REFERENCE == "text", != and in ["text", ...]; "text" == REFERENCE has no counterpart.
  size_t translate_comparison(const Reference& of, const Counterpart& known) {
    const auto last = behind_default(of);
    if (!last) {
      keep(of);
      return of.last;
    }
    const auto whole = [&](const std::vector<std::string_view>& texts, bool is_negated, size_t end) {
      std::vector<std::string> conditions;
      for (const std::string_view text : texts) {
        const TextCondition one = condition_of(known, text, is_filter_);
        if (one.text.empty()) {
          keep({of.first, end, of.domain, of.id});
          return end;
        }
        if (one.is_never && text != "veth") out_.untranslated.push_back(virtual_kind(text));
        out_.selects_without_interface |= one.has_no_interface && !is_negated;
        conditions.push_back(filled(one.text));
      }
      const std::string any =
          conditions.size() == 1 ? conditions.front() : "(" + join(conditions, ") || (") + ")";
      edit(of.first, end, is_negated ? "!(" + any + ")" : "(" + any + ")");
      return end;
    };
    if ((is(*last, "==") || is(*last, "!=")) && is_text(*last + 1))
      return whole({pieces_[*last + 1].content}, is(*last, "!="), *last + 2);
    if (is(*last, "in") && is(*last + 1, "[")) {
      std::vector<std::string_view> texts;
      size_t i = *last + 2;
      for (; is_text(i); i += is(i + 1, ",") ? 2 : 1) texts.push_back(pieces_[i].content);
      if (is(i, "]") && !texts.empty()) return whole(texts, false, i + 1);
    }
    keep(of);
    return of.last;
  }

  static Untranslated virtual_kind(std::string_view kind) {
    return {
        in_quotes(std::string(kind), 32), "sliced does not know this kind of virtual interface",
        "virtual interfaces are not offered here; write a DeviceExposurePolicy with includeVirtual: true that names them by ifName"};
  }

  void note_interfaces(const Reference& of) {
    if (is(of.last, "==") && is_text(of.last + 1)) out_.interfaces.push_back(pieces_[of.last + 1].content);
    if (of.first >= 2 && is(of.first - 1, "==") && is_text(of.first - 2))
      out_.interfaces.push_back(pieces_[of.first - 2].content);
    if (is(of.last, "in") && is(of.last + 1, "["))
      for (size_t i = of.last + 2; is_text(i); i += is(i + 1, ",") ? 2 : 1)
        out_.interfaces.push_back(pieces_[i].content);
  }

  // Finds ifName == "eth1" as a condition that the whole expression requires.
  void find_only_interface() {
    int depth = 0;
    size_t begin = 0;
    std::string found;
    for (size_t i = 0; i <= pieces_.size(); ++i) {
      if (i < pieces_.size()) {
        if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
        if (is(i, ")") || is(i, "]") || is(i, "}")) --depth;
        if (depth == 0 && (is(i, "||") || is(i, "?"))) {
          const bool is_alternative = is(i, "||") || !(i > 0 && (is(i - 1, ".") || is(i - 1, "[")));
          if (is_alternative) return;
        }
      }
      if (i < pieces_.size() && !(depth == 0 && is(i, "&&"))) continue;
      if (const auto of = reference_at(begin); of && of->domain == kDranetDriver && of->id == "ifName" &&
                                               !of->is_optional && is(of->last, "==") &&
                                               is_text(of->last + 1) && of->last + 2 == i)
        found = pieces_[of->last + 1].content;
      begin = i + 1;
    }
    out_.only_interface = found;
  }

  const std::string& text_;
  const std::string driver_;
  const bool is_filter_;
  const std::vector<Piece> pieces_;
  bool mentions_driver_ = false;
  std::vector<Edit> edits_;
  Translated out_;
};

Result<Translated> translate(const std::string& text, std::string_view driver, bool is_filter) {
  cel::Arena arena(2u << 20);
  std::deque<cel::Node> nodes;
  cel::Mistake mistake;
  if (cel::parse(text, {}, nodes, arena, mistake) == nullptr)
    return Error{Errc::kInvalid, "is not a CEL expression: " + mistake.what};
  return Translator(text, driver, is_filter).run();
}

}  // namespace

Result<Translated> translate_selector(const std::string& text, std::string_view driver) {
  return translate(text, driver, false);
}
Result<Translated> translate_filter(const std::string& text, std::string_view driver) {
  return translate(text, driver, true);
}

std::optional<std::string> translate_attribute(std::string_view key, std::string_view driver) {
  const size_t slash = key.find('/');
  const std::string_view domain = key.substr(0, slash);
  if (domain != kDranetDriver && !domain.ends_with(kCloudSuffix)) return std::string(key);
  const Counterpart* known = domain == kDranetDriver && slash != std::string_view::npos
                                 ? counterpart_of(key.substr(slash + 1))
                                 : nullptr;
  const bool has_values = known != nullptr && (known->form == TranslationForm::kSame ||
                                               known->form == TranslationForm::kWithDefault ||
                                               known->id == "encapsulation" || known->id == "pciVendor");
  if (!has_values) return std::nullopt;
  return std::string(driver) + "/" + std::string(known->target);
}

Untranslated why_no_attribute(std::string_view key) {
  const size_t slash = std::min(key.find('/'), key.size());
  return why_none(key.substr(0, slash), key.substr(std::min(slash + 1, key.size())),
                  escaped(std::string(key), 128));
}

}  // namespace sliced::migrate
