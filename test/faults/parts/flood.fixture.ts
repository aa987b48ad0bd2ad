import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '@odograph/database/database';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { mqttUrlOf, testAdminToken, testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { generate } from 'mqtt-packet';
import { connectPacket } from './raw-device.fixture.ts';

const pollMs = 50;
/** Within which the uploads of a phase must be stored after its end. */
const drainMs = 15_000;
const effectMs = 20_000;
const chunkBytes = 64 * 1024;

export interface FloodOptions {
  readonly honestDevices: number;
  readonly hostileDevices: number;
  /** Between two uploads of an honest device. */
  readonly intervalMs: number;
  /** Rates of the hostile devices; the defaults if absent. */
  readonly rates?: { readonly device_uploads_per_second: number; readonly device_bytes_per_second: number };
}

/** Outcome for the hostile devices. */
export interface FloodEffect {
  /** How often their connections were closed. */
  readonly closed: number;
  /** How often reading from a device was paused. */
  readonly throttled: number;
}

/** The delays of the honest devices' uploads in ms, in ascending order. */
export interface Measured extends FloodEffect {
  readonly pubacks: readonly number[];
  readonly stored: readonly number[];
}

interface Upload {
  readonly sentMs: number;
  /** Its reading's, in UNIX seconds. */
  readonly time: number;
  pubackMs: number | undefined;
  storedMs: number | undefined;
}

const payloads = 40;

/** Uploads with readings of the last minute, made before a flood so that making them delays no device. */
function payloadsOf(readings: number, end: string): Buffer[] {
  const startSeconds = Date.now() / 1000 - payloads;
  return Array.from({ length: payloads }, (_, payload) => {
    const elements = Array.from({ length: readings }, (_one, index) => {
      const timestamp = startSeconds + payload + index / readings;
      const location = { latitude: 48.8566, longitude: 2.3522, speed: 50 };
      return { timestamp, location, status: { ignition: true, mileage: index }, alarms: { towing: true, crash: true } };
    });
    return Buffer.from(JSON.stringify(elements).slice(0, -1) + end);
  });
}

function telemetryPackets(deviceId: string, uploads: readonly Buffer[]): Buffer[] {
  const topic = `v1/devices/${deviceId}/telemetry`;
  const flags = { qos: 1, dup: false, retain: false } as const;
  return uploads.map((payload, index) => generate({ cmd: 'publish', topic, messageId: index + 1, payload, ...flags }));
}

function chunkOf(packet: Buffer): Buffer[] {
  return [Buffer.concat(Array.from({ length: Math.ceil(chunkBytes / packet.length) }, () => packet))];
}

/** Returns the bytes that a hostile device sends repeatedly. */
const floods = {
  PUBACK: () => () => chunkOf(Buffer.from([0x40, 2, 0, 7])),
  PINGREQ: () => () => chunkOf(Buffer.from([0xc0, 0])),
  SUBSCRIBE: () => (deviceId: string) => {
    const subscriptions = [{ topic: `v1/devices/${deviceId}/keys`, qos: 1 as const }];
    return chunkOf(generate({ cmd: 'subscribe', messageId: 7, subscriptions }));
  },
  'invalid JSON': () => {
    const uploads = payloadsOf(60, '');
    return (deviceId: string) => telemetryPackets(deviceId, uploads);
  },
  'arrays of 1,000 readings': () => {
    const uploads = payloadsOf(1000, ']');
    return (deviceId: string) => telemetryPackets(deviceId, uploads);
  },
};
export type FloodKind = keyof typeof floods;

/** Sends as fast as the platform reads, and connects again whenever it is closed. */
async function flood(
  port: number,
  vehicle: TestVehicle,
  chunks: readonly Buffer[],
  signal: AbortSignal,
  onClosed: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const socket = connect(port, '127.0.0.1');
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end);
    let sent = 0;
    const send = (): void => {
      const chunk = chunks[sent++ % chunks.length];
      if (chunk && !socket.destroyed && socket.write(chunk)) setImmediate(send);
    };
    socket.on('error', () => undefined);
    socket.on('drain', send);
    socket.once('data', send);
    socket.write(connectPacket(vehicle.deviceId, vehicle.secret));
    await new Promise((resolve) => socket.once('close', resolve));
    signal.removeEventListener('abort', end);
    if (!signal.aborted) onClosed();
  }
}

type Honest = TestVehicle & { readonly connection: DeviceConnection; readonly uploads: Upload[] };

/** Uploads one reading in each interval, whether or not the one before has its PUBACK. */
async function drive({ connection, uploads }: Honest, intervalMs: number, signal: AbortSignal): Promise<void> {
  await delay(Math.random() * intervalMs);
  while (!signal.aborted) {
    const time = Date.now() / 1000;
    const upload: Upload = { sentMs: performance.now(), time, pubackMs: undefined, storedMs: undefined };
    uploads.push(upload);
    const reading = { timestamp: time, location: { latitude: 48, longitude: 2 }, status: { ignition: true } };
    connection.upload(reading).then(
      () => (upload.pubackMs = performance.now()),
      () => undefined,
    );
    await delay(intervalMs);
  }
}

