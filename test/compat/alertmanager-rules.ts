/**
 * Receivers and global sections that Alertmanager 0.29 refuses and accepts, one row per rule of its configuration. Entries
 * stand under a receiver.
 */

export type Row = readonly [entries: string, says: RegExp, global?: string];

const auth = "http_config: { authorization: { credentials: hunter2 } }";

export const refused: readonly Row[] = [
  // Pairs of a value and its file.
  ["slack_configs: [{ api_url: 'http://a/b', api_url_file: f }]", /api_url or api_url_file/],
  ["slack_configs: [{ app_token: t, app_token_file: f }]", /app_token or app_token_file/],
  [
    "telegram_configs: [{ bot_token: t, bot_token_file: f, chat_id: 1 }]",
    /bot_token or bot_token_file/,
  ],
  ["telegram_configs: [{ bot_token: t, chat_id: 1, chat_id_file: f }]", /chat_id or chat_id_file/],
  [
    "discord_configs: [{ webhook_url: 'http://a/b', webhook_url_file: f }]",
    /webhook_url or webhook_url_file/,
  ],
  [
    "msteams_configs: [{ webhook_url: 'http://a/b', webhook_url_file: f }]",
    /webhook_url or webhook_url_file/,
  ],
  [
    "msteamsv2_configs: [{ webhook_url: 'http://a/b', webhook_url_file: f }]",
    /webhook_url or webhook_url_file/,
  ],
  [
    "mattermost_configs: [{ webhook_url: 'http://a/b', webhook_url_file: f }]",
    /webhook_url or webhook_url_file/,
  ],
  ["webhook_configs: [{ url: 'http://a/b', url_file: f }]", /url or url_file/],
  [
    "incidentio_configs: [{ url: 'http://a/b', url_file: f, alert_source_token: t }]",
    /url or url_file/,
  ],
  [
    "incidentio_configs: [{ url: 'http://a/b', alert_source_token: t, alert_source_token_file: f }]",
    /alert_source_token or alert_source_token_file/,
  ],
  [
    "pagerduty_configs: [{ routing_key: k, routing_key_file: f }]",
    /routing_key or routing_key_file/,
  ],
  [
    "pagerduty_configs: [{ service_key: k, service_key_file: f }]",
    /service_key or service_key_file/,
  ],
  [
    "pagerduty_configs: [{ routing_key: k, service_key: k, service_key_file: f }]",
    /service_key or service_key_file/,
  ],
  ["opsgenie_configs: [{ api_key: k, api_key_file: f }]", /api_key or api_key_file/],
  [
    "victorops_configs: [{ routing_key: r, api_key: k, api_key_file: f }]",
    /api_key or api_key_file/,
  ],
  [
    "wechat_configs: [{ corp_id: c, api_secret: k, api_secret_file: f }]",
    /api_secret or api_secret_file/,
  ],
  ["pushover_configs: [{ user_key: u, user_key_file: f, token: t }]", /user_key or user_key_file/],
  ["pushover_configs: [{ user_key: u, token: t, token_file: f }]", /token or token_file/],
  ["rocketchat_configs: [{ token: t, token_file: f, token_id: i }]", /token or token_file/],
  [
    "rocketchat_configs: [{ token: t, token_id: i, token_id_file: f }]",
    /token_id or token_id_file/,
  ],
  // The same pairs in the global section, whether or not a receiver uses them.
  ...[
    "slack_app_token",
    "slack_api_url",
    "opsgenie_api_key",
    "victorops_api_key",
    "telegram_bot_token",
    "smtp_auth_password",
    "smtp_auth_secret",
    "rocketchat_token",
    "rocketchat_token_id",
    "wechat_api_secret",
    "mattermost_webhook_url",
  ].map((key): Row => [
    "webhook_configs: []",
    new RegExp(`global\\.${key}: give ${key} or ${key}_file, not both`),
    `{ ${key}: 'http://a/hunter2', ${key}_file: f }`,
  ]),
  // Addresses of the global section, whether or not a receiver uses them.
  ...["slack_api_url", "pagerduty_url", "opsgenie_api_url", "telegram_api_url"].map((key): Row => [
    "webhook_configs: []",
    new RegExp(`global\\.${key}: give a URL`),
    `{ ${key}: 'hooks.example.com/hunter2' }`,
  ]),
  ["webhook_configs: []", /global\.smtp_smarthost: .*host:port/, "{ smtp_smarthost: mail }"],
  // A webhook and a token exclude each other in Slack.
  ["slack_configs: [{ api_url: 'http://a/b', app_token: t }]", /api_url or app_token/],
  ["slack_configs: [{ api_url_file: f, app_token_file: f }]", /api_url or app_token/],
  [
    "webhook_configs: []",
    /slack_api_url or slack_app_token/,
    "{ slack_api_url: 'http://a/b', slack_app_token: hunter2 }",
  ],
  [
    "webhook_configs: []",
    /slack_api_url or slack_app_token/,
    "{ slack_api_url_file: f, slack_app_token_file: f }",
  ],
  [
    `slack_configs: [{ app_token: t, channel: a, ${auth} }]`,
    /http_config\.authorization or app_token/,
  ],
  [
    "slack_configs: [{ app_token: t, channel: a, http_config: { bearer_token: hunter2 } }]",
    /http_config\.authorization or app_token/,
  ],
  [
    "slack_configs: [{ app_token: t, channel: a }]",
    /http_config\.authorization or app_token/,
    `{ ${auth} }`,
  ],
  [
    `slack_configs: [{ channel: a, ${auth} }]`,
    /give api_url, or app_token/,
    "{ slack_app_token: t }",
  ],
  ["slack_configs: [{ channel: a }]", /give api_url, or app_token/],
  [
    "slack_configs: [{ api_url: 'http://a/b', fields: [{ title: '', value: b }] }]",
    /fields.*title/,
  ],
  ["slack_configs: [{ api_url: 'http://a/b', fields: [{ title: a }] }]", /fields.*value/],
  [
    "slack_configs: [{ api_url: 'http://a/b', actions: [{ type: button, text: b }] }]",
    /needs a url or a name/,
  ],
  [
    "slack_configs: [{ api_url: 'http://a/b', actions: [{ type: '', text: b, url: c }] }]",
    /actions.*type/,
  ],
  [
    "slack_configs: [{ api_url: 'http://a/b', actions: [{ type: button, text: '', url: c }] }]",
    /actions.*text/,
  ],
  [
    "slack_configs: [{ api_url: 'http://a/b', actions: [{ type: button, text: b, name: n, confirm: { title: t } }] }]",
    /confirm\.text/,
  ],
  // What a channel cannot do without.
  ["telegram_configs: [{ bot_token: t, chat_id: 0 }]", /give the chat_id/],
  ["telegram_configs: [{ chat_id: 1 }]", /give bot_token/],
  ["mattermost_configs: [{}]", /give webhook_url or webhook_url_file/],
  [
    "mattermost_configs: [{ webhook_url: 'http://a/b', attachments: [{ fields: [{ title: a, value: '' }] }] }]",
    /fields.*value/,
  ],
  ["opsgenie_configs: [{}]", /give api_key or api_key_file/],
  [
    "opsgenie_configs: [{ api_key: k, responders: [{ type: team }] }]",
    /an id, a name or a username/,
  ],
  ["opsgenie_configs: [{ api_key: k, responders: [{ name: a }] }]", /responders\[0\]\.type/],
  [
    "opsgenie_configs: [{ api_key: k, responders: [{ name: a, type: squad }] }]",
    /responders\[0\]\.type/,
  ],
  ["opsgenie_configs: [{ api_key: k, api_url: 'ftp://a' }]", /begins with http/],
  ["victorops_configs: [{ api_key: k }]", /routing_key/],
  ["victorops_configs: [{ api_key: k, routing_key: '' }]", /routing_key/],
  ["victorops_configs: [{ routing_key: r }]", /give api_key or api_key_file/],
  [
    "victorops_configs: [{ api_key: k, routing_key: r, custom_fields: { entity_id: a } }]",
    /entity_id/,
  ],
  ["pushover_configs: [{ token: t }]", /give user_key or user_key_file/],
  ["pushover_configs: [{ user_key: u }]", /give token or token_file/],
  [
    "pushover_configs: [{ user_key: u, token: t, html: true, monospace: true }]",
    /html or monospace/,
  ],
  ["pushover_configs: [{ user_key: u, token: t, retry: soon }]", /retry/],
  ["sns_configs: [{ sigv4: { region: eu-west-1 } }]", /one of topic_arn, phone_number, target_arn/],
  [
    "sns_configs: [{ topic_arn: a, phone_number: '1', sigv4: { region: eu-west-1 } }]",
    /one of topic_arn, phone_number, target_arn/,
  ],
  [
    "sns_configs: [{ topic_arn: a, sigv4: { region: eu-west-1, access_key: hunter2 } }]",
    /access_key and secret_key/,
  ],
  [
    "sns_configs: [{ topic_arn: a, sigv4: { region: eu-west-1, secret_key: hunter2 } }]",
    /access_key and secret_key/,
  ],
  ["jira_configs: [{ issue_type: Bug, api_url: 'http://a/rest/api/2' }]", /project/],
  ["jira_configs: [{ project: P, api_url: 'http://a/rest/api/2' }]", /issue_type/],
  ["jira_configs: [{ project: P, issue_type: Bug }]", /give api_url/],
  [
    "jira_configs: [{ project: P, issue_type: Bug, api_url: 'http://a/2', api_type: server }]",
    /api_type/,
  ],
  ["wechat_configs: [{ api_secret: k }]", /corp_id/],
  ["wechat_configs: [{ corp_id: c }]", /give api_secret or api_secret_file/],
  ["wechat_configs: [{ corp_id: c, api_secret: k, message_type: image }]", /message_type/],
  [`webex_configs: [{ ${auth} }]`, /room_id/],
  ["webex_configs: [{ room_id: r }]", /http_config\.authorization/],
  ["webex_configs: [{ room_id: r }]", /http_config\.authorization/, `{ ${auth} }`],
  ["rocketchat_configs: [{ token: t }]", /give token_id or token_id_file/],
  ["rocketchat_configs: [{ token_id: t }]", /give token or token_file/],
  ["incidentio_configs: [{ alert_source_token: t }]", /give url or url_file/],
  [
    `incidentio_configs: [{ url: 'http://a/b', alert_source_token: t, ${auth} }]`,
    /http_config\.authorization or alert_source_token/,
  ],
  [
    "incidentio_configs: [{ url: 'http://a/b', http_config: { follow_redirects: true } }]",
    /give alert_source_token/,
  ],
  // Email threads.
  [
    "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', threading: { enabled: true } }]",
    /thread_by_date/,
  ],
  [
    "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', threading: { enabled: true, thread_by_date: weekly } }]",
    /thread_by_date/,
  ],
  [
    "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', headers: { references: x }, threading: { enabled: true, thread_by_date: none } }]",
    /References/,
  ],
  [
    "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', headers: { In-Reply-To: x }, threading: { enabled: true, thread_by_date: none } }]",
    /In-Reply-To/,
  ],
  // OAuth 2.0.
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { oauth2: { client_secret: hunter2, token_url: 'http://t/token' } } }]",
    /client_id is missing/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { oauth2: { client_id: i, client_secret: hunter2 } } }]",
    /oauth2\.token_url: give a URL/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { oauth2: { client_id: i, client_secret: hunter2, client_secret_file: f, token_url: 'http://t/token' } } }]",
    /at most one of client_secret, client_secret_file/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { basic_auth: { username: u }, oauth2: { client_id: i, client_secret: hunter2, token_url: 'http://t/token' } } }]",
    /at most one of basic_auth, oauth2/,
  ],
  // Proxies.
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { no_proxy: a } }]",
    /no_proxy needs proxy_url/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { proxy_url: 'http://u:hunter2@p', proxy_from_environment: true } }]",
    /proxy_url or proxy_from_environment/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { no_proxy: a, proxy_from_environment: true } }]",
    /no_proxy or proxy_from_environment/,
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { proxy_connect_header: { A: [b] } } }]",
    /proxy_connect_header needs/,
  ],
];

