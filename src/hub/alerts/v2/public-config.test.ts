import { expect, test } from "vitest";
import { renderPublicConfig } from "./public-config.ts";

test("keys that came after Alertmanager 0.25 are left out at every depth, and named", async () => {
  const shown = await renderPublicConfig(`
global: { http_config: { proxy_url: 'http://u:hunter2@p', no_proxy: a } }
route: { receiver: a, labels: { b: c }, routes: [{ receiver: a, matchers: [x="y"], labels: { b: d } }] }
receivers:
  - name: a
    webhook_configs: [{ url: 'http://a/hunter2', http_config: { http_headers: { X-Key: { secrets: [hunter2] } } } }]
    pushover_configs: [{ user_key: hunter2, token: hunter2, monospace: true }]
`);
  const [, comments = "", rest = ""] = /^((?:#.*\n)*)([\s\S]*)$/.exec(shown) ?? [];
  expect(comments.trim().split("\n")).toEqual(
    [
      "route.labels",
      "route.labels",
      "global.http_config.no_proxy",
      'webhook_configs of the receiver "a": http_config.http_headers',
      'pushover_configs[0] of the receiver "a" with monospace',
    ].map((what) => `# Not shown, since Alertmanager 0.25 does not have it: ${what}`),
  );
  expect(rest).not.toMatch(/labels|no_proxy|http_headers|pushover|hunter2/);
  expect(rest).toContain('matchers:\n        - x="y"');
});
