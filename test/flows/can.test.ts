import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { runCommandLine } from '@odograph/cli/command-line';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';

const platform = await usePlatform([ingestService, brokerService, queryService, fleetService]);
const directory = useDirectory();
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

const start = 1_750_000_000;

/** Runs a command. @returns its result, and its lines for people */
async function odograph(...args: string[]): Promise<{ result: Record<string, unknown>; lines: string }> {
  let lines = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines += String(text);
    return true;
  });
  const settings = { ADMIN_TOKEN: testAdminToken, ODOGRAPH_URL: platform.httpUrl };
  const result = JSON.parse(await runCommandLine(args, settings)) as Record<string, unknown>;
  return { result, lines };
}

async function createModelled(model: string) {
  const application = await createApplication(platform.db);
  const vehicle = await createVehicle(platform.db, application);
  await sql`update vehicle set model = ${model} where id = ${Number(vehicle.id)}`.execute(platform.db);
  return { vehicle, client: platform.as(application.token) };
}

describe('odograph can', () => {
  it('turn the OBD-II frames of a device into CAN data, those that arrived before the import too', async () => {
    const model = `Clio ${randomUUID()}`;
    const { vehicle, client } = await createModelled(model);
    const device = await connectDevice(platform.mqttUrl, vehicle);
    const frames = [
      { id: '7E8', data: '04410C1AF8000000' },
      { id: '7E8', data: '03410D3200000000' },
    ];
    const engineSpeeds = async (count: number) => {
      const { body } = await client.get(`/v1/vehicle/${vehicle.id}/customcan/from/${start}`);
      const can = (body as { can: { key: string; value: string }[] }[]).map((one) => one.can);
      expect(can).toHaveLength(count);
      return can.map((one) => one.find(({ key }) => key === 'EngineSpeed')?.value);
    };
    await device.upload({ timestamp: start, frames });
    await eventually(() => engineSpeeds(1));
    const { result } = await odograph('can', 'import', 'obd2', '--model', model.toUpperCase());
    expect(result).toMatchObject({ stored: true, file: 'obd2.dbc', messages: 9 });
    await device.upload({ timestamp: start + 1, frames });
    expect(await eventually(() => engineSpeeds(2))).toEqual([undefined, '1726']);
    const redecoded = await odograph('can', 'redecode', '--model', model);
    expect(redecoded.result).toMatchObject({ vehiclesDone: 1, readingsDone: 2, readingsChanged: 1 });
    expect(redecoded.lines).toMatch(/1 of 1 vehicles, 2 readings, 1 changed/);
    expect(await engineSpeeds(2)).toEqual(['1726', '1726']);
    const listed = (await odograph('can', 'list')).result['databases'];
    expect(listed).toContainEqual(
      expect.objectContaining({ file: 'obd2.dbc', model: model.toUpperCase(), vehicles: 1 }),
    );
    await odograph('can', 'remove', '--model', model);
    await device.close();
  });

  it('print every fault of a DBC file by line, and store nothing', async () => {
    const model = `Clio ${randomUUID()}`;
    const file = join(directory, 'faulty.dbc');
    await writeFile(file, 'BO_ 1 M: 8 X\n SG_ A : 60|16@1+ (1,0) [0|0] "" X\n SG_ B : 0|8@1+ (0,0) [0|0] "" X\n');
    const { result, lines } = await odograph('can', 'import', file, '--model', model);
    expect(result).toEqual({ model, stored: false, faults: 2 });
    expect(lines).toMatch(new RegExp(`^${file}:2: .+\\n${file}:3: .+\\n${file}: not stored, .+--skip-faulty.+\\n$`));
    expect(process.exitCode).toBe(1);
    expect((await odograph('can', 'list')).result['databases']).not.toContainEqual(expect.objectContaining({ model }));
  });
});
