import { compileModelDatabase, type FrameValues } from '@odograph/codec/can/decode';
import type { CanDatum } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { LinkedReading } from '../pipeline/readings.ts';

/** The cache is cleared at this size. */
const maxVehicles = 200_000;

/** Decodes raw CAN frames by the databases of the vehicles' models. Keeps them for one version of the CAN databases. */
export class FrameDecoding {
  #version: number | undefined;
  /** Undefined for a vehicle whose model has no database. */
  #byVehicle = new Map<number, FrameValues | undefined>();
  /** Compiled files by their hash; a change of one database leaves the others compiled. */
  #byHash = new Map<string, FrameValues>();

  /**
   * Adds the values of their frames to readings. Readings without frames cost nothing but a look.
   * @param version from shareIngestBarrier in the transaction `db`
   */
  async decode(db: Database, version: number, readings: readonly LinkedReading[]): Promise<readonly LinkedReading[]> {
    const withFrames = readings.filter(({ reading }) => reading.frames !== undefined);
    if (withFrames.length === 0) return readings;
    const find = await this.load(db, version, new Set(withFrames.map(({ vehicleId }) => vehicleId)));
    return readings.map((linked) => {
      const { frames, can } = linked.reading;
      const decodeFrames = frames && find(linked.vehicleId);
      return frames && decodeFrames ? { ...linked, decodedCan: withoutKeysOf(can, decodeFrames(frames)) } : linked;
    });
  }

  /** Loads the databases of vehicles. @returns a function that finds the decoder of one of them */
  async load(
    db: Database,
    version: number,
    vehicleIds: ReadonlySet<number>,
  ): Promise<(vehicleId: number) => FrameValues | undefined> {
    if (version !== this.#version || this.#byVehicle.size > maxVehicles) {
      this.#version = version;
      this.#byVehicle = new Map();
    }
    const byVehicle = this.#byVehicle;
    const unknown = [...vehicleIds].filter((id) => !byVehicle.has(id));
    if (unknown.length > 0) {
      const { rows } = await sql<{ id: number; sha256: string }>`
        select vehicle.id, can_database.sha256 from vehicle
        join can_database on lower(can_database.model) = lower(vehicle.model)
        where vehicle.id = any(${unknown}::integer[])`.execute(db);
      const hashes = new Map(rows.map(({ id, sha256 }) => [id, sha256]));
      await this.#compile(db, new Set(hashes.values()));
      for (const id of unknown) byVehicle.set(id, this.#byHash.get(hashes.get(id) ?? ''));
    }
    return (vehicleId) => byVehicle.get(vehicleId);
  }

  async #compile(db: Database, hashes: ReadonlySet<string>): Promise<void> {
    const unknown = [...hashes].filter((hash) => !this.#byHash.has(hash));
    if (unknown.length === 0) return;
    const { rows } = await sql<{ sha256: string; dbc: string }>`
      select distinct sha256, dbc from can_database where sha256 = any(${unknown}::text[])`.execute(db);
    // Files that were replaced are forgotten with the next one that is compiled.
    const { rows: present } = await sql<{ sha256: string }>`select distinct sha256 from can_database`.execute(db);
    const kept = new Set(present.map(({ sha256 }) => sha256));
    this.#byHash = new Map([...this.#byHash].filter(([hash]) => kept.has(hash)));
    for (const { sha256, dbc } of rows) this.#byHash.set(sha256, compileModelDatabase(dbc).decode);
  }
}

/** Removes decoded values whose keys the device used itself: its own values win. */
export function withoutKeysOf(own: readonly CanDatum[] | undefined, decoded: readonly CanDatum[]): readonly CanDatum[] {
  if (own === undefined || own.length === 0) return decoded;
  const keys = new Set(own.map(({ key }) => key));
  return decoded.filter(({ key }) => !keys.has(key));
}
