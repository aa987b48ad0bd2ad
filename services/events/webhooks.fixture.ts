import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';

/** An event as a receiver gets it. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly appId: string;
  readonly vehicleId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A request to a receiver, with its event. */
export interface Received {
  readonly event: ReceivedEvent;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** Answers a request, given the event that it holds; the default is 204. */
export type Answer = (received: Received, response: ServerResponse) => unknown;

/** A real receiver of webhooks on the loopback interface. */
export interface TestReceiver {
  readonly url: string;
  /** Requests answered with 2xx, in order. */
  readonly accepted: Received[];
  /** Everything that was received, in order. */
  readonly received: Received[];
  answer: Answer;
  close(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Starts a receiver. */
export async function startReceiver(answer: Answer = () => undefined): Promise<TestReceiver> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: TestReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=in-the-query`,
    ...{ accepted: [], received: [], answer },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const received = { event: JSON.parse(body) as ReceivedEvent, body, headers };
    receiver.received.push(received);
    await receiver.answer(received, response);
    if (response.writableEnded || response.destroyed) return;
    if (!response.headersSent) response.statusCode = response.statusCode === 200 ? 204 : response.statusCode;
    if (response.statusCode < 300) receiver.accepted.push(received);
    response.end();
  };
  // A delivery may be cut while it is read.
  server.on('request', (request, response) => void receive(request, response).catch(() => response.destroy()));
  return receiver;
}

/** Verifies the signature of a request as its receiver does. @throws when it is wrong */
export function verify(secret: string, { body, headers }: Received): void {
  new Webhook(secret).verify(body, headers);
}

/** Signs a request. @param timestamp UNIX seconds */
export const sign = (secret: string, id: string, timestamp: number, body: string): string =>
  new Webhook(secret).sign(id, new Date(timestamp * 1000), body);

/** Ends commands of a vehicle, each of which causes an event; `status` of each counts from `first`. */
export async function endCommands(
  db: Database,
  vehicle: { id: string; deviceId: string },
  count: number,
  first = 0,
): Promise<void> {
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, expires_at, ended_at, status)
    select application_id, id, ${vehicle.deviceId}, 'HONK', 'acknowledged', now(), now(), ${first} + n || ''
    from vehicle, generate_series(0, ${count - 1}) as n where id = ${Number(vehicle.id)} order by n`.execute(db);
}

/** The numbers of the commands that endCommands ended, as they were received. */
export const numbersOf = (received: readonly Received[], vehicleId: string): number[] =>
  received.filter(({ event }) => event.vehicleId === vehicleId).map(({ event }) => Number(event.data['status']));
