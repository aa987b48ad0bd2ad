import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createOperator,
  createVehicle,
  signIn,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { cookiesOf, type WatchedPage } from './browser.fixture.ts';

export const password = 'correct horse battery staple';
const passwordHash = hashPassword(password);
const home = { latitude: 48.8566, longitude: 2.3522 };
const degreesPerReading = 0.0006;

/** A vehicle whose device is connected and carries out every command. */
interface ConnectedVehicle extends TestVehicle {
  readonly plate: string;
  readonly device: DeviceConnection;
}

export interface TestFleet {
  readonly application: TestApplication;
  readonly moving: ConnectedVehicle;
  readonly parked: ConnectedVehicle;
  readonly hidden: ConnectedVehicle;
  stop(): Promise<void>;
}

interface ReadingOptions {
  /** Seconds before now. */
  readonly ago?: number;
  readonly speed?: number;
  /** Readings driven before this one. */
  readonly driven?: number;
  /** Whether the ignition is on; by default, if the vehicle drives. */
  readonly isOn?: boolean;
}

/** Builds a reading of a vehicle that drives to the north, or stands with its ignition off. */
export function reading({ ago = 0, speed = 0, driven = 0, isOn = speed > 0 }: ReadingOptions = {}): object {
  const { latitude, longitude } = home;
  return {
    timestamp: Date.now() / 1000 - ago,
    location: { latitude: latitude + driven * degreesPerReading, longitude, angle: 0, speed, satellites: 9 },
    status: { ignition: isOn, movement: speed > 0, mileage: 1000 + driven * 0.067 },
    electric: { soc: 80, voltage: 400 },
    fleet: { lock: 'LOCKED', engine: speed > 0 ? 'ON' : 'OFF', doors: 'CLOSED' },
  };
}

/** Creates an operator who sees one application only, or all without one. @returns the name */
export async function createAccount(
  { db }: TestPlatform,
  fleet: Pick<TestFleet, 'application'> | undefined,
  role: 'viewer' | 'operator' | 'administrator' = 'operator',
): Promise<string> {
  const limits = fleet && { applicationIds: [fleet.application.id] };
  return (await createOperator(db, { role, ...limits, passwordHash: await passwordHash })).name;
}

/** Opens an address in the session of an operator; the sign-in form would take twice the CPU time. */
export async function openAs({ db }: TestPlatform, { page }: WatchedPage, path: string, name: string): Promise<void> {
  const { id } = await db.selectFrom('operator').select('id').where('name', '=', name).executeTakeFirstOrThrow();
  const cookie = await signIn(db, { operator_id: id });
  await page.context().addCookies(cookiesOf('127.0.0.1', cookie));
  await page.goto(path);
}

/** Ends the sessions of an operator in every browser, as their expiry does. */
export async function endSessions({ db }: TestPlatform, name: string): Promise<void> {
  const operator = db.selectFrom('operator').select('id').where('name', '=', name);
  await db.deleteFrom('sign_in').where('operator_id', 'in', operator).execute();
}

/** Creates an application with a moving, a parked and a private vehicle; the moving one drove an hour ago as well. */
export async function createTestFleet({ db, mqttUrl }: TestPlatform): Promise<TestFleet> {
  const application = await createApplication(db);
  const connect = async (plate: string): Promise<ConnectedVehicle> => {
    const vehicle = await createVehicle(db, application);
    await db.updateTable('vehicle').set({ plate }).where('id', '=', Number(vehicle.id)).execute();
    const device = await connectDevice(mqttUrl, vehicle);
    await device.obey(() => ({ ok: true }));
    return { ...vehicle, plate, device };
  };
  const [moving, parked, hidden] = await Promise.all([
    connect('MV-100-AA'),
    connect('PK-200-BB'),
    connect('PV-300-CC'),
  ]);
  const drive = Array.from({ length: 20 }, (_unused, driven) =>
    reading({ ago: 3600 - driven * 15, speed: 36, driven }),
  );
  await moving.device.upload([...drive, reading({ ago: 3290, driven: 19 }), reading({ speed: 36, driven: 19 })]);
  await parked.device.upload([reading({ ago: 10 })]);
  await hidden.device.upload([reading({ ago: 10, driven: 30 })]);
  const trip = sql`select from trip where vehicle_id = ${Number(moving.id)}`;
  await eventually(async () => {
    if ((await trip.execute(db)).rows.length === 0) throw new Error('the drive is no trip yet');
  });
  const vehicles = [moving, parked, hidden];
  return {
    application,
    moving,
    parked,
    hidden,
    async stop() {
      await Promise.all(vehicles.map(({ device }) => device.close()));
    },
  };
}
