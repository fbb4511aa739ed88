{{/* The name of an object of this release: the release's own, with a suffix for its part. */}}
{{- define "parcel.name" -}}
{{ printf "%s-%s" .root.Release.Name .part | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels by which the pods of a part are selected; they never change. */}}
{{- define "parcel.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "parcel.labels" -}}
{{ include "parcel.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{/* Annotations of the operator: "apply", "purge" and "delete" are the orders. */}}
{{- define "parcel.orders" -}}
{{- range $order := list "apply" "purge" "delete" }}
{{- if hasKey $ $order }}
parcel-operator.example.io/{{ $order }}-order: {{ get $ $order | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "parcel.image" -}}
image: {{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
imagePullPolicy: {{ .image.pullPolicy | default "IfNotPresent" }}
{{- end }}
