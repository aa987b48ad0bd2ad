import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { startFleet } from '../../fleet.fixture.ts';

const { api, admin } = await startFleet();
const path = '/v1/x/admin/device-models';
const model = {
  actions: ['LOCK', 'UNLOCK'],
  proprietaryCan: false,
  bluetooth: true,
  encryptedCommands: ['lock', 'readio'],
  digitalOutputs: { lock: 1, unlock: 2 },
  scenarii: { towing_detection: 'SIREN', crash_detection: '' },
};

it('lists the shipped device models, among them families with outputs, encryption and scenario actions', async () => {
  const { body } = await admin.get(path);
  const names = body.models.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['generic', 'tracker', 'obd', 'outputs', 'encrypted']));
  const outputs = (await admin.get(`${path}/outputs`)).body;
  expect(outputs.digitalOutputs).toMatchObject({ lock: 1, unlock: 2 });
  expect(outputs.scenarii.towing_detection).toBe('HONK');
  expect((await admin.get(`${path}/encrypted`)).body.encryptedCommands).toContain('readio');
});

it('creates and changes a device model, and answers it as stored', async () => {
  const name = `model-${randomUUID()}`;
  expect((await admin.get(`${path}/${name}`)).status).toBe(404);
  expect((await admin.put(`${path}/${name}`, model)).body).toEqual({ name, ...model });
  const changed = { ...model, actions: [], digitalOutputs: {} };
  await admin.put(`${path}/${name}`, changed);
  expect((await admin.get(`${path}/${name}`)).body).toEqual({ name, ...changed });
});

it('names an unknown action, output or scenario, and refuses access tokens', async () => {
  const name = `model-${randomUUID()}`;
  for (const [field, wrong] of [
    ['actions', ['FLY']],
    ['encryptedCommands', ['fly']],
    ['digitalOutputs', { lock: 0 }],
    ['scenarii', { flood: '' }],
  ] as const) {
    const { status, body } = await admin.put(`${path}/${name}`, { ...model, [field]: wrong });
    expect([field, status, body.error]).toEqual([field, 400, 'INVALID_PARAMETER']);
    expect(body.field).toContain(field);
  }
  expect((await api.get(path)).status).toBe(401);
});
