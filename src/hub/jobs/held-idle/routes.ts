/**
 * Idle GPUs over HTTP:
 *
 *   GET  /api/jobs/idle   running jobs that hold GPUs without using them
 *   GET  /keep            the page behind the link of a notification: asks for confirmation, as mail scanners open links
 *   POST /keep            keeps the GPUs; authorized by the signature of the link
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { formatDuration } from "../../../config/duration.ts";
import { escapeMarkup, sendAccessPage } from "../../auth/pages.ts";
import { noStore, sendError } from "../../reply.ts";
import type { HeldIdle } from "./held-idle.ts";

const linkSchema = v.object({
  job: v.pipe(v.string(), v.maxLength(1_000)),
  expires: v.pipe(v.string(), v.regex(/^\d{1,16}$/)),
  signature: v.pipe(v.string(), v.maxLength(100)),
});
const formSchema = v.object({
  ...linkSchema.entries,
  hours: v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number)),
});
const hourMs = 3_600_000;
const maxBodyBytes = 8_192;

export async function addHeldIdle(
  app: FastifyInstance,
  idle: HeldIdle | undefined,
  nowMs: () => number,
): Promise<void> {
  app.get("/api/jobs/idle", async (_request, reply) =>
    idle === undefined
      ? sendError(reply, 404, "This hub has no held-idle policy: start it with --held-idle FILE.")
      : noStore(reply).send({ jobs: idle.list() }),
  );
  if (idle === undefined) return;

  app.get("/keep", async ({ query }, reply) => {
    const link = v.safeParse(linkSchema, query);
    if (!link.success || !isGood(idle, link.output, nowMs())) return refuse(reply);
    const { job, expires, signature } = link.output;
    const record = idle.findOpen(job);
    if (record === undefined) return sendEnded(reply);
    const hidden = Object.entries({ job, expires, signature })
      .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeMarkup(value)}">`)
      .join("\n");
    const offered = choices(idle.keepMs);
    const options = offered
      .map(
        (hours) =>
          `<option value="${hours}"${hours === offered.at(-1) ? " selected" : ""}>${formatDuration(hours * hourMs)}</option>`,
      )
      .join("");
    return sendAccessPage(
      reply,
      200,
      "keep idle GPUs",
      `<p>Job <strong>${escapeMarkup(record.name)}</strong> holds GPUs that it does not use.</p>
<form method="post" action="keep">
${hidden}
<label>Keep them for<select name="hours">${options}</select></label>
<button>Keep the GPUs</button>
</form>
<p class="small">Until then nobody is notified and nothing is done to the job. If you do not need the GPUs, end the job instead.</p>`,
    );
  });

  await app.register(async (scope) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    scope.post("/keep", { bodyLimit: maxBodyBytes }, async (request, reply) => {
      const form = v.safeParse(formSchema, request.body);
      if (!form.success || !isGood(idle, form.output, nowMs())) {
        note(request, "no valid link");
        return refuse(reply);
      }
      const { job, hours } = form.output;
      const record = idle.findOpen(job);
      if (record === undefined || !choices(idle.keepMs).includes(hours)) {
        note(request, record === undefined ? "the job has ended" : "longer than allowed", job);
        return record === undefined ? sendEnded(reply) : refuse(reply);
      }
      const untilMs = nowMs() + hours * hourMs;
      idle.keep(job, untilMs);
      const until = new Date(untilMs).toISOString();
      note(request, `kept until ${until}`, job);
      return sendAccessPage(
        reply,
        200,
        "idle GPUs kept",
        `<p>The GPUs of job <strong>${escapeMarkup(record.name)}</strong> are kept until <strong>${until.slice(0, 16).replace("T", " ")} UTC</strong>.</p>`,
      );
    });
  });
}

/** Offered durations in hours, up to the policy's maximum, which is the last. */
function choices(keepMs: number): number[] {
  const most = Math.max(1, Math.floor(keepMs / hourMs));
  return [1, 2, 4, 8, 12, 24, 48, 72, 168].filter((hours) => hours < most).concat(most);
}

const isGood = (
  idle: HeldIdle,
  { job, expires, signature }: v.InferOutput<typeof linkSchema>,
  nowMs: number,
): boolean => idle.links.isValid(job, expires, signature, nowMs);

function note(request: FastifyRequest, why: string, target?: string): void {
  const who = "bearer of a keep link";
  request.audited = { who, by: "share", why, ...(target === undefined ? {} : { target }) };
}

const refuse = (reply: FastifyReply): FastifyReply =>
  sendAccessPage(
    reply,
    403,
    "not a valid link",
    `<p role="alert">This link is not valid, or it has expired. Use the one of the newest notification.</p>`,
  );

const sendEnded = (reply: FastifyReply): FastifyReply =>
  sendAccessPage(
    reply,
    410,
    "job has ended",
    `<p role="alert">This job has ended: it holds no GPU any more.</p>`,
  );
