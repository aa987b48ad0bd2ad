import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Viewer } from '@odograph/contracts/caller';
import type { EventType } from '@odograph/contracts/events';
import { Failure, invalidParameter, tooManyRequests } from '@odograph/contracts/failures';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, Gauge, type Registry } from '@odograph/runtime/metrics';
import type { Kysely } from 'kysely';
import { type EventFollower, EventFollowers, type FollowedEvents } from './event-followers.ts';
import { EventStream, type EventStreamOptions, parseLastEventId } from './event-stream.ts';
import { FleetView, isVisible, type Scope, type ViewRequest } from './fleet-view.ts';
import { LiveUpdates, type RecentEvent } from './live-updates.ts';
import { findApplicationIds, findVisibleIds } from './queries.ts';

const maxStreams = 1000;
const maxStreamsPerPerson = 20;
/**
 * Each stream checks its session and grants this often: every second with up to 200 streams, every five with 1,000, so that
 * the checks of a process take at most 200 statements a second.
 */
const checkMs = (streams: number): number => Math.max(1000, 5 * streams);
/** While the database is unavailable, a session is trusted for this long. */
const maxUncheckedMs = 60_000;
/** A client that has read nothing for so many heartbeats is disconnected. */
const maxHeartbeatsMissed = 4;
/** How long the fleet stays in memory after the last stream. */
const keptMs = 60_000;
/** Changes shortly before the cursor are sent again, since the clocks of processes differ. */
const overlapMs = 10_000;
const failingMs = 30_000;

/** The request of a client. */
export interface StreamRequest {
  /** Identifies the person or program whose streams are counted together. */
  readonly person: string;
  readonly view: ViewRequest | undefined;
  readonly events: ReadonlySet<RecentEvent['event']>;
  /** Requested types of the list of events. */
  readonly listTypes: ReadonlySet<EventType>;
  /** The only vehicles whose events of the list are requested; all without it. */
  readonly listVehicleIds: ReadonlySet<number> | undefined;
  /** The header Last-Event-ID. */
  readonly lastEventId: string | undefined;
  /** Whether the answer ends as soon as the client is up to date. */
  readonly isOnce: boolean;
  /** Finds the rights of the client. @throws Failure when its session has ended */
  findViewer(): Promise<Viewer>;
}

export interface LiveStreamsOptions {
  readonly db: Kysely<Tables>;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly heartbeatMs: number;
}

