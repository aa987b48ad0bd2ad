import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@odograph/database/database';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createImei, createVehicle, unthrottled } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect } from 'vitest';

/** Draining the queue can take long on a busy machine. */
const drainMs = 180_000;
const recordsPerRound = 12;

/** A device that records readings and sends them until it is stopped. */
interface Reporter {
  readonly vehicleId: number;
  /** Readings that the platform acknowledged. */
  acknowledged: number;
  stop(): Promise<void>;
}

/** Starts a device that records readings, a millisecond apart at least, and sends each until it is acknowledged. */
function startReporter(
  vehicleId: string,
  { port, imei, transport, pauseMs }: { port: number; imei: string; transport: 'tcp' | 'udp'; pauseMs: number },
): Reporter {
  const device = new TeltonikaDevice({
    ...{ host: '127.0.0.1', port, imei, transport, answerTimeoutMs: 8000 },
    ...{ recordsPerPacket: 5, packetsAtOnce: transport === 'tcp' ? 3 : 1 },
  });
  let isRunning = true;
  let milliseconds = 0;
  const reporter = { vehicleId: Number(vehicleId), acknowledged: 0 };
  const run = async (): Promise<void> => {
    while (isRunning) {
      for (let count = 0; count < recordsPerRound; count += 1) {
        milliseconds = Math.max(Date.now(), milliseconds + 1);
        device.record({ timestamp: milliseconds / 1000, status: { mileage: reporter.acknowledged + count } });
      }
      await device.drain();
      reporter.acknowledged += recordsPerRound;
      await delay(pauseMs);
    }
    await device.close();
  };
  const done = run();
  return Object.assign(reporter, {
    async stop(): Promise<void> {
      isRunning = false;
      await done;
    },
  });
}

/** Counts the readings of vehicles, by id. */
export async function countReadings(db: Database, vehicleIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await sql<{ vehicle_id: number; readings: number }>`
    select vehicle_id, count(*)::integer as readings
    from reading where vehicle_id = any(${vehicleIds}::integer[]) group by 1`.execute(db);
  return new Map(rows.map(({ vehicle_id: id, readings }) => [id, readings]));
}

/** A steady load of Teltonika devices. */
export interface TeltonikaLoad {
  /** Resolves when every device has had more readings acknowledged. */
  progress(): Promise<void>;
  /** Stops the devices and asserts that exactly the acknowledged readings are stored. @returns their number */
  finish(): Promise<number>;
}

/** Starts devices of a new application that use `transports` in turn. */
export async function startTeltonikaLoad(
  db: Database,
  options: { port: number; devices: number; transports: readonly ('tcp' | 'udp')[]; pauseMs: number },
): Promise<TeltonikaLoad> {
  const application = await createApplication(db, unthrottled);
  const reporters: Reporter[] = [];
  for (let index = 0; index < options.devices; index += 1) {
    const imei = createImei();
    const { id } = await createVehicle(db, application, { deviceId: imei, model: 'teltonika' });
    const transport = options.transports[index % options.transports.length] ?? 'tcp';
    reporters.push(startReporter(id, { ...options, imei, transport }));
  }
  return {
    async progress() {
      const before = reporters.map(({ acknowledged }) => acknowledged);
      await eventually(async () => {
        const without = reporters.filter(({ acknowledged }, index) => acknowledged === before[index]);
        expect(without).toEqual([]);
      }, drainMs);
    },
    async finish() {
      await Promise.all(reporters.map((reporter) => reporter.stop()));
      const expected = new Map(reporters.map(({ vehicleId, acknowledged }) => [vehicleId, acknowledged]));
      await eventually(async () => expect(await countReadings(db, [...expected.keys()])).toEqual(expected), drainMs);
      return [...expected.values()].reduce((sum, acknowledged) => sum + acknowledged, 0);
    },
  };
}
