// A child process that receives deliveries of webhooks and checks their order.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { serveParent } from './processes.ts';

/** Deliveries received so far. */
export interface Arrivals {
  readonly events: number;
  /** Events that came before an earlier one of their vehicle, or twice. */
  readonly misplaced: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

const lastOf = new Map<string, number>();
let [events, misplaced, firstAtMs, lastAtMs] = [0, 0, 0, 0];

/** Notes the number of the event of its vehicle, which the benchmark puts into the status of commands. */
function note(body: string): void {
  const [, vehicleId = ''] = /"vehicleId":"(\d+)"/.exec(body) ?? [];
  const number = Number(/"status":"(\d+)"/.exec(body)?.[1]);
  if (number !== (lastOf.get(vehicleId) ?? 0) + 1) misplaced += 1;
  lastOf.set(vehicleId, number);
  lastAtMs = Date.now();
  if (events === 0) firstAtMs = lastAtMs;
  events += 1;
}

const server = createServer((request, response) => {
  void text(request).then((body) => {
    note(body);
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  serveParent({
    address: () => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }),
    arrivals: (): Arrivals => ({ events, misplaced, firstAtMs, lastAtMs }),
  });
});
