import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { ingestService } from '@odograph/ingest/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { type Chunks, conversationOf } from './fuzz/mqtt-bytes.fixture.ts';
import { runs, seed } from './fuzz/runs.fixture.ts';

const services = [ingestService, brokerService, commandService];
const atOnce = 16;
const timeoutMs = 300;
const firstReading = 1_760_000_000;

const platform = await usePlatform(services, {}, { maxConnectFailuresPerDevice: 1_000_000 });
const neighbour = await createVehicle(platform.db, await createApplication(platform.db));
const device = await connectDevice(platform.mqttUrl, neighbour);
afterAll(() => device.close());

/** Sends bytes and waits briefly for the broker to close the connection. */
async function converse(chunks: Chunks): Promise<void> {
  const { hostname, port } = new URL(platform.mqttUrl);
  const socket: Socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.resume();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  for (const chunk of chunks) {
    socket.write(chunk);
    await delay(0);
  }
  await Promise.race([closed, delay(timeoutMs)]);
  socket.destroy();
  await closed;
}

/** Uploads from a healthy device until `isOver`. @returns the number of PUBACKs and the slowest one */
function uploadUntil(isOver: () => boolean): Promise<{ acknowledged: number; slowestMs: number }> {
  const upload = async () => {
    let acknowledged = 0;
    let slowestMs = 0;
    while (!isOver()) {
      const start = performance.now();
      await device.upload({ timestamp: firstReading + acknowledged, sequence: acknowledged + 1 });
      slowestMs = Math.max(slowestMs, performance.now() - start);
      acknowledged += 1;
      await delay(5);
    }
    return { acknowledged, slowestMs };
  };
  return upload();
}

describe(`a broker under malformed packets (seed ${seed})`, () => {
  it('keeps running, and a healthy device gets every PUBACK and has all readings stored', async () => {
    const attackers = await Promise.all(Array.from({ length: atOnce }, () => createDevice(platform.db)));
    const numRuns = runs(25, 1500);
    let over = false;
    let closes = 0;
    device.client.on('close', () => {
      closes += 1;
    });
    // Sampled before the first upload, because it occupies the process that also has the broker for seconds.
    const conversations = attackers.map((identity, index) =>
      fc.sample(conversationOf(identity), { numRuns, seed: seed + index }),
    );
    const uploads = uploadUntil(() => over);
    await Promise.all(
      conversations.map(async (conversation) => {
        for (const chunks of conversation) await converse(chunks);
      }),
    );
    over = true;
    const { acknowledged, slowestMs } = await uploads;
    expect(acknowledged).toBeGreaterThan(20);
    expect(slowestMs).toBeLessThan(5000);
    expect(closes).toBe(0);
    await eventually(async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from reading where vehicle_id = ${Number(neighbour.id)}`.execute(platform.db);
      expect(rows[0]?.count).toBe(acknowledged);
    }, 60_000);
  }, 3_600_000);

  it('keeps no connection of them, and admits their devices again', async () => {
    const held = async () => platform.metrics.getSingleMetricAsString('odograph_broker_held_bytes');
    await eventually(async () => expect(await held()).toMatch(/odograph_broker_held_bytes 0$/m));
    const connected = async () => platform.metrics.getSingleMetricAsString('odograph_broker_connected_devices');
    await eventually(async () => expect(await connected()).toMatch(/odograph_broker_connected_devices 1$/m));
    const health = await fetch(new URL('/health', platform.httpUrl));
    expect(health.status).toBe(200);
    const late = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    await late.upload({ timestamp: 1 });
    await late.close();
  });

  it('frees the memory of 200 clients that send the largest packets in pieces and disconnect', async () => {
    const large = Buffer.concat([Buffer.from([0x10, 0x80, 0x80, 0x01]), Buffer.alloc(16_000)]);
    const before = process.memoryUsage.rss();
    for (let round = 0; round < runs(4, 40); round += 1) {
      await Promise.all(Array.from({ length: 50 }, () => converse([large.subarray(0, 9000), large.subarray(9000)])));
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 ** 2);
  }, 600_000);
});
