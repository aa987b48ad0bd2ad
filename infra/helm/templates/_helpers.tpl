{{- define "odograph.labels" -}}
app.kubernetes.io/name: odograph
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "odograph.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* An environment variable from the Secret. (list ROOT VARIABLE KEY) */}}
{{- define "odograph.secret" -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef: { name: {{ (index . 0).Values.secret | quote }}, key: {{ last . }} }
{{- end }}

{{/* A value as quoted text. Numbers of a values file are floats, which `quote` writes as 1e+06. */}}
{{- define "odograph.text" -}}
{{ if kindIs "float64" . }}{{ toJson . | quote }}{{ else }}{{ quote . }}{{ end }}
{{- end }}

{{/* The database URL of a role. (list ROOT VARIABLE ROLE PASSWORD) */}}
{{- define "odograph.database" -}}
{{- $root := index . 0 }}{{ $database := $root.Values.database }}
{{ include "odograph.secret" (list $root (index . 3) (index . 3)) }}
- name: {{ index . 1 }}
  value: {{ printf "postgres://%s:$(%s)@%s:%v/%s%s" (index . 2) (index . 3) $database.host $database.port $database.name $database.parameters | quote }}
{{- end }}

{{- define "odograph.podSecurity" -}}
automountServiceAccountToken: false
# Otherwise Kubernetes sets variables for services, such as HTTP_PORT.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "odograph.containerSecurity" -}}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: { drop: [ALL] }
{{- end }}

{{/* The pod of a workload. (dict root, name, services, variables, ports, deviceTls, data) */}}
{{- define "odograph.pod" -}}
{{- $root := .root }}{{ $values := index $root.Values .name }}
metadata:
  labels:
    {{- include "odograph.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  {{- include "odograph.podSecurity" $root | nindent 2 }}
  terminationGracePeriodSeconds: 60
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "odograph.labels" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .name }}
  containers:
    - name: {{ .name }}
      image: {{ include "odograph.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ .services | toJson }}
      env:
        {{- include "odograph.secret" (list $root "REDIS_PASSWORD" "REDIS_PASSWORD") | nindent 8 }}
        - { name: REDIS_URL, value: {{ $root.Values.redis.url | quote }} }
        {{- include "odograph.secret" (list $root "METRICS_TOKEN" "METRICS_TOKEN") | nindent 8 }}
        - { name: DATA_DIR, value: {{ if .data }}/data{{ else }}/tmp/odograph{{ end }} }
        {{- if and .deviceTls $root.Values.deviceTls.secretName }}
        - { name: MQTT_TLS_CERTIFICATE, value: /certificates/tls.crt }
        - { name: MQTT_TLS_KEY, value: /certificates/tls.key }
        {{- end }}
        {{- .variables | nindent 8 }}
        {{- range $name, $value := $root.Values.settings }}
        - { name: {{ $name }}, value: {{ include "odograph.text" $value }} }
        {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
        {{- range $port := .ports }}
        - {{ toJson $port }}
        {{- end }}
      # No liveness probe: a process that cannot continue exits, and a restart while an engine is unavailable only ends sessions.
      startupProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 3
        failureThreshold: 60
      readinessProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 2
      resources: {{ toJson $values.resources }}
      {{- include "odograph.containerSecurity" $root | nindent 6 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if .data }}
        - { name: data, mountPath: /data }
        {{- end }}
        {{- if and .deviceTls $root.Values.deviceTls.secretName }}
        - { name: certificates, mountPath: /certificates, readOnly: true }
        {{- end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- if .data }}
    - { name: data, persistentVolumeClaim: { claimName: {{ $root.Release.Name }}-data } }
    {{- end }}
    {{- if and .deviceTls $root.Values.deviceTls.secretName }}
    - { name: certificates, secret: { secretName: {{ $root.Values.deviceTls.secretName }} } }
    {{- end }}
{{- end }}

{{/* The selector of a workload's pods. (list ROOT NAME) */}}
{{- define "odograph.selector" -}}
matchLabels:
  {{- include "odograph.labels" (index . 0) | nindent 2 }}
  app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* A StatefulSet or Deployment. (dict as for odograph.pod, and kind) */}}
{{- define "odograph.workload" -}}
{{- $values := index .root.Values .name }}
apiVersion: apps/v1
kind: {{ .kind }}
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels:
    {{- include "odograph.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  {{- if not (dig "autoscaling" "enabled" false $values) }}
  replicas: {{ $values.replicas }}
  {{- end }}
  {{- if eq .kind "StatefulSet" }}
  serviceName: {{ .root.Release.Name }}-{{ .name }}
  # Replicas do not depend on each other; an update still replaces one at a time.
  podManagementPolicy: Parallel
  {{- end }}
  selector: {{ include "odograph.selector" (list .root .name) | nindent 4 }}
  template: {{ include "odograph.pod" . | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
spec:
  maxUnavailable: 1
  selector: {{ include "odograph.selector" (list .root .name) | nindent 4 }}
{{- end }}
