import { setTimeout as delay } from 'node:timers/promises';
import type { CommandMessage } from '@odograph/contracts/commands';
import type { Database } from '@odograph/database/database';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createVehicle,
  type TestApplication,
  type TestVehicle,
  unthrottled,
} from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { scale } from './scale.fixture.ts';

/** How long a device waits for a PUBACK before it closes the connection. */
const timeoutMs = 8000;
/** Draining the queue can take long on a busy machine. */
const drainMs = 180_000;

/** Numbered uploads of one device, each repeated until it is acknowledged, over as many connections as needed. */
class Uploader {
  sent = 0;
  /** Wall-clock time of the PUBACK of each upload, in the order of their sequence numbers from 1 on. */
  readonly acknowledgedAtMs: number[] = [];
  /** UNIX seconds of the last reading; a repetition keeps it. */
  #timestamp = 0;
  readonly #vehicle: TestVehicle;
  readonly #url: string;
  readonly #pauseMs: number;
  readonly #execute: LoadOptions['execute'];
  #running = true;
  readonly #done: Promise<void>;

  constructor(vehicle: TestVehicle, { mqttUrl, pauseMs = scale.uploadPauseMs, execute }: LoadOptions) {
    this.#vehicle = vehicle;
    this.#url = mqttUrl;
    this.#pauseMs = pauseMs;
    this.#execute = execute;
    this.#done = this.#run();
  }

  get acknowledged(): number {
    return this.acknowledgedAtMs.length;
  }

