import type { Socket } from 'node:net';
import type { CommandMessage } from '@odograph/contracts/commands';
import { deviceTopic } from '@odograph/contracts/topics';
import { generate } from 'mqtt-packet';
import { defineBenchmark, inTurns } from './parts/benchmark.ts';
import { planLoad, startAedes } from './parts/contenders.ts';
import type { Engines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { openHttpClient } from './parts/http-client.ts';
import type { GeneratorSettings, LoadResult } from './parts/load-generator.ts';
import { type MqttEndpoint, openMqtt, publishPacket } from './parts/mqtt.ts';
import { startScript, startServices } from './parts/processes.ts';
import { median, printRatio, printRounds, printTable, seriesOf, TimeHistogram } from './parts/report.ts';

const options = {
  commands: [300, 'commands per round, one at a time'],
  rounds: [5, 'rounds per contender'],
  rate: [15_000, 'uploads per second of 100 other devices in some of the rounds; 0 leaves these out'],
} as const;

/** Subscribes to a topic and calls back with each payload; resolves with the socket at the SUBACK. */
async function subscribe(
  endpoint: MqttEndpoint,
  topic: string,
  onMessage: (socket: Socket, payload: Buffer) => void,
): Promise<Socket> {
  const { promise: ready, resolve: subscribed } = withResolvers();
  const socket: Socket = await openMqtt(endpoint, (packet) => {
    if (packet.cmd === 'suback') subscribed();
    if (packet.cmd !== 'publish') return;
    if (packet.qos === 1) socket.write(generate({ cmd: 'puback', messageId: packet.messageId ?? 0 }));
    onMessage(socket, Buffer.from(packet.payload));
  });
  socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 1 }] }));
  await ready;
  return socket;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Connects a device that acknowledges every command at once. */
async function connectDevice(engines: Engines, endpoint: MqttEndpoint): Promise<void> {
  const acks = deviceTopic(endpoint.clientId, 'acks');
  const device = await subscribe(endpoint, deviceTopic(endpoint.clientId, 'commands'), (socket, payload) => {
    const { id } = JSON.parse(payload.toString()) as CommandMessage;
    socket.write(publishPacket(acks, 1, Buffer.from(JSON.stringify({ id, ok: true }))));
  });
  engines.onStop('device', () => device.destroy());
}

/** Opens the reference: the same round trip from client to device and back, over bare aedes. */
async function openBareRoundTrip(engines: Engines, deviceId: string): Promise<() => Promise<void>> {
  const { port } = await startAedes(engines);
  await connectDevice(engines, { port, clientId: deviceId, password: '' });
  let heard: () => void = () => undefined;
  const acks = deviceTopic(deviceId, 'acks');
  const client = await subscribe({ port, clientId: 'client', password: '' }, acks, () => heard());
  engines.onStop('bare client', () => client.destroy());
  const topic = deviceTopic(deviceId, 'commands');
  const command = Buffer.from(JSON.stringify({ id: crypto.randomUUID(), action: 'LOCK', expiresAt: 2_000_000_000 }));
  return async () => {
    const { promise, resolve } = withResolvers();
    heard = resolve;
    client.write(publishPacket(topic, 2, command));
    await promise;
  };
}

async function measure(count: number, once: (index: number) => Promise<unknown>): Promise<TimeHistogram> {
  const histogram = new TimeHistogram();
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    await once(index);
    histogram.record(performance.now() - start);
  }
  return histogram;
}

const shape = { connections: 100, inFlight: 20 };

/** Starts an ingest process and a load. @returns a function that runs work while devices upload at a rate, second by second */
async function openUploads(engines: Engines, rate: number, settings: GeneratorSettings) {
  await startServices(engines, ['ingest']);
  const generator = await startScript(engines, 'load-generator', settings);
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    let isDone = false;
    const uploading = (async () => {
      while (!isDone) await generator.ask<LoadResult>({ kind: 'load', ...planLoad(rate, rate, shape) });
    })();
    const result = await work().finally(() => {
      isDone = true;
    });
    await uploading;
    return result;
  };
}

export const benchmark = defineBenchmark(
  'latency of a command over HTTP with a simulated device, compared with a bare MQTT round trip',
  options,
  async (engines, { commands, rounds, rate }) => {
    const { token, secret, vehicles } = await createFleet(engines.pool, 1 + shape.connections);
    const { deviceId, vehicleId } = { deviceId: '', vehicleId: 0, ...vehicles[0] };
    const platform = await startServices(engines, ['broker', 'command']);
    await connectDevice(engines, { port: platform.mqttPort, clientId: deviceId, password: secret });
    const client = openHttpClient(engines, platform.httpUrl, token);
    const body = { vehicleId: String(vehicleId) };
    const send = (index: number) => client('POST', `/v1/vehicle/${index % 2 === 0 ? 'lock' : 'unlock'}`, body);
    const bare = await openBareRoundTrip(engines, deviceId);

    await measure(50, send);
    await measure(50, bare);
    const deviceIds = vehicles.slice(1).map(({ deviceId: id }) => id);
    const load = { port: platform.mqttPort, deviceIds, secret, inFlight: shape.inFlight, readings: 1 };
    const duringUploads = rate === 0 ? undefined : await openUploads(engines, rate, load);
    const measured = await inTurns(
      {
        'HTTP to HTTP': () => measure(commands, send),
        'bare MQTT': () => measure(commands, bare),
        ...(duringUploads && { 'HTTP to HTTP during uploads': () => duringUploads(() => measure(commands, send)) }),
      },
      rounds,
    );
    const at = (share: number) => seriesOf(measured, (histogram) => histogram.quantile(share));
    const { 'HTTP to HTTP': whole = [], 'bare MQTT': reference = [] } = at(0.5);
    printRounds(at(0.5), 'p50, ms');
    printRounds(at(0.99), 'p99, ms');
    printRatio('HTTP to HTTP', whole, ['bare MQTT, at the median', reference]);
    const more = median(whole) - median(reference);
    printTable(['HTTP to HTTP', 'ms'], [['median over that of the bare round trip (goal: at most 4)', more]]);
  },
);
