import { changesKeptMs, changesKey, readChanges } from '@odograph/contracts/events';
import type { Redis } from '@odograph/runtime/redis';

const entriesPerRead = 1000;
/** Below the time after which the connection counts as cut. */
const blockMs = 2000;
/** The clocks of this process and of Redis may differ by this much. */
const clockSkewMs = 5000;

/** Ids of what changed. */
export interface ReadChanges {
  readonly vehicleIds: ReadonlySet<number>;
  /** Of commands and alarms. */
  readonly eventIds: ReadonlySet<string>;
}

/** The changes of the last ten minutes. */
export interface RecentChanges {
  /** When vehicles last changed, UNIX milliseconds. */
  readonly vehiclesAtMs: ReadonlyMap<number, number>;
  /** When commands and alarms last changed, UNIX milliseconds. */
  readonly eventsAtMs: ReadonlyMap<string, number>;
  /** All changes since then are included, UNIX milliseconds. */
  readonly fromMs: number;
}

type Entry = readonly [id: string, fields: readonly string[]];

const timeOf = (id: string): number => Number(id.split('-', 1)[0]);

function isBefore(one: string, other: string): boolean {
  const [oneMs = 0, oneNumber = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return oneMs < otherMs || (oneMs === otherMs && oneNumber < otherNumber);
}

/** Reads the stream of contracts/changes.ts, on a connection of its own. */
export class ChangeReader {
  readonly #redis: Redis;
  readonly #key: string;
  #last = '0-0';
  #positionMs = 0;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = changesKey(prefix);
  }

  /** The time until which everything was read, UNIX milliseconds. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /** Reads the changes of the last ten minutes; later reads continue behind them. @throws while Redis is unavailable */
  async readRecent(): Promise<RecentChanges> {
    const vehiclesAtMs = new Map<number, number>();
    const eventsAtMs = new Map<string, number>();
    const startMs = Date.now() - changesKeptMs;
    const [oldest] = await this.#range('-', 1);
    const isTrimmed = oldest === undefined || timeOf(oldest[0]) > startMs;
    this.#last = await this.#findEnd();
    for (let start = String(startMs); ; start = `(${this.#last}`) {
      const entries = await this.#range(start, entriesPerRead);
      for (const [id, fields] of entries) {
        const { vehicleIds, commandIds, alarmIds } = readChanges(fields);
        for (const vehicleId of vehicleIds) vehiclesAtMs.set(vehicleId, timeOf(id));
        for (const eventId of [...commandIds, ...alarmIds]) eventsAtMs.set(eventId, timeOf(id));
        this.#last = id;
      }
      if (entries.length < entriesPerRead) break;
    }
    this.#positionMs = Date.now() - clockSkewMs;
    const knownMs = oldest === undefined ? Date.now() : timeOf(oldest[0]);
    return { vehiclesAtMs, eventsAtMs, fromMs: isTrimmed ? knownMs : startMs };
  }

  /**
   * Continues at the end of the stream if Redis has lost what was read, so that new entries with lower ids are found.
   * @throws while Redis is unavailable
   */
  async recover(): Promise<void> {
    const end = await this.#findEnd();
    if (isBefore(end, this.#last)) this.#last = end;
  }

  /** Reads new changes; waits up to two seconds for the first. @throws while Redis is unavailable */
  async read(): Promise<ReadChanges> {
    const vehicleIds = new Set<number>();
    const eventIds = new Set<string>();
    const startMs = Date.now();
    const streams = await this.#redis.xread(
      'COUNT',
      entriesPerRead,
      'BLOCK',
      blockMs,
      'STREAMS',
      this.#key,
      this.#last,
    );
    const entries: readonly Entry[] = streams?.[0]?.[1] ?? [];
    for (const [id, fields] of entries) {
      const changes = readChanges(fields);
      for (const vehicleId of changes.vehicleIds) vehicleIds.add(vehicleId);
      for (const eventId of [...changes.commandIds, ...changes.alarmIds]) eventIds.add(eventId);
      this.#last = id;
    }
    // Nothing was added until the read began, or everything that was has been read.
    const readMs = entries.length < entriesPerRead ? startMs - clockSkewMs : 0;
    this.#positionMs = Math.max(this.#positionMs, readMs, entries.length > 0 ? timeOf(this.#last) : 0);
    return { vehicleIds, eventIds };
  }

  async #findEnd(): Promise<string> {
    const [newest] = await this.#redis.xrevrange(this.#key, '+', '-', 'COUNT', 1);
    return newest?.[0] ?? '0-0';
  }

  async #range(start: string, count: number): Promise<readonly Entry[]> {
    return this.#redis.xrange(this.#key, start, '+', 'COUNT', count);
  }
}
