import { createSocket, type Socket as DatagramSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { acknowledgeDatagram, readDatagram } from '@odograph/codec/teltonika/packets';
import { isKnownCodec } from '@odograph/codec/teltonika/upload';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { isInNetworks, networkOf } from '@odograph/runtime/network-address';
import { type DeviceListeners, listenForDevices } from '@odograph/sessions/listeners';
import type { DeviceThrottle } from '@odograph/sessions/throttle';
import type { RefusalReason } from '../shared/metrics.ts';
import { TeltonikaConnection, type TeltonikaEndpoint } from './connection.ts';
import { findTeltonikaDevice, storeRecords } from './store-records.ts';

interface TeltonikaListeners extends DeviceListeners {
  /** Closes the open connections, each after what was written to it. */
  closeConnections(): void;
}

/**
 * Listens for Teltonika devices: TCP and, with TELTONIKA_UDP, UDP on TELTONIKA_PORT, TLS on TELTONIKA_TLS_PORT. A port of 0 stays closed.
 * @throws when it cannot listen on a port, or a certificate cannot be read
 */
export async function listenForTeltonika(
  endpoint: TeltonikaEndpoint,
  config: ResolvedConfig,
): Promise<TeltonikaListeners> {
  const { TELTONIKA_HOST: host, TELTONIKA_PORT: port, TELTONIKA_TLS_PORT: tlsPort } = config;
  const { limits, logger } = endpoint;
  const connections = new Set<Socket>();
  const accept = (socket: Socket): void => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    new TeltonikaConnection(endpoint, socket);
  };
  const datagrams = port > 0 && config.TELTONIKA_UDP ? await receiveDatagrams(endpoint, host, port) : undefined;
  try {
    const listeners = await listenForDevices({
      ...{ host, port: port || undefined, tlsPort: tlsPort || undefined, config, limits, logger },
      onConnection: accept,
      onTlsConnection: accept,
    });
    return {
      get isListening() {
        return listeners.isListening;
      },
      stop() {
        listeners.stop();
        datagrams?.close();
      },
      closeConnections() {
        for (const socket of connections) socket.destroySoon();
      },
    };
  } catch (error) {
    datagrams?.close();
    throw error;
  }
}

/** Datagrams come in any number from anywhere, so refusals are logged once in this time. */
const logIntervalMs = 1000;

/**
 * Receives datagrams of Teltonika devices, and answers each once the queue has it on disk. One that is not answered is sent
 * again by its device.
 * @throws when it cannot bind the port
 */
async function receiveDatagrams(endpoint: TeltonikaEndpoint, host: string, port: number): Promise<DatagramSocket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const refuse = createRefuse(endpoint);
  socket.on('message', (datagram, from) => void receive(endpoint, socket, refuse, datagram, from));
  socket.bind(port, host);
  await once(socket, 'listening');
  socket.on('error', (error) => endpoint.logger.error({ err: error }, 'receiving datagrams failed'));
  return socket;
}

type Refuse = (reason: RefusalReason, from: RemoteInfo, deviceId?: string) => void;

async function receive(
  { devices, uploads, held, throttles, addresses, networks, metrics }: TeltonikaEndpoint,
  socket: DatagramSocket,
  refuse: Refuse,
  bytes: Buffer,
  from: RemoteInfo,
): Promise<void> {
  if (networks && !isInNetworks(from.address, networks)) return refuse('network', from);
  if (!takeDatagram(addresses.forDatagram(networkOf(from.address), {}), bytes.length)) return refuse('budget', from);
  const datagram = readDatagram(bytes);
  if (!datagram) return refuse('packet', from);
  const { imei, data } = datagram;
  if (!isKnownCodec(data[0])) return refuse('codec', from, imei);
  if (!held.reserve(bytes.length)) return refuse('held_bytes', from, imei);
  const device = await findTeltonikaDevice(devices, imei).catch(() => 'unavailable' as const);
  held.release(bytes.length);
  if (device === 'unavailable') return refuse('unavailable', from, imei);
  if (!device) return refuse('unknown_device', from, imei);
  const throttle = throttles.forDatagram(imei, device.rates);
  if (!takeDatagram(throttle, bytes.length)) return metrics.throttled.inc();
  const stored = storeRecords(uploads, device, throttle, data);
  if (!stored) return refuse('held_bytes', from, imei);
  socket.send(acknowledgeDatagram(datagram, await stored), from.port, from.address);
}

/** Takes a datagram from a budget; returns false and takes nothing when the budget is exceeded. */
function takeDatagram(budget: DeviceThrottle, bytes: number): boolean {
  const nowMs = performance.now();
  if (budget.waitMs(nowMs) > 0) return false;
  budget.takeUpload(nowMs);
  budget.takeBytes(bytes, nowMs);
  return true;
}

function createRefuse({ metrics, logger }: TeltonikaEndpoint): Refuse {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  let refused = 0;
  return (reason, { address }, deviceId) => {
    metrics.refused.inc({ listener: 'teltonika', reason });
    refused += 1;
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < logIntervalMs) return;
    logger.warn({ deviceId, address, reason, refused }, 'datagrams refused');
    loggedAtMs = nowMs;
    refused = 0;
  };
}
