import { inSnapshot } from '@odograph/database/batches';
import { historyMembers } from '@odograph/database/reading-json';
import type { Tables } from '@odograph/database/tables';
import { startOf } from '@odograph/event-list/cursor';
import { findEventHeads, readEventsOf } from '@odograph/event-list/read-events';
import { findPage as findChanges, findFeedState, readChanges } from '@odograph/event-list/reading-changes';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { findVehicles } from './live/queries.ts';
import {
  type FilledDatabase,
  fillDatabase,
  from,
  nodesOf,
  openExplained,
  until,
  writePlan,
} from './query-plans.fixture.ts';
import { latestCustomCan } from './reads/customcan.ts';
import { listVehicles } from './reads/latest.ts';
import { readNewest } from './reads/records.ts';
import { readBuckets } from './reads/series.ts';
import { readPositions } from './reads/trail.ts';
import { readTrips } from './reads/trips.ts';
import { readTable } from './reads/vehicle-table-queries.ts';
import { parseFields } from './shared/fields.ts';
import { findPage, readPage } from './shared/reading-page.ts';
import { scopeOfCaller, scopeOfVehicle, type VehicleScope } from './shared/vehicle-scope.ts';

let own: OwnDatabase;
let explained: ReturnType<typeof openExplained>;
let filled: FilledDatabase;
beforeAll(async () => {
  own = await createOwnDatabase('plans');
  explained = openExplained(own.url);
  filled = await fillDatabase(explained.db);
});
afterAll(async () => {
  await explained.db.destroy();
  await own.drop();
});

type Read = (db: Kysely<Tables>) => Promise<unknown>;

const caller = () => ({ applicationId: filled.applicationId });
const vehicleId = () => filled.vehicleIds[7] ?? 0;
const day = 86_400_000_000n;
const maxBytes = 100_000;

/** Reads a page of history, as the routes do. */
function history(findScope: (db: Kysely<Tables>) => Promise<VehicleScope>, offset = 0): Read {
  return async (db) => {
    const scope = await findScope(db);
    await inSnapshot(db, async (snapshot) => {
      const page = await findPage(snapshot, scope, { from: from + day, until: until - day, offset, limit: 100 });
      if (page) await readPage(snapshot, scope, page, { members: historyMembers }, maxBytes, () => undefined);
    });
  };
}

const reads: Readonly<Record<string, Read>> = {
  'history of one vehicle': history((db) => scopeOfVehicle(db, caller(), String(vehicleId()))),
  'history of all vehicles': history((db) => scopeOfCaller(db, caller())),
  'history of all vehicles from an offset': history((db) => scopeOfCaller(db, caller()), 2000),
  'latest state': (db) => listVehicles('combined', caller(), sql<boolean>`true`, 0).execute(db),
  'latest CAN data': (db) => latestCustomCan(caller(), 0).execute(db),
  'table of vehicles': (db) =>
    readTable(
      db,
      {
        viewer: { applicationIds: [filled.applicationId] },
        states: ['moving', 'parked', 'silent', 'private'],
        sort: { column: 'plate', isDescending: false },
      },
      undefined,
      100,
    ),
  trips: (db) =>
    inSnapshot(db, (snapshot) =>
      readTrips(
        snapshot,
        { vehicleId: vehicleId(), from: from + day, until: until - day, offset: 0, limit: 20 },
        undefined,
        maxBytes,
      ),
    ),
  'buckets of a series': (db) =>
    readBuckets(db, {
      vehicleId: vehicleId(),
      fields: parseFields('speed'),
      from: from + day,
      until: until - day,
      points: 100,
    }),
  trail: (db) => readPositions(db, vehicleId(), { from: until - 3n * day, until: until - 2n * day }),
  'newest readings': (db) => readNewest(db, vehicleId(), until, 50),
  'changes of readings': (db) =>
    inSnapshot(db, async (snapshot) => {
      const { applicationId } = caller();
      const { epoch, horizon } = await findFeedState(snapshot, [applicationId], ['changes']);
      const page = await findChanges(snapshot, {
        applicationId,
        areFew: false,
        after: startOf(epoch, 300n),
        horizon,
        limit: 100,
      });
      await readChanges(snapshot, page, new Map(), maxBytes);
    }),
  'list of events': async (db) => {
    const applicationIds = [filled.applicationId];
    const start = await readEventsOf(db, { applicationIds }, { after: undefined, limit: 100, cursorName: 'after' });
    const after = startOf(start.next.epoch, 50n);
    await readEventsOf(
      db,
      { applicationIds },
      { after, limit: 100, types: new Set(['trip.finished']), cursorName: 'after' },
    );
  },
  'stream: heads of the lists': (db) => findEventHeads(db, [filled.applicationId], [filled.applicationId]),
  'stream: changed vehicles': (db) => findVehicles(db, filled.vehicleIds.slice(0, 3)),
};

/** Tables that grow with the installation. Scanning one whole takes seconds. */
const growing = /hyper_.*_chunk$|^(event|reading_change|trip|vehicle|vehicle_latest|device_link|alarm|privacy_period)$/;

const plans: string[] = [];
const wholeScans: string[] = [];
beforeAll(async () => {
  for (const [name, read] of Object.entries(reads)) {
    const found = await explained.explain(read);
    plans.push(`## ${name}\n${found.map((plan) => writePlan(plan)).join('\n')}`);
    const whole = found
      .flatMap(nodesOf)
      .filter((node) => node['Node Type'] === 'Seq Scan' && growing.test(node['Relation Name'] ?? ''));
    wholeScans.push(...whole.map((node) => `${name}: ${node['Relation Name']}`));
  }
});

it('reads every growing table by an index in each hot query', () => {
  expect(plans.filter((plan) => plan.includes('Index'))).toHaveLength(Object.keys(reads).length);
  expect(wholeScans).toEqual([]);
});

// Another version of PostgreSQL may join in another order. Review changed plans, then run this file with --update.
it.skipIf(inject('isNativeDatabase'))('plans hot queries as kept in query-plans.txt', async () => {
  await expect(plans.join('\n')).toMatchFileSnapshot('query-plans.txt');
});
