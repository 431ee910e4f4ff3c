{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "berth.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth.labels" -}}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "berth.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "berth.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: which account? (serviceAccount.create is false)" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Namespace and name of the Lease. */}}
{{- define "berth.leaseNamespace" -}}
{{- if eq .Values.mode "default" -}}kube-system{{- else -}}{{ .Release.Namespace }}{{- end -}}
{{- end -}}
{{- define "berth.leaseName" -}}
{{- if eq .Values.mode "default" -}}kube-scheduler{{- else -}}{{ include "berth.fullname" . }}{{- end -}}
{{- end -}}

{{- define "berth.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* What no schema can say. */}}
{{- define "berth.check" -}}
{{- if and .Values.existingConfigMap (or .Values.profiles .Values.extenders) -}}
{{- fail "existingConfigMap: it takes the place of profiles and extenders; give one or the other" -}}
{{- end -}}
{{- if eq .Values.mode "default" -}}
{{- range .Values.profiles -}}
{{- if not .schedulerName -}}
{{- fail "profiles: each needs a schedulerName; in mode default one of them is default-scheduler" -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- range .Values.profiles -}}
{{- if eq (.schedulerName | default "default-scheduler") "default-scheduler" -}}
{{- fail "profiles: in mode second no profile may take the pods of default-scheduler, which the cluster's own scheduler places; set schedulerName, or mode: default" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
