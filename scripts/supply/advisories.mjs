// Known vulnerabilities of shipped packages: from the registry if it offers advisories, else from a folder of OSV records
// (GPULSE_ADVISORIES, such as a clone of github.com/github/advisory-database). Without either, the result is "missing", never
// "none".

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { root } from "../bootstrap.mjs";
import { runNpm } from "../command.mjs";

/**
 * @typedef {{ name: string, version: string }} Shipped
 * @typedef {{ id: string, name: string, version: string, severity: string }} Finding
 * @typedef {{ source: "registry" | "database" | "missing", says: string, findings: Finding[] }} AdvisoryReport
 * @typedef {{ name: string, range: string, severity: string, via: (string | { url: string })[] }} AuditFinding
 * @typedef {{ message?: string, error?: { summary?: string }, metadata?: { vulnerabilities?: object }, vulnerabilities?: Record<string, AuditFinding> }} AuditAnswer
 * @typedef {{ introduced?: string, fixed?: string, last_affected?: string }} OsvEvent
 */

/**
 * @param {readonly Shipped[]} shipped
 * @param {{ database?: string | undefined, audit?: () => Promise<string> }} [options]
 * @returns {Promise<AdvisoryReport>}
 */
export async function checkAdvisories(shipped, options = {}) {
  const { database = process.env.GPULSE_ADVISORIES, audit = npmAudit } = options;
  const answer = parseAudit(await audit());
  if (answer.findings !== undefined)
    return {
      source: "registry",
      says: say("npm audit", answer.findings),
      findings: answer.findings,
    };
  if (database === undefined || database === "")
    return {
      source: "missing",
      says: `missing: the registry offers no advisories (${answer.error}), and GPULSE_ADVISORIES names no folder of OSV records. Nothing was checked.`,
      findings: [],
    };
  const { records, findings } = checkDatabase(database, shipped);
  if (records === 0)
    return {
      source: "missing",
      says: `missing: the registry offers no advisories (${answer.error}), and ${database} holds no OSV record of npm. Nothing was checked.`,
      findings: [],
    };
  return { source: "database", says: say(`${records} OSV records`, findings), findings };
}

/** The findings that block a release. @param {AdvisoryReport} report */
export const seriousFindings = ({ findings }) =>
  findings.filter(({ severity }) => /^(high|critical)$/i.test(severity));

/** @param {string} source @param {readonly Finding[]} findings */
const say = (source, findings) =>
  findings.length === 0
    ? `none known (${source})`
    : `${findings.length} known (${source}): ${findings.map(({ id, name, version, severity }) => `${name}@${version} ${id} ${severity}`).join(", ")}`;

/** Never with --offline: npm then reports "found 0 vulnerabilities" without any query. */
async function npmAudit() {
  return (await runNpm(["audit", "--json", "--loglevel=silent"], { cwd: root })).output;
}

/** @param {string} output @returns {{ findings?: Finding[], error: string }} */
function parseAudit(output) {
  /** @type {AuditAnswer} */
  let answer;
  try {
    answer = JSON.parse(output.slice(output.indexOf("{")));
  } catch {
    return { error: "npm audit printed no JSON" };
  }
  if (answer.metadata?.vulnerabilities === undefined)
    return { error: answer.message ?? answer.error?.summary ?? "npm audit gave no result" };
  const findings = Object.values(answer.vulnerabilities ?? {}).map((one) => ({
    id: one.via.flatMap((via) => (typeof via === "string" ? [] : [via.url]))[0] ?? "a dependency's",
    name: one.name,
    version: one.range,
    severity: one.severity,
  }));
  return { findings, error: "" };
}

/** @param {string} folder @param {readonly Shipped[]} shipped */
function checkDatabase(folder, shipped) {
  /** @type {Map<string, Shipped[]>} */
  const versions = new Map();
  for (const one of shipped) versions.set(one.name, [...(versions.get(one.name) ?? []), one]);
  let records = 0;
  /** @type {Finding[]} */
  const findings = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".json")) continue;
    const record = JSON.parse(readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
    for (const affected of record.affected ?? []) {
      if (affected.package?.ecosystem !== "npm") continue;
      records++;
      if (record.withdrawn !== undefined) continue;
      for (const { name, version } of versions.get(affected.package.name) ?? [])
        if (isAffected(version, affected))
          findings.push({
            id: record.id,
            name,
            version,
            severity: String(record.database_specific?.severity ?? "unknown").toLowerCase(),
          });
    }
  }
  return { records, findings };
}

/**
 * OSV: a version is affected if it is listed, or within a range: introduced ≤ version < fixed, or ≤ last_affected.
 * @param {string} version @param {{ versions?: string[], ranges?: { type: string, events: OsvEvent[] }[] }} affected
 */
export function isAffected(version, { versions = [], ranges = [] }) {
  if (versions.includes(version)) return true;
  return ranges.some(({ type, events }) => {
    if (type === "GIT") return false;
    let inside = false;
    const at = (/** @type {OsvEvent} */ one) =>
      one.introduced ?? one.fixed ?? one.last_affected ?? "0";
    for (const event of events.toSorted((a, b) => compareVersions(at(a), at(b)))) {
      if (event.introduced !== undefined && compareVersions(version, event.introduced) >= 0)
        inside = true;
      if (event.fixed !== undefined && compareVersions(version, event.fixed) >= 0) inside = false;
      if (event.last_affected !== undefined && compareVersions(version, event.last_affected) > 0)
        inside = false;
    }
    return inside;
  });
}

/** Compares by the precedence of semantic versioning; "0" is before everything. @param {string} a @param {string} b */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => {
    const [core = "", ...pre] = (version.split("+")[0] ?? "").split("-");
    return { core: core.split(".").map(Number), pre: pre.join("-").split(".").filter(Boolean) };
  });
  if (left === undefined || right === undefined) return 0;
  for (let at = 0; at < 3; at++) {
    const difference = (left.core[at] ?? 0) - (right.core[at] ?? 0);
    if (difference !== 0) return difference;
  }
  // A pre-release comes before its release.
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  for (let at = 0; at < Math.max(left.pre.length, right.pre.length); at++) {
    const [one, other] = [left.pre[at], right.pre[at]];
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
    if (one === other) continue;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
    if (isNumber && isOtherNumber) return Number(one) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return 0;
}
