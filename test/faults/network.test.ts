import { setTimeout as delay } from 'node:timers/promises';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { gatewayService } from '@odograph/gateway/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { roleSettings } from '@odograph/testkit/database-roles';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice, createImei, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { startTcpProxy, type TcpProxy } from './parts/tcp-proxy.fixture.ts';
import { type LineName, openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + 12 * scale.awayMs;
const lineNames: LineName[] = ['device-broker', 'broker-Redis', 'ingest-Redis', 'ingest-database'];
const slowMs = 150;
/** Begins the faults of a connection; `mend` ends each. */
const begin = {
  cut: (line: TcpProxy) => line.cut(),
  slow: (line: TcpProxy) => line.slow(slowMs),
  silent: (line: TcpProxy) => line.silence(),
};
type Fault = keyof typeof begin;
/** At full length, longer than every timeout that detects a silent connection. */
const awayMs = scale.isFullLength ? Math.min(scale.awayMs, 10_000) : 1000;

let testbed: Testbed;

/** Detecting silence takes up to 15 s on each connection; in the short run, all go silent at once. */
const cases: [LineName[], Fault[]][] = scale.isFullLength
  ? lineNames.map((name) => [[name], ['cut', 'slow', 'silent']])
  : [...lineNames.map((name): [LineName[], Fault[]] => [[name], ['cut', 'slow']]), [lineNames, ['silent']]];

describe.skipIf(!hasRedisServer)('every acknowledged upload is stored once when network connections', () => {
  beforeAll(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterAll(() => testbed?.close());
  afterEach(() => testbed.mend());

  it.each(cases)(
    '%j are %j',
    async (names, faults) => {
      const lines = names.map((name) => testbed.lines[name]);
      const load = await testbed.startLoad();
      await load.progress(5);
      for (const fault of faults) {
        for (const line of lines) begin[fault](line);
        await delay(awayMs);
        for (const line of lines) line.mend();
        await load.progress(3);
      }
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report(`connections ${names.join(', ')}: ${faults.join(', ')}`, { acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});

describe.skipIf(!inject('isNativeDatabase'))(
  'when the connections to the database go silent, and new ones work',
  () => {
    it('a statement fails after twice the time limit of the server, and the next one works', async () => {
      const target = new URL(testDatabaseUrl());
      const line = await startTcpProxy(Number(target.port));
      const url = Object.assign(target, { port: String(line.port) }).href;
      const db = openDatabase({ url, name: 'test', size: 1, statementTimeoutMs: 500 });
      await pingDatabase(db);
      line.silence();
      await expect(pingDatabase(db)).rejects.toThrow('the database connection was silent for 1000 ms');
      line.mend();
      await pingDatabase(db);
      await db.destroy();
      line.close();
    });

    it('devices connect and commands are sent within seconds', async () => {
      const owner = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
      const target = new URL(testDatabaseUrl());
      const line = await startTcpProxy(Number(target.port));
      const port = await freePort();
      const platform = await startTestPlatform([brokerService, gatewayService, commandService], {
        ...roleSettings(Object.assign(target, { port: String(line.port) }).href),
        TELTONIKA_PORT: String(port),
      });
      const application = await createApplication(owner);
      const vehicle = await createVehicle(owner, application);
      const { deviceId: imei } = await createDevice(owner, { deviceId: createImei(), model: 'teltonika' });
      const device = await connectDevice(platform.mqttUrl, vehicle);
      await device.obey(() => ({ ok: true }));

      const lock = async () =>
        (await platform.as(application.token).post('/v1/vehicle/lock', { vehicleId: vehicle.id })).status;
      const signIn = async () => {
        const tracker = new TeltonikaDevice({ host: '127.0.0.1', port, imei });
        const isAccepted = await tracker.connect().catch(() => false);
        await tracker.close();
        return isAccepted;
      };
      const another = await createDevice(owner);
      const connect = async () => {
        const connection = await connectDevice(platform.mqttUrl, another).catch(() => undefined);
        await connection?.close();
        return connection !== undefined;
      };
      const attempt = () => Promise.all([signIn(), connect(), lock()]);
      expect(await attempt()).toEqual([true, true, 200]);

      line.silence();
      // As many as each service has connections.
      const locks = Array.from({ length: 4 }, lock);
      const others = Array.from({ length: 2 }, () => Promise.all([signIn(), connect()]));
      expect(await Promise.all(others)).toEqual(others.map(() => [false, false]));
      line.mend();
      await eventually(async () => expect(await attempt()).toEqual([true, true, 200]), 40_000);
      await Promise.all(locks);
      await device.close();
      await platform.stop();
      await owner.destroy();
      line.close();
    }, 120_000);
  },
);
