{{/*
Values of dra-driver-sriov's chart that are not read here under their name: each by its path, and what is used instead.
*/}}
{{- define "sliced.moved" -}}
selectorLabelsOverride: set nameOverride
controller: remove it; there is no controller
logging.alsologtostderr: remove it; everything goes to standard error
logging.logFile: remove it; everything goes to standard error
kubeletPlugin.priorityClassName: use priorityClassName
kubeletPlugin.updateStrategy: use updateStrategy
kubeletPlugin.podAnnotations: use podAnnotations
kubeletPlugin.podSecurityContext: remove it; what the pod may do follows from kubeletPlugin.enabled
kubeletPlugin.nodeSelector: use nodeSelector
kubeletPlugin.tolerations: use tolerations
kubeletPlugin.affinity: use affinity
kubeletPlugin.containers.init: remove it; there is no init container
kubeletPlugin.containers.plugin.resources: use resources
kubeletPlugin.containers.plugin.securityContext: remove it; what the container may do follows from kubeletPlugin.enabled
kubeletPlugin.containers.plugin.healthcheckPort: use healthAddress
{{- end -}}

{{/* Refuses them, all at once. */}}
{{- define "sliced.refuse" -}}
{{- $said := list -}}
{{- range $path, $instead := include "sliced.moved" . | fromYaml -}}
{{- $at := $.Values -}}
{{- $there := true -}}
{{- range splitList "." $path -}}
{{- if and $there (kindIs "map" $at) (hasKey $at .) -}}
{{- $at = get $at . -}}
{{- else -}}
{{- $there = false -}}
{{- end -}}
{{- end -}}
{{- if and $there (not (kindIs "invalid" $at)) -}}
{{- $said = append $said (printf "%s: %s" $path $instead) -}}
{{- end -}}
{{- end -}}
{{- with $said -}}
{{- fail (printf "these values have another name here than in dra-driver-sriov's chart:\n  %s" (join "\n  " .)) -}}
{{- end -}}
{{- if and (eq (include "sliced.home" .) "default") (not .Values.allowDefaultNamespace) -}}
{{- fail "the daemons would run in the namespace default: give --namespace, or set allowDefaultNamespace: true" -}}
{{- end -}}
{{- if and .Values.nodeTokens.enabled (not .Values.ownNodeOnly) -}}
{{- fail "nodeTokens.enabled: without ownNodeOnly a token could request a token for another node; set ownNodeOnly: true" -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled (or (not .Values.healthAddress) (regexMatch "^(127\\.|localhost:|:|\\[::1\\])" .Values.healthAddress)) -}}
{{- fail "podMonitor.enabled: set healthAddress to an address that Prometheus can reach, such as 0.0.0.0:9810" -}}
{{- end -}}
{{- if and (hasPrefix "node-state" .Values.untilConfigured) (not .Values.nodeStateNamespace) -}}
{{- fail "untilConfigured: set nodeStateNamespace to the namespace of the SR-IOV network operator's node states" -}}
{{- end -}}
{{- if and .Values.waitForConfig.enabled (hasPrefix "node-state" .Values.waitForConfig.for) (not .Values.nodeStateNamespace) -}}
{{- fail "waitForConfig.for: set nodeStateNamespace to the namespace of the SR-IOV network operator's node states" -}}
{{- end -}}
{{- if and .Values.webhook.enabled (not .Values.webhook.tls.caBundle) (not .Values.webhook.tls.injectCAFrom) -}}
{{- fail "webhook.enabled: set webhook.tls.caBundle, or with cert-manager webhook.tls.injectCAFrom: the API server calls a webhook only if it can verify the certificate" -}}
{{- end -}}
{{- $paths := include "sliced.paths" . | fromYamlArray -}}
{{- $volumes := list "token" -}}
{{- $at := list "/var/run/secrets/kubernetes.io/serviceaccount" -}}
{{- range $paths -}}
{{- $volumes = append $volumes .name -}}
{{- $at = append $at (.inside | default .path) -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if has .name $volumes -}}
{{- fail (printf "extraVolumes: the name %s is there already: give it another one, such as extra-%s" .name .name) -}}
{{- end -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "extraVolumeMounts: no volume has the name %s: add it to extraVolumes" .name) -}}
{{- end -}}
{{- if has (trimSuffix "/" .mountPath) $at -}}
{{- fail (printf "extraVolumeMounts: something is mounted at %s already: remove this mount, or give it another mountPath" .mountPath) -}}
{{- end -}}
{{- $at = append $at (trimSuffix "/" .mountPath) -}}
{{- end -}}
{{- $variables := list "NODE_NAME" "POD_UID" "POD_NAME" "POD_NAMESPACE" -}}
{{- range .Values.extraEnv -}}
{{- if has .name $variables -}}
{{- fail (printf "extraEnv: %s is set already: remove it" .name) -}}
{{- end -}}
{{- $variables = append $variables .name -}}
{{- end -}}
{{- if and .Values.skipNodeOperations .Values.kubeletPlugin.enabled -}}
{{- fail "skipNodeOperations: kubelets would not call the plugin; set kubeletPlugin.enabled: false, or remove skipNodeOperations" -}}
{{- end -}}
{{- if eq .Values.sriovDriverName .Values.exposureDriverName -}}
{{- fail "sriovDriverName and exposureDriverName are equal: each kind of policy needs its own driver name" -}}
{{- end -}}
{{- end -}}
