import type { ApiAnswer, ApiClient } from '@odograph/testkit/api-client';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { type AccessFixture, expectFailure, inMinutes } from '../access.fixture.ts';

export const answerOf = ({ status, body }: ApiAnswer) => [status, body.error];
/** A booking of an hour in an hour. */
export const planned = () => ({ type: 'BOOKING', driver: 'driver-1', from: inMinutes(60), until: inMinutes(120) });
/** An open-ended one from now on. */
export const floating = () => ({ type: 'FREE_FLOATING', driver: 'driver-1', from: inMinutes(0) });
export const pathOf = (vehicle: { id: string }) => `/v1/vehicle/${vehicle.id}/booking`;

/** Books, which must succeed. @returns the body of the answer */
export async function book(client: ApiClient, vehicle: { id: string }, request: object): Promise<ApiAnswer['body']> {
  const { status, body } = await client.post(pathOf(vehicle), request);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

/** Moves a booking into the past, as if these minutes had passed. */
export async function age({ platform }: AccessFixture, bookingId: string, minutes: number): Promise<void> {
  const past = sql`make_interval(secs => ${minutes * 60})`;
  await sql`update booking set starts_at = starts_at - ${past}, ends_at = ends_at - ${past}
    where id = ${bookingId}`.execute(platform.db);
}

export async function expectRevoked({ api }: AccessFixture, authorizationId: string): Promise<void> {
  expectFailure(await api.get(`/v1/bluetooth-token/${authorizationId}`), 404, 'UNKNOWN_AUTHORIZATION');
}
