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
app.kubernetes.io/component: {{ if eq .Values.mode "shadow" }}shadow{{ else if eq .Values.mode "rebalancer" }}rebalancer{{ else }}scheduler{{ end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Not empty: the chart installs `berth run`. */}}
{{- define "berth.schedules" -}}
{{- if has .Values.mode (list "second" "default") -}}yes{{- end -}}
{{- end -}}

{{- define "berth.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "berth.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: which account? (serviceAccount.create is false)" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "berth.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{- if eq .Values.mode "shadow" -}}1{{- else -}}2{{- end -}}
{{- else -}}
{{- .Values.replicas -}}
{{- end -}}
{{- end -}}

{{- define "berth.priorityClassName" -}}
{{- if kindIs "invalid" .Values.priorityClassName -}}
{{- if ne .Values.mode "shadow" -}}system-cluster-critical{{- end -}}
{{- else -}}
{{- .Values.priorityClassName -}}
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

{{/* Name and number of the port that the Service, the probes and the network policy speak of. */}}
{{- define "berth.portName" -}}
{{- if eq .Values.mode "shadow" -}}http-metrics{{- else -}}https-metrics{{- end -}}
{{- end -}}
{{- define "berth.port" -}}
{{- if eq .Values.mode "shadow" -}}8080{{- else -}}10259{{- end -}}
{{- end -}}

{{/* Not empty: where pods are moved. */}}
{{- define "berth.rebalances" -}}
{{- if or .Values.rebalancer.enabled (eq .Values.mode "rebalancer") -}}{{ .Values.rebalancer.runIn }}{{- end -}}
{{- end -}}
{{- define "berth.policy" -}}
policy.yaml: |
  apiVersion: descheduler/v1alpha2
  kind: DeschedulerPolicy
  {{- toYaml .Values.rebalancer.policy | nindent 2 }}
{{- end -}}

{{/* Not empty: a ConfigMap of the chart's own, for the scheduler or the shadow. */}}
{{- define "berth.ownConfigMap" -}}
{{- if include "berth.schedules" . -}}
{{- if or (not .Values.existingConfigMap) (eq (include "berth.rebalances" .) "scheduler") .Values.tracing.enabled -}}yes{{- end -}}
{{- else if and (eq .Values.mode "shadow") (not .Values.existingConfigMap) (or .Values.profiles .Values.extenders) -}}
yes
{{- end -}}
{{- end -}}
{{/* What shadow may read, and what the scheduler's configuration may leave out there. */}}
{{- define "berth.hasConfig" -}}
{{- if or (include "berth.schedules" .) .Values.existingConfigMap .Values.profiles .Values.extenders -}}yes{{- end -}}
{{- end -}}

{{/* What no schema can say: values that contradict each other. */}}
{{- define "berth.check" -}}
{{- if and .Values.existingConfigMap (or .Values.profiles .Values.extenders) -}}
{{- fail "existingConfigMap: it takes the place of profiles and extenders; give one or the other" -}}
{{- end -}}
{{- if and .Values.profiles (ne .Values.schedulerName "berth") -}}
{{- fail "schedulerName: profiles name the schedulers themselves; give one or the other" -}}
{{- end -}}
{{- if and .Values.rebalancer.execute (not (include "berth.rebalances" .)) -}}
{{- fail "rebalancer.execute: nothing is moved while rebalancer.enabled is false" -}}
{{- end -}}
{{- if and (include "berth.rebalances" .) (not .Values.rebalancer.policy) -}}
{{- fail "rebalancer.policy: what should be moved? A DeschedulerPolicy without apiVersion and kind" -}}
{{- end -}}
{{- if and .Values.tracing.enabled (not (include "berth.schedules" .)) -}}
{{- fail (printf "tracing: pods are traced where they are scheduled, and mode %s schedules none" .Values.mode) -}}
{{- end -}}
{{- if eq (include "berth.rebalances" .) "scheduler" -}}
{{- if not (include "berth.schedules" .) -}}
{{- fail (printf "rebalancer.runIn: mode %s has no scheduler of berth's; set rebalancer.runIn: controller" .Values.mode) -}}
{{- end -}}
{{- range $value := list "schedulerConfiguration" "extraArgs" "serviceAccountName" -}}
{{- if index $.Values.rebalancer $value -}}
{{- fail (printf "rebalancer.%s: is for runIn: controller; in the scheduler its own configuration, flags and account count" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.mode "rebalancer" -}}
{{- range $value := list "profiles" "extenders" "existingConfigMap" "extraArgs" -}}
{{- if index $.Values $value -}}
{{- fail (printf "%s: mode rebalancer schedules nothing; rebalancer.schedulerConfiguration says what the cluster's scheduler does, rebalancer.extraArgs are flags" $value) -}}
{{- end -}}
{{- end -}}
{{- if .Values.metrics.prometheusRule.enabled -}}
{{- fail "metrics.prometheusRule: its alerts are about a scheduler, and mode rebalancer installs none" -}}
{{- end -}}
{{- else if eq .Values.mode "shadow" -}}
{{- if gt (int (include "berth.replicas" .)) 1 -}}
{{- fail "replicas: in mode shadow 1 or 0; each would make a report of its own" -}}
{{- end -}}
{{- if .Values.metrics.prometheusRule.enabled -}}
{{- fail "metrics.prometheusRule: its alerts are about a scheduler, and mode shadow schedules nothing" -}}
{{- end -}}
{{- else if eq .Values.mode "default" -}}
{{- $names := list -}}
{{- range .Values.profiles -}}
{{- if not .schedulerName -}}
{{- fail "profiles: each needs a schedulerName; in mode default one of them is default-scheduler" -}}
{{- end -}}
{{- $names = append $names .schedulerName -}}
{{- end -}}
{{- if and $names (not (has "default-scheduler" $names)) -}}
{{- fail "profiles: in mode default one of them is default-scheduler, or nobody places its pods; or set mode: second" -}}
{{- end -}}
{{- else -}}
{{- range .Values.profiles -}}
{{- if eq (.schedulerName | default "default-scheduler") "default-scheduler" -}}
{{- fail "profiles: in mode second no profile may take the pods of default-scheduler, which the cluster's own scheduler places; set schedulerName, or mode: default" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- $flag := regexFind "^--?[A-Za-z0-9-]+" . | trimAll "-" -}}
{{- if has $flag (list "config" "secure-port" "v" "scheduler-name" "policy" "rebalance" "rebalance-execute" "rebalance-interval" "once" "tracing-config-file") -}}
{{- if not (and (eq $flag "scheduler-name") (eq $.Values.mode "shadow")) -}}
{{- fail (printf "extraArgs: --%s is the chart's to set, by its values" $flag) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $label, $_ := .Values.podLabels -}}
{{- if hasPrefix "app.kubernetes.io/" $label -}}
{{- fail (printf "podLabels: %s is one of the chart's own labels" $label) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.service.enabled) -}}
{{- fail "metrics.serviceMonitor: it finds berth through the Service; set service.enabled: true" -}}
{{- end -}}
{{- end -}}
