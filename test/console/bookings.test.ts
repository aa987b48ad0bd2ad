import { clientWithToken } from '@odograph/testkit/api-client';
import { createGroup, createVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleSetup, startConsole } from './console.fixture.ts';

let setup: ConsoleSetup;
let operator: string;
let api: ReturnType<typeof clientWithToken>;

/** Creates a vehicle that can be booked: with a device. @returns its id */
async function createBookable(plate: string): Promise<string> {
  const { id } = await createVehicle(setup.platform.db, setup.application);
  await setup.platform.db.updateTable('vehicle').set({ plate }).where('id', '=', Number(id)).execute();
  return id;
}

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const book = async (vehicleId: string, from: number, until: number, driver: string) => {
  const body = { from: inHours(from), until: inHours(until), type: 'BOOKING', driver };
  return (await api.post(`/v1/vehicle/${vehicleId}/booking`, body)).body.bookingId as string;
};

/** Inserts bookings of half an hour, one on each of so many days from a time on. */
async function insertBookings(vehicleId: string, from: string, count: number): Promise<void> {
  await sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, authorization_id)
    select ${setup.application.id}, ${vehicleId}::integer, 'driver-20', 'BOOKING', start, start + interval '30 minutes',
      gen_random_uuid()
    from generate_series(0, ${count - 1}::integer) as day,
      lateral (select ${from}::timestamptz + day * interval '1 day' as start) as one`.execute(setup.platform.db);
}

const save = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();

async function chooseVehicle(page: Page, plate: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('searchbox').fill(plate);
  await dialog.getByRole('button', { name: plate, exact: true }).click();
}

describe.skipIf(!hasBrowser)('the screen Bookings', () => {
  beforeAll(async () => {
    setup = await startConsole();
    operator = await setup.accountOf('operator');
    api = clientWithToken(setup.platform.httpUrl, setup.application.token);
  });
  afterAll(() => setup?.stop());

  it('a booking is made, seen in the calendar, made longer and stopped', async () => {
    const id = await createBookable('BK-100-AA');
    const { page, errors, foreignRequests } = await setup.open('/bookings', operator);
    await page.getByRole('link', { name: 'BK-100-AA' }).waitFor();
    await page.getByRole('button', { name: 'New booking', exact: true }).click();
    await save(page);
    await page.getByRole('dialog').getByText('Choose a vehicle.').waitFor();
    await chooseVehicle(page, 'BK-100-AA');
    await page.getByLabel('Driver').fill('driver-17');
    await save(page);
    const bar = page.getByRole('button', { name: /BK-100-AA, driver-17, .*Booking, Planned/ });
    await bar.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
    await page
      .getByRole('dialog')
      .getByLabel('End')
      .fill(`${inHours(48).slice(0, 11)}08:00`);
    await save(page);
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await bar.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await bar.waitFor({ state: 'detached' });
    await book(id, 0, 5, 'driver-18');
    await page.reload();
    await page.getByRole('button', { name: /BK-100-AA, driver-18, .*Active/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop now' }).click();
    await page.getByRole('button', { name: /BK-100-AA, driver-18, .*Stopped/ }).waitFor();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await page.context().close();
  });

  it('a dialog stays open when its edge is clicked or a text selection ends outside, and closes on a click outside', async () => {
    const { page } = await setup.open('/bookings', operator);
    await page.getByRole('button', { name: 'New booking', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const driver = dialog.getByLabel('Driver');
    await driver.fill('driver-16');
    await dialog.click({ position: { x: 6, y: 6 } });
    const { x = 0, y = 0 } = (await driver.boundingBox()) ?? {};
    await page.mouse.move(x + 60, y + 10);
    await page.mouse.down();
    await page.mouse.move(20, y + 10);
    await page.mouse.up();
    expect(await driver.inputValue()).toBe('driver-16');
    await page.mouse.click(20, y + 10);
    await dialog.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('the calendar of a group shows its vehicles, booked or free, and no others', async () => {
    const [booked, free, outside] = [
      await createBookable('BK-151-GR'),
      await createBookable('BK-152-GR'),
      await createBookable('BK-153-GR'),
    ];
    await createGroup(setup.platform.db, setup.application, { vehicleIds: [booked, free] });
    for (const id of [booked, outside]) await book(id, 1, 3, 'driver-19');
    const { page, errors } = await setup.open('/bookings', operator);
    await page.getByRole('combobox', { name: /^Group/ }).selectOption({ index: 1 });
    await page.getByRole('link', { name: 'BK-153-GR' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'BK-152-GR' }).waitFor();
    expect(await page.locator('.calendar a').allInnerTexts()).toEqual(['BK-151-GR', 'BK-152-GR']);
    expect(await page.locator('.calendar .booking').count()).toBe(1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('a day of 25 hours shows its last hour, and the next day follows it', async () => {
    const id = await createBookable('BK-160-DT');
    await insertBookings(id, '2026-10-25T23:15+01:00', 1);
    const { page, errors } = await setup.open(`/bookings?vehicle=${id}&days=1&from=2026-10-25`, operator);
    const bar = page.getByRole('button', { name: /BK-160-DT, driver-20/ });
    await bar.waitFor();
    const labels = ['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00'];
    expect(await page.locator('.calendar-tick').allInnerTexts()).toEqual(labels);
    await page.getByRole('button', { name: 'Later' }).click();
    await bar.waitFor({ state: 'detached' });
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-10-26');
    await page.getByRole('button', { name: 'Earlier' }).click();
    await bar.waitFor();
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-10-25');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the calendar reads every page of its bookings, and says so when it reads no further', async () => {
    const id = await createBookable('BK-170-PG');
    await insertBookings(id, '2025-03-03T12:00Z', 14);
    const { page } = await setup.open('/bookings/spots', operator);
    let limit = 5;
    await page.route('**/v1/x/bookings?*', (route, request) => {
      const url = new URL(request.url());
      url.searchParams.set('limit', String(limit));
      return route.continue({ url: url.href });
    });
    const bars = page.getByRole('button', { name: /BK-170-PG, driver-20/ });
    const notice = page.getByText('Bookings that start after 14 Mar 2025 13:00 are not shown.');
    await page.goto(`/bookings?vehicle=${id}&days=14&from=2025-03-03`);
    await bars.first().waitFor();
    expect([await bars.count(), await notice.count()]).toEqual([14, 0]);
    limit = 3;
    await page.reload();
    await notice.waitFor();
    expect(await bars.count()).toBe(12);
    await page.context().close();
  });

  it('a booking that overlaps another is refused at the vehicle, and what was typed stays', async () => {
    const id = await createBookable('BK-200-BB');
    await book(id, 0, 20, 'first');
    const { page } = await setup.open(`/bookings?vehicle=${id}`, operator);
    await page.getByRole('button', { name: /BK-200-BB, first/ }).waitFor();
    await page.getByRole('button', { name: 'New booking of BK-200-BB' }).click();
    await page.getByLabel('Driver').fill('second');
    await save(page);
    const vehicle = page.getByRole('dialog').getByRole('group', { name: 'Vehicle' });
    await vehicle.getByRole('alert').waitFor();
    expect(await page.getByLabel('Driver').inputValue()).toBe('second');
    await page.context().close();
  });

  it('a booking that another person changed meanwhile is not overwritten', async () => {
    const id = await createBookable('BK-300-CC');
    const bookingId = await book(id, 2, 6, 'driver-19');
    const { page } = await setup.open(`/bookings?vehicle=${id}`, operator);
    await page.getByRole('button', { name: /BK-300-CC, driver-19/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
    await api.put(`/v1/booking/${bookingId}`, { until: inHours(9) });
    await page
      .getByRole('dialog')
      .getByLabel('End')
      .fill(`${inHours(48).slice(0, 11)}08:00`);
    await save(page);
    await page.getByText('Someone else has changed this in the meantime').waitFor();
    const { until } = (await api.get(`/v1/booking/${bookingId}`)).body;
    expect(Date.parse(until)).toBeLessThan(Date.now() + 10 * 3_600_000);
    await page.context().close();
  });

  it('a booking that another person has changed gets both times of the form with "Keep mine"', async () => {
    const id = await createBookable('BK-400-DD');
    const bookingId = await book(id, 24, 28, 'driver-21');
    const { from, until } = (await api.get(`/v1/booking/${bookingId}`)).body;
    const { page } = await setup.open(`/bookings?vehicle=${id}`, operator);
    await page.getByRole('button', { name: /BK-400-DD, driver-21/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await api.put(`/v1/booking/${bookingId}`, { from: inHours(72), until: inHours(90) });
    await save(page);
    await page.getByText('Someone else has changed this in the meantime').waitFor();
    await dialog.getByRole('button', { name: 'Keep mine' }).click();
    await save(page);
    await dialog.waitFor({ state: 'hidden' });
    const kept = (await api.get(`/v1/booking/${bookingId}`)).body;
    const toMinute = (time: string) => Math.floor(Date.parse(time) / 60_000);
    expect([kept.from, kept.until].map(toMinute)).toEqual([from, until].map(toMinute));
    await page.context().close();
  });

  it('a start in the hour that is repeated when the clocks go back stays when the end is changed', async () => {
    const id = await createBookable('BK-450-DT');
    // 02:30 in Paris, for the second time.
    const interval = { from: '2027-10-31T01:30:00.000Z', until: '2027-10-31T06:00:00.000Z' };
    const body = { ...interval, type: 'BOOKING', driver: 'driver-23' };
    const { bookingId } = (await api.post(`/v1/vehicle/${id}/booking`, body)).body;
    const { page } = await setup.open(`/bookings?vehicle=${id}&days=1&from=2027-10-31`, operator);
    await page.getByRole('button', { name: /BK-450-DT, driver-23/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/02:30:00 CET/).waitFor();
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.getByText('02:30:00 CET').waitFor();
    await dialog.getByLabel('End').fill('2027-10-31T10:00');
    await save(page);
    await dialog.waitFor({ state: 'hidden' });
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({
      from: interval.from,
      until: '2027-10-31T09:00:00.000Z',
    });
    await page.context().close();
  });

  it('says which hour is meant by a time that the clocks repeat or skip', async () => {
    const { page, errors } = await setup.open('/bookings', operator);
    await page.getByRole('button', { name: 'New booking', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Start').fill('2027-10-31T02:30');
    await dialog.getByText('31 Oct 2027, 02:30:00 CEST').waitFor();
    await dialog.getByLabel('Start').fill('2027-10-31T03:00');
    await dialog.getByText(/CEST|CET/).waitFor({ state: 'detached' });
    await dialog.getByLabel('End').fill('2028-03-26T02:30');
    await dialog.getByText('26 Mar 2028, 03:30:00 CEST').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the end of a free-floating booking cannot be emptied, since the platform does not remove it', async () => {
    const id = await createBookable('BK-500-EE');
    const body = { from: inHours(1), until: inHours(3), type: 'FREE_FLOATING', driver: 'driver-22' };
    await api.post(`/v1/vehicle/${id}/booking`, body);
    const { page } = await setup.open(`/bookings?vehicle=${id}`, operator);
    await page.getByRole('button', { name: /BK-500-EE, driver-22/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('End').fill('');
    await save(page);
    expect(await dialog.locator('input:invalid').count()).toBe(1);
    await page.context().close();
  });

  it('a parking spot is written with its place, moved by a click on the map, and deleted', async () => {
    const { page } = await setup.open('/bookings/spots', operator);
    await page.getByRole('button', { name: 'New parking spot' }).click();
    for (const [label, value] of [
      ...[['Name', 'Depot'] as const, ['Address', '1 rue de Rivoli'] as const, ['Postal code', '75001'] as const],
      ...[['City', 'Paris'] as const, ['Country', 'France'] as const, ['Latitude', '48.85'] as const],
    ]) {
      await page.getByLabel(label, { exact: true }).fill(value);
    }
    await page.getByLabel('Longitude').fill('2.35');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Change: Depot' }).click();
    await page
      .getByRole('region', { name: 'Map of the parking spots' })
      .locator('canvas')
      .click({ position: { x: 60, y: 60 } });
    await expect.poll(() => page.getByLabel('Latitude').inputValue()).not.toBe('48.85');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Delete: Depot' }).waitFor();
    const [spot] = (await api.get('/v1/parkings')).body.parkings;
    expect(spot).toMatchObject({ name: 'Depot', latitude: expect.any(Number), longitude: expect.any(Number) });
    expect(spot.latitude).not.toBe(48.85);
    await page.getByRole('button', { name: 'Delete: Depot' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No parking spots yet').waitFor();
    await page.context().close();
  });

  it('a request becomes a vehicle when it is approved, and is declined with a reason', async () => {
    for (const plate of ['RQ-100-AA', 'RQ-200-BB']) await api.post('/v1/vehicle', { plate, request: 'OBD device' });
    const { page } = await setup.open('/bookings/requests', operator);
    await page.getByRole('button', { name: 'Approve: RQ-100-AA' }).click();
    await page.getByRole('dialog').getByLabel('Make').fill('Renault');
    await page.getByRole('dialog').getByLabel('Model').fill('Zoe');
    await save(page);
    await page.getByRole('button', { name: 'Decline: RQ-200-BB' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('not one of ours');
    await save(page);
    await page.getByText('No requests are waiting for a decision').waitFor();
    const { requests } = (await setup.admin.get(`/v1/x/admin/requests?appId=${setup.application.appId}`)).body;
    expect(requests).toMatchObject([
      { plate: 'RQ-100-AA', state: 'approved' },
      { plate: 'RQ-200-BB', state: 'declined', reason: 'not one of ours' },
    ]);
    await page.context().close();
  });

  it('requests beyond the first page are shown when a person asks for them', async () => {
    await sql`insert into vehicle_request (application_id, plate, request, created_at)
      select ${setup.application.id}, 'LQ-' || number, 'OBD device', now() + number * interval '1 second'
      from generate_series(1, 201) as number`.execute(setup.platform.db);
    const { page } = await setup.open('/bookings/requests', operator);
    const list = page.getByRole('list', { name: 'Requests for vehicles' });
    await list.getByText('LQ-200', { exact: true }).waitFor();
    expect(await list.getByText('LQ-201', { exact: true }).count()).toBe(0);
    await page.getByRole('main').getByRole('button', { name: 'More' }).click();
    await list.getByText('LQ-201', { exact: true }).waitFor();
    expect(await page.getByRole('main').getByRole('button', { name: 'More' }).count()).toBe(0);
    await page.context().close();
  });
});
