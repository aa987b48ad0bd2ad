import { randomUUID } from 'node:crypto';
import { readShipped } from '@odograph/codec/can/shipped';
import { createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUnlinkedVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, admin } = await startFleet();
const { db } = platform;
const path = '/v1/x/admin/can-databases';
const dbc = `VERSION ""
BO_ 256 Engine: 8 X
 SG_ Rpm : 0|16@1+ (1,0) [0|0] "1/min" X
 SG_ Gps_Latitude : 16|16@1+ (1,0) [0|0] "" X
`;
const newModel = () => `Model ${randomUUID()} / é`;
const put = (model: string, body: object, as = admin) => as.put(`${path}/${encodeURIComponent(model)}`, body);
const base64 = (content: string | Uint8Array) => Buffer.from(content).toString('base64');

async function databaseOf(model: string) {
  const { body } = await admin.get(path);
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
    expect((await admin.delete(`${path}/${encodeURIComponent(model)}`)).status).toBe(200);
    expect((await admin.delete(`${path}/${encodeURIComponent(model)}`)).status).toBe(404);
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
    // What decides how a signal is read must be known, and something must be left.
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
    expect((await operator.get(path)).status).toBe(200);
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
    await admin.delete(`${path}/${encodeURIComponent(model)}`);
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
