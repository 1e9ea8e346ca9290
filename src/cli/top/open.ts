/** Opens the feed: this machine, an agent or a hub, depending on the flags. */
import { createCollector, sourceContext } from "../../agent/run.ts";
import { clientAccess } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { resolveSettings } from "../command/settings.ts";
import { createOwnerResolver } from "../../machine/owners/resolver.ts";
import { openSources, resolveAuto } from "../../sources/open.ts";
import { AgentFeed } from "../../top/feed/agent.ts";
import type { Feed, FeedEvents } from "../../top/feed/feed.ts";
import { HubFeed } from "../../top/feed/hub.ts";
import { LocalTasks } from "../../top/feed/local-tasks.ts";
import { LocalFeed } from "../../top/feed/local.ts";
import { Peer, kindOf } from "../../top/feed/peer.ts";
import { FeedState } from "../../top/model/feed-state.ts";
import { withRunMetrics } from "../run/sources.ts";
import type { TopFlags } from "./run.ts";

export interface OpenedFeed {
  readonly board: FeedState;
  readonly feed: Feed;
  /** The procfs for looking up processes; undefined if the data comes from another machine. */
  readonly procfs: string | undefined;
  readonly intervalMs: number;
}

const nowMs = (): number => Date.now();

export async function openFeed(
  flags: TopFlags,
  io: CommandIo,
  changed: () => void,
): Promise<OpenedFeed> {
  const settings = await resolveSettings("agent", { ...flags }, io.env);
  const { intervalMs } = settings;
  const eventsFor = (board: FeedState): FeedEvents => ({
    update: (update) => {
      board.update(update, nowMs());
      changed();
    },
    recall: (fleet) => board.recall(fleet),
    link: (link) => {
      board.link(link);
      changed();
    },
  });
  if (flags.url !== undefined) {
    const peer = new Peer(flags.url, clientAccess(flags, io.env));
    const origin = await kindOf(peer);
    // A hub has a fixed interval.
    const beatMs = origin === "hub" ? 1_000 : intervalMs;
    const board = new FeedState({ from: peer.name, origin, intervalMs: beatMs });
    const shared = { peer, nowMs, random: Math.random };
    const feed =
      origin === "hub"
        ? new HubFeed(shared, eventsFor(board))
        : new AgentFeed({ ...shared, intervalMs, version: io.version }, eventsFor(board));
    return { board, feed, procfs: undefined, intervalMs: beatMs };
  }
  // Log lines would corrupt the screen, which shows the problems of sources itself.
  const log = commandLog(io, flags.once === true ? settings.logLevel : "silent", false);
  const context = sourceContext(settings, log);
  const specs = await resolveAuto(settings.sources, context);
  const sources = await openSources(specs.map(withRunMetrics), context);
  const collector = createCollector(settings, sources, io, log);
  const board = new FeedState({ from: settings.hostName, origin: "local", intervalMs });
  const resolver = createOwnerResolver({ procfs: settings.procfs, nowMs, log });
  const feed = new LocalFeed(
    {
      collector,
      host: settings.hostName,
      version: io.version,
      intervalMs,
      nowMs,
      tasks: new LocalTasks(resolver, settings.procfs, nowMs),
    },
    eventsFor(board),
  );
  return { board, feed, procfs: settings.procfs, intervalMs };
}
