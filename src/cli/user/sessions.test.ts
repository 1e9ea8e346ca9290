/** Tests the command line beside a running hub: listing its sessions, and ending them within a moment. */
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoginFixture, statusOf } from "../../../test/fixtures/hub/login.ts";
import { buildProgram } from "../program.ts";

let lab: LoginFixture;
beforeEach(() => {
  lab = new LoginFixture();
});
afterEach(() => lab.close());

async function gpulse(...args: string[]): Promise<{ code: number; said: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io = { env: {}, stdout, stderr, version: "1.2.3", stopped: async () => "" };
  const { program, exitCode } = buildProgram(io);
  await program.parseAsync(["user", ...args, "--data", lab.dataDir], { from: "user" });
  const said = (stream: PassThrough): string => {
    const chunk: unknown = stream.read();
    return chunk instanceof Buffer ? chunk.toString("utf8") : "";
  };
  return { code: exitCode(), said: said(stdout) + said(stderr) };
}

test("sessions of a running hub are listed and ended, however the user logged in", async () => {
  const letIn = (id: string, name: string): string => {
    const { sessions } = lab.state;
    const session = { holder: { kind: "oidc", id }, name, scope: "read" } as const;
    return `__Host-gpulse_session=${sessions.open(session, lab.nowMs)}`;
  };
  const app = await lab.hub({
    oidc: {
      issuer: "https://login.example",
      clientId: "gpulse",
      scopes: "openid",
      roleClaim: "groups",
      admin: [],
      viewer: [],
      label: "Lab",
    },
  });
  const [graces, adas] = [letIn("subject-1", "grace"), letIn("subject-2", "ada")];
  expect((await gpulse("sessions")).said).toMatch(/NAME {2,}LOGIN[^]*grace +provider +read/);
  expect(await gpulse("logout", "Grace")).toEqual({
    code: 0,
    said: "The sessions of grace are ended.\n",
  });
  await vi.waitFor(async () => expect(await statusOf(app, graces)).toBe(401), 60_000);
  expect(await statusOf(app, adas)).toBe(200);
  expect((await gpulse("sessions")).said).not.toContain("grace");
  const again = await gpulse("logout", "grace");
  expect([again.code, again.said]).toEqual([2, expect.stringContaining("Nobody called grace")]);
  lab.reopen();
  expect(lab.state.sessions.list(lab.nowMs).map(({ name }) => name)).toEqual(["ada"]);
});

test("where there is no data folder nobody is logged in, and none is made", async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { listSessions } = await import("./sessions.ts");
  const io = { env: {}, stdout, stderr, version: "1.2.3", stopped: async () => "" };
  expect(await listSessions({ data: `${lab.dataDir}/none` }, io)).toBe(0);
  expect(String(stdout.read())).toBe("No user is logged in.\n");
});