/** Notes which uploads are stored. */
async function lookAtStored(db: Database, devices: ReadonlyMap<number, Honest>): Promise<void> {
  const { rows } = await sql<{ id: number; time: number }>`
    select vehicle_id as id, extract(epoch from time)::float8 as time from vehicle_latest
    where vehicle_id = any(${[...devices.keys()]}::integer[])`.execute(db);
  const nowMs = performance.now();
  for (const { id, time } of rows) {
    for (const upload of devices.get(id)?.uploads ?? []) {
      // The database keeps microseconds.
      if (upload.time < time + 1e-5) upload.storedMs ??= nowMs;
    }
  }
}

export interface FloodedPlatform {
  /**
   * Measures the uploads that honest devices send in these seconds, next to hostile ones of another application if a kind is
   * given, and waits until what they sent is stored. Goes on until the flood has an effect, for 20 s at most.
   */
  measure(seconds: number, kind?: FloodKind, hasEffect?: (effect: FloodEffect) => boolean): Promise<Measured>;
  stop(): Promise<void>;
}

async function createVehicles(db: Database, count: number, rates?: FloodOptions['rates']): Promise<TestVehicle[]> {
  const application = await createApplication(db, rates);
  const vehicles: TestVehicle[] = [];
  for (let index = 0; index < count; index += 1) vehicles.push(await createVehicle(db, application));
  return vehicles;
}

async function connectHonest(db: Database, mqttUrl: string, count: number): Promise<Honest[]> {
  const vehicles = await createVehicles(db, count);
  return Promise.all(
    vehicles.map(async (vehicle) => ({ ...vehicle, connection: await connectDevice(mqttUrl, vehicle), uploads: [] })),
  );
}

/** Reads how often the broker has paused. */
async function readThrottled({ httpUrl }: ChildPlatform): Promise<number> {
  const response = await fetch(`${httpUrl}/metrics`, { headers: { authorization: `Bearer ${testAdminToken}` } });
  const [, count] = /^odograph_broker_throttled_total (\d+)$/m.exec(await response.text()) ?? [];
  return Number(count);
}

/** Waits until all uploads are acknowledged and stored. @throws when some are not in time */
async function drain(db: Database, devices: ReadonlyMap<number, Honest>): Promise<void> {
  const isDone = ({ pubackMs, storedMs }: Upload): boolean => pubackMs !== undefined && storedMs !== undefined;
  const deadlineMs = performance.now() + drainMs;
  while (![...devices.values()].every(({ uploads }) => uploads.every(isDone))) {
    if (performance.now() > deadlineMs) throw new Error('uploads of honest devices are not stored');
    await delay(pollMs);
    await lookAtStored(db, devices);
  }
}

function delaysOf(devices: readonly Honest[]): Pick<Measured, 'pubacks' | 'stored'> {
  const uploads = devices.flatMap((device) => device.uploads);
  const ascending = (delays: number[]): number[] => delays.sort((a, b) => a - b);
  return {
    pubacks: ascending(uploads.map(({ sentMs, pubackMs = Number.NaN }) => pubackMs - sentMs)),
    stored: ascending(uploads.map(({ sentMs, storedMs = Number.NaN }) => storedMs - sentMs)),
  };
}

/** Starts broker and ingest in a process of their own. */
export async function startFloodedPlatform(options: FloodOptions): Promise<FloodedPlatform> {
  const config = await testConfig();
  const settings = { ...(await settingsFrom(config)), LOG_LEVEL: 'error' };
  const platform = await spawnPlatform(['broker', 'ingest'], settings);
  const db = openDatabase({ url: config.DATABASE_URL, name: 'flood', size: 2 });
  const honest = await connectHonest(db, mqttUrlOf(config), options.honestDevices);
  const byId = new Map(honest.map((device) => [Number(device.id), device]));
  const startFlood = async (kind: FloodKind, signal: AbortSignal, onClosed: () => void) => {
    const hostile = await createVehicles(db, options.hostileDevices, options.rates);
    const chunksOf = floods[kind]();
    const chunks = hostile.map(({ deviceId }) => chunksOf(deviceId));
    return hostile.map((vehicle, index) => flood(config.MQTT_PORT, vehicle, chunks[index] ?? [], signal, onClosed));
  };
  return {
    async measure(seconds, kind, hasEffect = () => true) {
      for (const { uploads } of honest) uploads.length = 0;
      const end = new AbortController();
      let closed = 0;
      const throttledBefore = await readThrottled(platform);
      const flooding = kind === undefined ? [] : await startFlood(kind, end.signal, () => (closed += 1));
      const drives = honest.map((device) => drive(device, options.intervalMs, end.signal));
      const readEffect = async () => ({ closed, throttled: (await readThrottled(platform)) - throttledBefore });
      const startMs = performance.now();
      const pastMs = (): number => performance.now() - startMs;
      while (pastMs() < seconds * 1000 || (pastMs() < effectMs && !hasEffect(await readEffect()))) {
        await delay(pollMs);
        await lookAtStored(db, byId);
      }
      const effect = await readEffect();
      end.abort();
      await Promise.all([...drives, ...flooding]);
      await drain(db, byId);
      return { ...effect, ...delaysOf(honest) };
    },
    async stop() {
      await Promise.all(honest.map(({ connection }) => connection.close('cut')));
      await platform.end('SIGTERM');
      await db.destroy();
    },
  };
}
