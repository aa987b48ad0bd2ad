import { randomUUID } from 'node:crypto';
import { compileModelDatabase } from '@odograph/codec/can/decode';
import type { Database } from '@odograph/database/database';
import { openSealer } from '@odograph/runtime/sealing';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { decodeUploads } from './ingest-upload.ts';
import { BatchStore } from './store-batch.ts';

const platform = await usePlatform([]);
const batches = new BatchStore(platform.db, await openSealer(platform.config, 'quarantine'));

const start = 1_763_000_000;
const signal = (name: string, startBit: number, factor = 1) =>
  ` SG_ ${name} : ${startBit}|16@1+ (${factor},0) [0|0] "" X\n`;
const dbc = (factor = 1) => `BO_ 256 Engine: 8 X\n${signal('Rpm', 0, factor)}${signal('Gps_Latitude', 16)}`;
/** 1,000 rpm, and a position. */
const frame = { id: '100', data: 'e803314100000000' };
const values = (rpm: string, latitude = '16689') => [
  { key: 'Rpm', value: rpm },
  { key: 'Gps_Latitude', value: latitude },
];

async function importDbc(db: Database, model: string, text: string): Promise<void> {
  await sql`insert into can_database (model, file, dbc, sha256, messages, signals, position_keys)
    values (${model}, 'a.dbc', ${text}, encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 1, 1, '{}')
    on conflict (lower(model)) do update set dbc = excluded.dbc, sha256 = excluded.sha256`.execute(db);
}

async function createModelled(): Promise<TestVehicle & { model: string }> {
  const vehicle = await createVehicle(platform.db, await createApplication(platform.db));
  const model = `Model ${randomUUID()}`;
  await sql`update vehicle set model = ${model} where id = ${Number(vehicle.id)}`.execute(platform.db);
  return { ...vehicle, model };
}

/** Stores an upload of these readings. */
async function store(deviceId: string, ...readings: object[]): Promise<void> {
  const text = JSON.stringify(readings);
  const { quarantined } = await batches.store(
    decodeUploads([{ deviceId, receivedAtMs: Date.now(), text }], Date.now()),
  );
  expect(quarantined).toEqual([]);
}

async function readingsOf({ id }: TestVehicle) {
  const { rows } = await sql<Record<string, unknown>>`select can, decoded_can, frames from reading
    where vehicle_id = ${Number(id)} order by time`.execute(platform.db);
  return rows;
}

async function latestCanOf({ id }: TestVehicle): Promise<unknown> {
  const { rows } = await sql<{ can: unknown }>`select can from vehicle_latest
    where vehicle_id = ${Number(id)}`.execute(platform.db);
  return rows[0]?.can;
}

