import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { findModelFaults } from './models.ts';

const { api, admin } = await startFleet();
const path = '/v1/x/admin/device-models';
const model = {
  protocol: 'mqtt',
  commands: {},
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

it('ships models of Teltonika devices, with what they are told, and of devices behind other systems, without actions', async () => {
  const outputs = (await admin.get(`${path}/teltonika-outputs`)).body;
  expect([outputs.protocol, outputs.actions.toSorted()]).toEqual(['teltonika', ['IMMOBILIZE', 'START']]);
  expect(outputs.commands.IMMOBILIZE).toMatchObject({ text: 'setdigout 1?' });
  expect((await admin.get(`${path}/teltonika-can-control`)).body.commands.LOCK.text).toBe('lvcanclosealldoors');
  for (const name of ['traccar', 'flespi', 'tesla', 'owntracks', 'osmand']) {
    expect((await admin.get(`${path}/${name}`)).body).toMatchObject({ protocol: 'source', actions: [] });
  }
  expect((await admin.get(`${path}/teltonika-fmx6`)).body.family).toBe('fmx6');
  expect((await admin.get(`${path}/teltonika`)).body).not.toHaveProperty('family');
});

it('every shipped model follows the rules of an imported one', async () => {
  const { models } = (await admin.get(path)).body;
  const shipped = models.filter(({ name }: { name: string }) => !name.startsWith('model-'));
  expect(shipped.length).toBeGreaterThan(10);
  for (const { name, ...body } of shipped) expect([name, findModelFaults(body)]).toEqual([name, []]);
});

const told = { text: 'setdigout 1', success: ['DOUT1:ON'], refusal: [] };

it('takes the actions of a Teltonika model from its commands', async () => {
  const name = `model-${randomUUID()}`;
  const { actions: _actions, ...rest } = model;
  const body = { ...rest, protocol: 'teltonika', commands: { START: told, IMMOBILIZE: told } };
  const stored = await admin.put(`${path}/${name}`, body);
  expect([stored.status, stored.body.actions]).toEqual([200, ['IMMOBILIZE', 'START']]);
  expect((await admin.put(`${path}/${name}`, stored.body)).status).toBe(200);
  const withFamily = await admin.put(`${path}/${name}`, { ...stored.body, family: 'ftc' });
  expect((await admin.get(`${path}/${name}`)).body).toEqual(withFamily.body);
  expect(withFamily.body.family).toBe('ftc');
});

const viaFlespi = { flespi: { name: 'custom', properties: { text: 'setdigout 1?' } }, refusal: [] };

it('takes the actions of a model behind flespi from its commands, and answers them as stored', async () => {
  const name = `model-${randomUUID()}`;
  const { actions: _actions, ...rest } = model;
  const commands = { START: { ...viaFlespi, success: ['DOUT1:OFF'] }, HONK: viaFlespi };
  const stored = await admin.put(`${path}/${name}`, { ...rest, protocol: 'source', commands });
  expect([stored.status, stored.body.actions]).toEqual([200, ['START', 'HONK']]);
  expect((await admin.get(`${path}/${name}`)).body).toEqual(stored.body);
  expect(stored.body.commands).toEqual(commands);
});

it('names every fault of a model at once', async () => {
  const { status, body } = await admin.put(`${path}/model-${randomUUID()}`, {
    protocol: 'smoke',
    actions: ['LOCK', 'FLY'],
    commands: { LOCK: { text: '', success: [], refusal: [], answer: 'x' }, SWIM: told },
    bluetooth: 'perhaps',
    encryptedCommands: [],
    digitalOutputs: {},
    scenarii: {},
  });
  expect([status, body.error]).toEqual([400, 'INVALID_PARAMETER']);
  for (const field of [
    ...['protocol', 'actions.1', 'commands.LOCK.text', 'commands.LOCK.success', 'commands.LOCK.answer'],
    ...['commands.SWIM', 'bluetooth', 'proprietaryCan'],
  ]) {
    expect(body.message).toMatch(new RegExp(`(^|; )${field.replaceAll('.', '\\.')} `));
  }
});

it.each<[string, object, string]>([
  ['a family of devices that are not of Teltonika', { family: 'fmb' }, 'family'],
  ['a family that does not exist', { protocol: 'teltonika', family: 'fmz' }, 'family'],
  ['commands for devices that speak the own protocol', { commands: { LOCK: told } }, 'commands'],
  ['actions of devices behind a source without a command', { protocol: 'source', actions: ['LOCK'] }, 'commands.LOCK'],
  ['a text for devices behind a source', { protocol: 'source', commands: { LOCK: told } }, 'commands.LOCK.flespi'],
  [
    'a flespi command for Teltonika devices',
    { protocol: 'teltonika', commands: { LOCK: viaFlespi } },
    'commands.LOCK.text',
  ],
  [
    'a text without an answer of success',
    { protocol: 'teltonika', actions: ['LOCK'], commands: { LOCK: { text: 'lock', refusal: [] } } },
    'commands.LOCK.success',
  ],
  [
    'a flespi command that is too long',
    {
      ...{ protocol: 'source', actions: ['LOCK'] },
      commands: { LOCK: { ...viaFlespi, flespi: { name: 'custom', properties: { text: 'x'.repeat(3000) } } } },
    },
    'commands.LOCK.flespi',
  ],
  ['an action that devices cannot be told', { protocol: 'teltonika', actions: ['LOCK'] }, 'commands.LOCK'],
  [
    'an action left out of a list that is given',
    { protocol: 'teltonika', actions: [], commands: { LOCK: told } },
    'actions',
  ],
])('refuses %s', async (_what, part, field) => {
  const { status, body } = await admin.put(`${path}/model-${randomUUID()}`, { ...model, ...part });
  expect([status, body.field]).toEqual([400, field]);
});

it('keeps the protocol of a model that has devices', async () => {
  const name = `model-${randomUUID()}`;
  await admin.put(`${path}/${name}`, model);
  const id = `unit-${randomUUID()}`;
  expect((await admin.post('/v1/x/admin/devices', { id, model: name })).status).toBe(200);
  const changed = { ...model, actions: [], protocol: 'teltonika' };
  expect((await admin.put(`${path}/${name}`, changed)).body.field).toBe('protocol');
  await admin.delete(`/v1/x/admin/devices/${id}`);
  expect((await admin.put(`${path}/${name}`, changed)).status).toBe(200);
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
