/** Every channel, in the order they are shown. Adding one is its folder and its line here. */
import type { Channel } from "./channel.ts";
import { discord } from "./discord/define.ts";
import { email } from "./email/define.ts";
import { gotify } from "./gotify/define.ts";
import { mqtt } from "./mqtt/define.ts";
import { msteams } from "./msteams/define.ts";
import { msteamsv2 } from "./msteamsv2/define.ts";
import { ntfy } from "./ntfy/define.ts";
import { pagerduty } from "./pagerduty/define.ts";
import { slack } from "./slack/define.ts";
import { telegram } from "./telegram/define.ts";
import { webhook } from "./webhook/define.ts";

export const channels: readonly Channel[] = [
  email,
  webhook,
  slack,
  discord,
  telegram,
  ntfy,
  gotify,
  pagerduty,
  msteamsv2,
  msteams,
  mqtt,
];
