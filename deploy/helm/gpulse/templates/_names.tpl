{{- define "gpulse.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpulse.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{/* What selects pods, and must never change between versions. */}}
{{- define "gpulse.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of ours and those of the user, who may replace all but what selects pods: `fixed` is the text of those. */}}
{{- define "gpulse.labelsWith" -}}
{{- $ours := include "gpulse.labels" .root | fromYaml -}}
{{- toYaml (merge (include "gpulse.selector" .root | fromYaml) .fixed (.more | default dict) $ours) -}}
{{- end -}}

{{- define "gpulse.labels" -}}
{{ include "gpulse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: gpulse
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gpulse.agentAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- printf "%s-agent" (include "gpulse.fullname" .) -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.agent -}}
{{- end -}}
{{- end -}}

{{- define "gpulse.hubAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- printf "%s-hub" (include "gpulse.fullname" .) -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.hub -}}
{{- end -}}
{{- end -}}

{{- define "gpulse.authSecret" -}}
{{- default (printf "%s-hub-auth" (include "gpulse.fullname" .)) .Values.hub.auth.existingSecret -}}
{{- end -}}

{{/* A label as Prometheus's discovery spells it. */}}
{{- define "gpulse.metaLabel" -}}
{{- regexReplaceAll "[^a-zA-Z0-9_]" . "_" -}}
{{- end -}}

{{/* YAML reads an unquoted on or off as true or false. */}}
{{- define "gpulse.taintMode" -}}
{{- $mode := .Values.hub.nodeTaints.mode -}}
{{- if kindIs "bool" $mode }}{{ ternary "on" "off" $mode }}{{ else }}{{ $mode }}{{ end -}}
{{- end -}}

{{/* Where a browser finds the hub. */}}
{{- define "gpulse.externalUrl" -}}
{{- $ingress := .Values.hub.ingress | default dict -}}
{{- if .Values.hub.externalUrl -}}
{{- .Values.hub.externalUrl -}}
{{- else if $ingress.host -}}
{{- printf "%s://%s" (ternary "http" "https" (empty $ingress.tlsSecret)) $ingress.host -}}
{{- end -}}
{{- end -}}

{{/* What every container of ours has, whatever it reads. */}}
{{- define "gpulse.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
{{- end -}}

{{/* The RuntimeClass of an agent's pods. A pod that names one that the cluster does not have is never created. */}}
{{- define "gpulse.runtimeClass" -}}
{{- if eq .vendor "nvidia" -}}
{{- if ne (default "" .own.runtimeClassName) "auto" -}}
{{- default "" .own.runtimeClassName -}}
{{- else if .own.driverRoot -}}
{{- else if or (lookup "node.k8s.io/v1" "RuntimeClass" "" "nvidia") (not (lookup "v1" "Namespace" "" "kube-system")) -}}
nvidia
{{- end -}}
{{- end -}}
{{- end -}}
