import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { eventService } from '@odograph/events/service';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasPgbouncer } from '@odograph/testkit/programs';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

/** Starts PgBouncer in transaction mode with two sessions for all services, so that they take turns in each. */
async function startPgbouncer(databaseUrl: string): Promise<string> {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl);
  const directory = createTestDirectory();
  await chmod(directory, 0o777);
  const own = await freePort();
  const server = `host=${hostname} port=${port || 5432} user=${username}${password && ` password=${password}`}`;
  const lines = [
    ...['[databases]', `${pathname.slice(1)} = ${server} pool_size=2`, '[pgbouncer]', 'listen_addr = 127.0.0.1'],
    ...[
      `listen_port = ${own}`,
      'auth_type = any',
      'pool_mode = transaction',
      'max_client_conn = 200',
      'unix_socket_dir =',
    ],
  ];
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(file, lines.join('\n'));
  const user = userInfo().uid === 0 ? ['--user', 'nobody'] : [];
  const child = spawn('/usr/sbin/pgbouncer', [...user, file], { stdio: 'ignore' });
  onTestFinished(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  const url = `postgres://${username}@127.0.0.1:${own}${pathname}?pgbouncer=true`;
  await eventually(async () => {
    const db = openDatabase({ url, name: 'test', size: 1 });
    try {
      await pingDatabase(db);
    } finally {
      await db.destroy();
    }
  }, 30_000);
  return url;
}

describe.skipIf(!hasPgbouncer || !inject('isNativeDatabase'))('PgBouncer in transaction mode', () => {
  it('carries uploads, reads, streams of changes and commands of all services over two sessions', async () => {
    const url = await startPgbouncer(testDatabaseUrl());
    const services = [fleetService, queryService, eventService, commandService, ingestService, brokerService];
    const platform = await startTestPlatform(services, { DATABASE_URL: url });
    onTestFinished(() => platform.stop());
    const application = await createApplication(platform.db);
    const client = platform.as(application.token);
    const vehicle = await createVehicle(platform.db, application);
    const device = await connectDevice(platform.mqttUrl, vehicle);
    const start = Math.floor(Date.now() / 1000) - 100;
    const isoTime = (seconds: number) => new Date(seconds * 1000).toISOString().replace(/\.\d+/, '');
    const interval = `from=${isoTime(start)}&until=${isoTime(start + 3600)}`;
    for (let number = 1; number <= 30; number += 1) {
      await device.upload({ timestamp: start + number, sequence: number, status: { mileage: number } });
      // Statements of all services take turns with those of ingest.
      const answers = await Promise.all([
        client.get('/v1/x/vehicles'),
        client.get('/v1/x/changes'),
        client.get(`/v1/vehicle/${vehicle.id}/history?${interval}`),
        platform.admin.put(`/v1/x/admin/vehicles/${vehicle.id}`, { plate: `P-${number}` }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    await eventually(async () => {
      const { body } = await client.get('/v1/x/changes');
      expect(body.changes).toHaveLength(30);
    }, 60_000);
    await device.close();
    const { body } = await platform.anonymous.get('/health');
    expect(Object.values<{ ok: boolean }>(body.services).every(({ ok }) => ok)).toBe(true);
  });
});
