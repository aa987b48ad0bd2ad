import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { DeviceMessenger } from '@odograph/sessions/presence';
import type { DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { expect } from 'vitest';

/** Parts for tests of the broker: a Redis to kill, the contents of the queue, raw MQTT packets. */

export interface OwnRedis {
  readonly url: string;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  remove(): Promise<void>;
}

/** Starts a durable Redis server for one test. @param settings additional command-line arguments */
export async function startOwnRedis(settings: readonly string[] = []): Promise<OwnRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-redis-'));
  let server: RedisServer | undefined = await spawnRedis(directory, undefined, settings);
  const { url, port } = server;
  const kill = async (): Promise<void> => {
    await server?.end('SIGKILL');
    server = undefined;
  };
  return {
    url,
    kill,
    async restart() {
      server = await spawnRedis(directory, port, settings);
    },
    async remove() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts a proxy to Redis that can stop answering on its open connections; later ones work. */
export async function startStallingProxy(redisUrl: string) {
  const { hostname, port } = new URL(redisUrl);
  const open: Socket[] = [];
  const answering = new Map<Socket, Socket>();
  const stalled: Socket[] = [];
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    open.push(socket, upstream);
    answering.set(socket, upstream);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    socket.pipe(upstream);
    upstream.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stall(): void {
      for (const [socket, upstream] of answering) {
        upstream.unpipe().pause();
        stalled.push(socket);
      }
      answering.clear();
    },
    /** Ends the connections that do not answer. */
    endStalled(): void {
      for (const socket of stalled.splice(0)) socket.destroy();
    },
    async close(): Promise<void> {
      server.close();
      for (const end of open) end.destroy();
    },
  };
}

/** Opens a connection to Redis. */
export async function openRedis(url: string): Promise<Redis> {
  const redis = connectRedis(url, createLogger('silent'));
  await once(redis, 'ready');
  return redis;
}

/** Opens the messenger of the command service. */
export async function openMessenger({ REDIS_URL, QUEUE_PREFIX }: ResolvedConfig): Promise<DeviceMessenger> {
  const messenger = new DeviceMessenger(REDIS_URL, QUEUE_PREFIX, createLogger('silent'));
  await eventually(async () => expect(messenger.isConnected).toBe(true));
  return messenger;
}

/** Records the packet identifiers of PUBLISHes sent and PUBACKs received, in order. */
export function watchPubacks({ client }: DeviceConnection): { sent: number[]; received: number[] } {
  const sent: number[] = [];
  const received: number[] = [];
  client.on('packetsend', (packet) => {
    if (packet.cmd === 'publish') sent.push(packet.messageId ?? 0);
  });
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'puback') received.push(packet.messageId ?? 0);
  });
  return { sent, received };
}

/** Resolves when the connection of a device is closed. */
export function closed({ client }: DeviceConnection): Promise<unknown> {
  return client.connected
    ? new Promise((resolve) => client.once('close', () => resolve(undefined)))
    : Promise.resolve();
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

/** Encodes an MQTT packet [MQTT-2.2]. */
export function packet(header: number, ...body: Buffer[]): Buffer {
  const bytes = Buffer.concat(body);
  const length: number[] = [];
  let rest = bytes.length;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    length.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return Buffer.concat([Buffer.from([header, ...length]), bytes]);
}

export interface ConnectFields {
  clientId: string;
  username: string;
  password: string;
  will?: { topic: string; payload: string };
  /** True by default. */
  clean?: boolean;
}

/** Encodes a CONNECT of MQTT 3.1.1 [MQTT-3.1]; a will has QoS 1 and is retained. */
export function connectPacket({ clientId, username, password, will, clean = true }: ConnectFields): Buffer {
  const flags = 0xc0 | (clean ? 0x02 : 0) | (will ? 0x2c : 0);
  const wills = will ? [text(will.topic), text(will.payload)] : [];
  const header = Buffer.concat([text('MQTT'), Buffer.from([4, flags, 0, 60])]);
  return packet(0x10, header, text(clientId), ...wills, text(username), text(password));
}

/** Encodes a PUBLISH of QoS 1. */
export function publishPacket(topic: string, messageId: number, payload: Buffer): Buffer {
  return packet(0x32, text(topic), Buffer.from([messageId >> 8, messageId & 0xff]), payload);
}

export async function openSocket(mqttUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(mqttUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends a CONNECT. @returns the return code of its CONNACK */
export async function connackOf(mqttUrl: string, fields: ConnectFields): Promise<number | undefined> {
  const socket = await openSocket(mqttUrl);
  socket.write(connectPacket(fields));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer[3];
}
