import type { AvlFamily } from '@odograph/contracts/device-models';
import type { Database } from '@odograph/database/database';
import { KeyedLookups } from '@odograph/sessions/keyed-lookups';
import type { RegisteredSession, SessionRegistry } from '@odograph/sessions/session-registry';
import type { DeviceRates } from '@odograph/sessions/throttle';

/** A device, as far as the endpoints need it. */
export interface GatewayDevice {
  readonly deviceId: string;
  readonly model: string;
  /** How devices of its model report. */
  readonly protocol: string;
  /** Of Teltonika devices; undefined where the model has none. */
  readonly family: AvlFamily | undefined;
  /** Undefined while it is in stock. */
  readonly applicationId: number | undefined;
  /** The rates that its application sets for its devices. */
  readonly rates: Partial<DeviceRates>;
  /** Whether its application moves to another cell: the device is refused for a while. */
  readonly isMoving: boolean;
}

/** Looks up devices by id, many with one statement; deleted ones are not found. */
export class GatewayDevices extends KeyedLookups<GatewayDevice> {
  constructor(db: Database) {
    super((deviceIds) => selectDevices(db, deviceIds));
  }
}

async function selectDevices(db: Database, deviceIds: string[]): Promise<Map<string, GatewayDevice>> {
  const rows = await db
    .selectFrom('device')
    .innerJoin('device_model', 'device_model.id', 'device.model_id')
    .leftJoin('application', 'application.id', 'device.application_id')
    .select([
      'device.id as deviceId',
      'device_model.id as model',
      'protocol',
      'family',
      'device.application_id as applicationId',
      'device_uploads_per_second as uploadsPerSecond',
      'device_bytes_per_second as bytesPerSecond',
      'moving_since as movingSince',
    ])
    .where((where) => where('device.id', '=', where.fn.any(where.val(deviceIds))))
    .where('device.deleted_at', 'is', null)
    .execute();
  return new Map(
    rows.map(({ deviceId, model, protocol, family, applicationId, movingSince, uploadsPerSecond, bytesPerSecond }) => [
      deviceId,
      {
        ...{ deviceId, model, protocol },
        family: family ?? undefined,
        applicationId: applicationId ?? undefined,
        rates: {
          ...(uploadsPerSecond !== null && { uploadsPerSecond }),
          ...(bytesPerSecond !== null && { bytesPerSecond }),
        },
        isMoving: movingSince !== null,
      },
    ]),
  );
}

/** @returns whether the message answers a command */
export type AnswerListener = (text: string, isRefused: boolean) => boolean;

/** The connection of a device that signed in at an endpoint. */
export interface GatewaySession extends RegisteredSession {
  /** Writes bytes to the device. */
  send(bytes: Buffer): void;
  /** Orders the sessions of a device by the arrival of their sign-in. */
  readonly signInNumber: number;
  /** Calls `listener` with each message of the device that may answer a command. */
  onAnswer(listener: AnswerListener): void;
  close(): void;
  /** Closes the connection and discards what was not delivered. */
  reset(): void;
}

/** The live sessions of this gateway: one a device, the newest. */
export type GatewaySessions = SessionRegistry<GatewaySession>;
