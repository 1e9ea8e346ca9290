/** What Alertmanager sends by and we do not. A file that has them loads; each is named in a warning, never passed over. */
export const elsewhere: Readonly<Record<string, string>> = {
  opsgenie_configs: "Opsgenie takes webhook_configs by its webhook integration",
  victorops_configs: "Splunk On-Call takes webhook_configs by its REST integration",
  wechat_configs: "put a webhook_configs entry to a relay in its place",
  sns_configs: "put a webhook_configs entry to a relay in its place",
  webex_configs: "put a webhook_configs entry to a relay in its place",
  pushover_configs: "ntfy_configs and gotify_configs reach telephones too",
  jira_configs: "put a webhook_configs entry to Jira's automation in its place",
  rocketchat_configs: "Rocket.Chat's incoming webhook takes slack_configs",
  mattermost_configs: "Mattermost's incoming webhook takes slack_configs",
  incidentio_configs: "put a webhook_configs entry in its place",
};
