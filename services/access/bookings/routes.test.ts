import { type ApiAnswer, type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestVehicle, unlinkDevice } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  age,
  answerOf,
  book,
  changeVehicle,
  floating,
  type House,
  inMinutes,
  openHouse,
  pathOf,
  planned,
} from './bookings.fixture.ts';

let fleet: House;
let api: ApiClient;
let vehicle: TestVehicle;

beforeAll(async () => {
  fleet = await openHouse();
  api = fleet.api;
});
afterAll(() => fleet?.platform.stop());
beforeEach(async () => {
  vehicle = await createVehicle(fleet.platform.db, fleet.application);
});

const authorization = (id: string) => api.get(`/v1/bluetooth-token/${id}`);

describe('POST /v1/vehicle/{id}/booking', () => {
  it('answers exactly the documented fields, with an authorization to drive for the period', async () => {
    const request = planned();
    const body = await book(api, vehicle, request);
    const { bookingId, authorizationId } = body;
    const record = { from: request.from, until: request.until, vehicleId: vehicle.id, userId: 'driver-1' };
    const { token, key } = (await authorization(authorizationId)).body;
    expect(body).toEqual({
      ...record,
      ...{ booked: true, bookingId, authorizationId, bookingType: 'BOOKING' },
      authorization: { id: authorizationId, token, key },
      commands: (await api.get(`/v1/bluetooth-token/${authorizationId}/commands`)).body,
    });
    expect([token.length, key.length, body.commands.immobilize.length]).toEqual([107, 43, 27]);
    expect((await authorization(authorizationId)).body).toEqual({ ...record, token, key });
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toEqual({
      ...record,
      ...{ id: bookingId, authorizationId, bookingType: 'BOOKING' },
    });
  });

  it('takes moments as UNIX seconds and milliseconds, also from a query string', async () => {
    const [from, until] = [Date.now() + 60_000, Date.now() + 120_000];
    const search = new URLSearchParams({ type: 'BOOKING', from: String(from / 1000), until: String(until) });
    const { body } = await api.post(`${pathOf(vehicle)}?${search.toString()}`);
    expect([Date.parse(body.from), Date.parse(body.until)]).toEqual([from, until]);
    const later = { ...planned(), from: until / 1000, until: until + 1 };
    expect(Date.parse((await book(api, vehicle, later)).until)).toBe(until + 1);
  });

  it('leaves a free-floating one open, with an authorization that ends after 30 days all the same', async () => {
    for (const until of [undefined, '', null]) {
      const body = await book(api, vehicle, { ...floating(), until });
      expect([body.until, body.bookingType]).toEqual(['', 'FREE_FLOATING']);
      const { from, until: end } = (await authorization(body.authorizationId)).body;
      expect((Date.parse(end) - Date.parse(from)) / 86_400_000).toBeCloseTo(30, 2);
      await api.post(`/v1/booking/${body.bookingId}/stop`);
    }
  });

  it('makes the application the driver when it names none', async () => {
    const { driver: _driver, ...request } = planned();
    expect((await book(api, vehicle, request)).userId).toBe(fleet.application.appId);
    expect(
      (await book(api, vehicle, { ...request, driver: '', from: inMinutes(200), until: inMinutes(201) })).userId,
    ).toBe(fleet.application.appId);
  });

  it('has empty commands when the device has no Bluetooth', async () => {
    vehicle = await createVehicle(fleet.platform.db, fleet.application, { model: 'tracker' });
    const { commands } = await book(api, vehicle, planned());
    expect(commands).toMatchObject({ key: '', lock: '', encryptLock: false, digitalOutput: {} });
  });

  it.each([
    ['INVALID_BOOKING_TYPE', { type: 'RENTAL' }],
    ['INVALID_BOOKING_TYPE', { type: undefined }],
    ['INVALID_INTERVAL', { until: undefined }],
    ['INVALID_INTERVAL', { from: inMinutes(-5.1) }],
    ['INVALID_INTERVAL', { from: '2020-01-01', until: '2020-01-02' }],
    ['INVALID_INTERVAL', { from: '2035-01-01', until: '2035-01-01' }],
    ['INVALID_INTERVAL', { from: '2035-01-02', until: '2035-01-01' }],
    ['INVALID_INTERVAL', { type: 'FREE_FLOATING', from: '2035-01-02', until: '2035-01-01' }],
  ])('answers %s for %j', async (error, changes) => {
    expect(answerOf(await api.post(pathOf(vehicle), { ...planned(), ...changes }))).toEqual([400, error]);
  });

  it.each([
    ['from', undefined],
    ['from', 'soon'],
    ['until', {}],
    ['driver', ' '],
    ['driver', 'a\0b'],
    ['driver', ['a']],
  ])('names %s when it is %j', async (field, value) => {
    const { status, body } = await api.post(pathOf(vehicle), { ...planned(), [field]: value });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('takes a start that lies less than 5 minutes back', async () => {
    expect((await book(api, vehicle, { ...planned(), from: inMinutes(-4.9) })).booked).toBe(true);
  });

  it('answers NO_DEVICE for a vehicle without a device', async () => {
    await unlinkDevice(fleet.platform.db, vehicle.deviceId);
    expect(answerOf(await api.post(pathOf(vehicle), planned()))).toEqual([404, 'NO_DEVICE']);
  });

  it.each(['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable', 'archived_at'])(
    'answers VEHICLE_NOT_AVAILABLE for a vehicle with %s',
    async (column) => {
      await changeVehicle(fleet, vehicle, { [column]: column === 'archived_at' ? new Date() : true });
      expect(answerOf(await api.post(pathOf(vehicle), planned()))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    },
  );

  it('answers VEHICLE_NOT_AVAILABLE for an overlap, and lets bookings meet', async () => {
    const [from, until] = [inMinutes(60), inMinutes(120)];
    await book(api, vehicle, { ...planned(), from, until });
    for (const overlap of [
      { from: inMinutes(61), until: inMinutes(62) },
      { from: inMinutes(0), until: inMinutes(61) },
      { from: inMinutes(0), until: undefined, type: 'FREE_FLOATING' },
    ]) {
      expect(answerOf(await api.post(pathOf(vehicle), { ...planned(), ...overlap }))).toEqual([
        409,
        'VEHICLE_NOT_AVAILABLE',
      ]);
    }
    await book(api, vehicle, { ...planned(), from: until, until: inMinutes(180) });
    await book(api, vehicle, { ...planned(), from: inMinutes(0), until: from });
  });

  it('lets exactly one of 50 simultaneous bookings of a vehicle pass, and leaves nothing of the others', async () => {
    const requests = Array.from({ length: 50 }, (_unused, index) => ({ ...planned(), driver: `driver-${index}` }));
    const answers = await Promise.all(requests.map((request) => api.post(pathOf(vehicle), request)));
    const outcomes = answers.map(({ status, body }) => `${status} ${body.error ?? body.booked}`).sort();
    expect(outcomes).toEqual(['200 true', ...Array<string>(49).fill('409 VEHICLE_NOT_AVAILABLE')]);
    expect((await api.get(pathOf(vehicle))).body.bookings).toHaveLength(1);
    const { body } = await api.get(`/v1/vehicle/${vehicle.id}/authorizations/scheduled`);
    expect(body.authorizations).toHaveLength(1);
  });

  it('writes every change to the audit, with who asked', async () => {
    const { bookingId } = await book(api, vehicle, planned());
    await api.put(`/v1/booking/${bookingId}`, { until: inMinutes(90) });
    await api.post(`/v1/booking/${bookingId}/stop`);
    const other = (await book(api, vehicle, planned())).bookingId;
    await api.delete(`/v1/booking/${other}`);
    const { rows } = await sql<{
      action: string;
    }>`select action, actor, address, details->>'driver' as driver from audit
      where subject in (${`booking:${bookingId}`}, ${`booking:${other}`}) order by position`.execute(fleet.platform.db);
    expect(rows).toEqual(
      ['create', 'update', 'stop', 'create', 'delete'].map((action) => ({
        action: `booking.${action}`,
        actor: 'application',
        address: '127.0.0.1',
        driver: 'driver-1',
      })),
    );
  });
});

describe('the lists of bookings', () => {
  it('of a vehicle has all that are not deleted, the latest start first, in pages when asked', async () => {
    const first = (await book(api, vehicle, planned())).bookingId;
    const second = (await book(api, vehicle, { ...planned(), from: inMinutes(130), until: inMinutes(140) })).bookingId;
    const gone = (await book(api, vehicle, { ...planned(), from: inMinutes(150), until: inMinutes(160) })).bookingId;
    await api.delete(`/v1/booking/${gone}`);
    const idsOf = ({ body }: ApiAnswer) => body.bookings.map(({ id }: { id: string }) => id);
    const { body } = await api.get(pathOf(vehicle));
    expect(idsOf({ body } as ApiAnswer)).toEqual([second, first]);
    expect(body.bookings[1]).toEqual((await api.get(`/v1/booking/${first}`)).body);
    const page = await api.get(`${pathOf(vehicle)}?limit=1`);
    expect(idsOf(page)).toEqual([second]);
    const next = page.headers.get('link')?.match(/<(.*)>; rel="next"/)?.[1] ?? '';
    const last = await api.get(next);
    expect([idsOf(last), last.headers.get('x-has-more')]).toEqual([[first], 'false']);
  });

  it('of the application has those that have started and not ended', async () => {
    const other = await createApplication(fleet.platform.db);
    const theirs = clientWithToken(fleet.platform.httpUrl, other.token);
    expect((await theirs.get('/v1/bookings')).body).toEqual({ bookings: [] });
    const open = (await book(api, vehicle, floating())).bookingId;
    vehicle = await createVehicle(fleet.platform.db, fleet.application);
    const ended = (await book(api, vehicle, { ...planned(), from: inMinutes(0), until: inMinutes(10) })).bookingId;
    await age(fleet, ended, 10);
    const stopped = (await book(api, vehicle, floating())).bookingId;
    await api.post(`/v1/booking/${stopped}/stop`);
    const upcoming = (await book(api, vehicle, planned())).bookingId;
    const { body } = await api.get('/v1/bookings');
    const ids = body.bookings.map(({ id }: { id: string }) => id);
    expect(ids).toContain(open);
    for (const id of [ended, stopped, upcoming]) expect(ids).not.toContain(id);
    expect((await fleet.foreign.get('/v1/bookings')).body).toEqual({ bookings: [] });
  });
});
