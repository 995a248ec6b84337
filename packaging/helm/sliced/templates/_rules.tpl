{{/* The rules of a role in config/deploy/rbac.yaml that these values take, as YAML. */}}
{{- define "sliced.rules" -}}
{{- $plugin := .root.Values.kubeletPlugin -}}
{{- $report := .root.Values.report -}}
{{- $events := .root.Values.events -}}
{{- $drivers := list .root.Values.sriovDriverName .root.Values.exposureDriverName -}}
{{- $taken := list -}}
{{- range .rules -}}
{{- $rule := deepCopy . -}}
{{- $what := first $rule.resources -}}
{{- $plugins := has $what (list "resourceclaims/status" "resourceclaims/driver" "network-attachment-definitions") -}}
{{- if eq $what "resourceclaims/driver" -}}
{{- $_ := set $rule "resourceNames" $drivers -}}
{{- end -}}
{{- if and (eq $what "resourceclaims") (not $plugin.enabled) -}}
{{- $_ := set $rule "verbs" (without $rule.verbs "get" "watch") -}}
{{- end -}}
{{- if and (eq $what "pods") $plugin.enabled $plugin.macAnnotation -}}
{{- $_ := set $rule "verbs" (prepend $rule.verbs "get") -}}
{{- end -}}
{{- $leftOut := or (and (has $what (list "nodedevicereports" "leases")) (not $report)) (and (eq $what "events") (not $events)) -}}
{{- if and (or $plugin.enabled (not $plugins)) (not $leftOut) -}}
{{- $taken = append $taken $rule -}}
{{- end -}}
{{- end -}}
{{- toYaml $taken -}}
{{- end -}}
