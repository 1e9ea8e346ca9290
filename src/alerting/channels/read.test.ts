import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { parseRouting } from "../route/config.ts";
import { silentLog } from "../../base/log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { type Environment, expandAddress, expandSecret } from "./environment.ts";
import { openEntries, startMs } from "../../../test/fixtures/alerting/channels.ts";
import { checkReceivers, openReceivers } from "./open.ts";

const folder = fileURLToPath(new URL("./testdata/config", import.meta.url));
const names = readdirSync(folder);
const textOf = (name: string): string => readFileSync(path.join(folder, name), "utf8");
const said = (text: string, key: string): RegExp[] =>
  [...text.matchAll(new RegExp(`^# ${key}: (.*)$`, "gm"))].map(
    ([, says = ""]) => new RegExp(says, "m"),
  );

async function check(text: string, name: string, env: Environment = {}) {
  const file = path.join(folder, name);
  const options = { file, env, log: silentLog, clock: new FakeClock(startMs) };
  return checkReceivers(await parseRouting(text, file), options);
}

test.each(names.filter((name) => name.endsWith(".bad.yml")))(
  "%s is refused, with what is wrong and without what was there",
  async (name) => {
    const [says] = said(textOf(name), "says");
    const { mistakes } = await check(textOf(name), name);
    expect(mistakes.join("\n")).toMatch(says ?? expect.unreachable("says nothing"));
    expect(mistakes.join("\n")).not.toContain("hunter2");
    expect(mistakes[0]).toMatch(/\.bad\.yml(:\d+:\d+)?: /);
  },
);

test.each(names.filter((name) => name.endsWith(".good.yml")))(
  "%s opens, and warns of what it says",
  async (name) => {
    const { mistakes, warnings } = await check(textOf(name), name);
    expect(mistakes).toEqual([]);
    const wanted = said(textOf(name), "warns");
    expect(warnings).toHaveLength(wanted.length);
    for (const says of wanted) expect(warnings.join("\n")).toMatch(says);
    expect(warnings.join("\n")).not.toContain("hunter2");
  },
);

test("every mistake of a file is said at once", async () => {
  const text =
    "route: { receiver: a }\nreceivers:\n  - name: a\n    discord_configs: [{}]\n    ntfy_configs: [{}]\n";
  const { mistakes } = await check(text, "two.yml");
  expect(mistakes.map((one) => one.replace(/^.*two\.yml/, ""))).toEqual([
    ":4:23: receivers[0].discord_configs[0].webhook_url: give webhook_url or webhook_url_file.",
    ":5:20: receivers[0].ntfy_configs[0].topic: give the topic to post to, or topic_file.",
  ]);
});

test("integrations have their channel, their place in it and whether they report on ends", async () => {
  const receivers =
    await openEntries(`webhook_configs: [{ url: 'http://a/b' }, { url: 'http://a/c', send_resolved: no }]
email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25' }]
slack_configs: [{ api_url: 'http://a/b' }]`);
  const found = receivers
    .integrations("ops.team")
    .map(({ channel, index, sendResolved }) => [channel, index, sendResolved]);
  expect(found).toEqual([
    ["email", 0, false],
    ["webhook", 0, true],
    ["webhook", 1, false],
    ["slack", 0, false],
  ]);
  expect(receivers.integrations("nobody")).toEqual([]);
  receivers.close();
});

test("a template that looks like a variable is used as it is written, with a warning", async () => {
  const entry = "email_configs: [{ to: a@b.c, from: a@b.c, smarthost: 'h:25', text: $TEXT }]";
  const receivers = await openEntries(entry, { env: { TEXT: "x" } });
  expect(receivers.warnings.join()).toContain(
    "only secrets and addresses come from the environment",
  );
  receivers.close();
});