/** Identifies the content of a stream, so that a cursor is not used for another one. */
function fingerprintOf({ applicationIds, vehicleIds }: Scope, { view, events }: StreamRequest): string {
  const scope = [applicationIds ? [...applicationIds] : null, vehicleIds ? [...vehicleIds] : null];
  const shown = view ? [view.area, view.zoom, [...view.followed]] : null;
  const text = JSON.stringify([scope, shown, [...events].sort()]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The current state that a stream shows. */
interface Present extends Pick<EventStreamOptions, 'view' | 'shows' | 'hasMissed' | 'nextEventId'> {
  /** Commands and alarms that changed while the client was away. */
  readonly missed: readonly RecentEvent[];
  /** @returns whether the client may see other vehicles now */
  changeScope(scope: Scope): boolean;
}

const nothing: Present = {
  ...{ view: undefined, missed: [], hasMissed: false, shows: () => false, nextEventId: () => '' },
  changeScope: () => false,
};

/** All streams of this process, and the fleet that they show. */
export class LiveStreams {
  readonly #options: LiveStreamsOptions;
  readonly #failures: Counter;
  readonly #streams = new Set<EventStream>();
  readonly #byPerson = new Map<string, number>();
  readonly #followers: EventFollowers;
  #updates: LiveUpdates | undefined;
  #release: NodeJS.Timeout | undefined;

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
    const streams = this.#streams;
    new Gauge({
      name: 'odograph_live_streams',
      help: 'Open live streams',
      registers: [options.metrics],
      collect() {
        this.set(streams.size);
      },
    });
    this.#failures = new Counter({
      name: 'odograph_live_update_failures_total',
      help: 'Failures to read changes for live streams',
      registers: [options.metrics],
    });
    this.#followers = new EventFollowers({ ...options, failures: this.#failures });
  }

  /** Describes a failure to update open streams; undefined while they are up to date. */
  get fault(): string | undefined {
    const presentMs = this.#streams.size > 0 ? (this.#updates?.ageMs ?? 0) : 0;
    const ageMs = Math.max(presentMs, this.#followers.ageMs);
    return ageMs > failingMs ? `live streams not updated for ${Math.floor(ageMs / 1000)} s` : undefined;
  }

  /** Opens a stream. @throws Failure TOO_MANY_REQUESTS, OVERLOADED beyond the limits */
  async open(request: StreamRequest, viewer: Viewer): Promise<EventStream> {
    const leave = this.#enter(request.person);
    try {
      const scope = await this.#findScope(viewer);
      const showsPresent = request.view !== undefined || request.events.size > 0;
      const updates = showsPresent ? await this.#load() : undefined;
      const list = await this.#followList(viewer, scope, request);
      // Nothing is awaited from here on: a view misses the changes before its stream is added.
      const present = updates ? this.#createPresent(updates, scope, request) : nothing;
      const stream = this.#createStream(present, list, request);
      stream.once('close', leave);
      return stream;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Ends all streams, so that the process can stop. */
  endAll(): void {
    for (const stream of this.#streams) stream.end();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#release);
    for (const stream of this.#streams) stream.destroy();
    await this.#followers.stop();
    await this.#updates?.stop();
  }

  /** Counts a stream of a person. @returns a function that ends its count */
  #enter(person: string): () => void {
    const open = this.#byPerson.get(person) ?? 0;
    if (open >= maxStreamsPerPerson) throw tooManyRequests(this.#options.heartbeatMs);
    const all = [...this.#byPerson.values()].reduce((sum, count) => sum + count, 0);
    if (all >= maxStreams) throw new Failure('OVERLOADED', 'too many streams', { retryAfterSeconds: 15 });
    this.#byPerson.set(person, open + 1);
    return () => {
      const left = (this.#byPerson.get(person) ?? 1) - 1;
      if (left === 0) this.#byPerson.delete(person);
      else this.#byPerson.set(person, left);
      this.#releaseLater();
    };
  }

  /** Loads the fleet for the first stream. @throws when the database is unavailable */
  async #load(): Promise<LiveUpdates> {
    clearTimeout(this.#release);
    this.#updates ??= new LiveUpdates({
      ...this.#options,
      failures: this.#failures,
      onUpdate: (changes, events) => {
        for (const stream of this.#streams) stream.apply(changes, events);
      },
    });
    const updates = this.#updates;
    try {
      await updates.loaded;
      return updates;
    } catch (error) {
      if (this.#updates === updates) this.#updates = undefined;
      await updates.stop();
      throw error;
    }
  }

  #releaseLater(): void {
    if (this.#byPerson.size > 0) return;
    clearTimeout(this.#release);
    this.#release = setTimeout(() => {
      const updates = this.#updates;
      this.#updates = undefined;
      void updates?.stop();
    }, keptMs).unref();
  }

  async #findScope(viewer: Viewer): Promise<Scope> {
    const { applicationIds, userId, groups } = viewer;
    const seesAll = userId === undefined && groups === undefined;
    const vehicleIds = seesAll ? undefined : new Set(await findVisibleIds(this.#options.db, viewer));
    return { applicationIds: applicationIds && new Set([...applicationIds].sort((a, b) => a - b)), vehicleIds };
  }

  /** Follows the list from the cursor of the client. @throws Failure for an invalid or expired cursor */
  async #followList(viewer: Viewer, scope: Scope, request: StreamRequest): Promise<EventFollower | undefined> {
    if (request.listTypes.size === 0) return undefined;
    const after = parseLastEventId(request.lastEventId ?? '').list;
    if (!after && request.lastEventId !== undefined) {
      throw invalidParameter('Last-Event-ID', 'is of a stream that does not show the list of events');
    }
    return this.#followers.follow(await this.#findFollowed(viewer, scope, request), request.listTypes, after);
  }

  async #findFollowed(
    { userId }: Viewer,
    { applicationIds, vehicleIds }: Scope,
    { listVehicleIds }: StreamRequest,
  ): Promise<FollowedEvents> {
    const asked = listVehicleIds && [...listVehicleIds].filter((id) => vehicleIds?.has(id) !== false);
    return {
      applicationIds: applicationIds ? [...applicationIds] : await findApplicationIds(this.#options.db),
      userId,
      vehicleIds: asked ?? (vehicleIds && [...vehicleIds]),
    };
  }

  /** Resumes the current state from the cursor of the client, or begins with a snapshot. */
  #createPresent(updates: LiveUpdates, scope: Scope, request: StreamRequest): Present {
    let current = { scope, fingerprint: fingerprintOf(scope, request) };
    const given = parseLastEventId(request.lastEventId ?? '');
    const reason = request.lastEventId === undefined ? 'START' : 'EXPIRED';
    const view = request.view && new FleetView(updates.fleet, scope, request.view, reason);
    const nameOf = () => current.fingerprint + (view ? view.mode.charAt(0) : 'e');
    const canResume = given.shown === nameOf() && (given.positionMs ?? 0) >= updates.knownFromMs;
    const sinceMs = canResume ? given.positionMs : undefined;
    const missed = sinceMs === undefined ? undefined : updates.events.changedSince(sinceMs - overlapMs);
    const changed = sinceMs === undefined ? undefined : updates.fleet.changedSince(sinceMs, overlapMs);
    if (changed && missed) view?.resume(changed);
    return {
      view,
      missed: missed ?? [],
      hasMissed: reason === 'EXPIRED' && !view && !missed,
      nextEventId: () => `${updates.positionMs}-${nameOf()}`,
      shows: ({ event, vehicleId }) => {
        const vehicle = request.events.has(event) ? updates.fleet.find(vehicleId) : undefined;
        return vehicle !== undefined && isVisible(current.scope, vehicle);
      },
      changeScope: (next) => {
        const fingerprint = fingerprintOf(next, request);
        if (fingerprint === current.fingerprint) return false;
        current = { scope: next, fingerprint };
        return true;
      },
    };
  }

  #createStream(present: Present, list: EventFollower | undefined, request: StreamRequest): EventStream {
    const stream = new EventStream({ ...present, list, isOnce: request.isOnce });
    stream.apply([], present.missed);
    this.#streams.add(stream);
    const stopChecks = this.#checkRegularly(stream, request, async (viewer) => {
      const scope = await this.#findScope(viewer);
      if (present.changeScope(scope)) stream.changeScope(scope);
      const followed = list && (await this.#findFollowed(viewer, scope, request));
      if (followed && !isDeepStrictEqual(followed, list.shown)) list.changeScope(followed);
    });
    stream.once('close', () => {
      stopChecks();
      this.#streams.delete(stream);
      if (list) this.#followers.leave(list);
    });
    return stream;
  }

  /** Sends heartbeats, and checks the session and its rights. @returns a function that stops both */
  #checkRegularly(
    stream: EventStream,
    { findViewer }: StreamRequest,
    check: (viewer: Viewer) => Promise<void>,
  ): () => void {
    const heartbeat = setInterval(() => {
      if (stream.heartbeat() >= maxHeartbeatsMissed) stream.destroy(new Error('client does not read'));
    }, this.#options.heartbeatMs);
    const closed = new AbortController();
    const checkRepeatedly = async (): Promise<void> => {
      let checkedAtMs = performance.now();
      for (;;) {
        await delay(checkMs(this.#streams.size), undefined, closed);
        try {
          await check(await findViewer());
          checkedAtMs = performance.now();
        } catch (error) {
          if (error instanceof Failure || performance.now() - checkedAtMs > maxUncheckedMs) return stream.end();
        }
      }
    };
    checkRepeatedly().catch(() => undefined);
    return () => {
      clearInterval(heartbeat);
      closed.abort();
    };
  }
}
