// Starts a program of the demo application with the addresses of Redis and PostgreSQL, whose passwords are mounted secrets:
// so they are in no environment that `docker inspect` would show. It must never print one.
//
//   node demo-app.mjs gateway|worker|ml|load [ARGUMENTS]
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

const SECRETS = process.env["SECRETS_FOLDER"] ?? "/run/secrets";

/** @param {string} variable @param {string} secret @param {(password: string) => string} address */
function setAddress(variable, secret, address) {
  const file = `${SECRETS}/${secret}`;
  if (process.env[variable] !== undefined || !existsSync(file)) return;
  process.env[variable] = address(encodeURIComponent(readFileSync(file, "utf8").trim()));
}

setAddress("REDIS_URL", "redis_password", (password) => `redis://:${password}@redis:6379`);
setAddress(
  "DATABASE_URL",
  "postgres_password",
  (password) => `postgresql://gpulse:${password}@postgres:5432/gpulse`,
);
const [name, ...rest] = process.argv.slice(2);
const program = new URL(`./${name}/main.mjs`, import.meta.url);
if (name === undefined || !/^[a-z]+$/.test(name) || !existsSync(program)) {
  process.stderr.write("demo-app: name a program: gateway, worker, ml or load\n");
  process.exit(2);
}
// The program reads its arguments where they would stand if it had been started itself.
process.argv.splice(2, process.argv.length, ...rest);
await import(program.href);