export const accepted: readonly (readonly [entries: string, global?: string, warns?: RegExp])[] = [
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { oauth2: { client_id: i, client_secret: s, token_url: 'http://t/token', scopes: [a], endpoint_params: { b: c }, tls_config: { insecure_skip_verify: true }, proxy_url: 'http://p' } } }]",
  ],
  [
    "webhook_configs: [{ url: 'http://a/b', http_config: { proxy_url: 'http://p:3128', no_proxy: '10.0.0.0/8,.corp', proxy_connect_header: { X-Key: [a, b] } } }]",
  ],
  ["webhook_configs: [{ url: 'http://a/b', http_config: { proxy_from_environment: true } }]"],
  ["webhook_configs: [{ url: 'http://a/b', http_config: { proxy_url: 'socks5://p:1080' } }]"],
  ["slack_configs: [{ channel: a }]", "{ slack_app_token: t }"],
  [
    "slack_configs: [{ channel: a }]",
    "{ slack_app_token: t, slack_api_url: 'https://slack.com/api/chat.postMessage' }",
  ],
  ["slack_configs: [{ app_token: t }]", "{}", /needs a channel/],
  ["slack_configs: [{ api_url: 'http://a/b' }]", "{ slack_app_token: t }"],
  ["pagerduty_configs: [{ routing_key: k, service_key: k }]", "{}", /service_key is used/],
  ["pagerduty_configs: [{ routing_key: k, service_key: '', service_key_file: '' }]"],
  [
    "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', auth_username: u }]",
    "{}",
    /without a password/,
  ],
  ["opsgenie_configs: [{}]", "{ opsgenie_api_key: k }"],
  [
    "opsgenie_configs: [{ api_key: k, update_alerts: true, priority: P1, tags: 'a,b', actions: 'x', note: n, entity: e, details: { a: b }, responders: [{ name: a, type: Team }, { username: u, type: '{{ .CommonLabels.kind }}' }, { id: i, type: schedule }, { name: 'x,y', type: teams }] }]",
  ],
  [
    "victorops_configs: [{ routing_key: '{{ .CommonLabels.team }}', custom_fields: { a: b } }]",
    "{ victorops_api_key_file: f }",
  ],
  [
    "pushover_configs: [{ user_key_file: f, token_file: f, url_title: t, device: d, sound: s, priority: '1', retry: 1.5m, expire: 1h30m, ttl: 24h, monospace: true }]",
  ],
  [
    "sns_configs: [{ api_url: 'https://sns.eu-west-1.amazonaws.com', topic_arn: 'arn:aws:sns:eu-west-1:1:t', sigv4: { region: eu-west-1, access_key: a, secret_key: b, role_arn: 'arn:aws:iam::1:role/r', profile: p, use_fips_sts_endpoint: true }, attributes: { a: b } }]",
  ],
  [
    "jira_configs: [{ project: P, issue_type: Bug, labels: [a, '{{ .Status }}'], priority: High, reopen_transition: Reopen, resolve_transition: Done, wont_fix_resolution: Wont, reopen_duration: 30d, fields: { customfield_1: { value: x }, customfield_2: [1, { a: b }] }, summary: { template: s, enable_update: false }, api_type: cloud }]",
    "{ jira_api_url: 'https://x.atlassian.net/rest/api/2' }",
  ],
  [
    "wechat_configs: [{ to_user: u, to_party: p, to_tag: t, agent_id: '1', message_type: markdown }]",
    "{ wechat_api_secret: s, wechat_api_corp_id: c }",
  ],
  [`webex_configs: [{ room_id: r, ${auth} }]`],
  [
    "rocketchat_configs: [{ channel: '#a', fields: [{ title: a, value: b, short: true }], actions: [{ type: button, text: t, url: u, msg: m }], short_fields: true, link_names: true }]",
    "{ rocketchat_token: t, rocketchat_token_id: i }",
  ],
  [
    "incidentio_configs: [{ url: 'https://api.incident.io/v2/alert_events/alertmanager/1', alert_source_token: t, max_alerts: 3, timeout: 5s }]",
  ],
  [
    "mattermost_configs: [{ channel: a, username: u, icon_url: i, icon_emoji: e, type: custom_x, props: { card: c }, priority: { priority: urgent, requested_ack: true, persistent_notifications: true }, attachments: [{ title: t, text: x, fields: [{ title: a, value: b, short: true }], author_name: a, footer_icon: f }] }]",
    "{ mattermost_webhook_url: 'https://m/hooks/x' }",
  ],
];
