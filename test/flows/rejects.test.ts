import { randomUUID } from 'node:crypto';
import { brokerService } from '@odograph/broker/service';
import { deviceTopic, type RejectMessage } from '@odograph/contracts/topics';
import { ingestService } from '@odograph/ingest/service';
import { openQueue } from '@odograph/queue/queues';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { beforeEach, expect, it } from 'vitest';

let identity: TestVehicle;
const platform = await usePlatform([ingestService, brokerService]);
beforeEach(async () => {
  identity = await createVehicle(platform.db, await createApplication(platform.db));
});

/** Connects the device and collects its messages on every topic; subscribes to its rejects if asked to. */
async function connect(subscribes: boolean): Promise<{ device: DeviceConnection; received: RejectMessage[] }> {
  const device = await connectDevice(platform.mqttUrl, identity);
  const received: RejectMessage[] = [];
  device.client.on('message', (topic, payload, { qos, retain }) => {
    expect([topic, qos, retain]).toEqual([deviceTopic(identity.deviceId, 'rejects'), 0, false]);
    received.push(JSON.parse(payload.toString()));
  });
  if (subscribes) await device.client.subscribeAsync(deviceTopic(identity.deviceId, 'rejects'), { qos: 1 });
  return { device, received };
}

it('a device that subscribes to its rejects receives which values and readings were dropped and why, without the payload', async () => {
  const { device, received } = await connect(true);
  const start = Date.now() / 1000;
  const stored = { timestamp: 1_750_000_000, sequence: 1 };
  const location = { latitude: 48.85, longitude: 'x' };
  const upload = [stored, { timestamp: 1_750_000_001.5, sequence: 2, location }, { timestamp: 1e13 }];
  await device.upload(upload);
  await eventually(async () => expect(received).toHaveLength(1));
  expect(received[0]).toEqual({
    receivedAt: expect.any(Number),
    bytes: JSON.stringify(upload).length,
    faultCount: 2,
    faults: [
      {
        index: 1,
        reason: 'INVALID_VALUE',
        field: 'location.longitude',
        message: 'location.longitude must be a number',
        timestamp: 1_750_000_001.5,
        sequence: 2,
      },
      {
        index: 2,
        reason: 'INVALID_FIELD',
        field: 'timestamp',
        message: 'timestamp must be in UNIX seconds, and lies beyond the year 9999: is it in milliseconds?',
        timestamp: 1e13,
      },
    ],
  });
  expect(Math.abs((received[0]?.receivedAt ?? 0) - start)).toBeLessThan(60);
  const unpowered = { timestamp: 1_750_000_002, electric: { soc: 'full', voltage: 12 } };
  await device.upload(unpowered);
  await eventually(async () => expect(received).toHaveLength(2));
  expect(received[1]?.faults).toMatchObject([
    { index: 0, reason: 'INVALID_VALUE', field: 'electric.soc', message: 'electric.soc must be a number' },
  ]);
  await device.upload('{"timestamp":');
  await eventually(async () => expect(received).toHaveLength(3));
  expect(received[2]).toMatchObject({
    bytes: 13,
    faultCount: 1,
    faults: [{ index: null, reason: 'NOT_JSON', message: 'the upload is not JSON' }],
  });
  await device.close();
});

it('a device receives at most 10 messages a minute, each with at most 10 faults, and none unless it subscribes', async () => {
  const silent = await connect(false);
  await silent.device.upload('not subscribed');
  await silent.device.close();
  const { device, received } = await connect(true);
  // The message about the upload before may still be on its way; it counts in any case.
  const own = () => received.filter(({ bytes }) => bytes !== 'not subscribed'.length);
  await device.upload(Array.from({ length: 11 }, () => ({})));
  await eventually(async () => expect(own()).toHaveLength(1));
  expect([own()[0]?.faultCount, own()[0]?.faults.length]).toEqual([11, 10]);
  for (let index = 0; index < 20; index += 1) await device.upload(`garbage ${index}`);
  await eventually(async () => expect(await countQuarantined()).toBe(22));
  await eventually(async () => expect(own()).toHaveLength(9));
  expect(silent.received).toEqual([]);
  await device.close();
});

it('a replay is not announced', async () => {
  const { device, received } = await connect(true);
  const connection = { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX };
  const queue = openQueue('uploads', connection);
  const replay = { deviceId: identity.deviceId, receivedAtMs: Date.now(), text: 'replayed', quarantineId: '1' };
  await queue.add('uploads', { uploads: [replay], devices: 1, bytes: 8 }, { jobId: randomUUID() });
  await eventually(async () => expect(await countQuarantined()).toBe(1));
  await device.upload('live');
  await eventually(async () => expect(received).toHaveLength(1));
  expect(received[0]?.bytes).toBe(4);
  await queue.close();
  await device.close();
});

async function countQuarantined(): Promise<number> {
  const rows = await platform.db
    .selectFrom('quarantine')
    .select('id')
    .where('device_id', '=', identity.deviceId)
    .execute();
  return rows.length;
}
