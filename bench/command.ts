import type { Socket } from 'node:net';
import type { CommandMessage } from '@odograph/contracts/commands';
import { deviceTopic } from '@odograph/contracts/topics';
import { findFreePort } from '@odograph/embedded/process/free-port';
import { startScript } from './parts/child-script.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { openHttpClient } from './parts/http-client.ts';
import { type MqttEndpoint, openMqtt, pubackPacket, publishPacket, subscribePacket } from './parts/mqtt.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printRatio, printRounds } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';
import { median, TimeHistogram } from './parts/statistics.ts';

export const description =
  'a command from the HTTP request to its answer with a simulated device, compared with a bare MQTT round trip';

const options = {
  commands: { value: 300, help: 'commands of a round, one after the other' },
  rounds: { value: 5, help: 'rounds of each' },
  profile: { value: '', help: 'directory for a CPU profile of broker and command' },
} as const;

/** Subscribes to a topic and calls back with each payload; resolves with the socket at the SUBACK. */
async function subscribe(
  endpoint: MqttEndpoint,
  topic: string,
  onMessage: (socket: Socket, payload: Buffer) => void,
): Promise<Socket> {
  let subscribed: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    subscribed = resolve;
  });
  const socket: Socket = await openMqtt(endpoint, (packet) => {
    if (packet.cmd === 'suback') subscribed();
    if (packet.cmd !== 'publish') return;
    if (packet.qos === 1) socket.write(pubackPacket(packet.messageId ?? 0));
    onMessage(socket, Buffer.from(packet.payload));
  });
  socket.write(subscribePacket(1, topic));
  await ready;
  return socket;
}

/** Connects a device that acknowledges every command at once. */
function connectDevice(endpoint: MqttEndpoint): Promise<Socket> {
  const acks = deviceTopic(endpoint.clientId, 'acks');
  return subscribe(endpoint, deviceTopic(endpoint.clientId, 'commands'), (socket, payload) => {
    const { id } = JSON.parse(payload.toString()) as CommandMessage;
    socket.write(publishPacket(acks, 1, Buffer.from(JSON.stringify({ id, ok: true }))));
  });
}

/** Opens the reference: the same round trip from client to device and back, over bare aedes. */
async function openBareRoundTrip(engines: Engines, deviceId: string): Promise<() => Promise<void>> {
  const port = await findFreePort();
  const broker = await startScript(new URL('./parts/bare-aedes.ts', import.meta.url), { port });
  engines.onStop('bare aedes', broker.stop);
  const device = await connectDevice({ port, clientId: deviceId, password: '' });
  let heard: () => void = () => undefined;
  const client = await subscribe({ port, clientId: 'client', password: '' }, deviceTopic(deviceId, 'acks'), () =>
    heard(),
  );
  engines.onStop('bare clients', () => {
    device.destroy();
    client.destroy();
  });
  const topic = deviceTopic(deviceId, 'commands');
  const command = Buffer.from(JSON.stringify({ id: crypto.randomUUID(), action: 'LOCK', expiresAt: 2_000_000_000 }));
  return () =>
    new Promise((resolve) => {
      heard = resolve;
      client.write(publishPacket(topic, 2, command));
    });
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

export async function run(parameters: readonly string[]): Promise<void> {
  const { commands, rounds, profile } = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const { token, secret, vehicles } = await createFleet(engines.pool, 1);
    const [vehicle] = vehicles;
    if (!vehicle) throw new Error('the fleet has no vehicle');
    const { deviceId, vehicleId } = vehicle;
    const platform = await startServices(engines, ['broker', 'command'], { profile });
    const device = await connectDevice({ port: platform.mqttPort, clientId: deviceId, password: secret });
    engines.onStop('device', () => device.destroy());
    const client = openHttpClient(platform.httpUrl, token);
    engines.onStop('HTTP client', client.close);
    const body = { vehicleId: String(vehicleId) };
    const send = (index: number) => client.send('POST', `/v1/vehicle/${index % 2 === 0 ? 'lock' : 'unlock'}`, body);
    const bare = await openBareRoundTrip(engines, deviceId);

    await measure(50, send);
    await measure(50, bare);
    const whole: TimeHistogram[] = [];
    const reference: TimeHistogram[] = [];
    for (let round = 0; round < rounds; round += 1) {
      whole.push(await measure(commands, send));
      reference.push(await measure(commands, bare));
    }
    const at = (histograms: TimeHistogram[], share: number) => histograms.map((histogram) => histogram.quantile(share));
    printRounds({ 'HTTP to HTTP, p50': at(whole, 0.5), 'bare MQTT, p50': at(reference, 0.5) }, 'ms');
    printRounds({ 'HTTP to HTTP, p99': at(whole, 0.99), 'bare MQTT, p99': at(reference, 0.99) }, 'ms');
    printRatio('HTTP to HTTP', at(whole, 0.5), ['bare MQTT, at the median', at(reference, 0.5)]);
    const more = median(at(whole, 0.5)) - median(at(reference, 0.5));
    console.log(`  median minus the median of the bare round trip: ${figure(more)} ms (goal: at most 4)`);
  });
}
