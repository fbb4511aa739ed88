{{ define "name" }}{{ .Release.Name }}{{ end }}
