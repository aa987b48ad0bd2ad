import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import { addUsage, type SourceUsage } from './queries.ts';

const writeIntervalMs = 2000;
/** Pairs of source and device remembered as written; with more, they are written again. */
const maximumPairs = 500_000;

interface Usage {
  lastSeenMs: number;
  messages: number;
  unknownMessages: number;
  refusedRequests: number;
  readonly deviceIds: Set<string>;
}

/** Counts what sources send, and writes the counts every 2 s; a killed process loses those that are not written yet. */
export class UsageCounts {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #writtenPairs = new Set<string>();
  #counted = new Map<string, Usage>();
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
    this.#timer = setInterval(() => void this.write(), writeIntervalMs);
  }

  /** @param deviceIds known devices among those of the messages */
  accepted(sourceId: string, counts: { messages: number; unknownMessages: number; deviceIds: Iterable<string> }): void {
    const usage = this.#of(sourceId);
    usage.messages += counts.messages;
    usage.unknownMessages += counts.unknownMessages;
    for (const deviceId of counts.deviceIds) {
      if (!this.#writtenPairs.has(`${sourceId} ${deviceId}`)) usage.deviceIds.add(deviceId);
    }
  }

  refused(sourceId: string): void {
    this.#of(sourceId).refusedRequests += 1;
  }

  /** Writes the counts; those that cannot be written are kept. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }

  #of(sourceId: string): Usage {
    const usage = this.#counted.get(sourceId) ?? {
      ...{ messages: 0, unknownMessages: 0, refusedRequests: 0, lastSeenMs: 0 },
      deviceIds: new Set<string>(),
    };
    usage.lastSeenMs = Date.now();
    this.#counted.set(sourceId, usage);
    return usage;
  }

  async #write(): Promise<void> {
    if (this.#counted.size === 0) return;
    const counted = this.#counted;
    this.#counted = new Map();
    const usage: SourceUsage[] = [...counted].map(([sourceId, one]) => ({
      ...{ ...one, sourceId, deviceIds: [...one.deviceIds] },
    }));
    try {
      await addUsage(this.#db, usage);
      if (this.#writtenPairs.size > maximumPairs) this.#writtenPairs.clear();
      for (const { sourceId, deviceIds } of usage) {
        for (const deviceId of deviceIds) this.#writtenPairs.add(`${sourceId} ${deviceId}`);
      }
    } catch (err) {
      this.#logger.warn({ err }, 'counts of sources not written; trying again');
      for (const { sourceId, ...counts } of usage) {
        this.accepted(sourceId, counts);
        this.#of(sourceId).refusedRequests += counts.refusedRequests;
      }
    }
  }
}
