import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceCredentials } from '@odograph/simulator/device-connection';

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
  vehicles: { id: string; device: DeviceCredentials; deviceKey: DeviceKey }[];
}

async function postAdmin<Answer>(httpUrl: string, adminToken: string, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${httpUrl}/v1/x/admin/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminToken}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

async function createDemoFleet(httpUrl: string, adminToken: string, vehicleCount: number): Promise<DemoFleet> {
  const post = <Answer>(path: string, body: object) => postAdmin<Answer>(httpUrl, adminToken, path, body);
  const { appId, appKey } = await post<{ appId: string; appKey: string }>('applications', { name: 'Demo' });
  const vehicles: DemoFleet['vehicles'] = [];
  const run = Date.now().toString(36);
  for (let index = 1; index <= vehicleCount; index += 1) {
    const plate = `DE-${String(index).padStart(3, '0')}-MO`;
    const vin = `VF1DEM0000000${String(1000 + index)}`;
    const vehicle = { plate, vin, brand: 'Renault', model: 'Zoe', energy: 'EL', seats: 5, gearbox: 'AUTOMATIC' };
    const { id } = await post<{ id: string }>('vehicles', { appId, ...vehicle });
    const device = { id: `demo-${run}-${index}`, model: 'generic', vehicleId: id };
    const credentials = await post<DeviceCredentials>('devices', device);
    const deviceKey = await post<DeviceKey>(`devices/${device.id}/key`, {});
    vehicles.push({ id, device: credentials, deviceKey });
  }
  return { appId, appKey, vehicles };
}

/** Reads the demo's application, vehicles and devices, or creates them through the operator's interface. */
export async function ensureDemoFleet(
  dataDirectory: string,
  httpUrl: string,
  adminToken: string,
  vehicleCount: number,
): Promise<DemoFleet> {
  const path = join(dataDirectory, 'demo-fleet.json');
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  if (kept !== undefined) return JSON.parse(kept) as DemoFleet;
  const fleet = await createDemoFleet(httpUrl, adminToken, vehicleCount);
  await writeFile(path, JSON.stringify(fleet), { mode: 0o600 });
  return fleet;
}
