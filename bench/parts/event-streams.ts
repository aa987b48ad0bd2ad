import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { deviceTopic } from '@odograph/contracts/topics';
import { openMqtt, publishPacket } from './mqtt.ts';
import { payloadTemplate, timestampOffset } from './payloads.ts';
import type { TimeHistogram } from './statistics.ts';

/** License plates of the probes begin with it, which finds them in the bytes of a stream without parsing it. */
export const probePlate = 'PROBE-';

/** Events received by all streams. */
export interface Received {
  bytes: number;
  events: number;
  /** From the PUBACK of a probe's upload until a stream has its position. */
  delays: TimeHistogram;
}

/** Opens a live stream and resolves when it has its first snapshot. @param pubacks by device time, ISO 8601 */
export async function openEventStream(
  url: URL,
  token: string,
  { received, pubacks }: { received: Received; pubacks: ReadonlyMap<string, number> },
): Promise<() => void> {
  const request = get(url, { agent: false, headers: { 'x-service-token': token } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => undefined);
  if (response.statusCode !== 200) throw new Error(`a live stream was answered with ${response.statusCode}`);
  response.setEncoding('latin1');
  let rest = '';
  let isComplete: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => {
    isComplete = resolve;
  });
  response.on('data', (chunk: string) => {
    received.bytes += chunk.length;
    const text = rest + chunk;
    const end = text.lastIndexOf('\n\n') + 2;
    rest = text.slice(end);
    readEvents(text.slice(0, end), received, pubacks);
    if (text.includes('"complete":true')) isComplete();
  });
  await complete;
  return () => request.destroy();
}

function readEvents(text: string, received: Received, pubacks: ReadonlyMap<string, number>): void {
  const now = performance.now();
  for (let at = text.indexOf('\ndata:'); at !== -1; at = text.indexOf('\ndata:', at + 1)) received.events += 1;
  for (let at = text.indexOf(probePlate); at !== -1; at = text.indexOf(probePlate, at + 1)) {
    const time = /"time":"([^"]+)"/.exec(text.slice(at, at + 500))?.[1];
    const pubackAt = time === undefined ? undefined : pubacks.get(time);
    if (pubackAt !== undefined) received.delays.record(now - pubackAt);
  }
}

/** Uploads a reading at an interval, one after the other, and records the time of each PUBACK. @returns stops it */
export async function startProbe(
  { port, deviceId, secret }: { port: number; deviceId: string; secret: string },
  pubacks: Map<string, number>,
  intervalMs: number,
): Promise<() => void> {
  const topic = deviceTopic(deviceId, 'telemetry');
  const template = payloadTemplate(0);
  const inFlight: string[] = [];
  const socket = await openMqtt({ port, clientId: deviceId, password: secret }, (packet) => {
    const time = packet.cmd === 'puback' ? inFlight.shift() : undefined;
    if (time !== undefined) pubacks.set(time, performance.now());
  });
  let sent = 0;
  const timer = setInterval(() => {
    const now = Date.now();
    template.write((now / 1000).toFixed(3), timestampOffset);
    inFlight.push(new Date(now).toISOString());
    sent += 1;
    socket.write(publishPacket(topic, (sent % 60_000) + 1, template));
  }, intervalMs);
  return () => {
    clearInterval(timer);
    socket.destroy();
  };
}