  /** True until it is stopped and its last upload is acknowledged. */
  get #busy(): boolean {
    return this.#running || this.sent > this.acknowledged;
  }

  async #run(): Promise<void> {
    while (this.#busy) {
      const options = { connectTimeout: timeoutMs };
      const device = await connectDevice(this.#url, this.#vehicle, options).catch(() => undefined);
      if (device) await this.#uploadOver(device);
      await device?.close('cut');
      await delay(20 + 80 * Math.random());
    }
  }

  async #uploadOver(device: DeviceConnection): Promise<void> {
    this.#answerCommands(device);
    const closed = new Promise<false>((resolve) => device.client.once('close', () => resolve(false)));
    while (device.client.connected && this.#busy) {
      if (this.sent === this.acknowledged) {
        this.sent += 1;
        this.#timestamp = Math.max(Date.now() / 1000, this.#timestamp + 0.001);
      }
      const reading = { timestamp: this.#timestamp, sequence: this.sent, status: { mileage: this.sent } };
      const upload = device.upload(reading).then(() => true);
      const timeout = new AbortController();
      const late = delay(timeoutMs, false, { signal: timeout.signal }).catch(() => false);
      const wasAcknowledged = await Promise.race([upload, closed, late]).catch(() => false);
      timeout.abort();
      if (!wasAcknowledged) return;
      this.acknowledgedAtMs.push(Date.now());
      await delay(this.#pauseMs);
    }
  }

  #answerCommands(device: DeviceConnection): void {
    const execute = this.#execute;
    if (!execute) return;
    const answer = (command: CommandMessage) => {
      // The device protocol forbids executing expired commands.
      if (Date.now() / 1000 > command.expiresAt) return undefined;
      execute(this.#vehicle, command);
      return { ok: true };
    };
    device.obey(answer).catch(() => undefined);
  }

  /** Stops after the last PUBACK. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }
}

/** A steady load of devices. */
export interface Load {
  readonly vehicles: readonly TestVehicle[];
  acknowledged(): number;
  /** Resolves when every device has had this many more uploads acknowledged. */
  progress(uploads: number): Promise<void>;
  /**
   * Stops the devices and asserts that exactly the acknowledged uploads are stored, once each.
   * @param stored where, if the devices have moved to another database
   * @returns their number
   */
  finish(stored?: Database): Promise<number>;
}

export interface LoadOptions {
  readonly db: Database;
  readonly mqttUrl: string;
  readonly devices: number;
  /** Pause between two uploads of a device. */
  readonly pauseMs?: number;
  /** The owner of the vehicles; a new application by default. */
  readonly application?: TestApplication;
  /** Executes commands; without it, devices do not subscribe to them. */
  readonly execute?: (vehicle: TestVehicle, command: CommandMessage) => void;
}

interface StoredCount {
  vehicle_id: number;
  stored: number;
  distinct: number;
  highest: number;
}

async function countStored(db: Database, vehicles: readonly TestVehicle[]): Promise<StoredCount[]> {
  const ids = vehicles.map(({ id }) => Number(id));
  const { rows } = await sql<StoredCount>`select vehicle_id, count(*)::int as stored,
      count(distinct sequence)::int as distinct, max(sequence)::int as highest
    from reading where vehicle_id = any(${ids}::integer[]) group by 1 order by 1`.execute(db);
  return rows;
}

/** Describes acknowledged readings that are not stored: when their PUBACK came, and what quarantine says of their device. */
async function describeLost(db: Database, { id, deviceId }: TestVehicle, { acknowledgedAtMs }: Uploader) {
  const { rows } = await sql<{ sequence: number }>`
    select sequence::int from generate_series(1, ${acknowledgedAtMs.length}::integer) as sequence
    except select sequence from reading where vehicle_id = ${Number(id)} order by 1`.execute(db);
  const quarantined = await sql`
    select faults, received_at from quarantine where device_id = ${deviceId} order by 2 limit 5`.execute(db);
  const lost = rows.map(
    ({ sequence }) => `${sequence}, PUBACK ${new Date(acknowledgedAtMs[sequence - 1] ?? 0).toISOString()}`,
  );
  return lost.length === 0 ? [] : [`${deviceId}: ${lost.join('; ')}; quarantine: ${JSON.stringify(quarantined.rows)}`];
}

async function openGaps(db: Database, vehicles: readonly TestVehicle[]): Promise<number> {
  const deviceIds = vehicles.map(({ deviceId }) => deviceId);
  const { rows } = await sql<{ gaps: number }>`select coalesce(sum(open_gaps), 0)::int as gaps from device_sequence
    where device_id = any(${deviceIds}::text[])`.execute(db);
  return rows[0]?.gaps ?? 0;
}

/** Starts devices that upload until they are stopped. */
export async function startLoad(options: LoadOptions): Promise<Load> {
  const { db, devices, application = await createApplication(db, unthrottled) } = options;
  const vehicles: TestVehicle[] = [];
  for (let index = 0; index < devices; index += 1) vehicles.push(await createVehicle(db, application));
  const uploaders = vehicles.map((vehicle) => new Uploader(vehicle, options));
  return {
    vehicles,
    acknowledged: () => uploaders.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
    async progress(uploads) {
      const goals = uploaders.map(({ acknowledged }) => acknowledged + uploads);
      await eventually(async () => {
        for (const [index, { acknowledged }] of uploaders.entries()) {
          expect(acknowledged).toBeGreaterThanOrEqual(goals[index] ?? 0);
        }
      }, drainMs);
    },
    async finish(stored = db) {
      await Promise.all(uploaders.map((uploader) => uploader.stop()));
      const expected = vehicles.map(({ id }, index) => {
        const count = uploaders[index]?.acknowledged ?? 0;
        return { vehicle_id: Number(id), stored: count, distinct: count, highest: count };
      });
      expected.sort((a, b) => a.vehicle_id - b.vehicle_id);
      try {
        await eventually(async () => expect(await countStored(stored, vehicles)).toEqual(expected), drainMs);
      } catch (cause) {
        const lost = await Promise.all(
          uploaders.map((uploader, index) => describeLost(stored, vehicles[index] as TestVehicle, uploader)),
        );
        throw new Error(`acknowledged readings are not stored:\n${lost.flat().join('\n')}`, { cause });
      }
      expect(await openGaps(stored, vehicles), 'gaps in the ledger').toBe(0);
      return expected.reduce((sum, { stored }) => sum + stored, 0);
    },
  };
}
