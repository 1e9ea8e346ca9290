/**
 * The child of the lock tests: opens the store in DIR and prints `open`, or `refused` and why; then appends a sample every
 * 20 ms and prints how many were acknowledged, or `stopped` and why. `holder DIR NAME`
 */
import { silentLog } from "../../src/base/log.ts";
import { labelSet } from "../../src/model/labels.ts";
import { openStore, type Store } from "../../src/storage/embedded/store.ts";

const [dir = "", name = ""] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function append(store: Store, count: number): void {
  const appender = store.appender();
  appender.add(appender.ref(labelSet({ __name__: name })), 1_700_000_000_000 + count * 1000, count);
  appender.commit();
}

try {
  const store = await openStore({
    dir,
    retentionMs: 1e15,
    memoryBytes: 1_000_000,
    durability: "process",
    log: silentLog,
    nowMs: () => Date.now(),
    workerFile: false,
  });
  say("open");
  let count = 0;
  const timer = setInterval(() => {
    try {
      append(store, count++);
      say(String(count));
    } catch (thrown) {
      clearInterval(timer);
      say(`stopped ${String(thrown)}`);
    }
  }, 20);
} catch (thrown) {
  say(`refused ${String(thrown)}`);
}
