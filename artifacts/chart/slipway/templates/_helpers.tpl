{{- define "slipway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "slipway.etcdServers" -}}
{{- if .Values.etcd.install -}}
https://slipway-etcd-0.slipway-etcd.slipway-system.svc:2379,https://slipway-etcd-1.slipway-etcd.slipway-system.svc:2379,https://slipway-etcd-2.slipway-etcd.slipway-system.svc:2379
{{- else -}}
{{ join "," .Values.etcd.servers }}
{{- end -}}
{{- end -}}
