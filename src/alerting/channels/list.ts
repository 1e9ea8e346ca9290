/** Every channel, in display order. To add one, add its folder and one line here. */
import type { Channel } from "./channel.ts";
import { discord } from "./discord/define.ts";
import { email } from "./email/define.ts";
import { gotify } from "./gotify/define.ts";
import { incidentio } from "./incidentio/define.ts";
import { jira } from "./jira/define.ts";
import { mattermost } from "./mattermost/define.ts";
import { mqtt } from "./mqtt/define.ts";
import { msteams } from "./msteams/define.ts";
import { msteamsv2 } from "./msteamsv2/define.ts";
import { ntfy } from "./ntfy/define.ts";
import { opsgenie } from "./opsgenie/define.ts";
import { pagerduty } from "./pagerduty/define.ts";
import { pushover } from "./pushover/define.ts";
import { rocketchat } from "./rocketchat/define.ts";
import { slack } from "./slack/define.ts";
import { sns } from "./sns/define.ts";
import { telegram } from "./telegram/define.ts";
import { victorops } from "./victorops/define.ts";
import { webex } from "./webex/define.ts";
import { webhook } from "./webhook/define.ts";
import { wechat } from "./wechat/define.ts";

export const channels: readonly Channel[] = [
  email,
  webhook,
  slack,
  discord,
  telegram,
  ntfy,
  gotify,
  pushover,
  pagerduty,
  opsgenie,
  victorops,
  incidentio,
  jira,
  msteamsv2,
  msteams,
  mattermost,
  rocketchat,
  webex,
  wechat,
  sns,
  mqtt,
];
