import { randomUUID } from 'node:crypto';
import { readShipped } from '@odograph/codec/can/decode';
import { createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUnlinkedVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { findModelFaults } from './models.ts';

const { platform, application, api, admin } = await startFleet();
const { db } = platform;
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

const databases = '/v1/x/admin/can-databases';
const dbc = `VERSION ""
BO_ 256 Engine: 8 X
 SG_ Rpm : 0|16@1+ (1,0) [0|0] "1/min" X
 SG_ Gps_Latitude : 16|16@1+ (1,0) [0|0] "" X
`;
const newModel = () => `Model ${randomUUID()} / é`;
const put = (model: string, body: object, as = admin) => as.put(`${databases}/${encodeURIComponent(model)}`, body);
const base64 = (content: string | Uint8Array) => Buffer.from(content).toString('base64');

async function databaseOf(model: string) {
  const { body } = await admin.get(databases);
  return body.databases.find((one: { model: string }) => one.model.toLowerCase() === model.toLowerCase());
}

async function auditOf(model: string) {
  const { rows } = await sql<{ action: string; actor: string }>`select action, actor from audit
    where lower(subject) = lower(${`can-database:${model}`}) order by position`.execute(db);
  return rows;
}

describe('the DBC file of a vehicle model', () => {
  it('is stored, replaced ignoring case, listed with its vehicles, removed, and audited', async () => {
    const model = newModel();
    const vehicle = await createUnlinkedVehicle(db, application);
    await sql`update vehicle set model = ${model} where id = ${Number(vehicle)}`.execute(db);
    const { status, body } = await put(model, { base64: base64(dbc), file: 'a.dbc' });
    const contents = { file: 'a.dbc', messages: 1, signals: 2, positionKeys: ['Gps_Latitude'] };
    expect([status, body]).toEqual([200, { model, ...contents, sha256: expect.any(String), stored: true, faults: [] }]);
    await put(model.toUpperCase(), { base64: base64(dbc.replace('Rpm', 'Speed')), file: 'b.dbc' });
    expect(await databaseOf(model)).toMatchObject({ ...contents, file: 'b.dbc', vehicles: 1 });
    expect((await admin.delete(`${databases}/${encodeURIComponent(model)}`)).status).toBe(200);
    expect((await admin.delete(`${databases}/${encodeURIComponent(model)}`)).status).toBe(404);
    expect(await databaseOf(model)).toBeUndefined();
    expect(await auditOf(model)).toEqual(
      ['set', 'set', 'remove'].map((verb) => ({ action: `can-database.${verb}`, actor: 'operator' })),
    );
  });

  it('may be one that ships with Odograph, or one in cp1252', async () => {
    const [shipped, foreign] = [newModel(), newModel()];
    expect((await put(shipped, { shipped: 'obd2' })).body).toMatchObject({ file: 'obd2.dbc', faults: [] });
    const { rows } = await sql<{ dbc: string }>`select dbc from can_database where model = ${shipped}`.execute(db);
    expect(rows[0]?.dbc).toBe((await readShipped('obd2')).toString());
    await put(foreign, { base64: base64(Buffer.from(dbc.replace('1/min', '\u0080\u00b0C'), 'latin1')) });
    const stored = await sql<{ dbc: string }>`select dbc from can_database where model = ${foreign}`.execute(db);
    expect(stored.rows[0]?.dbc).toContain('"€°C"');
  });

  it('with faults is answered with every fault by line, and is not stored', async () => {
    const model = newModel();
    await put(model, { base64: base64(dbc) });
    const faulty = `${dbc} SG_ Beyond : 60|16@1+ (1,0) [0|0] "" X\nBO_ x\n"\0"`;
    const { status, body } = await put(model, { base64: base64(faulty) });
    expect(status).toBe(200);
    expect(body.faults.map(({ line }: { line: number }) => line)).toEqual(expect.arrayContaining([5, 6, 7]));
    expect(await databaseOf(model)).toMatchObject({ signals: 2 });
    expect((await put(model, { base64: base64('VERSION ""') })).body.faults).toEqual([
      { line: 1, message: 'the file has no message' },
    ]);
    expect(await auditOf(model)).toHaveLength(1);
  });

  it('with faults is stored without the faulty statements if they are to be skipped, and the answer lists them', async () => {
    const model = newModel();
    const faulty = `${dbc} SG_ Beyond : 60|16@1+ (1,0) [0|0] "" X\nBO_ 9999 Unknown: 8 X\n SG_ Lost : 0|8@1+ (1,0) [0|0] "" X\n`;
    const refused = await put(model, { base64: base64(faulty) });
    expect([refused.body.stored, refused.body.faults.length]).toEqual([false, 2]);
    expect(await databaseOf(model)).toBeUndefined();
    const { body } = await put(model, { base64: base64(faulty), skipFaulty: true });
    expect(body).toMatchObject({ stored: true, messages: 1, signals: 2 });
    expect(body.faults).toMatchObject([
      { line: 5, message: expect.stringContaining('signal Beyond needs 10 bytes') },
      { line: 6, message: expect.stringContaining('the id 9999 of message Unknown') },
    ]);
    expect(await databaseOf(model)).toMatchObject({ messages: 1, signals: 2 });
    // Statements that decide how a signal is read must be known, and a message must be left.
    for (const unusable of [`${dbc}SIG_VALTYPE_ 256 Rpm : x;`, `${dbc}\0`, 'VERSION ""']) {
      const answer = await put(newModel(), { base64: base64(unusable), skipFaulty: true });
      expect([answer.status, answer.body.stored]).toEqual([200, false]);
      expect(answer.body.faults).not.toEqual([]);
    }
  });

  it('is refused without content, with two contents, and with more than 4 MiB', async () => {
    const model = newModel();
    const tooLarge = base64(Buffer.alloc(4 * 1024 * 1024 + 3, 0x20));
    const beyondBody = base64(Buffer.alloc(8 * 1024 * 1024, 0x20));
    for (const body of [
      {},
      { base64: base64(dbc), shipped: 'obd2' },
      { shipped: 'none' },
      { base64: tooLarge },
      { base64: beyondBody },
    ]) {
      const answer = await put(model, body);
      expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_PARAMETER']);
    }
    expect((await put(model, { base64: base64(dbc.padEnd(4 * 1024 * 1024)) })).body.faults).toEqual([]);
  });

  it('is changed by administrators of the whole platform only', async () => {
    const model = newModel();
    const browserOf = async (options: Parameters<typeof createOperator>[1]) =>
      createBrowser(platform.httpUrl, (await createOperator(db, options)).cookie);
    const operator = await browserOf({ role: 'operator' });
    const limited = await browserOf({ role: 'administrator', applicationIds: [application.id] });
    expect((await put(model, { shipped: 'obd2' }, operator)).status).toBe(403);
    expect((await put(model, { shipped: 'obd2' }, limited)).status).toBe(404);
    expect((await operator.get(databases)).status).toBe(200);
  });
});

describe('a request to decode frames again', () => {
  const request = (body: object) => admin.post('/v1/x/admin/can-redecodings', body);

  it('is recorded and audited, and starts again when the DBC file changes before its end', async () => {
    const model = newModel();
    await put(model, { base64: base64(dbc) });
    const { body } = await request({ model: model.toUpperCase(), from: '2026-01-02T03:04:05Z' });
    expect(body).toMatchObject({ model, finishedAt: null, vehicles: 0, vehiclesDone: 0, readingsDone: 0 });
    await sql`update can_redecoding set vehicle_id = 7, readings_done = 9 where id = ${body.id}`.execute(db);
    await put(model, { base64: base64(dbc) });
    const progress = await admin.get(`/v1/x/admin/can-redecodings/${body.id}`);
    expect(progress.body).toMatchObject({ id: body.id, readingsDone: 0 });
    await admin.delete(`${databases}/${encodeURIComponent(model)}`);
    expect((await admin.get(`/v1/x/admin/can-redecodings/${body.id}`)).body.finishedAt).not.toBeNull();
    expect((await auditOf(model)).map(({ action }) => action)).toContain('can-redecoding.request');
  });

  it('needs a DBC file and a valid interval', async () => {
    const model = newModel();
    expect((await request({ model })).status).toBe(404);
    await put(model, { base64: base64(dbc) });
    expect((await request({ model, from: 2, until: 1 })).body.error).toBe('INVALID_INTERVAL');
    expect((await request({ model, from: 'soon' })).body.error).toBe('INVALID_PARAMETER');
    expect((await admin.get('/v1/x/admin/can-redecodings/999999999')).status).toBe(404);
  });
});
