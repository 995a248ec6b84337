{{- define "sliced.args" -}}
{{- $plugin := .Values.kubeletPlugin -}}
- run
- --cluster=in-cluster
- --namespace={{ include "sliced.namespace" . }}
- --sriov-driver-name={{ .Values.sriovDriverName }}
- --exposure-driver-name={{ .Values.exposureDriverName }}
- --runtime-directory=/run/sliced
- --sync-interval={{ .Values.syncInterval }}
{{- with .Values.kindsOff }}
- --kinds-off={{ join "," . }}
{{- end }}
{{- with .Values.schedulerVersion }}
- --scheduler-version={{ . }}
{{- end }}
{{- with .Values.untilConfigured }}
- --until-configured={{ . }}
{{- end }}
{{- with .Values.configure }}
- --configure={{ join "," . }}
{{- end }}
{{- with .Values.nodeStateNamespace }}
- --node-state-namespace={{ . }}
{{- end }}
{{- with .Values.ignoreNodeState }}
- --ignore-node-state={{ join "," . }}
{{- end }}
{{- with .Values.healthAddress }}
- --health-address={{ . }}
{{- end }}
{{- if not .Values.events }}
- --events=off
{{- end }}
{{- if not .Values.report }}
- --report=off
{{- end }}
- --log-format={{ .Values.logging.format }}
- --log-level={{ include "sliced.logLevel" . }}
{{- if .Values.skipNodeOperations }}
- --skip-node-operations=on
{{- end }}
{{- if ne .Values.numaNodeAttribute "scalar" }}
- --numa-node-attribute={{ .Values.numaNodeAttribute }}
{{- end }}
{{- if .Values.dranetAttributes }}
- --dranet-attributes=on
{{- end }}
{{- if ne .Values.exclusion "counters" }}
- --exclusion={{ .Values.exclusion }}
{{- end }}
{{- if $plugin.enabled }}
- --kubelet-plugin=on
- --kubelet-plugins-directory-path={{ include "sliced.kubeletPlugins" . }}
- --kubelet-registrar-directory-path={{ include "sliced.kubeletRegistrar" . }}
- --cdi-root={{ $plugin.cdiRoot }}
- --configuration-mode={{ $plugin.configurationMode }}
- --default-interface-prefix={{ $plugin.defaultInterfacePrefix }}
- --cni-path={{ join ":" $plugin.cniPath }}
- --nri-socket-path={{ $plugin.nriSocketPath }}
- --nri-plugin-name={{ $plugin.nriPluginName }}
- --nri-plugin-index={{ $plugin.nriPluginIndex }}
{{- if $plugin.enableDeviceMetadata }}
- --enable-device-metadata
{{- end }}
{{- if $plugin.kubevirtEnvironment }}
- --kubevirt-environment
{{- end }}
{{- with $plugin.macAnnotation }}
- --mac-annotation={{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
What the pod sees of the node: each a name, a path of the node, where it is mounted (inside; else at the same path), its type, and how it
is mounted.
*/}}
{{- define "sliced.paths" -}}
{{- $plugin := .Values.kubeletPlugin -}}
# The lock that ensures one writing daemon per node.
- {name: state, path: /run/sliced, type: DirectoryOrCreate}
- {name: udev, path: /run/udev, type: DirectoryOrCreate, readOnly: true}
{{- if $plugin.enabled }}
# Writable, to bind drivers.
- {name: sys, path: /sys, type: Directory}
- {name: plugins, path: {{ include "sliced.kubeletPlugins" . }}, type: DirectoryOrCreate}
- {name: registrar, path: {{ include "sliced.kubeletRegistrar" . }}, type: DirectoryOrCreate}
- {name: cdi, path: {{ $plugin.cdiRoot }}, type: DirectoryOrCreate}
- {name: device-info, path: /var/run/k8s.cni.cncf.io/devinfo/dp, type: DirectoryOrCreate}
# Only to see whether the nodes of a device exist; the container runtime opens those that pods get.
- {name: vfio, path: /dev/vfio, type: DirectoryOrCreate, readOnly: true}
- {name: infiniband, path: /dev/infiniband, type: DirectoryOrCreate, readOnly: true}
# In mode MULTUS for pods that got their interfaces in mode STANDALONE.
- {name: nri, path: {{ dir $plugin.nriSocketPath }}, type: DirectoryOrCreate}
- {name: network-namespaces, path: {{ $plugin.networkNamespacesPath }}, type: DirectoryOrCreate, propagation: HostToContainer}
{{- range $number, $directory := $plugin.cniPath }}
- {name: cni-{{ $number }}, path: {{ $directory }}, type: DirectoryOrCreate, readOnly: true}
{{- end }}
# State of CNI plugins (SR-IOV CNI, host-local).
- {name: cni-state, path: {{ $plugin.cniStatePath }}, inside: /var/lib/cni, type: DirectoryOrCreate}
{{- with $plugin.cniMounts.whereabouts }}
# The plugin's kubeconfig, with a token of its account.
- {name: cni-whereabouts, path: {{ . }}, type: DirectoryOrCreate, readOnly: true}
{{- end }}
{{- if $plugin.cniMounts.dhcp }}
# A connection needs no writable mount. The directory is mounted, because the dhcp daemon recreates its socket.
- {name: cni-dhcp, path: /run/cni, type: DirectoryOrCreate, readOnly: true}
{{- end }}
{{- if $plugin.cniMounts.iptables }}
# The lock under which iptables programs change rules, also those of the host.
- {name: xtables-lock, path: /run/xtables.lock, type: FileOrCreate}
{{- end }}
{{- else }}
- {name: sys, path: /sys, type: Directory, readOnly: true}
{{- end }}
{{- end -}}

{{- define "sliced.mounts" -}}
{{- range include "sliced.paths" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: {{ .inside | default .path }}
  {{- if .readOnly }}
  readOnly: true
  {{- end }}
  {{- with .propagation }}
  mountPropagation: {{ . }}
  {{- end }}
{{- end }}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Of which pod it is, for the annotation. */}}
{{- define "sliced.ownPod" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end -}}

{{- define "sliced.volumes" -}}
{{- range include "sliced.paths" . | fromYamlArray }}
- name: {{ .name }}
  hostPath:
    path: {{ .path }}
    type: {{ .type }}
{{- end }}
# The token is bound to the pod, and so to its node.
- name: token
  projected:
    defaultMode: 0400
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: {{ .Values.tokenExpirationSeconds }}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "sliced.kubeletPlugins" -}}
{{- $plugin := .Values.kubeletPlugin -}}
{{- $plugin.kubeletPluginsDirectoryPath | default (printf "%s/plugins" (trimSuffix "/" $plugin.kubeletRootDirectoryPath)) -}}
{{- end -}}

{{- define "sliced.kubeletRegistrar" -}}
{{- $plugin := .Values.kubeletPlugin -}}
{{- $plugin.kubeletRegistrarDirectoryPath | default (printf "%s/plugins_registry" (trimSuffix "/" $plugin.kubeletRootDirectoryPath)) -}}
{{- end -}}

{{/* What the daemons' container adds to no capability, as a YAML list. */}}
{{- define "sliced.capabilities" -}}
{{- $plugin := .Values.kubeletPlugin -}}
{{- if and $plugin.enabled $plugin.hostPID -}}
[NET_ADMIN, SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH]
{{- else if $plugin.enabled -}}
[NET_ADMIN, SYS_ADMIN]
{{- else if .Values.configure -}}
[NET_ADMIN]
{{- else -}}
[]
{{- end -}}
{{- end -}}
