{{- define "stack.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "stack.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "stack.image" -}}
{{ .Values.image.registry }}/{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "stack.pod" -}}
serviceAccountName: {{ .name }}
containers:
- name: main
  image: {{ include "stack.image" .root | quote }}
  args: [--listen=:8080, --namespace={{ .root.Release.Namespace }}]
  ports:
  - {name: http, containerPort: 8080}
  resources: {{- toYaml .root.Values.resources | nindent 4 }}
  securityContext: {{- toYaml .root.Values.securityContext | nindent 4 }}
  volumeMounts:
  - {name: config, mountPath: /etc/stack}
volumes:
- name: config
  configMap: {name: {{ .name }}}
{{- end -}}
