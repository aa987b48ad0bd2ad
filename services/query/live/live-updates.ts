import { once } from 'node:events';
import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';
import { connectRedis, neverRepeated, type Redis } from '@odograph/runtime/redis';
import { ChangeReader, type RecentChanges } from '../shared/change-reader.ts';
import { repeat } from '../shared/repeat.ts';
import { LiveFleet, type VehicleChange } from './live-fleet.ts';
import { type EventOfVehicle, findAllVehicles, findEvents, findVehicles } from './queries.ts';

/** A command or an alarm as it last changed. */
export interface RecentEvent {
  readonly id: string;
  readonly vehicleId: number;
  readonly event: EventOfVehicle['event'];
  /** As the stream sends it. */
  readonly json: string;
  /** UNIX milliseconds. */
  readonly changedAtMs: number;
}

/**
 * Beyond this number, the events that changed longest ago are forgotten, and a client that is further behind is disconnected.
 */
export const maxEvents = 10_000;

/** The commands and alarms that changed last, for clients that resume. */
class RecentEvents {
  /** In the order of their last change. */
  readonly #events = new Map<string, RecentEvent>();
  /** All changes after this time are kept, UNIX milliseconds. */
  #forgottenUntilMs = 0;

  /**
   * Takes in commands and alarms, and returns those that changed.
   * @param ids of those that were read; one that was not found is forgotten: an alarm is deleted when its time becomes private
   * @param changedAtMs when one of them changed, UNIX milliseconds
   */
  update(ids: Iterable<string>, found: readonly EventOfVehicle[], changedAtMs: (id: string) => number): RecentEvent[] {
    const missing = new Set(ids);
    const changed: RecentEvent[] = [];
    for (const { vehicleId, event, data } of found) {
      const json = JSON.stringify(data);
      const { id } = data;
      missing.delete(id);
      if (this.#events.get(id)?.json === json) continue;
      const recent = { id, vehicleId, event, json, changedAtMs: changedAtMs(id) };
      this.#events.delete(id);
      this.#events.set(id, recent);
      changed.push(recent);
    }
    for (const id of missing) this.#events.delete(id);
    for (const [id, oldest] of this.#events) {
      if (this.#events.size <= maxEvents) break;
      this.#events.delete(id);
      this.#forgottenUntilMs = oldest.changedAtMs;
    }
    return changed;
  }

  /** Lists the events that changed since a time; undefined if some of them are forgotten. */
  changedSince(ms: number): RecentEvent[] | undefined {
    if (ms <= this.#forgottenUntilMs) return undefined;
    return [...this.#events.values()].filter(({ changedAtMs }) => changedAtMs >= ms);
  }
}

/** Streams send changes four times a second. */
const intervalMs = 250;
/** The whole fleet is read this often, so that a lost announcement is made good. */
const reloadMs = 60_000;
/** Instead of `reloadMs` while changes cannot be read. */
const blindReloadMs = 5000;
const ageMs = 5000;
const firstConnectionMs = 2000;

interface LiveUpdatesOptions {
  /** The primary, because a standby may lag behind an announcement. */
  readonly db: Database;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly logger: Logger;
  readonly failures: Counter;
  /** Called after the fleet has changed. */
  onUpdate(changes: readonly VehicleChange[], events: readonly RecentEvent[]): void;
}

/**
 * Keeps a LiveFleet up to date: reads the announced changes, and four times a second the state of what changed, in one
 * query for all streams. While Redis or the database is unavailable the fleet stays as it was; it is read whole afterwards.
 */
export class LiveUpdates {
  readonly fleet = new LiveFleet();
  readonly events = new RecentEvents();
  /** Resolves when the fleet is loaded. */
  readonly loaded: Promise<void>;
  readonly #options: LiveUpdatesOptions;
  readonly #redis: Redis;
  readonly #reader: ChangeReader;
  readonly #running: Promise<void>;
  readonly #stopped = new AbortController();
  /** Changed, and still to be read. */
  readonly #vehicleIds = new Set<number>();
  readonly #eventIds = new Set<string>();
  /** Announcements may have been lost. */
  #isBehind = false;
  #positionMs = 0;
  #knownFromMs = 0;
  #updatedAt = performance.now();
  #reloadedAt = 0;
  #agedAt = 0;

  constructor(options: LiveUpdatesOptions) {
    this.#options = options;
    // A read that waited for Redis to return would keep the fleet from being read meanwhile.
    this.#redis = connectRedis(options.redisUrl, options.logger, neverRepeated);
    this.#reader = new ChangeReader(this.#redis, options.prefix);
    this.loaded = this.#load();
    this.#running = this.loaded.then(
      () => this.#run(),
      () => undefined,
    );
  }

  /** The fleet holds all changes announced until then, UNIX milliseconds. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /** Changes before this time may be missing, UNIX milliseconds. */
  get knownFromMs(): number {
    return this.#knownFromMs;
  }

  /** Milliseconds since changes were last read. */
  get ageMs(): number {
    return performance.now() - this.#updatedAt;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#redis.disconnect();
    await this.#running;
  }

  async #load(): Promise<void> {
    const { db } = this.#options;
    const recent = await this.#readRecent();
    this.fleet.load(await findAllVehicles(db), Date.now(), {
      changedAtMs: recent.vehiclesAtMs,
      knownFromMs: recent.fromMs,
    });
    const recentIds = [...recent.eventsAtMs.keys()];
    this.events.update(recentIds, await findEvents(db, recentIds), (id) => recent.eventsAtMs.get(id) ?? 0);
    this.#knownFromMs = recent.fromMs;
    this.#positionMs = this.#reader.positionMs;
    this.#reloadedAt = this.#updatedAt = performance.now();
  }

  /** Reads the changes that browsers may have missed; without Redis, none of them can resume. */
  async #readRecent(): Promise<RecentChanges> {
    const signal = AbortSignal.timeout(firstConnectionMs);
    if (this.#redis.status !== 'ready') await once(this.#redis, 'ready', { signal }).catch(() => undefined);
    try {
      return await this.#reader.readRecent();
    } catch (error) {
      this.#fail(error);
      return { vehiclesAtMs: new Map(), eventsAtMs: new Map(), fromMs: Date.now() };
    }
  }

  #run(): Promise<void> {
    return repeat({
      signal: this.#stopped.signal,
      intervalMs,
      step: async () => {
        await this.#step();
        this.#updatedAt = performance.now();
      },
      onFailure: async (error) => {
        this.#fail(error);
        await this.#reloadBlindly();
      },
    });
  }

  async #step(): Promise<void> {
    if (this.#isBehind) await this.#reader.recover();
    if (this.#isBehind || performance.now() - this.#reloadedAt > reloadMs) await this.#reload();
    this.#isBehind = false;
    const { vehicleIds, eventIds } = await this.#reader.read();
    for (const id of vehicleIds) this.#vehicleIds.add(id);
    for (const id of eventIds) this.#eventIds.add(id);
    await this.#update();
    if (performance.now() - this.#agedAt < ageMs) return;
    this.#agedAt = performance.now();
    this.#options.onUpdate(this.fleet.age(this.#nowMs()), []);
  }

  async #update(): Promise<void> {
    const { db, onUpdate } = this.#options;
    const readVehicles = new Set(this.#vehicleIds);
    const readEvents = [...this.#eventIds];
    const events = await findEvents(db, readEvents);
    // A vehicle shows the kinds of its open alarms.
    for (const { event, vehicleId } of events) if (event === 'alarm') readVehicles.add(vehicleId);
    const rows = readVehicles.size === 0 ? [] : await findVehicles(db, [...readVehicles]);
    this.#vehicleIds.clear();
    this.#eventIds.clear();
    this.#positionMs = this.#reader.positionMs;
    const nowMs = this.#nowMs();
    const changes = this.fleet.update(readVehicles, rows, nowMs);
    onUpdate(
      changes,
      this.events.update(readEvents, events, () => nowMs),
    );
  }

  async #reload(): Promise<void> {
    const rows = await findAllVehicles(this.#options.db);
    this.#reloadedAt = performance.now();
    this.#options.onUpdate(this.fleet.reload(rows, this.#nowMs()), []);
  }

  /** Reads the fleet while announcements cannot be read: a vehicle that became private must not stay visible. */
  async #reloadBlindly(): Promise<void> {
    if (performance.now() - this.#reloadedAt < blindReloadMs) return;
    await this.#reload().catch((error: unknown) => this.#fail(error));
  }

  /** Not before the last announcement, whose time is that of Redis. */
  #nowMs(): number {
    return Math.max(Date.now(), this.#reader.positionMs);
  }

  #fail(error: unknown): void {
    const { logger, failures } = this.#options;
    failures.inc();
    if (!this.#isBehind) logger.warn({ err: error }, 'changes for live streams not read, retrying');
    this.#isBehind = true;
  }
}
