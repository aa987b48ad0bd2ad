// A child process that loads a broker over many connections, controlled by messages of its parent.
import { deviceTopic } from '@odograph/contracts/topics';
import { readSettings, serveParent } from './child-script.ts';
import { openMqtt } from './mqtt.ts';
import { Publisher } from './publisher.ts';
import { TimeHistogram } from './statistics.ts';

export interface GeneratorSettings {
  port: number;
  deviceIds: string[];
  secret: string;
  /** Uploads in flight per connection. */
  inFlight: number;
  /** Readings of an upload. */
  readings: number;
}

export interface LoadPlan {
  uploads: number;
  /** Uploads per second; 0 sends as fast as PUBACKs arrive. */
  rate: number;
  /** Device time of each device's first upload, UNIX milliseconds. */
  firstTimestampMs: number;
  /** Difference between successive readings of one device. */
  stepMs: number;
}

export interface LoadResult {
  /** UNIX milliseconds. */
  firstPublishAtMs: number;
  lastPubackAtMs: number;
  /** From the PUBLISH; of a paced load, from the time it was due. */
  pubackP50Ms: number;
  pubackP99Ms: number;
}

const { port, deviceIds, secret, inFlight, readings } = readSettings<GeneratorSettings>();
let histogram = new TimeHistogram();
let left = 0;
let paced = false;
let done: () => void = () => undefined;

async function connectPublisher(deviceId: string, index: number): Promise<Publisher> {
  const socket = await openMqtt({ port, clientId: deviceId, password: secret }, () => undefined);
  socket.removeAllListeners('data');
  const record = { record: (ms: number) => histogram.record(ms) };
  const shape = { topic: deviceTopic(deviceId, 'telemetry'), seed: index * inFlight, inFlight, readings };
  const publisher = new Publisher(socket, shape, record);
  socket.on('data', (chunk: Buffer) => {
    left -= publisher.receive(chunk);
    if (!paced) publisher.sendAll();
    if (left === 0) done();
  });
  socket.once('close', () => {
    throw new Error('the broker closed a connection of the load generator');
  });
  return publisher;
}

const publishers = await Promise.all(deviceIds.map(connectPublisher));

/** Sends at a constant rate (open loop): the latency of a delayed upload counts from the time it was due. */
function pace({ uploads, rate }: LoadPlan): void {
  const start = performance.now();
  let sent = 0;
  let next = 0;
  const timer = setInterval(() => {
    const due = Math.min(uploads, Math.floor(((performance.now() - start) * rate) / 1000));
    for (let refused = 0; sent < due && refused < publishers.length; next = (next + 1) % publishers.length) {
      if (publishers[next]?.sendOne(start + (sent * 1000) / rate)) {
        sent += 1;
        refused = 0;
      } else refused += 1;
    }
    if (sent === uploads) clearInterval(timer);
  }, 1);
}

async function load(plan: LoadPlan): Promise<LoadResult> {
  const { uploads, rate, firstTimestampMs, stepMs } = plan;
  histogram = new TimeHistogram();
  left = uploads;
  paced = rate > 0;
  for (const [index, publisher] of publishers.entries()) {
    const share = Math.floor(uploads / publishers.length) + (index < uploads % publishers.length ? 1 : 0);
    publisher.assign({ uploads: share, firstTimestampMs, stepMs });
  }
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  const firstPublishAtMs = performance.timeOrigin + performance.now();
  if (paced) pace(plan);
  else for (const publisher of publishers) publisher.sendAll();
  await finished;
  return {
    firstPublishAtMs,
    lastPubackAtMs: performance.timeOrigin + performance.now(),
    pubackP50Ms: histogram.quantile(0.5),
    pubackP99Ms: histogram.quantile(0.99),
  };
}

serveParent({ load });
