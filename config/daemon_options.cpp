#include <array>

#include "config/option_rows.h"

namespace sliced::config {
namespace {

constexpr CommandSet kWriting = bit(Command::kRun) | bit(Command::kWithdraw);

constexpr std::array<std::string_view, 3> kSignTexts = {"annotation", "node-state", "file:"};

constexpr OptionInfo kDaemonOptions[] = {
    option<&Options::runtime_directory, parse_path>(
        {.name = "runtime-directory",
         .env = "SLICED_RUNTIME_DIRECTORY",
         .file_key = "runtimeDirectory",
         .placeholder = "PATH",
         .commands = kWriting | kDeciding | bit(Command::kStatus) | bit(Command::kHistory) |
                     bit(Command::kMatch) | bit(Command::kDrift),
         .help =
             "Directory of the locks that allow one daemon per node to write, and of the socket for sliced "
             "status. Owned by this user and not accessible to others; created with mode 0700 if its parent "
             "exists. Default: $RUNTIME_DIRECTORY (systemd), /run/sliced for root or if this user owns it, "
             "$XDG_RUNTIME_DIR/sliced, /run/user/UID/sliced, $HOME/.sliced."}),
    option<&Options::health_address, parse_listen_address>(
        {.name = "health-address",
         .env = "SLICED_HEALTH_ADDRESS",
         .file_key = "healthAddress",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kRun) | kAggregating | bit(Command::kWebhook),
         .help =
             "Also serve /livez, /readyz and the other pages of docs/status.md by HTTP at this address, to "
             "every client that can reach it. :PORT is 127.0.0.1:PORT. Default: only the socket in the "
             "runtime directory. aggregate and webhook serve /livez, /readyz and /metrics, and have no "
             "socket."}),
    option<&Options::report, parse_word<Switch>>(
        {.name = "report",
         .env = "SLICED_REPORT",
         .file_key = "report",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: write the NodeDeviceReport of this node (offered and withheld devices with reasons), if the"
             " API server has that kind, and its Lease, which shows that the daemon runs. off: write neither."}),
    option<&Options::events, parse_word<Switch>>(
        {.name = "events",
         .env = "SLICED_EVENTS",
         .file_key = "events",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: write Events of policies and of the Node for invalid fields, refused devices, devices that "
             "are withheld for long, and devices that are withdrawn while a pod has them. off: write no "
             "Events."}),
    option<&Options::webhook_address, parse_listen_address>(
        {.name = "webhook-address",
         .env = "SLICED_WEBHOOK_ADDRESS",
         .file_key = "webhookAddress",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kWebhook),
         .help =
             "Listening address for the API server, by HTTPS at /validate; /livez and /readyz are for probes."
             " :PORT is 127.0.0.1:PORT."}),
    option<&Options::tls_cert_file, parse_path>(
        {.name = "tls-cert-file",
         .env = "SLICED_TLS_CERT_FILE",
         .file_key = "tlsCertFile",
         .placeholder = "PATH",
         .commands = bit(Command::kWebhook),
         .help =
             "Certificate of the webhook with its chain, as PEM. Certificate and key are read again when they"
             " change."}),
    option<&Options::tls_private_key_file, parse_path>(
        {.name = "tls-private-key-file",
         .env = "SLICED_TLS_PRIVATE_KEY_FILE",
         .file_key = "tlsPrivateKeyFile",
         .placeholder = "PATH",
         .commands = bit(Command::kWebhook),
         .help = "Key of the certificate, as unencrypted PEM."}),
    option<&Options::scheduler_version, parse_scheduler_version>(
        {.name = "scheduler-version",
         .env = "SLICED_SCHEDULER_VERSION",
         .file_key = "schedulerVersion",
         .placeholder = "VERSION",
         .commands = kDeciding | bit(Command::kWhy) | bit(Command::kPage),
         .help =
             "Version of the kube-scheduler, such as v1.36.3, if it differs from that of the API server. "
             "Personas that exclude each other, and shared devices with other personas, require 1.36.2 or later."}),
    option<&Options::kubelet_plugin, parse_word<Switch>>(
        {.name = "kubelet-plugin",
         .env = "SLICED_KUBELET_PLUGIN",
         .file_key = "kubeletPlugin",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: serve the kubelet as the DRA plugin of both drivers: prepare claims and give devices to "
             "containers. off: the kubelet does not know the drivers, and pods with claims do not start."}),
    option<&Options::skip_node_operations, parse_word<Switch>>(
        {.name = "skip-node-operations",
         .env = "SLICED_SKIP_NODE_OPERATIONS",
         .file_key = "skipNodeOperations",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: with --kubelet-plugin off and the feature gate DRAOptionalNodeOperations (Kubernetes 1.37), kubelets start "
             "pods with claims without a plugin. The pods get no device nodes and no interfaces from this driver. off: such "
             "pods wait for a plugin."}),
    option<&Options::numa_node_attribute, parse_word<NumaNodeAttribute>>(
        {.name = "numa-node-attribute",
         .env = "SLICED_NUMA_NODE_ATTRIBUTE",
         .file_key = "numaNodeAttribute",
         .placeholder = "FORM",
         .commands = bit(Command::kRun),
         .choices = kTexts<NumaNodeAttribute>,
         .help =
             "How the attribute resource.kubernetes.io/numaNode is published. scalar: the number of the device's NUMA node. "
             "list: that number and then those of the nearest nodes of the same processor package, where the cluster has the "
             "feature gate DRAListTypeAttributes (Kubernetes 1.36). CEL expressions that compare the attribute with a number "
             "do not match a list."}),
    option<&Options::dranet_attributes, parse_word<Switch>>(
        {.name = "dranet-attributes",
         .env = "SLICED_DRANET_ATTRIBUTES",
         .file_key = "dranetAttributes",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: devices of DeviceExposurePolicies also have dranet's attributes (dra.net/ifName, dra.net/rdma, ...), so that "
             "selectors written for dranet match them. Slices grow by about a third. off: selectors use the attributes of this "
             "driver."}),
    option<&Options::exclusion, parse_word<ExclusionForm>>(
        {.name = "exclusion",
         .env = "SLICED_EXCLUSION",
         .file_key = "exclusion",
         .placeholder = "FORM",
         .commands = bit(Command::kRun),
         .choices = kTexts<ExclusionForm>,
         .help =
             "How the scheduler sees that a PF as a whole and its VFs exclude each other. counters: by shared counters alone. "
             "compatibility-groups: by compatibility groups, where the cluster has the feature gate "
             "DRADeviceCompatibilityGroups (Kubernetes 1.37), so that a VF that comes or goes changes no other entry. API "
             "servers and schedulers must have the gate."}),
    option<&Options::kubelet_plugins_directory, parse_path>(
        {.name = "kubelet-plugins-directory-path",
         .env = "KUBELET_PLUGINS_DIRECTORY_PATH",
         .file_key = "kubeletPluginsDirectoryPath",
         .placeholder = "PATH",
         .commands = bit(Command::kRun) | bit(Command::kDrift) | bit(Command::kExplain) |
                     bit(Command::kPlan) | bit(Command::kMatch),
         .help =
             "Plugin directory of the kubelet; the plugins of sliced have the names of the drivers. Commands "
             "other than run read the devices of pods from it if no daemon answers at its status socket."}),
    option<&Options::kubelet_registrar_directory, parse_path>(
        {.name = "kubelet-registrar-directory-path",
         .env = "KUBELET_REGISTRAR_DIRECTORY_PATH",
         .file_key = "kubeletRegistrarDirectoryPath",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "Directory in which the kubelet looks for registration sockets of plugins."}),
    option<&Options::cdi_root, parse_path>(
        {.name = "cdi-root",
         .env = "CDI_ROOT",
         .file_key = "cdiRoot",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "Directory in which container runtimes look for CDI specifications."}),
    option<&Options::configuration_mode, parse_word<ConfigurationMode>>(
        {.name = "configuration-mode",
         .env = "CONFIGURATION_MODE",
         .file_key = "configurationMode",
         .placeholder = "MODE",
         .commands = bit(Command::kRun),
         .choices = kTexts<ConfigurationMode>,
         .help =
             "Program that attaches the interfaces of claims with a NetworkAttachmentDefinition. STANDALONE: "
             "sliced runs the CNI plugins when the container runtime starts a pod sandbox (NRI). MULTUS: "
             "Multus runs them, with the device-info files that sliced writes."}),
    option<&Options::interface_prefix, parse_interface_prefix>(
        {.name = "default-interface-prefix",
         .env = "DEFAULT_INTERFACE_PREFIX",
         .file_key = "defaultInterfacePrefix",
         .placeholder = "TEXT",
         .commands = bit(Command::kRun),
         .help = "Prefix of interface names in pods for configurations without ifName; a number follows. "
                 "STANDALONE only."}),
    option<&Options::cni_path, parse_path>(
        {.name = "cni-path",
         .env = "CNI_PATH",
         .file_key = "cniPath",
         .placeholder = "PATH:...",
         .commands = bit(Command::kRun),
         .help = "Directories of CNI plugin binaries, searched in order. STANDALONE only."}),
    option<&Options::cni_plugins_exclusive, parse_cni_plugins>(
        {.name = "cni-plugins-exclusive",
         .env = "SLICED_CNI_PLUGINS_EXCLUSIVE",
         .file_key = "cniPluginsExclusive",
         .placeholder = "PLUGIN,...",
         .commands = bit(Command::kRun),
         .help =
             "CNI plugins that a NetworkAttachmentDefinition may run for an exclusive device whose policy has"
             " no supportedCNIPlugins. Others are an error when the claim is prepared. STANDALONE only."}),
    option<&Options::cni_plugins_shared, parse_cni_plugins>(
        {.name = "cni-plugins-shared",
         .env = "SLICED_CNI_PLUGINS_SHARED",
         .file_key = "cniPluginsShared",
         .placeholder = "PLUGIN,...",
         .commands = bit(Command::kRun),
         .help = "The same for shared devices. STANDALONE only."}),
    option<&Options::vf_settings, parse_word<VfSettings>>(
        {.name = "vf-settings",
         .env = "SLICED_VF_SETTINGS",
         .file_key = "vfSettings",
         .placeholder = "SETTINGS",
         .commands = bit(Command::kRun),
         .choices = kTexts<VfSettings>,
         .help = "VF settings through the PF (vlan, trust, spoofchk, link_state, rates, mac, pkey) that a "
                 "NetworkAttachmentDefinition may change if a matching policy has no spec.allow. none: for "
                 "clusters whose namespaces do not trust each other. STANDALONE only."}),
    option<&Options::nri_socket, parse_path>(
        {.name = "nri-socket-path",
         .env = "NRI_SOCKET_PATH",
         .file_key = "nriSocketPath",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "NRI socket of the container runtime. STANDALONE only."}),
    option<&Options::nri_plugin_name, parse_nri_name>(
        {.name = "nri-plugin-name",
         .env = "NRI_PLUGIN_NAME",
         .file_key = "nriPluginName",
         .placeholder = "NAME",
         .commands = bit(Command::kRun),
         .help = "Name of this NRI plugin for the container runtime."}),
    option<&Options::nri_plugin_index, parse_nri_index>(
        {.name = "nri-plugin-index",
         .env = "NRI_PLUGIN_IDX",
         .file_key = "nriPluginIndex",
         .placeholder = "NN",
         .commands = bit(Command::kRun),
         .help = "Two digits; the container runtime calls plugins in ascending order."}),
    option<&Options::pod_uid, parse_pod_uid>(
        {.name = "pod-uid",
         .env = "POD_UID",
         .file_key = "podUID",
         .placeholder = "UID",
         .commands = bit(Command::kRun) | bit(Command::kStatus) | bit(Command::kHistory) |
                     bit(Command::kWaitForConfig),
         .help =
             "UID of the pod of this process. It is part of the socket names, so that the old and the new pod"
             " of an upgrade can run at the same time. A pod with the same name and another UID does not end "
             "a wait for the annotation."}),
    option<&Options::until_configured, parse_sign>(
        {.name = "until-configured",
         .env = "SLICED_UNTIL_CONFIGURED",
         .file_key = "untilConfigured",
         .placeholder = "SIGN",
         .commands = kDeciding,
         .choices = kSignTexts,
         .help =
             "Add and prepare no device before the hardware of the node is configured, except devices offered"
             " in this boot. annotation: until the annotation that sliced sets on its own pod is removed. "
             "node-state: until the host matches the SriovNetworkNodeState of the node, which must exist and "
             "list interfaces; with :allow-empty it need not. file:PATH: until the file exists and is empty "
             "or has the id of this boot, as created by sliced configured."}),
    option<&Options::wait_for, parse_sign>(
        {.name = "for",
         .placeholder = "SIGN",
         .commands = kSigns,
         .choices = kSignTexts,
         .help =
             "Signal to wait for or to give: annotation of pods, node-state, or file:PATH. Default of wait-"
             "for-config: annotation. Default of configured: annotation and file:/run/sliced/configured."}),
    option<&Options::wait_timeout, parse_time>(
        {.name = "timeout",
         .placeholder = "TIME",
         .commands = bit(Command::kWaitForConfig),
         .help = "Exit with status 2 if the node is not configured after this time. 0s: never."}),
    option<&Options::pod_name, parse_pod_name>(
        {.name = "pod-name",
         .env = "POD_NAME",
         .file_key = "podName",
         .placeholder = "NAME",
         .commands = kDeciding | bit(Command::kWaitForConfig) | kAggregating,
         .help = "Name of the pod of this process, which has the annotation."}),
    option<&Options::pod_namespace, parse_pod_namespace>(
        {.name = "pod-namespace",
         .env = "POD_NAMESPACE",
         .file_key = "podNamespace",
         .placeholder = "NAME",
         .commands = kDeciding | kSigns,
         .help =
             "Namespace of the pod of this process. configured: namespace of the waiting pods, default that "
             "of --namespace."}),
    option<&Options::let_go, parse_node_labels>(
        {.name = "selector",
         .short_name = 'l',
         .env = "SLICED_SELECTOR",
         .file_key = "selector",
         .placeholder = "KEY=VALUE,...",
         .commands = bit(Command::kConfigured),
         .help =
             "configured: labels of the waiting pods; all must match. \"\" selects all pods of the node. Pods "
             "of the device plugin of the SR-IOV network operator (app=sriov-device-plugin) are released by "
             "that operator."}),
    option<&Options::enable_device_metadata, parse_word<bool>>(
        {.name = "enable-device-metadata",
         .env = "ENABLE_DEVICE_METADATA",
         .file_key = "enableDeviceMetadata",
         .commands = bit(Command::kRun),
         .help = "Mount files into containers with the published attributes of their devices and, after "
                 "attachment, their interfaces (device metadata). KubeVirt finds its PCI functions there."}),
    option<&Options::mac_annotation, parse_annotation_key>(
        {.name = "mac-annotation",
         .env = "SLICED_MAC_ANNOTATION",
         .file_key = "macAnnotation",
         .placeholder = "KEY",
         .commands = bit(Command::kRun),
         .help =
             "Annotation of pods with the requested MAC addresses, such as kubevirt.io/dra-networks. Each pod"
             " with a claim is then read (get on pods). Default: pods are not read."}),
    option<&Options::kubevirt_environment, parse_word<bool>>(
        {.name = "kubevirt-environment",
         .env = "SLICED_KUBEVIRT_ENVIRONMENT",
         .file_key = "kubevirtEnvironment",
         .commands = bit(Command::kRun),
         .help = "Set the variables PCI_RESOURCE_<claim>_<request> of containers to the PCI addresses of the "
                 "devices of the request."}),
    option<&Options::kinds_off, parse_kinds>(
        {.name = "kinds-off",
         .env = "SLICED_KINDS_OFF",
         .file_key = "kindsOff",
         .placeholder = "KIND,...",
         .commands = kDeciding,
         .choices = kKinds,
         .help = "Kinds that are neither watched nor used, for nodes without permission to read them: "
                 "SriovResourcePolicy, DeviceAttributes, DeviceExposurePolicy."}),
    option<&Options::readiness, parse_readiness>(
        {.name = "readiness",
         .env = "SLICED_READINESS",
         .file_key = "readiness",
         .placeholder = "{FIELD: VALUE, ...}",
         .commands = kDeciding,
         .reloadable = true,
         .help = "Default conditions before a device is offered, for fields that its policy omits: require, "
                 "mtuAtLeast, stableFor and onLoss as in spec.readiness of policies. Default: {require: "
                 "[udevInitialized]}, if udevd runs."}),
    option<&Options::readiness_poll, parse_time>(
        {.name = "readiness-poll",
         .env = "SLICED_READINESS_POLL",
         .file_key = "readinessPoll",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "Maximum interval of reading the VF settings of a PF while a device waits for them, because some"
             " drivers send no event. The first interval is 100ms, and each is twice the previous one. At "
             "most 1m."}),
    option<&Options::configure, parse_configure>(
        {.name = "configure",
         .env = "SLICED_CONFIGURE",
         .file_key = "configure",
         .placeholder = "WHAT,...",
         .commands = bit(Command::kRun),
         .choices = kConfigurable,
         .help =
             "Settings of the host that are set if they are missing. admin-mac: a VF without administrative "
             "MAC address gets the address of its interface, if the SriovNetworkNodeState of the node marks "
             "the PF as externally managed, or a policy has readiness.setAdminMac. Requires CAP_NET_ADMIN. "
             "Default: the host is not changed."}),
    option<&Options::sync_interval, parse_time>(
        {.name = "sync-interval",
         .env = "SLICED_SYNC_INTERVAL",
         .file_key = "syncInterval",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "Interval of full scans of the host, to find changes without an event. At least 1m, or 30s with "
             "--allow-short-sync; at most 24h."}),
    option<&Options::allow_short_sync, parse_word<bool>>({.name = "allow-short-sync",
                                                          .env = "SLICED_ALLOW_SHORT_SYNC",
                                                          .file_key = "allowShortSync",
                                                          .commands = bit(Command::kRun),
                                                          .reloadable = true,
                                                          .help = "Allow --sync-interval down to 30s."}),
    option<&Options::settle, parse_time>(
        {.name = "settle",
         .env = "SLICED_SETTLE",
         .file_key = "settle",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "Time without changes of a physical function before its new devices are published. Removals are "
             "published immediately."}),
    option<&Options::settle_max, parse_time>(
        {.name = "settle-max",
         .env = "SLICED_SETTLE_MAX",
         .file_key = "settleMax",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help = "Maximum delay of new devices while a physical function keeps changing; at most 1m."}),
    option<&Options::show, parse_word<bool>>(
        {.name = "show",
         .env = "SLICED_SHOW",
         .file_key = "show",
         .commands = bit(Command::kRun),
         .help =
             "Print devices, offered ones and reasons of the others at the start; then each row that changes."}),
};

}  // namespace

std::span<const OptionInfo> daemon_options() { return kDaemonOptions; }

}  // namespace sliced::config
