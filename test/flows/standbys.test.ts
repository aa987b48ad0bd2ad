import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackup } from '@odograph/cli/backup/backup';
import { fleetService } from '@odograph/fleet/service';
import { keyOf, openWriters, readAll, storeBatch } from '@odograph/query/live/changes.fixture';
import { EventClient } from '@odograph/query/live/event-client.fixture';
import { queryService } from '@odograph/query/service';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import {
  canReplicate,
  type PostgresCluster,
  type PostgresServer,
  startPostgresCluster,
} from '@odograph/testkit/postgres-cluster';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

let cluster: PostgresCluster;
let standbys: PostgresServer[];
let platform: TestPlatform;
let application: TestApplication;
let vehicleId: string;

const position = async (server: PostgresServer, of: string) =>
  BigInt(String((await server.query(`select (${of} - '0/0')::text as lsn`))[0]?.['lsn']));

/** Waits until standbys have replayed every write. */
async function awaitReplay(servers: readonly PostgresServer[] = standbys): Promise<void> {
  const written = await position(cluster.primary, 'pg_current_wal_flush_lsn()');
  for (const server of servers) {
    await eventually(
      async () => expect(await position(server, 'pg_last_wal_replay_lsn()')).toBeGreaterThanOrEqual(written),
      60_000,
    );
  }
}

const pauseReplay = () => Promise.all(standbys.map((server) => server.query('select pg_wal_replay_pause()')));
const resumeReplay = () => Promise.all(standbys.map((server) => server.query('select pg_wal_replay_resume()')));

/** Reads of each server until now, by its address. */
async function countReads(): Promise<Map<string, number>> {
  const metric = await platform.metrics.getSingleMetric('odograph_query_database_reads')?.get();
  return new Map(metric?.values.map(({ labels, value }) => [String(labels['server']), value]) ?? []);
}
const addressOf = ({ url }: PostgresServer) => new URL(url).host;

/** Runs reads. @returns the server that answered them */
async function serversOf(read: () => Promise<unknown>): Promise<string[]> {
  const before = await countReads();
  await read();
  const after = await countReads();
  return [...after].flatMap(([server, count]) => (count > (before.get(server) ?? 0) ? [server] : []));
}

const stateOfQuery = async () => String((await platform.anonymous.get('/health')).body.services.query.state);
const platesOf = async () => {
  const { status, body } = await platform.as(application.token).get('/v1/x/vehicles');
  expect([status, body.error]).toEqual([200, undefined]);
  return body.vehicles.map(({ plate }: { plate: string }) => plate);
};

