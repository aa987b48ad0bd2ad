// A child process that receives deliveries of webhooks; checks the order of commands and measures the lag of readings.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { readSettings, serveParent } from './processes.ts';
import { TimeHistogram } from './report.ts';

export interface ReceiverSettings {
  /** Number of servers, each on its own port. */
  readonly servers: number;
  /** PEM files; without them, the servers are plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

/** Deliveries received so far. */
export interface Arrivals {
  readonly events: number;
  /** Events that came before an earlier one of their vehicle, or twice. */
  readonly misplaced: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Time from the device time of a reading to its delivery, since the last `lag` request. */
export interface Lag {
  readonly events: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const lastOf = new Map<string, number>();
let [events, misplaced, firstAtMs, lastAtMs] = [0, 0, 0, 0];
let lags = new TimeHistogram();
let readings = 0;

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

function noteReading(body: string): void {
  const [, time = ''] = /"time":"([^"]+)"/.exec(body) ?? [];
  lags.record(Date.now() - Date.parse(time));
  readings += 1;
}

const receive: RequestListener = (request, response) => {
  void text(request).then((body) => {
    if (body.includes('"type":"reading.stored"')) noteReading(body);
    else note(body);
    response.writeHead(204).end();
  });
};

const { servers, tls } = readSettings<ReceiverSettings>();
const urls = await Promise.all(
  Array.from({ length: servers }, async () => {
    const server = tls
      ? createTlsServer({ cert: readFileSync(tls.certificate), key: readFileSync(tls.key) }, receive)
      : createServer(receive);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }),
);

function takeLag(): Lag {
  const lag = { events: readings, p50Ms: lags.quantile(0.5), p99Ms: lags.quantile(0.99) };
  lags = new TimeHistogram();
  readings = 0;
  return lag;
}

serveParent({
  addresses: () => ({ urls }),
  arrivals: (): Arrivals => ({ events, misplaced, firstAtMs, lastAtMs }),
  lag: takeLag,
});
