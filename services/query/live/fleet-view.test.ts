import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrowserState } from './event-client.fixture.ts';
import { createFleet, row, showAll } from './fleet.fixture.ts';
import { FleetView, type Scope, type ViewRequest } from './fleet-view.ts';
import type { LiveFleet, LiveRow } from './live-fleet.ts';

/** Delivers what a browser has still to receive, at most `maxEvents` events. */
function deliver(view: FleetView, browser: BrowserState, maxEvents = Number.POSITIVE_INFINITY): number {
  let delivered = 0;
  for (; delivered < maxEvents; delivered += 1) {
    const next = view.take();
    if (!next) break;
    browser.apply(next.event, JSON.parse(next.data));
  }
  return delivered;
}

const shown = ({ mode, vehicles, cells }: BrowserState) => ({
  mode,
  vehicles: Object.fromEntries(vehicles),
  cells: Object.fromEntries(cells),
});

function freshly(fleet: LiveFleet, scope: Scope, request: ViewRequest, limit?: number) {
  const browser = new BrowserState();
  deliver(new FleetView(fleet, scope, request, 'START', limit), browser);
  return shown(browser);
}

interface Values extends Pick<LiveRow, 'id' | 'isPrivate' | 'latitude' | 'ignition' | 'contactAtMs'> {
  readonly longitude: number;
}

/** A row as the database gives it: what is private has no position. */
const rowOf = ({ id, ...given }: Values): LiveRow =>
  row(id, { ...given, applicationId: 1 + (id % 2), ...(given.isPrivate && { latitude: null, longitude: null }) });
const rowsOf = (list: readonly Values[]): LiveRow[] => [...new Map(list.map((one) => [one.id, rowOf(one)])).values()];

const vehicleId = fc.integer({ min: 1, max: 12 });
const values = fc.record({
  id: vehicleId,
  isPrivate: fc.boolean(),
  latitude: fc.option(fc.double({ min: 40, max: 50, noNaN: true })),
  longitude: fc.double({ min: -180, max: 180, noNaN: true }),
  ignition: fc.boolean(),
  contactAtMs: fc.integer({ min: 0, max: 1e6 }),
});
const areas = fc.constantFrom(
  undefined,
  { west: -10, south: 40, east: 20, north: 50 },
  { west: 100, south: 42, east: -100, north: 49 },
);
const limit = 5;

/** A fleet that one browser watches. */
class Watched {
  readonly fleet: LiveFleet;
  readonly browser = new BrowserState();
  readonly #request: ViewRequest;
  #scope = showAll;
  #view: FleetView;
  #nowMs = 2000;

  constructor(first: readonly Values[], request: ViewRequest) {
    this.fleet = createFleet(rowsOf(first));
    this.#request = request;
    this.#view = new FleetView(this.fleet, showAll, request, 'START', limit);
  }

  read(maxEvents: number): void {
    deliver(this.#view, this.browser, maxEvents);
  }

  change(list: readonly Values[]): void {
    this.#nowMs += 1000;
    const rows = rowsOf(list);
    this.#view.apply(
      this.fleet.update(
        rows.map(({ id }) => id),
        rows,
        this.#nowMs,
      ),
    );
  }

  leave(ids: readonly number[]): void {
    this.#nowMs += 1000;
    this.#view.apply(this.fleet.update(ids, [], this.#nowMs));
  }

  age(): void {
    this.#nowMs += 700_000;
    this.#view.apply(this.fleet.age(this.#nowMs));
  }

  grant(ids: readonly number[]): void {
    this.#scope = { applicationIds: new Set([1]), vehicleIds: new Set(ids) };
    this.#view.changeScope(this.#scope);
  }

  /** Loses the connection when showAll was received, misses changes, and resumes. */
  reconnect(missed: readonly Values[]): void {
    deliver(this.#view, this.browser);
    const [{ mode }, positionMs] = [this.#view, this.#nowMs];
    this.change(missed);
    this.#view = new FleetView(this.fleet, this.#scope, this.#request, 'EXPIRED', limit);
    const changed = mode === this.#view.mode ? this.fleet.changedSince(positionMs, 0) : undefined;
    if (changed) this.#view.resume(changed);
  }

  /** Delivers showAll. @returns whether the view has nothing left to send */
  readAll(): boolean {
    deliver(this.#view, this.browser);
    return this.#view.isUpToDate;
  }

  /** The state of a browser that opens the page now. */
  get expected() {
    const fresh = (maxEvents: number) => freshly(this.fleet, this.#scope, this.#request, maxEvents);
    // Cells are left only below the limit.
    return fresh(limit).mode === this.#view.mode ? fresh(limit) : fresh(limit - 1);
  }
}

const step: fc.Arbitrary<(watched: Watched) => void> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(values, { maxLength: 6 }).map((list) => (watched: Watched) => watched.change(list)),
  },
  {
    weight: 2,
    arbitrary: fc.array(vehicleId, { maxLength: 4 }).map((ids) => (watched: Watched) => watched.leave(ids)),
  },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: 5 }).map((maxEvents) => (watched: Watched) => watched.read(maxEvents)),
  },
  { weight: 1, arbitrary: fc.constant((watched: Watched) => watched.age()) },
  { weight: 1, arbitrary: fc.array(vehicleId).map((ids) => (watched: Watched) => watched.grant(ids)) },
  {
    weight: 1,
    arbitrary: fc.array(values, { maxLength: 4 }).map((list) => (watched: Watched) => watched.reconnect(list)),
  },
);

describe('what a browser shows', () => {
  it('always ends equal to a fresh snapshot, however slowly it reads and whenever it reconnects', () => {
    const first = fc.array(values, { maxLength: 10 });
    fc.assert(
      fc.property(
        first,
        fc.array(step, { maxLength: 60 }),
        areas,
        fc.array(vehicleId),
        (list, steps, area, followed) => {
          const watched = new Watched(list, { area, zoom: 3, followed: new Set(followed) });
          for (const act of steps) act(watched);
          expect(watched.readAll()).toBe(true);
          expect(shown(watched.browser)).toEqual(watched.expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
