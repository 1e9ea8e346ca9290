// Starts a program of the demo application with the URLs of Redis and PostgreSQL, whose passwords are mounted secrets, so that no
// environment shown by `docker inspect` contains them. Must never print one.
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
// The program expects its arguments at the positions they have when it is started directly.
process.argv.splice(2, process.argv.length, ...rest);
await import(program.href);
