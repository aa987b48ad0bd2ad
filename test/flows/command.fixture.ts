import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import type { CommandMessage } from '@odograph/contracts/commands';
import { type CommandAnswer, connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ApiAnswer, type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createUser,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { expect } from 'vitest';

/** Short, for tests without an acknowledgement. */
export const ackTimeoutMs = 1500;
/** Long, for tests with an acknowledgement on a slow machine. */
export const patientAckTimeoutMs = 25_000;

type Answering = (command: CommandMessage) => CommandAnswer | Promise<CommandAnswer>;

/** A device that records its commands. */
type HearingDevice = DeviceConnection & { heard: CommandMessage[] };

/** A broker, two processes of the command service on the same queues, and an application with vehicles. */
export interface CommandFixture {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  readonly client: ApiClient;
  /** Client of the second process. */
  readonly replicaClient: ApiClient;
  createVehicle(options?: { model?: string }): Promise<TestVehicle>;
  /** Connects a vehicle's device, which acknowledges commands. */
  connected(vehicle: TestVehicle, answer?: Answering): Promise<HearingDevice>;
  /** Connects a device that records commands and acknowledges only when the test does. */
  silent(vehicle: TestVehicle): Promise<HearingDevice & { next(): Promise<CommandMessage> }>;
  /** Disconnects this device at the end of the test too. */
  adopt(device: DeviceConnection): void;
  /** POST /v1/vehicle/{action}. */
  act(action: string, vehicle: { id: string }, by?: ApiClient, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** The command rows of a vehicle in order. */
  rowsOf(vehicle: { id: string }): ReturnType<typeof commandRows>;
  statesOf(vehicle: { id: string }): Promise<string[]>;
  expectState(vehicle: { id: string }, ...states: string[]): Promise<void>;
  /** Creates a user who manages these vehicles. @returns an access token */
  createUserToken(...vehicles: TestVehicle[]): Promise<string>;
  disconnectAll(): Promise<void>;
  stop(): Promise<void>;
}

function commandRows({ db }: TestPlatform, { id }: { id: string }) {
  return db.selectFrom('command').selectAll().where('vehicle_id', '=', Number(id)).orderBy('position').execute();
}

export function expectFailure(answer: ApiAnswer, reason: string): void {
  expect(answer.body).toMatchObject({ error: 'COMMUNICATION_FAILED', reason });
  expect(answer.status).toBe(504);
}

export async function timed(work: Promise<ApiAnswer>): Promise<[answer: ApiAnswer, milliseconds: number]> {
  const start = performance.now();
  return [await work, performance.now() - start];
}

async function connect(platform: TestPlatform, vehicle: TestVehicle, answer: Answering): Promise<HearingDevice> {
  const device = await connectDevice(platform.mqttUrl, vehicle);
  const heard: CommandMessage[] = [];
  await device.obey((command) => {
    heard.push(command);
    return answer(command);
  });
  return { ...device, heard };
}

/** Creates a queue of commands that the test reads one by one. */
function createInbox() {
  const waiting: ((command: CommandMessage) => void)[] = [];
  const arrived: CommandMessage[] = [];
  return {
    put(command: CommandMessage): undefined {
      const waiter = waiting.shift();
      if (waiter) waiter(command);
      else arrived.push(command);
      return undefined;
    },
    async next(): Promise<CommandMessage> {
      return arrived.shift() ?? new Promise((resolve) => waiting.push(resolve));
    },
  };
}

async function createUserToken({ db }: TestPlatform, applicationId: number, vehicles: TestVehicle[]): Promise<string> {
  const vehicleIds = vehicles.map(({ id }) => id);
  return (await createUser(db, { id: applicationId }, { vehicleIds, role: 'manager' })).token;
}

async function startPlatforms(timeoutMs: number): Promise<[platform: TestPlatform, replica: TestPlatform]> {
  const settings = { ACK_TIMEOUT_MS: String(timeoutMs) };
  const platform = await startTestPlatform([brokerService, commandService], settings);
  const replica = await startTestPlatform([commandService], {
    ...settings,
    QUEUE_PREFIX: platform.config.QUEUE_PREFIX,
    MQTT_PORT: String(platform.config.MQTT_PORT),
  });
  return [platform, replica];
}

export async function startCommandFixture(timeoutMs = ackTimeoutMs): Promise<CommandFixture> {
  const [platform, replica] = await startPlatforms(timeoutMs);
  const application = await createApplication(platform.db);
  const client = platform.as(application.token);
  const devices: DeviceConnection[] = [];
  const connected = async (vehicle: TestVehicle, answer: Answering = () => ({ ok: true })) => {
    const device = await connect(platform, vehicle, answer);
    devices.push(device);
    return device;
  };
  const statesOf = async (vehicle: { id: string }) => (await commandRows(platform, vehicle)).map(({ state }) => state);
  return {
    platform,
    application,
    client,
    replicaClient: clientWithToken(replica.httpUrl, application.token),
    createVehicle: (options = {}) => createVehicle(platform.db, application, options),
    connected,
    async silent(vehicle) {
      const inbox = createInbox();
      return { ...(await connected(vehicle, inbox.put)), next: inbox.next };
    },
    adopt: (device) => void devices.push(device),
    act: (action, vehicle, by = client, headers = {}) =>
      by.post(`/v1/vehicle/${action}`, { vehicleId: vehicle.id }, headers),
    rowsOf: (vehicle) => commandRows(platform, vehicle),
    statesOf,
    async expectState(vehicle, ...states) {
      await eventually(async () => expect(await statesOf(vehicle)).toEqual(states), 3000);
    },
    createUserToken: (...vehicles) => createUserToken(platform, application.id, vehicles),
    async disconnectAll() {
      for (const device of devices.splice(0)) await device.close('cut');
    },
    async stop() {
      await replica.stop();
      await platform.stop();
    },
  };
}

/** Writes ignition and speed into the vehicle's latest state. */
export async function reportDriving(
  { platform: { db } }: CommandFixture,
  vehicle: TestVehicle,
  ignition: boolean,
  speedKmh: number,
): Promise<void> {
  const status = JSON.stringify({ ignition });
  const location = JSON.stringify({ latitude: 48.8, longitude: 2.3, speed: speedKmh });
  await sql`insert into vehicle_latest (vehicle_id, time, status, status_time, location, location_time, received_at)
    values (${Number(vehicle.id)}, now(), ${status}, now(), ${location}, now(), now())
    on conflict (vehicle_id) do update set status = excluded.status, location = excluded.location`.execute(db);
}