describe.skipIf(!canReplicate())('with standbys, reads', () => {
  beforeAll(async () => {
    cluster = await startPostgresCluster();
    standbys = [await cluster.addStandby('one', 'asynchronous'), await cluster.addStandby('two', 'asynchronous')];
    platform = await startTestPlatform(
      [fleetService, queryService],
      { DATABASE_URL: cluster.primary.url, QUERY_DATABASE_URL: standbys.map(({ url }) => url).join(',') },
      { maxStandbyLagMs: 600_000 },
    );
    application = await createApplication(platform.db);
    vehicleId = (await createVehicle(platform.db, application)).id;
    await awaitReplay();
  });
  afterEach(async () => {
    await resumeReplay();
    await awaitReplay();
  });
  afterAll(async () => {
    await platform?.stop();
    await cluster?.stop();
  });

  it('go to a standby', async () => {
    await eventually(async () => {
      const servers = await serversOf(platesOf);
      expect(standbys.map(addressOf)).toEqual(expect.arrayContaining(servers));
    });
    expect(await stateOfQuery()).toMatch(
      /^running; standby \S+ lags \d+\.\d s; standby \S+ lags \d+\.\d s; primary \S+$/,
    );
  });

  it('see every write over HTTP that was answered before, however far the standbys lag', async () => {
    for (let round = 0; round < 10; round += 1) {
      if (round % 2 === 0) await pauseReplay();
      else await resumeReplay();
      const plate = `AB-${round}-CD`;
      const { status } = await platform.admin.put(`/v1/x/admin/vehicles/${vehicleId}`, { plate });
      expect([status, await platesOf()]).toEqual([200, [plate]]);
    }
  });

  it('are refused with a token whose session was ended, although a standby still knows it', async () => {
    const other = await createApplication(platform.db);
    await awaitReplay();
    await pauseReplay();
    const client = platform.as(other.token);
    expect((await client.get('/v1/x/vehicles')).status).toBe(200);
    expect((await platform.admin.delete(`/v1/x/admin/applications/${other.appId}/sessions`)).status).toBe(200);
    expect((await client.get('/v1/x/vehicles')).status).toBe(401);
  });

  it('of the change feed miss nothing, whichever server answers and in whatever order transactions commit', async () => {
    const writers = openWriters(platform, 2);
    const client = platform.as(application.token);
    // The chunk of the readings exists before: creating it locks it.
    await storeBatch(writers, application.id, [[vehicleId, 0]]);
    const seen = new Set<string>();
    let next: string | undefined;
    const follow = async () => {
      const page = await readAll(client, next);
      for (const change of page.changes) seen.add(keyOf(change));
      next = page.next;
    };
    try {
      for (let round = 1; round <= 8; round += 1) {
        const early = await writers.startTransaction().execute();
        await storeBatch(early, application.id, [[vehicleId, 2 * round]]);
        await storeBatch(writers, application.id, [[vehicleId, 2 * round + 1]]);
        await (round % 4 < 2 ? pauseReplay() : resumeReplay());
        await follow();
        await early.commit().execute();
        // After a write, reads go to the primary while replay is paused.
        if (round % 2 === 0) await platform.admin.put(`/v1/x/admin/vehicles/${vehicleId}`, { plate: `F-${round}` });
        await follow();
      }
      const stored = [0, ...Array.from({ length: 16 }, (_, index) => index + 2)];
      await resumeReplay();
      await eventually(async () => {
        await follow();
        expect(seen).toEqual(new Set(stored.map((second) => `${vehicleId} ${second}`)));
      }, 30_000);
    } finally {
      await writers.destroy();
    }
  });

  it('of a live stream show a change that standbys have not replayed yet', async () => {
    const client = await new EventClient(platform.httpUrl, '', { 'x-service-token': application.token }).open();
    try {
      await pauseReplay();
      await platform.admin.put(`/v1/x/admin/vehicles/${vehicleId}`, { plate: 'LIVE-1' });
      await eventually(
        async () => expect(client.state.vehicles.get(vehicleId)).toMatchObject({ plate: 'LIVE-1' }),
        30_000,
      );
    } finally {
      client.close();
    }
  });

  it('of a backup are refused, because locks do not keep a standby from replaying compression', async () => {
    const [standby] = standbys;
    const engines = { databaseUrl: standby?.url ?? '', redisUrl: platform.config.REDIS_URL };
    const backup = createBackup(platform.config, engines, join(tmpdir(), `${vehicleId}.backup`), undefined);
    await expect(backup).rejects.toThrow('the database is a standby');
  });

  it('go to the primary while standbys are unavailable, and return to them afterwards', async () => {
    for (const server of standbys) await server.end('SIGKILL');
    const [servers] = [await serversOf(platesOf)];
    expect(servers).toEqual([addressOf(cluster.primary)]);
    await eventually(async () => expect(await stateOfQuery()).toMatch(/^running; away \S+; away \S+; primary/), 30_000);
    for (const server of standbys) await server.start();
    await eventually(async () => expect(await serversOf(platesOf)).not.toContain(addressOf(cluster.primary)), 30_000);
  });
});

describe.skipIf(!canReplicate())('a standby that lags beyond the limit', () => {
  it('is not read from', async () => {
    const own = await startPostgresCluster();
    const standby = await own.addStandby('one', 'asynchronous');
    const settings = { DATABASE_URL: own.primary.url, QUERY_DATABASE_URL: standby.url };
    const tight = await startTestPlatform([queryService], settings, { maxStandbyLagMs: 1 });
    try {
      await standby.query('select pg_wal_replay_pause()');
      const known = await createApplication(tight.db);
      // No write over HTTP reveals that the standby is behind; only its lag does.
      await eventually(
        async () => expect((await tight.as(known.token).get('/v1/x/vehicles')).status).toBe(200),
        30_000,
      );
    } finally {
      await tight.stop();
      await own.stop();
    }
  });
});