const mail = `global:
  smtp_smarthost: "$SMTP_HOST:$SMTP_PORT"
  smtp_from: "$FROM"
  smtp_auth_username: "\${USER}"
  smtp_auth_password: "$PASS"
route: { receiver: a }
receivers:
  - name: a
    email_configs: [{ to: "Ops <$TO>" }]
    webhook_configs: [{ url: "http://$HOOK/alert" }]
`;
const mailEnv = {
  SMTP_HOST: "smtp.example.com",
  SMTP_PORT: "587",
  FROM: "gpu@example.com",
  USER: "gpulse",
  PASS: "s3cret",
  TO: "ops@example.com",
  HOOK: "hub.example:9410",
};

test("addresses of a mail server, of people and of a webhook come from the environment", async () => {
  const checked = await check(mail, "mail.yml", mailEnv);
  expect(checked).toEqual({ mistakes: [], warnings: [] });
});

test.each([
  ["SMTP_PORT", { SMTP_PORT: undefined }, "2:3: global.smtp_smarthost: the variable SMTP_PORT is"],
  ["a wrong port", { SMTP_PORT: "mail" }, "2:3: global.smtp_smarthost: the mail server is written"],
  ["an empty sender", { FROM: "" }, "3:3: global.smtp_from: an email needs a sender"],
  ["PASS", { PASS: undefined }, "5:3: global.smtp_auth_password: the variable PASS is not set"],
  ["TO", { TO: undefined }, "9:23: receivers[0].email_configs[0].to: the variable TO is not"],
  ["HOOK", { HOOK: undefined }, "10:25: receivers[0].webhook_configs[0].url: the variable HOOK"],
])("without %s the error is reported where the value is written", async (_, change, says) => {
  const { mistakes } = await check(mail, "mail.yml", { ...mailEnv, ...change });
  expect(mistakes.map((one) => one.replace(/^.*mail\.yml:/, ""))).toEqual([
    expect.stringContaining(says),
  ]);
});

const env = { PASS: "p4ss", EMPTY: "", lower: "l" };
test.each([
  ["$PASS", "p4ss"],
  ["${PASS}", "p4ss"],
  ["https://x/${PASS}/${lower}", "https://x/p4ss/l"],
  ["$$PASS", "$PASS"],
  ["a$${PASS}", "a${PASS}"],
  ["$lower", "$lower"],
  ["$1ab$PASS", "$1ab$PASS"],
  ["pa$$word", "pa$$word"],
  ["${}", "${}"],
])("%s in a secret is %s", (text, wanted) => {
  expect(expandSecret(text, env)).toEqual({ ok: true, text: wanted });
});
test.each([
  ["$HOST:$PORT", "mail:587"],
  ["http://$HOST/alert", "http://mail/alert"],
  ["http://user@${HOST}:$PORT/$PATH", "http://user@mail:587/$PATH"],
  ["https://x/y?sig=a$HOST", "https://x/y?sig=a$HOST"],
  ["$$HOST", "$HOST"],
  ["{{ $x }}", "{{ $x }}"],
  ["A <$EMPTY>, b@c.d", "A <>, b@c.d"],
])("%s in an address is %s", (text, wanted) => {
  const addressEnv = { HOST: "mail", PORT: "587", EMPTY: "", PATH: "$PATH" };
  expect(expandAddress(text, addressEnv)).toEqual({ ok: true, text: wanted });
});

test.each([
  ["$MISSING", "MISSING is not set"],
  ["x${EMPTY}", "EMPTY is empty"],
])("%s in a secret is refused", (text, says) => {
  const expanded = expandSecret(text, env);
  expect(expanded.ok ? "" : expanded.why).toContain(says);
});

test(
  "no text makes the reader fail otherwise than with a sentence",
  async () => {
    const samples = names.filter((name) => name.endsWith(".yml")).map(textOf);
    const options = { file: path.join(folder, "fuzz.yml"), env: {}, log: silentLog };
    const parse = async (bytes: Buffer): Promise<void> => {
      const routing = { source: bytes.toString("utf8"), templates: [] };
      (await openReceivers(routing, { ...options, clock: new FakeClock(startMs) })).close();
    };
    const inputs = Math.min(fuzzInputs, 20_000);
    expect(await fuzz({ seed: 0x6c, samples, parse, inputs })).toBe(inputs);
  },
  fuzzTimeoutMs * 4,
);
