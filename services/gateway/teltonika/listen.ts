import type { Socket } from 'node:net';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { type DeviceListeners, listenForDevices } from '@odograph/sessions/listeners';
import { TeltonikaConnection, type TeltonikaDoor } from './connection.ts';
import { receiveDatagrams } from './datagrams.ts';

export interface TeltonikaListeners extends DeviceListeners {
  /** Closes the open connections, each after what was written to it. */
  closeConnections(): void;
}

/**
 * Listens for Teltonika devices: TCP and, with TELTONIKA_UDP, UDP on TELTONIKA_PORT, TLS on TELTONIKA_TLS_PORT. A port of 0
 * stays closed.
 * @throws when it cannot listen on a port, or a certificate cannot be read
 */
export async function listenForTeltonika(door: TeltonikaDoor, config: ResolvedConfig): Promise<TeltonikaListeners> {
  const { TELTONIKA_HOST: host, TELTONIKA_PORT: port, TELTONIKA_TLS_PORT: tlsPort } = config;
  const { limits, logger } = door;
  const connections = new Set<Socket>();
  const accept = (socket: Socket): void => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    new TeltonikaConnection(door, socket);
  };
  const datagrams = port > 0 && config.TELTONIKA_UDP ? await receiveDatagrams(door, host, port) : undefined;
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
