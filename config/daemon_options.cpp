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
             "Where the locks stand by which one daemon a node writes, and the socket that `sliced status` reads: a "
             "directory of this user that others can neither write to nor open; made with mode 0700 when only its "
             "parent is there. Without it: "
             "$RUNTIME_DIRECTORY (systemd), /run/sliced for root or where it is this user's, "
             "$XDG_RUNTIME_DIR/sliced, /run/user/UID/sliced, $HOME/.sliced."}),
    option<&Options::health_address, parse_listen_address>(
        {.name = "health-address",
         .env = "SLICED_HEALTH_ADDRESS",
         .file_key = "healthAddress",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kRun) | kAggregating | bit(Command::kWebhook),
         .help =
             "Serve /livez, /readyz and the other pages of docs/status.md by HTTP at this address too, to whoever "
             "reaches it; :PORT is 127.0.0.1:PORT. Without it they are read at the socket in the runtime directory "
             "alone. aggregate and webhook have those two and /metrics, and no socket."}),
    option<&Options::report, parse_word<Switch>>(
        {.name = "report",
         .env = "SLICED_REPORT",
         .file_key = "report",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: this node's NodeDeviceReport says what is offered, what is not and why, where the API server has that "
             "kind, and its Lease that the daemon is alive. off: nothing is reported."}),
    option<&Options::events, parse_word<Switch>>(
        {.name = "events",
         .env = "SLICED_EVENTS",
         .file_key = "events",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: Events of policies and of the Node tell what is not used as it is written, refused, held back for long or "
             "withdrawn while a pod has it. off: nobody is told."}),
    option<&Options::webhook_address, parse_listen_address>(
        {.name = "webhook-address",
         .env = "SLICED_WEBHOOK_ADDRESS",
         .file_key = "webhookAddress",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kWebhook),
         .help =
             "Where the API server asks, by HTTPS at /validate; /livez and /readyz are for probes. :PORT is 127.0.0.1:PORT."}),
    option<&Options::tls_cert_file, parse_path>(
        {.name = "tls-cert-file",
         .env = "SLICED_TLS_CERT_FILE",
         .file_key = "tlsCertFile",
         .placeholder = "PATH",
         .commands = bit(Command::kWebhook),
         .help =
             "The webhook's certificate and its chain, as PEM. It and its key are read again when they change."}),
    option<&Options::tls_private_key_file, parse_path>(
        {.name = "tls-private-key-file",
         .env = "SLICED_TLS_PRIVATE_KEY_FILE",
         .file_key = "tlsPrivateKeyFile",
         .placeholder = "PATH",
         .commands = bit(Command::kWebhook),
         .help = "The key of that certificate, as PEM, not encrypted."}),
    option<&Options::scheduler_version, parse_scheduler_version>(
        {.name = "scheduler-version",
         .env = "SLICED_SCHEDULER_VERSION",
         .file_key = "schedulerVersion",
         .placeholder = "VERSION",
         .commands = kDeciding | bit(Command::kWhy) | bit(Command::kPage),
         .help =
             "The kube-scheduler's version, such as v1.36.3, where it is not the API server's. Devices that "
             "exclude each other, and shared ones, are offered beside each other only with 1.36.2 and later."}),
    option<&Options::kubelet_plugin, parse_word<Switch>>(
        {.name = "kubelet-plugin",
         .env = "SLICED_KUBELET_PLUGIN",
         .file_key = "kubeletPlugin",
         .placeholder = "SWITCH",
         .commands = bit(Command::kRun),
         .choices = kTexts<Switch>,
         .help =
             "on: serve the node's kubelet as the plugin of both drivers: claims are prepared, and containers get their "
             "devices. off: the kubelet does not know the drivers."}),
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
             "The kubelet's directory with a folder for each plugin; ours have the names of the drivers. Commands other "
             "than run read there which devices pods hold, where no daemon answers at its status socket."}),
    option<&Options::kubelet_registrar_directory, parse_path>(
        {.name = "kubelet-registrar-directory-path",
         .env = "KUBELET_REGISTRAR_DIRECTORY_PATH",
         .file_key = "kubeletRegistrarDirectoryPath",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "The kubelet's directory in which it looks for the sockets of plugins."}),
    option<&Options::cdi_root, parse_path>(
        {.name = "cdi-root",
         .env = "CDI_ROOT",
         .file_key = "cdiRoot",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "The directory where container runtimes look for CDI specifications."}),
    option<&Options::configuration_mode, parse_word<ConfigurationMode>>(
        {.name = "configuration-mode",
         .env = "CONFIGURATION_MODE",
         .file_key = "configurationMode",
         .placeholder = "MODE",
         .commands = bit(Command::kRun),
         .choices = kTexts<ConfigurationMode>,
         .help =
             "How the interfaces of claims that name a NetworkAttachmentDefinition come into their pods. STANDALONE: this "
             "runs its CNI plugins when the container runtime says that a pod starts (NRI). MULTUS: Multus does, by the "
             "device-info files that are written for it."}),
    option<&Options::interface_prefix, parse_interface_prefix>(
        {.name = "default-interface-prefix",
         .env = "DEFAULT_INTERFACE_PREFIX",
         .file_key = "defaultInterfacePrefix",
         .placeholder = "TEXT",
         .commands = bit(Command::kRun),
         .help =
             "How the names of interfaces in pods begin that have no ifName; a number follows. STANDALONE only."}),
    option<&Options::cni_path, parse_path>(
        {.name = "cni-path",
         .env = "CNI_PATH",
         .file_key = "cniPath",
         .placeholder = "PATH:...",
         .commands = bit(Command::kRun),
         .help = "The directories with CNI plugins; the first that has one counts. STANDALONE only."}),
    option<&Options::cni_plugins_exclusive, parse_cni_plugins>(
        {.name = "cni-plugins-exclusive",
         .env = "SLICED_CNI_PLUGINS_EXCLUSIVE",
         .file_key = "cniPluginsExclusive",
         .placeholder = "PLUGIN,...",
         .commands = bit(Command::kRun),
         .help =
             "CNI plugins that a NetworkAttachmentDefinition may run for a device that one claim has alone, where the "
             "device's policy has no supportedCNIPlugins. All others are refused when the claim is prepared. STANDALONE only."}),
    option<&Options::cni_plugins_shared, parse_cni_plugins>(
        {.name = "cni-plugins-shared",
         .env = "SLICED_CNI_PLUGINS_SHARED",
         .file_key = "cniPluginsShared",
         .placeholder = "PLUGIN,...",
         .commands = bit(Command::kRun),
         .help = "The same for a device that several claims share. STANDALONE only."}),
    option<&Options::vf_settings, parse_word<VfSettings>>(
        {.name = "vf-settings",
         .env = "SLICED_VF_SETTINGS",
         .file_key = "vfSettings",
         .placeholder = "SETTINGS",
         .commands = bit(Command::kRun),
         .choices = kTexts<VfSettings>,
         .help =
             "Settings of a VF through its PF (vlan, trust, spoofchk, link_state, rates, mac, pkey) that a "
             "NetworkAttachmentDefinition may make where a policy that matches the device has no spec.allow. none: for clusters whose namespaces do not trust each other. STANDALONE "
             "only."}),
    option<&Options::nri_socket, parse_path>(
        {.name = "nri-socket-path",
         .env = "NRI_SOCKET_PATH",
         .file_key = "nriSocketPath",
         .placeholder = "PATH",
         .commands = bit(Command::kRun),
         .help = "The container runtime's NRI socket. STANDALONE only."}),
    option<&Options::nri_plugin_name, parse_nri_name>(
        {.name = "nri-plugin-name",
         .env = "NRI_PLUGIN_NAME",
         .file_key = "nriPluginName",
         .placeholder = "NAME",
         .commands = bit(Command::kRun),
         .help = "The name by which the container runtime knows this as an NRI plugin."}),
    option<&Options::nri_plugin_index, parse_nri_index>(
        {.name = "nri-plugin-index",
         .env = "NRI_PLUGIN_IDX",
         .file_key = "nriPluginIndex",
         .placeholder = "NN",
         .commands = bit(Command::kRun),
         .help = "Two digits: plugins with lower ones are called first by the container runtime."}),
    option<&Options::pod_uid, parse_pod_uid>(
        {.name = "pod-uid",
         .env = "POD_UID",
         .file_key = "podUID",
         .placeholder = "UID",
         .commands = bit(Command::kRun) | bit(Command::kStatus) | bit(Command::kHistory) |
                     bit(Command::kWaitForConfig),
         .help =
             "The UID of the pod that this runs in. The sockets have it in their names, so that during an upgrade "
             "those of the old pod and of the new one stand beside each other. A pod of the same name with another UID does not "
             "end a wait for the annotation."}),
    option<&Options::until_configured, parse_sign>(
        {.name = "until-configured",
         .env = "SLICED_UNTIL_CONFIGURED",
         .file_key = "untilConfigured",
         .placeholder = "SIGN",
         .commands = kDeciding,
         .choices = kSignTexts,
         .help =
             "Offer nothing new, and prepare nothing that was not offered in this boot, before the node's hardware is "
             "configured. annotation: until somebody removes the annotation that this sets on its own pod. node-state: "
             "until the host is as the node's SriovNetworkNodeState wants it, which is there and wants something; with "
             ":allow-empty it need not. file:PATH: until there is a file that is empty or names this boot, as `sliced "
             "configured` makes it."}),
    option<&Options::wait_for, parse_sign>(
        {.name = "for",
         .placeholder = "SIGN",
         .commands = kSigns,
         .choices = kSignTexts,
         .help =
             "What to wait for, or to do: annotation of pods, or file:PATH. Without it wait-for-config waits for the "
             "annotation, and configured does both, with the file /run/sliced/configured."}),
    option<&Options::wait_timeout, parse_time>(
        {.name = "timeout",
         .placeholder = "TIME",
         .commands = bit(Command::kWaitForConfig),
         .help = "End with exit status 2 when the node is not configured after this time. 0s: never."}),
    option<&Options::pod_name, parse_pod_name>(
        {.name = "pod-name",
         .env = "POD_NAME",
         .file_key = "podName",
         .placeholder = "NAME",
         .commands = kDeciding | bit(Command::kWaitForConfig) | kAggregating,
         .help = "The name of the pod that this runs in, whose annotation is waited by."}),
    option<&Options::pod_namespace, parse_pod_namespace>(
        {.name = "pod-namespace",
         .env = "POD_NAMESPACE",
         .file_key = "podNamespace",
         .placeholder = "NAME",
         .commands = kDeciding | kSigns,
         .help =
             "Its namespace; of configured that of the pods that are let go, or else that of --namespace."}),
    option<&Options::let_go, parse_node_labels>(
        {.name = "selector",
         .short_name = 'l',
         .env = "SLICED_SELECTOR",
         .file_key = "selector",
         .placeholder = "KEY=VALUE,...",
         .commands = bit(Command::kConfigured),
         .help =
             "The labels of the pods that are let go, all of them; \"\" are all pods of the node. Pods of the SR-IOV network "
             "operator's own device plugin (app=sriov-device-plugin) are that operator's to let go."}),
    option<&Options::enable_device_metadata, parse_word<bool>>(
        {.name = "enable-device-metadata",
         .env = "ENABLE_DEVICE_METADATA",
         .file_key = "enableDeviceMetadata",
         .commands = bit(Command::kRun),
         .help =
             "Mount files into containers, in which they can read what is published of their devices and, once "
             "they have one, of their interfaces (device metadata). KubeVirt finds its PCI functions there."}),
    option<&Options::mac_annotation, parse_annotation_key>(
        {.name = "mac-annotation",
         .env = "SLICED_MAC_ANNOTATION",
         .file_key = "macAnnotation",
         .placeholder = "KEY",
         .commands = bit(Command::kRun),
         .help =
             "The annotation of pods with the MAC addresses that they ask for, as kubevirt.io/dra-networks: each "
             "pod with a claim is then read (get on pods). Without it no pod is asked."}),
    option<&Options::kubevirt_environment, parse_word<bool>>(
        {.name = "kubevirt-environment",
         .env = "SLICED_KUBEVIRT_ENVIRONMENT",
         .file_key = "kubevirtEnvironment",
         .commands = bit(Command::kRun),
         .help =
             "Give containers PCI_RESOURCE_<claim>_<request> with the PCI addresses of the request's devices."}),
    option<&Options::kinds_off, parse_kinds>(
        {.name = "kinds-off",
         .env = "SLICED_KINDS_OFF",
         .file_key = "kindsOff",
         .placeholder = "KIND,...",
         .commands = kDeciding,
         .choices = kKinds,
         .help =
             "Kinds that are neither watched nor obeyed, where the cluster does not let this node read them: "
             "SriovResourcePolicy, DeviceAttributes, DeviceExposurePolicy."}),
    option<&Options::readiness, parse_readiness>(
        {.name = "readiness",
         .env = "SLICED_READINESS",
         .file_key = "readiness",
         .placeholder = "{FIELD: VALUE, ...}",
         .commands = kDeciding,
         .reloadable = true,
         .help =
             "What must hold of a device before it is offered, where its policy does not say it: require, mtuAtLeast, "
             "stableFor and onLoss as in spec.readiness of policies. Without it {require: [udevInitialized]}, where "
             "udevd runs."}),
    option<&Options::readiness_poll, parse_time>(
        {.name = "readiness-poll",
         .env = "SLICED_READINESS_POLL",
         .file_key = "readinessPoll",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "The longest wait until a PF is asked again what it enforces, while something is held back for that: its driver "
             "need not tell. The first wait is 100ms, and each is twice the one before. At most 1m."}),
    option<&Options::configure, parse_configure>(
        {.name = "configure",
         .env = "SLICED_CONFIGURE",
         .file_key = "configure",
         .placeholder = "WHAT,...",
         .commands = bit(Command::kRun),
         .choices = kConfigurable,
         .help =
             "What of the host is set where it is missing. admin-mac: the PF of a VF without administrative MAC address is "
             "given that of the VF's interface, where the node's SriovNetworkNodeState calls the PF externally managed, or a "
             "policy says readiness.setAdminMac. Takes CAP_NET_ADMIN. Without it nothing of the host is changed."}),
    option<&Options::sync_interval, parse_time>(
        {.name = "sync-interval",
         .env = "SLICED_SYNC_INTERVAL",
         .file_key = "syncInterval",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "How often the whole host is scanned again, for what events have missed. At least 1m, or 30s with "
             "--allow-short-sync; at most 24h."}),
    option<&Options::allow_short_sync, parse_word<bool>>({.name = "allow-short-sync",
                                                          .env = "SLICED_ALLOW_SHORT_SYNC",
                                                          .file_key = "allowShortSync",
                                                          .commands = bit(Command::kRun),
                                                          .reloadable = true,
                                                          .help = "Let --sync-interval go down to 30s."}),
    option<&Options::settle, parse_time>(
        {.name = "settle",
         .env = "SLICED_SETTLE",
         .file_key = "settle",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help =
             "How long a physical function must be quiet before what appeared on it is published. Removals never "
             "wait."}),
    option<&Options::settle_max, parse_time>(
        {.name = "settle-max",
         .env = "SLICED_SETTLE_MAX",
         .file_key = "settleMax",
         .placeholder = "TIME",
         .commands = bit(Command::kRun),
         .reloadable = true,
         .help = "The longest that additions wait when it never gets quiet; at most 1m."}),
    option<&Options::show, parse_word<bool>>(
        {.name = "show",
         .env = "SLICED_SHOW",
         .file_key = "show",
         .commands = bit(Command::kRun),
         .help =
             "Print the devices, what is offered and why the rest is not, at the start; then each row that changes."}),
};

}  // namespace

std::span<const OptionInfo> daemon_options() { return kDaemonOptions; }

}  // namespace sliced::config
