import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceCredentials } from '@odograph/simulator/device-connection';
import type { DemoClient } from './client.ts';

/** A device key as the operator route answers it. */
interface DeviceKey {
  /** base64url */
  key: string;
  keyVersion: number;
}

/** The fleet that the first start creates; later starts use it again. */
export interface DemoFleet {
  appId: string;
  appKey: string;
  vehicles: { id: string; plate: string; device: DeviceCredentials; deviceKey: DeviceKey }[];
  /** The administrator of the console. */
  operator: { name: string; password: string };
  /** Until when its history reaches, UNIX seconds. */
  historyUntilSeconds: number;
  /** Whether its history is uploaded. */
  hasHistory: boolean;
}

const createOperator = (client: DemoClient): Promise<DemoFleet['operator']> =>
  client.post('/v1/x/admin/operators', { name: `demo-${Date.now().toString(36)}`, role: 'administrator' });

/** Creates an application with vehicles, devices and device keys through the operator routes. */
export async function createDemoFleet(client: DemoClient, vehicleCount: number): Promise<DemoFleet> {
  const post = <Answer>(path: string, body: object) => client.post<Answer>(`/v1/x/admin/${path}`, body);
  const { appId, appKey } = await post<{ appId: string; appKey: string }>('applications', { name: 'Demo' });
  const vehicles: DemoFleet['vehicles'] = [];
  const certificates: object[] = [];
  const run = Date.now().toString(36);
  for (let index = 1; index <= vehicleCount; index += 1) {
    const plate = `DM-${String(index).padStart(3, '0')}-DM`;
    const vin = `VF1DEM0000000${String(1000 + index)}`;
    const model = { brand: 'Renault', model: 'Zoe', energy: 'EL', seats: 5, gearbox: 'AUTOMATIC' };
    const description = { plate, vin, ...model, accessories: ['KEY-DETECTOR'] };
    const { id } = await post<{ id: string }>('vehicles', { appId, ...description });
    const bluetooth = { bluetoothName: `Demo ${index}`, bluetoothPin: String(1000 + index) };
    const device = { id: `demo-${run}-${index}`, model: 'generic', vehicleId: id, ...bluetooth };
    const credentials = await post<DeviceCredentials>('devices', device);
    const deviceKey = await post<DeviceKey>(`devices/${device.id}/key`, {});
    certificates.push({ plate, vin, brand: 'Renault', model: 'Zoe', energy: 'EL', seats: 5, co2: 0 });
    vehicles.push({ id, plate, device: credentials, deviceKey });
  }
  const rows = certificates.map((certificate, index) => ({ line: index + 1, record: { certificate } }));
  const fileSha256 = createHash('sha256').update(JSON.stringify(rows)).digest('hex');
  await post('registrations', { appId, fileSha256, position: 0, rows, last: true });
  const operator = await createOperator(client);
  const historyUntilSeconds = Math.floor(Date.now() / 1000);
  return { appId, appKey, vehicles, operator, historyUntilSeconds, hasHistory: false };
}

const fleetPath = (dataDirectory: string): string => join(dataDirectory, 'demo-fleet.json');

/** Keeps the fleet for the next start. */
export async function saveFleet(dataDirectory: string, fleet: DemoFleet): Promise<void> {
  const path = fleetPath(dataDirectory);
  await writeFile(`${path}.new`, JSON.stringify(fleet), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Reads the demo's application, vehicles and devices, or creates them through the operator's interface. */
export async function ensureDemoFleet(
  dataDirectory: string,
  operator: DemoClient,
  vehicleCount: number,
): Promise<DemoFleet> {
  const kept = await readFile(fleetPath(dataDirectory), 'utf8').catch(() => undefined);
  const fleet: DemoFleet = kept === undefined ? await createDemoFleet(operator, vehicleCount) : JSON.parse(kept);
  // Absent in the data of version 0.1.0.
  fleet.operator ??= await createOperator(operator);
  await saveFleet(dataDirectory, fleet);
  return fleet;
}