describe('raw CAN frames', () => {
  it('are decoded with the DBC file of the model, ignoring case, and are kept', async () => {
    const vehicle = await createModelled();
    await importDbc(platform.db, vehicle.model.toUpperCase(), dbc());
    await store(vehicle.deviceId, { timestamp: start, frames: [frame] });
    expect(await readingsOf(vehicle)).toEqual([{ can: null, decoded_can: values('1000'), frames: [frame] }]);
    expect(await latestCanOf(vehicle)).toEqual(values('1000'));
  });

  it('add to the values that the device gave itself, which win over decoded ones of the same key', async () => {
    const vehicle = await createModelled();
    await importDbc(platform.db, vehicle.model, dbc());
    const can = [
      { key: 'Rpm', value: '950' },
      { key: 'odometer', value: '7' },
    ];
    await store(vehicle.deviceId, { timestamp: start, can, frames: [frame] });
    expect(await readingsOf(vehicle)).toMatchObject([{ can, decoded_can: values('').slice(1) }]);
    expect(await latestCanOf(vehicle)).toEqual([...can, ...values('').slice(1)]);
  });

  it('and values of the device in uploads of the same time are both kept', async () => {
    const vehicle = await createModelled();
    await importDbc(platform.db, vehicle.model, dbc());
    const can = [{ key: 'odometer', value: '7' }];
    await store(vehicle.deviceId, { timestamp: start, frames: [frame] });
    await store(vehicle.deviceId, { timestamp: start, can });
    await store(vehicle.deviceId, { timestamp: start + 1, can }, { timestamp: start + 1, frames: [frame] });
    await store(vehicle.deviceId, { timestamp: start + 2, frames: [frame] }, { timestamp: start + 2, can });
    const both = { can, decoded_can: values('1000'), frames: [frame] };
    expect(await readingsOf(vehicle)).toEqual([both, both, both]);
  });

  it('are decoded with a new DBC file, and with that of a new model, from the moment of the change', async () => {
    const vehicle = await createModelled();
    await store(vehicle.deviceId, { timestamp: start, frames: [frame] });
    await importDbc(platform.db, vehicle.model, dbc());
    await store(vehicle.deviceId, { timestamp: start + 1, frames: [frame] });
    await importDbc(platform.db, vehicle.model, dbc(2));
    await store(vehicle.deviceId, { timestamp: start + 2, frames: [frame] });
    await sql`update vehicle set model = 'none' where id = ${Number(vehicle.id)}`.execute(platform.db);
    await store(vehicle.deviceId, { timestamp: start + 3, frames: [frame] });
    const decoded = (await readingsOf(vehicle)).map((row) => row['decoded_can']);
    expect(decoded).toEqual([null, values('1000'), values('2000'), null]);
  });

  it('that are unknown or too short are stored, and spoil neither the reading nor its other frames', async () => {
    const vehicle = await createModelled();
    await importDbc(platform.db, vehicle.model, dbc());
    const frames = [
      { id: '101', data: 'ff' },
      { id: '100', data: 'e803' },
      { id: '00000100', data: 'ffffffffffffffff' },
    ];
    await store(vehicle.deviceId, { timestamp: start, frames }, { timestamp: start + 1, frames: frames.slice(0, 1) });
    expect(await readingsOf(vehicle)).toEqual([
      { can: null, decoded_can: values('1000').slice(0, 1), frames },
      { can: null, decoded_can: [], frames: frames.slice(0, 1) },
    ]);
    expect(await latestCanOf(vehicle)).toEqual(values('1000').slice(0, 1));
  });

  it('of a privacy interval are decoded but not stored, and values that tell a position neither', async () => {
    const vehicle = await createModelled();
    await importDbc(platform.db, vehicle.model, dbc());
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start}), to_timestamp(${start + 10})))`.execute(platform.db);
    await store(vehicle.deviceId, { timestamp: start, frames: [frame] });
    expect(await readingsOf(vehicle)).toEqual([{ can: null, decoded_can: values('1000').slice(0, 1), frames: null }]);
  });
});

describe('the keys of decoded values', () => {
  const keysOf = (text: string, ...ids: string[]) =>
    compileModelDatabase(text)
      .decode(ids.map((id) => ({ id, data: '0000000000000000' })))
      .map(({ key }) => key);

  it('name the message of a signal whose name an earlier message has', () => {
    const text = `BO_ 1 First: 8 X\n${signal('Speed', 0)}BO_ 2 Second: 8 X\n${signal('Speed', 0)}${signal('Load', 16)}`;
    expect(keysOf(text, '001', '002')).toEqual(['Speed', 'Second.Speed', 'Load']);
  });

  it('name a message whose name tells a position, so that its signals are removed with private positions', () => {
    const text = `BO_ 1 GPS_Fix: 8 X\n${signal('North', 0)}BO_ 2 Other: 8 X\n${signal('Longitude', 0)}${signal('Load', 16)}`;
    expect(keysOf(text, '001', '002')).toEqual(['GPS_Fix.North', 'Longitude', 'Load']);
    expect(compileModelDatabase(text).positionKeys).toEqual(['GPS_Fix.North', 'Longitude']);
  });

  it('have the label of a value, the last value of a reading, and none without a value', () => {
    const text = `BO_ 1 M: 1 X\n SG_ Gear : 0|8@1+ (1,0) [0|0] "" X\nVAL_ 1 Gear 0 "Park" 1 "Drive" ;
BO_ 2566844158 J: 8 X\n SG_ Level : 0|8@1+ (1,0) [0|0] "" X
BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","reserved","J1939PG";\nBA_ "VFrameFormat" BO_ 2566844158 3;\n`;
    const { decode, faults } = compileModelDatabase(text);
    expect(faults).toEqual([]);
    const frames = [
      { id: '001', data: '00' },
      { id: '001', data: '01' },
      { id: '18FEF2FE', data: 'ffffffffffffffff' },
    ];
    expect(decode(frames)).toEqual([{ key: 'Gear', value: 'Drive' }]);
    expect(decode([{ id: '001', data: '07' }])).toEqual([{ key: 'Gear', value: '7' }]);
  });

  it('are bounded, and the last values of those that fit are kept', () => {
    const messages = Array.from({ length: 40 }, (_, message) =>
      [
        `BO_ ${message} M${message}: 64 X`,
        ...Array.from(
          { length: 64 },
          (_signal, byte) => ` SG_ S${message}_${byte} : ${8 * byte}|8@1+ (1,0) [0|0] "" X`,
        ),
      ].join('\n'),
    );
    const { decode } = compileModelDatabase(`${messages.join('\n')}\n`);
    const frame = (message: number, byte: string) => ({
      id: message.toString(16).padStart(3, '0'),
      data: byte.repeat(64),
    });
    const frames = Array.from({ length: 1000 }, (_, index) => frame(index % 40, index < 960 ? '01' : '02'));
    const decoded = decode(frames);
    expect(decoded).toHaveLength(1000);
    expect(new Set(decoded.map(({ value }) => value))).toEqual(new Set(['2']));
  });
});
