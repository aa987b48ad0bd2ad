import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { eventually } from '@odograph/testkit/eventually';
import {
  canReplicate,
  type PostgresCluster,
  type PostgresServer,
  startPostgresCluster,
} from '@odograph/testkit/postgres-cluster';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { startTcpProxy, type TcpProxy } from './parts/tcp-proxy.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 400_000 + scale.rounds * 120_000;
let cluster: PostgresCluster;
let primary: PostgresServer;
/** Stands in for the load balancer that follows the primary. */
let balancer: TcpProxy;
let testbed: Testbed;

const portOf = ({ url }: PostgresServer) => Number(new URL(url).port);

/** Waits until a synchronous standby confirms commits. */
const awaitSynchronous = () =>
  eventually(async () => {
    const rows = await primary.query(
      `select from pg_stat_replication where sync_state = 'sync' and state = 'streaming'`,
    );
    expect(rows).toHaveLength(1);
  }, 60_000);

describe.skipIf(!canReplicate() || !hasRedisServer)('a primary that is killed with SIGKILL', () => {
  beforeEach(async () => {
    cluster = await startPostgresCluster();
    primary = cluster.primary;
    balancer = await startTcpProxy(() => portOf(primary));
    testbed = await openTestbed({ databaseUrl: `postgres://postgres@127.0.0.1:${balancer.port}/postgres` });
  }, timeoutMs);
  afterEach(async () => {
    await testbed?.close();
    balancer?.close();
    await cluster?.stop();
  }, timeoutMs);

  it(
    'is replaced by its synchronous standby, which has every acknowledged upload once',
    async () => {
      const random = createRandom(scale.seed);
      const load = await testbed.startLoad();
      for (let round = 0; round < scale.rounds; round += 1) {
        const standby = await cluster.addStandby(`standby${round}`, 'synchronous', primary);
        await awaitSynchronous();
        await load.progress(5);
        await delay(random() * 1000);
        await primary.end('SIGKILL');
        await standby.query('select pg_promote()');
        primary = standby;
        await load.progress(5);
      }
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report('failed over to the synchronous standby', {
        rounds: scale.rounds,
        acknowledged: uploads,
        stored: uploads,
      });
    },
    timeoutMs,
  );
});
