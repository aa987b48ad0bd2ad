import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@odograph/database/database';
import { endCommands, numbersOf, sign, startReceiver } from '@odograph/events/webhooks.fixture';
import type { ApiClient } from '@odograph/testkit/api-client';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const timeoutMs = 90_000;
let settings: Record<string, string>;
let platform: ChildPlatform;
let database: OwnDatabase;
let db: ReturnType<typeof openDatabase>;
let application: TestApplication;
const api = (): ApiClient => platform.as(application.token);
const register = async (url: string): Promise<{ id: string; secret: string }> =>
  (await api().post('/v1/x/webhooks', { url, types: ['command.ended'] })).body;

beforeAll(async () => {
  // Processes of other tests would take over the webhooks of one that was killed.
  database = await createOwnDatabase('webhooks');
  const config = await testConfig({ DATABASE_URL: database.url });
  settings = { ...(await settingsFrom(config)), WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  db = openDatabase({ url: database.url, name: 'test', size: 2 });
  application = await createApplication(db);
  platform = await spawnPlatform(['events'], settings);
}, 240_000);
afterAll(async () => {
  await platform?.end('SIGTERM');
  await db?.destroy();
  await database?.drop();
});

const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

/** The python3 that has the package of Standard Webhooks, or none. */
const hasStandardWebhooks = spawnSync('python3', ['-c', 'import standardwebhooks']).status === 0;
const hasPython = spawnSync('python3', ['--version']).status === 0;

const children: ChildProcess[] = [];
/** Starts a program and collects what it prints. */
function start(command: string, parameters: readonly string[]): () => string {
  const child = spawn(command, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return () => output;
}
afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

describe('a process that is killed while it delivers', () => {
  it('leaves nothing out, and another continues in the order of each vehicle', {
    timeout: 4 * timeoutMs,
  }, async () => {
    const vehicles = [await createVehicle(db, application), await createVehicle(db, application)];
    const receiver = await startReceiver(() => delay(5));
    const { id } = await register(receiver.url);
    for (const vehicle of vehicles) await endCommands(db, vehicle, 300);
    await eventually(async () => expect(receiver.accepted.length).toBeGreaterThan(100), timeoutMs);
    await platform.end('SIGKILL');
    const before = receiver.accepted.length;
    expect(before).toBeLessThan(600);
    platform = await spawnPlatform(['events'], settings);
    // As if a minute had passed: until then, the killed process may deliver for all that another one knows.
    await sql`update webhook set leased_until = now() where id = ${id}`.execute(db);
    const firsts = (vehicle: { id: string }) => [...new Set(numbersOf(receiver.accepted, vehicle.id))];
    await eventually(async () => {
      for (const vehicle of vehicles) expect(firsts(vehicle)).toHaveLength(300);
    }, timeoutMs);
    for (const vehicle of vehicles) expect(firsts(vehicle)).toEqual(Array.from({ length: 300 }, (_unused, n) => n));
    await receiver.close();
    await api().delete(`/v1/x/webhooks/${id}`);
  });
});

describe.each([
  { name: 'webhook-receiver.mjs', command: process.execPath, isMissing: false },
  { name: 'webhook-receiver.py', command: 'python3', isMissing: !hasPython },
])('examples/$name', ({ name, command, isMissing }) => {
  it.skipIf(isMissing)(
    'accepts deliveries, and refuses another signature or a stale timestamp',
    { timeout: timeoutMs },
    async () => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/`;
      const { id, secret } = await register(url);
      const output = start(command, [example(name), secret, String(port)]);
      await eventually(async () => expect(output()).toContain(`listening ${port}`), timeoutMs);
      const { body } = await api().post(`/v1/x/webhooks/${id}/test`);
      expect(body).toMatchObject({ delivered: true, status: 204 });
      await eventually(async () => expect(output()).toContain(`event webhook.test ${body.eventId}`), timeoutMs);
      const now = Math.floor(Date.now() / 1000);
      const post = async (timestamp: unknown, signature?: string) => {
        const [id, content] = ['x', '{"id":"x","type":"webhook.test"}'];
        const genuine = sign(secret, id, Number(timestamp), content);
        const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp) };
        const signed = { ...headers, 'webhook-signature': signature ?? genuine };
        return (await fetch(url, { method: 'POST', headers: signed, body: content })).status;
      };
      for (const signature of ['v1,bm90IGEgc2lnbmF0dXJl', '', 'v1,']) expect(await post(now, signature)).toBe(400);
      expect(await post(now)).toBe(204);
      for (const stale of [now - 400, now + 400, '']) expect(await post(stale)).toBe(400);
      await api().post(`/v1/x/webhooks/${id}/rotate`);
      expect((await api().post(`/v1/x/webhooks/${id}/test`)).body).toMatchObject({ delivered: true });
    },
  );
});

const verification = `import json, sys
from standardwebhooks.webhooks import Webhook
request = json.load(sys.stdin)
for secret in request["secrets"]:
    Webhook(secret).verify(request["body"], request["headers"])
print("verified")`;

describe('the signature', () => {
  it.skipIf(!hasStandardWebhooks)(
    `is accepted by the package standardwebhooks of PyPI${hasStandardWebhooks ? '' : ' (skipped: no python3 has it)'}`,
    { timeout: timeoutMs },
    async () => {
      const receiver = await startReceiver();
      const { id, secret } = await register(receiver.url);
      const { secret: rotated } = (await api().post(`/v1/x/webhooks/${id}/rotate`)).body;
      expect((await api().post(`/v1/x/webhooks/${id}/test`)).body).toMatchObject({ delivered: true });
      const request = JSON.stringify({ secrets: [secret, rotated], ...receiver.accepted[0] });
      const { stdout } = spawnSync('python3', ['-c', verification], { input: request, encoding: 'utf8' });
      expect(stdout.trim()).toBe('verified');
      await receiver.close();
    },
  );
});
