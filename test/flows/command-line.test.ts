import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '@odograph/cli/command-line';
import { saveLogin } from '@odograph/cli/server/logins';
import { fleetService } from '@odograph/fleet/service';
import { queryService } from '@odograph/query/service';
import { childEnvironment } from '@odograph/runtime/config';
import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startTcpProxy } from '../faults/parts/tcp-proxy.fixture.ts';

const program = fileURLToPath(new URL('../../packages/cli/bin.mjs', import.meta.url));

const platform = await usePlatform([fleetService, queryService]);
const directory = useDirectory();
const application = await createApplication(platform.db);

/** Logins are kept in a directory of the test; without a setting, there is no admin token on this host. */
const settings = (more: Record<string, string> = {}) => ({ XDG_CONFIG_HOME: directory, DATA_DIR: directory, ...more });
const answerOf = async (...args: string[]) => JSON.parse(await runCommandLine(args, settings()));
const refusalOf = (...args: string[]) =>
  runCommandLine(args, settings()).then(
    (output) => expect.fail(`printed ${output}`),
    (error: Error) => error.message,
  );

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
function spawnCommand(args: readonly string[], more: Record<string, string> = {}): Child {
  const env = childEnvironment({ ADMIN_TOKEN: '', ODOGRAPH_URL: '', ...settings(more) });
  return spawn(process.execPath, [program, ...args], { env, stdio: 'pipe' });
}

/** Runs a command with a line on its standard input. */
async function runWith(input: string, ...args: string[]) {
  const child = spawnCommand(args);
  child.stdin.end(`${input}\n`);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}

describe('odograph login', () => {
  it('signs in as an operator, whose role and applications hold for every command, until logout', async () => {
    const { admin } = platform;
    const name = `kim-${application.appId}`;
    const operator = { name, role: 'operator', appIds: [application.appId], mustChangePassword: false };
    const { password } = (await admin.post('/v1/x/admin/operators', operator)).body;
    const wrong = await runWith('not the password', 'login', platform.httpUrl, '--name', name);
    expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([1, '', expect.stringContaining('INVALID_CREDENTIALS')]);

    const { code, stdout } = await runWith(password, 'login', platform.httpUrl, '--name', name);
    expect([code, JSON.parse(stdout)]).toEqual([0, { server: platform.httpUrl, name }]);
    const file = join(directory, 'odograph/servers.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const saved = await readFile(file, 'utf8');
    expect(saved).not.toContain(password);

    expect(await answerOf('whoami')).toMatchObject({ server: platform.httpUrl, name, role: 'operator' });
    const { applications } = await answerOf('application', 'list');
    expect(applications.map(({ appId }: { appId: string }) => appId)).toEqual([application.appId]);
    const created = await answerOf('vehicle', 'create', '--app', application.appId, '--plate', 'LOG-IN-1');
    expect(created).toEqual({ id: expect.stringMatching(/^\d{10}$/) });
    expect(
      await refusalOf('user', 'create', '--app', application.appId, '--username', 'x', '--password', 'y'),
    ).toContain('UNAUTHORIZED');

    expect(await answerOf('logout')).toEqual({ server: platform.httpUrl, name });
    const { session } = JSON.parse(saved).logins[platform.httpUrl];
    const ended = await createApiClient(platform.httpUrl, { cookie: `odograph_session=${session}` }).get(
      '/v1/x/session',
    );
    expect(ended.status).toBe(401);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ logins: {} });
    expect(await refusalOf('application', 'list')).toContain('odograph login');
  });

  it('says how to sign in again when the session has ended', async () => {
    const { code } = await runWith(testAdminToken, 'login', platform.httpUrl, '--token');
    expect(code).toBe(0);
    expect(await answerOf('whoami')).toEqual({ server: platform.httpUrl, token: 'admin token' });
    const file = join(directory, 'odograph/servers.json');
    const saved = JSON.parse(await readFile(file, 'utf8'));
    await rm(file);
    const login = { session: 'a-session-that-has-ended', name: 'kim', usedAt: Date.now() };
    await saveLogin(join(directory, 'odograph'), platform.httpUrl, login);
    expect(await refusalOf('application', 'list')).toContain(`sign in again: odograph login ${platform.httpUrl}`);
    await saveLogin(join(directory, 'odograph'), platform.httpUrl, saved.logins[platform.httpUrl]);
    expect(await answerOf('logout')).toMatchObject({ server: platform.httpUrl });
  });
});

describe('odograph tail', () => {
  it('prints each reading once as it is stored, over an outage of the platform, and exits with 0 on Ctrl-C', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const { rows } = await sql<{ plate: string }>`select plate from vehicle
      where id = ${vehicle.id}::integer`.execute(platform.db);
    const store = (time: string, speed: number) =>
      sql`insert into reading (time, application_id, vehicle_id, speed, device_id, received_at)
      values (${time}, ${application.id}, ${vehicle.id}::integer, ${speed}, ${vehicle.deviceId}, now())`.execute(
        platform.db,
      );
    await store('2026-03-01T08:00:00Z', 1);
    await store('2026-03-01T08:00:10Z', 2);

    const line = await startTcpProxy(Number(new URL(platform.httpUrl).port));
    const server = `http://127.0.0.1:${line.port}`;
    const child = spawnCommand(['tail', rows[0]?.plate ?? '', '--last', '1', '--server', server], {
      ADMIN_TOKEN: testAdminToken,
    });
    child.stdin.end();
    const exited = once(child, 'exit');
    const errors = createInterface(child.stderr)[Symbol.asyncIterator]();
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value);
    try {
      expect(await next()).toMatchObject({ time: '2026-03-01T08:00:10.000000Z', location: { speed: 2 } });
      await store('2026-03-01T08:00:20Z', 3);
      expect(await next()).toMatchObject({ time: '2026-03-01T08:00:20.000000Z', location: { speed: 3 } });
      // late by device time
      await store('2026-03-01T08:00:15Z', 4);
      expect(await next()).toMatchObject({ time: '2026-03-01T08:00:15.000000Z', location: { speed: 4 } });

      line.cut();
      expect((await errors.next()).value).toContain('trying again');
      await store('2026-03-01T08:00:30Z', 5);
      line.mend();
      expect(await next()).toMatchObject({ time: '2026-03-01T08:00:30.000000Z', location: { speed: 5 } });
      child.kill('SIGINT');
      expect(await exited).toEqual([0, null]);
      expect((await lines.next()).done).toBe(true);
    } finally {
      child.kill('SIGKILL');
      line.close();
    }
  }, 120_000);
});
