{{- define "guardian.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "guardian.labels" -}}
app.kubernetes.io/name: guardian
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Where member N is found, whatever address its pod has: the Service answers also for pods that are not ready. */}}
{{- define "guardian.host" -}}
{{ include "guardian.name" .root }}-{{ .number }}.{{ include "guardian.name" .root }}-members.{{ .root.Release.Namespace }}.svc
{{- end }}
