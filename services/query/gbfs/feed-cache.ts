import { Failure } from '@odograph/contracts/failures';
import { inSnapshot } from '@odograph/database/batches';
import type { Tables } from '@odograph/database/tables';
import type { Kysely } from 'kysely';
import { type Feed, type FeedName, writeFeeds } from './feeds.ts';
import { findShapes, findSpots, findSystem, findVehicles } from './queries.ts';

type Feeds = ReadonlyMap<FeedName, Feed>;

interface Computation {
  readonly feeds: Promise<Feeds>;
  /** Monotonic clock; infinite while it is under way. */
  validUntilMs: number;
}

/** Computes the feeds of each system at most once in its TTL, however many clients ask. */
export class FeedCache {
  readonly #db: Kysely<Tables>;
  readonly #bySystem = new Map<string, Computation>();

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** Returns the feeds of a system. @throws Failure NOT_FOUND if nothing is published under the id */
  read(systemId: string): Promise<Feeds> {
    const known = this.#bySystem.get(systemId);
    if (known && performance.now() < known.validUntilMs) return known.feeds;
    const computation: Computation = { feeds: this.#compute(systemId), validUntilMs: Number.POSITIVE_INFINITY };
    this.#bySystem.set(systemId, computation);
    // Failures are not kept: the next request tries again. Nor are ids that nobody publishes, which anyone can make up.
    computation.feeds.then(
      (feeds) => {
        const ttlSeconds = feeds.get('vehicle_status')?.ttlSeconds ?? 0;
        computation.validUntilMs = performance.now() + ttlSeconds * 1000;
      },
      () => this.#bySystem.delete(systemId),
    );
    return computation.feeds;
  }

  async #compute(systemId: string): Promise<Feeds> {
    return inSnapshot(this.#db, async (snapshot) => {
      const system = await findSystem(snapshot, { systemId });
      if (!system) throw new Failure('NOT_FOUND', 'no such system');
      const readAt = new Date();
      const vehicles = await findVehicles(snapshot, system, true);
      const spots = await findSpots(snapshot, system);
      const shapes = await findShapes(snapshot, system);
      return writeFeeds({ system, vehicles, spots, shapes, readAt });
    });
  }
}
