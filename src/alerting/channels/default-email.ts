/**
 * The default email: readable at a glance, identical in light and dark mode, without images or scripts. Written for mail clients,
 * hence tables and inline styles.
 */

const text = `
{{ define "email.default.subject" }}{{ template "__subject" . }}{{ end }}

{{ define "email.default.text" -}}
{{ template "__counts" . }}{{ range .GroupLabels.SortedPairs }} · {{ .Name }} {{ .Value }}{{ end }}

{{ template "__text_both" . }}
{{ with .ExternalURL }}{{ . }}
{{ end -}}
{{- end }}
`;

/** Colours that are legible on white and on near-black. */
const colours = `
{{ define "email.colour" -}}
  {{- if eq .Status "resolved" }}#2a9250
  {{- else if eq .Labels.severity "critical" "error" "page" }}#d13b2f
  {{- else if eq .Labels.severity "info" "none" }}#3b7dc4
  {{- else }}#b8770f{{ end -}}
{{- end }}
`;

const alert = `
{{ define "email.link" }}<a href="{{ .url }}" style="color:#2563a8;text-decoration:none;font-weight:600">{{ .says }}</a>{{ end }}

{{ define "email.alert" -}}
<tr><td style="padding:0 28px 20px 28px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="border-collapse:separate">
<tr><td style="border-left:4px solid {{ template "email.colour" . }};padding:2px 0 2px 16px">
<div class="ink" style="font-size:16px;line-height:22px;font-weight:600;color:#1c2024">{{ template "__alert_title" . }}</div>
{{ if or .Annotations.description .Annotations.message }}<div class="ink" style="font-size:14px;line-height:21px;color:#3b4148;padding-top:4px">{{ template "__alert_words" . }}</div>{{ end }}
<div class="soft" style="font-size:13px;line-height:20px;color:#6a727b;padding-top:6px">
{{- if .Labels.severity }}<span class="ink" style="color:#3b4148;font-weight:600">{{ .Labels.severity }}</span> · {{ end -}}
{{ template "__alert_time" . }}</div>
<div style="padding-top:8px;line-height:24px">
{{- range (.Labels.Remove (stringSlice "severity")).SortedPairs }}<span class="chip" style="display:inline-block;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px;line-height:18px;color:#4a5159;background:#f1f3f5;border-radius:5px;padding:1px 7px;margin:0 6px 4px 0">{{ .Name }}={{ .Value }}</span>{{ end -}}
</div>
{{- $rest := .Annotations.Remove (stringSlice "summary" "description" "message" "runbook_url") -}}
{{- range $rest.SortedPairs }}<div class="soft" style="font-size:13px;line-height:20px;color:#6a727b;padding-top:2px"><span style="font-weight:600">{{ .Name }}</span> {{ .Value }}</div>{{ end -}}
{{- $runbook := match "^https?://" .Annotations.runbook_url }}{{ $source := match "^https?://" .GeneratorURL -}}
{{- if or $runbook $source }}<div style="font-size:13px;line-height:20px;padding-top:6px">
{{- if $runbook }}{{ template "email.link" (dict "url" .Annotations.runbook_url "says" "What to do") }}{{ end -}}
{{- if and $runbook $source }}<span class="soft" style="color:#6a727b"> &nbsp;·&nbsp; </span>{{ end -}}
{{- if $source }}{{ template "email.link" (dict "url" .GeneratorURL "says" "Where it comes from") }}{{ end -}}
</div>{{ end }}
</td></tr></table>
</td></tr>
{{- end }}

{{ define "email.alerts" -}}
{{- if . -}}
<tr><td class="soft" style="padding:0 28px 10px 28px;font-size:12px;line-height:18px;letter-spacing:.06em;text-transform:uppercase;color:#6a727b;font-weight:600">{{ (index . 0).Status }}</td></tr>
{{ range $at, $alert := . }}{{ if lt $at 30 }}{{ template "email.alert" $alert }}{{ end }}{{ end }}
{{ if gt (len .) 30 }}<tr><td class="soft" style="padding:0 28px 20px 28px;font-size:14px;color:#6a727b">… and more: {{ len . }} in all</td></tr>{{ end }}
{{- end -}}
{{- end }}
`;

const page = `
{{ define "email.default.html" -}}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{{ template "__subject" . }}</title>
<style>
@media (prefers-color-scheme: dark) {
  .page { background: #15181b !important; }
  .card { background: #1e2226 !important; border-color: #2d3238 !important; }
  .ink { color: #e8eaed !important; }
  .soft { color: #9aa3ad !important; }
  .chip { color: #c3cad1 !important; background: #2a2f35 !important; }
  .rule { border-color: #2d3238 !important; }
  a { color: #7db3ee !important; }
}
@media (max-width: 620px) { .card { border-radius: 0 !important; } }
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f5f6f8">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:#f5f6f8">
<tr><td align="center" style="padding:28px 12px">
<table role="presentation" class="card" width="600" cellpadding="0" cellspacing="0" style="width:100%;max-width:600px;background:#ffffff;border:1px solid #e4e7ea;border-radius:12px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<tr><td style="padding:26px 28px 22px 28px">
<div class="soft" style="font-size:13px;line-height:18px;color:#6a727b">{{ template "__counts" . }}</div>
<div class="ink" style="font-size:22px;line-height:29px;font-weight:600;color:#1c2024;padding-top:2px">
{{- if .CommonAnnotations.summary }}{{ .CommonAnnotations.summary }}
{{- else if .CommonLabels.alertname }}{{ .CommonLabels.alertname }}
{{- else if .GroupLabels }}{{ join " " .GroupLabels.SortedPairs.Values }}
{{- else }}Alerts{{ end -}}
</div>
{{ $group := .GroupLabels.Remove (stringSlice "alertname") -}}
{{ if $group }}<div class="soft" style="font-size:14px;line-height:20px;color:#6a727b;padding-top:4px">
{{- range $at, $pair := $group.SortedPairs }}{{ if $at }} · {{ end }}{{ $pair.Name }} {{ $pair.Value }}{{ end -}}
</div>{{ end }}
</td></tr>
{{ template "email.alerts" .Alerts.Firing }}
{{ template "email.alerts" .Alerts.Resolved }}
<tr><td class="rule soft" style="border-top:1px solid #e4e7ea;padding:14px 28px 18px 28px;font-size:12px;line-height:18px;color:#6a727b">
{{- if match "^https?://" .ExternalURL }}{{ template "email.link" (dict "url" .ExternalURL "says" "Open gpulse") }} &nbsp;·&nbsp; {{ end -}}
Sent to the receiver {{ reReplaceAll "\\\\\\\\(.)" "$1" .Receiver }}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
{{- end }}
`;

export const defaultEmail = [text, colours, alert, page].join("\n");
