/**
 * The default notification templates, under Alertmanager's template names, so that `{{ template "slack.default.title" . }}` keeps
 * working. Lists end after 30 alerts.
 */

/** Shared parts of the templates below. */
const parts = `
{{ define "__alertmanager" }}gpulse{{ end }}
{{ define "__alertmanagerURL" }}{{ .ExternalURL }}{{ end }}

{{ define "__subject" -}}
  {{- $rest := .CommonLabels.Remove .GroupLabels.Names -}}
  [{{ toUpper .Status }}{{ if eq .Status "firing" }}:{{ len .Alerts.Firing }}{{ end }}]
  {{- print " " (join " " .GroupLabels.SortedPairs.Values) " " -}}
  {{- if gt (len .CommonLabels) (len .GroupLabels) }}({{ join " " $rest.Values }}){{ end -}}
{{- end }}

{{ define "__description" }}{{ end }}

{{ define "__alert_title" -}}
  {{- if .Annotations.summary }}{{ .Annotations.summary }}
  {{- else if .Labels.alertname }}{{ .Labels.alertname }}
  {{- else }}{{ .Labels.SortedPairs }}{{ end -}}
{{- end }}

{{ define "__alert_words" -}}
  {{- if .Annotations.description }}{{ .Annotations.description }}
  {{- else }}{{ .Annotations.message }}{{ end -}}
{{- end }}

{{ define "__alert_labels" -}}
  {{- range $at, $pair := .Labels.SortedPairs }}{{ if $at }}, {{ end }}{{ $pair.Name }}={{ $pair.Value }}{{ end -}}
{{- end }}

{{ define "__alert_time" -}}
  since {{ .StartsAt.Format "2006-01-02 15:04:05 MST" -}}
  {{- if eq .Status "resolved" }}, ended {{ .EndsAt.Format "2006-01-02 15:04:05 MST" }}{{ end -}}
{{- end }}

{{ define "__counts" -}}
  {{- $firing := len .Alerts.Firing }}{{ $resolved := len .Alerts.Resolved -}}
  {{- if $firing }}{{ $firing }} firing{{ end -}}
  {{- if and $firing $resolved }}, {{ end -}}
  {{- if $resolved }}{{ $resolved }} resolved{{ end -}}
{{- end }}
`;

/** Lists of alerts, plain and in Markdown. Their argument is a list of alerts, such as \`.Alerts.Firing\`. */
const lists = `
{{ define "__text_alert_list" -}}
{{- range $at, $alert := . }}{{ if lt $at 30 -}}
- {{ template "__alert_title" $alert }}
{{ with $alert.Annotations.description }}  {{ . }}
{{ end }}  {{ template "__alert_labels" $alert }}
  {{ template "__alert_time" $alert }}
{{ if match "^https?://" $alert.Annotations.runbook_url }}  Runbook: {{ $alert.Annotations.runbook_url }}
{{ end }}{{ if match "^https?://" $alert.GeneratorURL }}  Source: {{ $alert.GeneratorURL }}
{{ end }}{{ end }}{{ end -}}
{{- if gt (len .) 30 }}... and more: {{ len . }} in all
{{ end -}}
{{- end }}

{{ define "__text_alert_list_markdown" -}}
{{- range $at, $alert := . }}{{ if lt $at 30 -}}
- **{{ template "__alert_title" $alert }}**
{{ with $alert.Annotations.description }}  {{ . }}
{{ end }}  {{ range $pairAt, $pair := $alert.Labels.SortedPairs }}{{ if $pairAt }}, {{ end }}\`{{ $pair.Name }}={{ $pair.Value }}\`{{ end }}
  {{ template "__alert_time" $alert }}
  {{- if match "^https?://[!-;=?-~]+$" $alert.Annotations.runbook_url }} · [Runbook]({{ $alert.Annotations.runbook_url }}){{ end -}}
  {{- if match "^https?://[!-;=?-~]+$" $alert.GeneratorURL }} · [Source]({{ $alert.GeneratorURL }}){{ end }}
{{ end }}{{ end -}}
{{- if gt (len .) 30 }}… and more: {{ len . }} in all
{{ end -}}
{{- end }}

{{ define "__text_both" -}}
{{- if .Alerts.Firing }}Firing:
{{ template "__text_alert_list" .Alerts.Firing }}{{ end -}}
{{- if .Alerts.Resolved }}Resolved:
{{ template "__text_alert_list" .Alerts.Resolved }}{{ end -}}
{{- end }}

{{ define "__markdown_both" -}}
{{- if .Alerts.Firing }}**Firing**
{{ template "__text_alert_list_markdown" .Alerts.Firing }}{{ end -}}
{{- if .Alerts.Resolved }}**Resolved**
{{ template "__text_alert_list_markdown" .Alerts.Resolved }}{{ end -}}
{{- end }}

{{ define "__short_list" -}}
{{- range $at, $alert := .Alerts }}{{ if lt $at 30 -}}
{{ if eq $alert.Status "firing" }}🔴{{ else }}🟢{{ end }} {{ template "__alert_title" $alert }}
{{ with $alert.Annotations.description }}{{ . }}
{{ end }}{{ end }}{{ end -}}
{{- if gt (len .Alerts) 30 }}… and more: {{ len .Alerts }} in all
{{ end -}}
{{- end }}
`;

