import { eventually } from '@odograph/testkit/eventually';
import type { EventOptions, OdographClient } from '../../packages/client/client.ts';

export type Send = (request: Request) => Promise<Response>;

/** The way from a client to the platform, on which requests and answers may be lost. */
export class Network {
  /** Outcomes of the next requests, one each; later ones arrive. */
  onTheWay: Send[] = [];
  /** The paths of the requests that were sent. */
  #sent: string[] = [];

  readonly send: Send = async (request) => {
    this.#sent.push(new URL(request.url).pathname);
    return (this.onTheWay.shift() ?? fetch)(request);
  };

  callsOf(path: string): number {
    return this.#sent.filter((one) => one === path).length;
  }

  reset(): void {
    [this.onTheWay, this.#sent] = [[], []];
  }
}

/** Answers in place of the platform, as a proxy does. */
export function refused(status: number, headers: Record<string, string> = {}): Send {
  const body = JSON.stringify({ error: 'OVERLOADED', message: 'later' });
  return () => Promise.resolve(new Response(body, { status, headers }));
}

/** Delivers a request, and loses the answer. */
export const answerLost: Send = async (request) => {
  await fetch(request);
  throw new TypeError('fetch failed');
};

/** Collects what is iterated. */
export async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The contents of a vehicle's events. */
export interface Seen {
  readonly latitudes: (number | undefined)[];
  readonly resets: string[];
}

/** Follows the only vehicle with a device until it is at a latitude. @returns the id of the event */
export async function follow(
  client: OdographClient,
  seen: Seen,
  until: number,
  options: EventOptions,
): Promise<string | undefined> {
  for await (const { id, event, data } of client.events(options)) {
    if (event === 'reset') seen.resets.push(data.reason);
    const vehicles = event === 'snapshot' || event === 'changes' ? data.vehicles : [];
    seen.latitudes.push(...vehicles.map(({ location }) => location?.latitude));
    if (seen.latitudes.at(-1) === until) return id;
  }
  return undefined;
}

/** Reads the OpenAPI document of a platform; a busy one sheds requests while it starts. */
export function readDocument(httpUrl: string): Promise<unknown> {
  return eventually(async () => {
    const response = await fetch(`${httpUrl}/docs/json`);
    if (!response.ok) throw new Error(`no document: ${response.status}`);
    return (await response.json()) as unknown;
  });
}
