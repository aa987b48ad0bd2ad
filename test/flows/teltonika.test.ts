import { encodeAnswer } from '@odograph/codec/teltonika/commands';
import { wrapPacket } from '@odograph/codec/teltonika/packets';
import { gatewayService } from '@odograph/gateway/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createImei, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

const port = await freePort();
const settings = { TELTONIKA_PORT: String(port) };
const platform = await usePlatform([ingestService, gatewayService, queryService], settings);
const application = await createApplication(platform.db);
const api = platform.as(application.token);

const start = Math.floor(Date.now() / 1000) - 1000;

describe('a Teltonika device', () => {
  it.each(['tcp', 'udp'] as const)(
    'finds what it reports over %s in the history of its vehicle, once each',
    async (transport) => {
      const imei = createImei();
      const { id } = await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika-fmb' });
      const device = new TeltonikaDevice({ host: '127.0.0.1', port, imei, transport, recordsPerPacket: 10 });
      const record = (index: number): void =>
        device.record({
          timestamp: start + index,
          location: {
            latitude: 48.85 + index / 1e4,
            longitude: 2.35,
            altitude: 35,
            angle: 90,
            satellites: 11,
            speed: 50,
          },
          status: { ignition: true, mileage: 12_345 + index },
          can: [{ key: 'engine_rpm', value: '2071' }],
        });
      for (let index = 0; index < 45; index += 1) record(index);
      await device.drain();
      // A packet repeated after a lost acknowledgement changes nothing.
      for (let index = 0; index < 45; index += 1) record(index);
      await device.drain();
      await device.close();
      const { body } = await eventually(async () => {
        const answer = await api.get(`/v1/vehicle/${id}/history?from=${start}&until=${start + 500}`);
        expect(answer.body.status).toHaveLength(45);
        return answer;
      });
      expect(body.status[7]).toMatchObject({
        timestamp: start + 7,
        location: { latitude: 48.8507, longitude: 2.35 },
        status: { ignition: true, mileage: 12_352 },
      });
      const { rows } = await sql<{ can: unknown }>`
      select can from reading where vehicle_id = ${Number(id)} order by time limit 1`.execute(platform.db);
      expect(JSON.stringify(rows[0]?.can)).toContain('2071');
    },
  );

  it.each([
    ['teltonika-fmx6', { mileage: 12.345, fleet: { fuelRange: 55 }, sensors: null }],
    ['teltonika', { mileage: null, fleet: null, sensors: null }],
  ])('of the model %s reports what its family says, and no error code', async (model, expected) => {
    const imei = createImei();
    const { id } = await createVehicle(platform.db, application, { deviceId: imei, model });
    const absent = async () =>
      (await platform.metrics.getSingleMetric('odograph_ingest_absent_values_total')?.get())?.values.find(
        ({ labels }) => labels['reason'] === 'error_code',
      )?.value ?? 0;
    const before = await absent();
    const device = new TeltonikaDevice({ host: '127.0.0.1', port, imei });
    await device.connect();
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(start) * 1000n);
    // Total odometer 12,345 m, fuel level 55 %, and a Dallas sensor that is not connected.
    const elements = '00 03 00 01 480bb8 02 d800003039 5700000037 00'.replaceAll(' ', '');
    const record = Buffer.concat([time, Buffer.alloc(16), Buffer.from(elements, 'hex')]);
    await device.write(wrapPacket(Buffer.concat([Buffer.from([8, 1]), record, Buffer.from([1])])));
    const stored = await eventually(async () => {
      const { rows } = await sql<object>`
        select mileage, fleet, sensors from reading_in_units where vehicle_id = ${Number(id)}`.execute(platform.db);
      expect(rows).toHaveLength(1);
      return rows[0];
    });
    expect(stored).toEqual(expected);
    expect(await absent()).toBe(before + 1);
    await device.close();
  });

  it('finds a packet that cannot be decoded in quarantine, byte for byte', async () => {
    const imei = createImei();
    await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika' });
    const device = new TeltonikaDevice({ host: '127.0.0.1', port, imei });
    await device.connect();
    const data = Buffer.from([0x8e, 2, 0xff, 0xff, 0xff, 2]);
    await device.write(wrapPacket(data));
    const row = await eventually(async () => {
      const found = await platform.db
        .selectFrom('quarantine')
        .select(['format', 'payload_bytes', 'faults'])
        .where('device_id', '=', imei)
        .executeTakeFirst();
      expect(found).toBeDefined();
      return found;
    });
    expect(row).toMatchObject({ format: 'teltonika', payload_bytes: data.length });
    expect(row?.faults).toMatchObject([{ index: null, reason: 'MALFORMED' }]);
    await device.close();
  });

  it('finds its serial data in the history, next to the record of the same second', async () => {
    const imei = createImei();
    const { id } = await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika' });
    const device = new TeltonikaDevice({ host: '127.0.0.1', port, imei });
    device.record({ timestamp: start, can: [{ key: 'engine_rpm', value: '2071' }] });
    await device.drain();
    // Codec 13 with the time of the record, and Codec 12 without a time.
    const message = Buffer.from(
      `0d0106${'0000000d'}${start.toString(16)}${Buffer.from('AXLE 4200').toString('hex')}01`,
      'hex',
    );
    await device.write(Buffer.concat([wrapPacket(message), encodeAnswer('CARD 4711\r\n')]));
    const texts = await eventually(async () => {
      const { body } = await api.get(`/v1/vehicle/${id}/history?from=${start}&until=${start + 2000}`);
      expect(body.status).toHaveLength(3);
      return body.status.map(({ sensors }: { sensors?: unknown }) => sensors);
    });
    const serial = (value: string) => [{ name: 'serial', data: [{ key: 'serial_text', value }] }];
    expect(texts).toEqual([[], serial('AXLE 4200'), serial('CARD 4711')]);
    await device.close();
  });
});
