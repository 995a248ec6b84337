{{- define "sliced.fullname" -}}
{{- .Values.fullnameOverride | default (.Release.Name | default .Chart.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* Where the daemons run. */}}
{{- define "sliced.home" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* Whose policies count. */}}
{{- define "sliced.namespace" -}}
{{- .Values.namespace | default (include "sliced.home" .) -}}
{{- end -}}

{{- define "sliced.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "sliced.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: name the account that is there already, or set serviceAccount.create: true" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sliced.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sliced.labels" -}}
{{ include "sliced.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* "true" where a container waits by the annotation of its pod. */}}
{{- define "sliced.annotates" -}}
{{- if or (eq .Values.untilConfigured "annotation") (and .Values.waitForConfig.enabled (eq .Values.waitForConfig.for "annotation")) -}}
true
{{- end -}}
{{- end -}}

{{- define "sliced.drivers" -}}
[{{ .Values.sriovDriverName | squote }}, {{ .Values.exposureDriverName | squote }}]
{{- end -}}

{{- define "sliced.logLevel" -}}
{{- $level := .Values.logging.level -}}
{{- if or (kindIs "float64" $level) (kindIs "int64" $level) (kindIs "int" $level) -}}
{{- ternary "debug" "info" (ge (int $level) 4) -}}
{{- else -}}
{{- $level -}}
{{- end -}}
{{- end -}}

{{/* Not those of the daemons: their DaemonSet would take these pods for its own. */}}
{{- define "sliced.webhookSelector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}-webhook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sliced.webhookLabels" -}}
{{ include "sliced.webhookSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "sliced.aggregateSelector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}-aggregate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sliced.aggregateLabels" -}}
{{ include "sliced.aggregateSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "sliced.controllerImage" -}}
{{ .Values.controllerImage.repository | default (printf "%s-controller" .Values.image.repository) }}:{{ .Values.controllerImage.tag | default (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}

{{- define "sliced.webhookClient" -}}
service:
  name: {{ include "sliced.fullname" . }}-webhook
  namespace: {{ include "sliced.home" . }}
  path: /validate
{{- with .Values.webhook.tls.caBundle }}
caBundle: {{ . }}
{{- end }}
{{- end -}}
