import { randomUUID } from 'node:crypto';
import { type ApiAnswer, type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createToken, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { accessService } from '../service.ts';

export const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
export const answerOf = ({ status, body }: ApiAnswer) => [status, body.error];
/** A booking of an hour in an hour. */
export const planned = () => ({ type: 'BOOKING', driver: 'driver-1', from: inMinutes(60), until: inMinutes(120) });
/** An open one from now on. */
export const floating = () => ({ type: 'FREE_FLOATING', driver: 'driver-1', from: inMinutes(0) });
export const pathOf = (vehicle: { id: string }) => `/v1/vehicle/${vehicle.id}/booking`;

/** A platform with an application that books, and one that must not see it. */
export interface House {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  readonly api: ApiClient;
  readonly foreign: ApiClient;
}

export async function openHouse(): Promise<House> {
  const platform = await startTestPlatform([accessService]);
  const application = await createApplication(platform.db);
  const api = clientWithToken(platform.httpUrl, application.token);
  const foreign = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
  return { platform, application, api, foreign };
}

/** Books what must be possible. @returns the body of the answer */
export async function book(client: ApiClient, vehicle: { id: string }, request: object): Promise<ApiAnswer['body']> {
  const { status, body } = await client.post(pathOf(vehicle), request);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

export async function changeVehicle({ platform }: House, { id }: TestVehicle, values: object): Promise<void> {
  await platform.db.updateTable('vehicle').set(values).where('id', '=', Number(id)).execute();
}

/** Moves a booking back in time, as if these minutes had passed. */
export async function age({ platform }: House, bookingId: string, minutes: number): Promise<void> {
  const past = sql`make_interval(secs => ${minutes * 60})`;
  await sql`update booking set starts_at = starts_at - ${past}, ends_at = ends_at - ${past}
    where id = ${bookingId}`.execute(platform.db);
}

/** A user of the application who is granted the vehicle. */
export async function createUser(
  { platform, application }: House,
  vehicle: TestVehicle,
): Promise<{ id: string; username: string; client: ApiClient }> {
  const username = `User-${randomUUID()}`;
  const { id } = await platform.db
    .insertInto('user_account')
    .values({ application_id: application.id, username, password_hash: '-' })
    .returning('id')
    .executeTakeFirstOrThrow();
  await platform.db
    .insertInto('vehicle_grant')
    .values({ user_id: id, vehicle_id: Number(vehicle.id) })
    .execute();
  return {
    id,
    username,
    client: clientWithToken(platform.httpUrl, await createToken(platform.db, application.id, id)),
  };
}

export async function expectRevoked({ api }: House, authorizationId: string): Promise<void> {
  expect(answerOf(await api.get(`/v1/bluetooth-token/${authorizationId}`))).toEqual([404, 'UNKNOWN_AUTHORIZATION']);
}