const chat = `
{{ define "slack.escaped" }}{{ . | reReplaceAll "&" "&amp;" | reReplaceAll "<" "&lt;" | reReplaceAll ">" "&gt;" }}{{ end }}
{{ define "slack.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "slack.default.username" }}{{ template "__alertmanager" . }}{{ end }}
{{ define "slack.default.fallback" }}{{ template "slack.default.title" . }} | {{ template "slack.default.titlelink" . }}{{ end }}
{{ define "slack.default.callbackid" }}{{ end }}
{{ define "slack.default.pretext" }}{{ end }}
{{ define "slack.default.titlelink" }}{{ template "__alertmanagerURL" . }}{{ end }}
{{ define "slack.default.iconemoji" }}{{ end }}
{{ define "slack.default.iconurl" }}{{ end }}
{{ define "slack.default.footer" }}{{ end }}
{{ define "slack.default.text" -}}
{{- range $at, $alert := .Alerts }}{{ if lt $at 30 -}}
{{ if eq $alert.Status "firing" }}•{{ else }}✓{{ end }} {{ if $alert.Annotations.summary }}{{ template "slack.escaped" $alert.Annotations.summary }}{{ else }}{{ template "slack.escaped" $alert.Labels.alertname }}{{ end }}
{{- if match "^https?://[!-;=?-{}~]+$" $alert.Annotations.runbook_url }} <{{ $alert.Annotations.runbook_url }}|Runbook>{{ end }}
{{ end }}{{ end -}}
{{- if gt (len .Alerts) 30 }}… and more: {{ len .Alerts }} in all{{ end -}}
{{- end }}

{{ define "discord.default.content" }}{{ end }}
{{ define "discord.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "discord.default.message" }}{{ template "__markdown_both" . }}{{ end }}

{{ define "telegram.default.message" -}}
{{ template "__subject" . }}

{{ template "__short_list" . }}
{{- end }}

{{ define "msteams.default.summary" }}{{ template "__subject" . }}{{ end }}
{{ define "msteams.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "msteams.default.text" }}{{ template "__markdown_both" . }}{{ end }}
{{ define "msteamsv2.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "msteamsv2.default.text" }}{{ template "__markdown_both" . }}{{ end }}

{{ define "mattermost.default.text" }}### {{ template "__subject" . }}
{{ template "__markdown_both" . }}{{ end }}

{{ define "rocketchat.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "rocketchat.default.alias" }}{{ template "__alertmanager" . }}{{ end }}
{{ define "rocketchat.default.titlelink" }}{{ template "__alertmanagerURL" . }}{{ end }}
{{ define "rocketchat.default.emoji" }}{{ end }}
{{ define "rocketchat.default.iconurl" }}{{ end }}
{{ define "rocketchat.default.text" }}{{ template "__markdown_both" . }}{{ end }}

{{ define "webex.default.message" }}**{{ template "__subject" . }}**

{{ template "__markdown_both" . }}{{ end }}

{{ define "wechat.default.message" }}{{ template "__subject" . }}

{{ template "__short_list" . }}{{ end }}
{{ define "wechat.default.to_user" }}{{ end }}
{{ define "wechat.default.to_party" }}{{ end }}
{{ define "wechat.default.to_tag" }}{{ end }}
{{ define "wechat.default.agent_id" }}{{ end }}

{{ define "ntfy.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "ntfy.default.message" }}{{ template "__short_list" . }}{{ end }}
{{ define "gotify.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "gotify.default.message" }}{{ template "__markdown_both" . }}{{ end }}
`;

/** Templates for incident services and for short messages. */
const pages = `
{{ define "pagerduty.default.description" }}{{ template "__subject" . }}{{ end }}
{{ define "pagerduty.default.client" }}{{ template "__alertmanager" . }}{{ end }}
{{ define "pagerduty.default.clientURL" }}{{ template "__alertmanagerURL" . }}{{ end }}
{{ define "pagerduty.default.instances" }}{{ template "__text_alert_list" . }}{{ end }}

{{ define "__summary_and_alerts" -}}
{{- with .CommonAnnotations.SortedPairs.Values }}{{ join " " . }}

{{ end }}{{ template "__text_both" . -}}
{{- end }}

{{ define "opsgenie.default.message" }}{{ template "__subject" . }}{{ end }}
{{ define "opsgenie.default.description" }}{{ template "__summary_and_alerts" . }}{{ end }}
{{ define "opsgenie.default.source" }}{{ template "__alertmanagerURL" . }}{{ end }}

{{ define "victorops.default.state_message" }}{{ template "__summary_and_alerts" . }}{{ end }}
{{ define "victorops.default.entity_display_name" }}{{ template "__subject" . }}{{ end }}
{{ define "victorops.default.monitoring_tool" }}{{ template "__alertmanager" . }}{{ end }}

{{ define "pushover.default.title" }}{{ template "__subject" . }}{{ end }}
{{ define "pushover.default.message" }}{{ template "__short_list" . }}{{ end }}
{{ define "pushover.default.url" }}{{ template "__alertmanagerURL" . }}{{ end }}

{{ define "sns.default.subject" }}{{ template "__subject" . }}{{ end }}
{{ define "sns.default.message" }}{{ template "__summary_and_alerts" . }}{{ end }}

{{ define "jira.default.summary" }}{{ template "__subject" . }}{{ end }}
{{ define "jira.default.description" }}{{ template "__text_both" . }}{{ end }}
{{ define "jira.default.priority" -}}
  {{- $alerts := .Alerts.Firing }}{{ if not $alerts }}{{ $alerts = .Alerts.Resolved }}{{ end -}}
  {{- $priority := "" -}}
  {{- range $alerts -}}
    {{- if eq .Labels.severity "critical" }}{{ $priority = "High" -}}
    {{- else if and (eq .Labels.severity "warning") (ne $priority "High") }}{{ $priority = "Medium" -}}
    {{- else if and (eq .Labels.severity "info") (eq $priority "") }}{{ $priority = "Low" }}{{ end -}}
  {{- end -}}
  {{- $priority -}}
{{- end }}
`;

export const defaultTemplates = [parts, lists, chat, pages].join("\n");
