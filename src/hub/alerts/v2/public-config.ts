/**
 * The routing configuration in use, as it may be shown: without secrets and comments, and without anything that Alertmanager
 * 0.25 would refuse, since amtool parses it to show and test routes. A comment at the top names what is omitted for that
 * reason.
 */
type Mapping = Readonly<Record<string, unknown>>;

const perEntry = "send_resolved http_config";
/** The keys that each channel of Alertmanager 0.25 accepts. */
const known: Readonly<Record<string, string>> = {
  webhook_configs: "url max_alerts",
  email_configs:
    "to from hello smarthost auth_username auth_password auth_password_file auth_secret auth_identity headers html text require_tls tls_config",
  slack_configs:
    "api_url api_url_file channel username color title title_link pretext text fields short_fields footer fallback callback_id icon_emoji icon_url image_url thumb_url link_names mrkdwn_in actions",
  discord_configs: "webhook_url title message",
  telegram_configs: "api_url bot_token chat_id message disable_notifications parse_mode",
  pagerduty_configs:
    "service_key service_key_file routing_key routing_key_file url client client_url description details images links source severity class component group",
  opsgenie_configs:
    "api_key api_key_file api_url message description source details entity responders actions tags note priority update_alerts",
  victorops_configs:
    "api_key api_key_file api_url routing_key message_type state_message entity_display_name monitoring_tool custom_fields",
  pushover_configs: "user_key token title message url url_title sound priority retry expire html",
  wechat_configs:
    "api_secret corp_id message api_url to_user to_party to_tag agent_id message_type",
  sns_configs: "api_url sigv4 topic_arn phone_number target_arn subject message attributes",
  webex_configs: "api_url message room_id",
};
const globalKeys =
  "resolve_timeout http_config smtp_from smtp_hello smtp_smarthost smtp_auth_username smtp_auth_password smtp_auth_password_file smtp_auth_secret smtp_auth_identity smtp_require_tls slack_api_url slack_api_url_file pagerduty_url opsgenie_api_url opsgenie_api_key opsgenie_api_key_file wechat_api_url wechat_api_secret wechat_api_corp_id victorops_api_url victorops_api_key victorops_api_key_file telegram_api_url webex_api_url";
const routeKeys =
  "receiver group_by continue match match_re matchers group_wait group_interval repeat_interval mute_time_intervals active_time_intervals routes";
const httpKeys =
  "basic_auth authorization oauth2 bearer_token bearer_token_file tls_config follow_redirects enable_http2 proxy_url proxy_connect_header";
const sections =
  "global route inhibit_rules receivers templates mute_time_intervals time_intervals";
const inhibitKeys =
  "source_match source_match_re source_matchers target_match target_match_re target_matchers equal";

/** Alertmanager accepts `<secret>` as the value of these two; any other address must be a valid URL. */
const secretAddresses = new Set(["slack_configs.api_url", "discord_configs.webhook_url"]);

export async function renderPublicConfig(source: string): Promise<string> {
  const [{ parse, stringify }, { redactConfig }] = await Promise.all([
    import("../../../config/yaml.ts"),
    import("../../../alerting/channels/redact.ts"),
  ]);
  const value = filled(
    parse(await redactConfig(source), { schema: "failsafe", maxAliasCount: 1_000 }),
  );
  const left: string[] = [];
  const shown = isMapping(value) ? readable(value, left) : {};
  const text = stringify(shown, {
    schema: "failsafe",
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
  return `${left.map((what) => `# Not shown, since Alertmanager 0.25 does not have it: ${what}\n`).join("")}${text}`;
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Removes keys without a value. */
function filled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(filled);
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== "" && item !== "~" && item !== "null" && item !== null)
      .map(([key, item]) => [key, filled(item)]),
  );
}

function readable(config: Mapping, left: string[]): Mapping {
  const top = only(config, sections, "", left);
  const { global, inhibit_rules: rules, receivers } = top;
  return {
    ...top,
    ...(isMapping(top["route"]) ? { route: route(top["route"], left) } : {}),
    ...(isMapping(global)
      ? { global: withKnownHttp(only(global, globalKeys, "global.", left), "global.", left) }
      : {}),
    ...(Array.isArray(rules)
      ? {
          inhibit_rules: rules.map((rule: unknown) =>
            isMapping(rule) ? only(rule, inhibitKeys, "inhibit_rules.", left) : rule,
          ),
        }
      : {}),
    ...(Array.isArray(receivers)
      ? {
          receivers: receivers.map((one: unknown) => (isMapping(one) ? receiver(one, left) : one)),
        }
      : {}),
  };
}

function route(given: Mapping, left: string[]): Mapping {
  const shown = only(given, routeKeys, "route.", left);
  const { routes } = shown;
  if (!Array.isArray(routes)) return shown;
  const below = routes.map((one: unknown) => (isMapping(one) ? route(one, left) : one));
  return { ...shown, routes: below };
}

function withKnownHttp(entry: unknown, place: string, left: string[]): unknown {
  if (!isMapping(entry) || !isMapping(entry["http_config"])) return entry;
  const http = only(entry["http_config"], httpKeys, `${place}http_config.`, left);
  return { ...entry, http_config: http };
}

function only(given: Mapping, keys: string, place: string, left: string[]): Mapping {
  const names = keys.split(" ");
  for (const key of Object.keys(given)) if (!names.includes(key)) left.push(`${place}${key}`);
  return Object.fromEntries(Object.entries(given).filter(([key]) => names.includes(key)));
}

function receiver(given: Mapping, left: string[]): Mapping {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, entries]) => {
      if (!Array.isArray(entries)) return [[key, entries]];
      const names = `${known[key] ?? ""} ${perEntry}`.split(" ");
      const kept = entries.filter((entry: unknown, at) => {
        const more = isMapping(entry)
          ? Object.keys(entry).filter((name) => !names.includes(name))
          : [];
        if (known[key] !== undefined && more.length === 0) return true;
        const what = known[key] === undefined ? "" : ` with ${more.join(", ")}`;
        left.push(`${key}[${at}] of the receiver ${JSON.stringify(given["name"])}${what}`);
        return false;
      });
      const place = `${key} of the receiver ${JSON.stringify(given["name"])}: `;
      const shown = kept.map((entry) => addresses(withKnownHttp(entry, place, left), key));
      return kept.length === 0 ? [] : [[key, shown]];
    }),
  );
}

function addresses(entry: unknown, channel: string): unknown {
  if (!isMapping(entry)) return entry;
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => {
      const hidden = value === "<secret>" && /(^|_)url$/.test(key);
      if (hidden && !secretAddresses.has(`${channel}.${key}`)) return [key, "http://<secret>"];
      return [key, isMapping(value) ? addresses(value, channel) : value];
    }),
  );
}
