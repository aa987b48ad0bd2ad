import type { Socket } from 'node:net';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import type { Limits } from '@odograph/runtime/limits';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import { isInNetworks, type Network, networkOf } from '@odograph/runtime/network-address';
import { WindowCounter } from '@odograph/runtime/window-counter';

export type ConnectionRefusal = 'network' | 'connections' | 'unauthenticated';

export interface ConnectionLimitOptions {
  readonly limits: Limits;
  /** Connections from other networks are closed; undefined allows all. */
  readonly networks?: readonly Network[] | undefined;
  /** Called for each connection that is closed here. */
  onRefused(reason: ConnectionRefusal, address: string | undefined): void;
}

/** How long a refusal shows in /health. */
const shownMs = 60_000;
/** More than these without an accepted CONNECT or hello are a reconnect storm, or a flood. */
const manyUnauthenticated = 1000;

interface Unauthenticated {
  readonly socket: Socket;
  readonly network: string;
}

/** Connections of all limits of this process: they share its file descriptors. */
let openInProcess = 0;
const maximumInProcess = shareDescriptors().devices;

/**
 * Limits open connections, and more tightly those without an accepted CONNECT. When there are too many of these, the
 * oldest is closed for a new one: an honest client sends its CONNECT at once, and one that stays silent is the first to go.
 */
export class ConnectionLimits {
  readonly maximum: number;
  readonly maximumUnauthenticated: number;
  readonly #options: Pick<ConnectionLimitOptions, 'networks' | 'onRefused'>;
  /** By endpoint, the oldest first. */
  readonly #unauthenticated = new Map<string, Unauthenticated>();
  readonly #perNetwork = new Map<string, number>();
  readonly #maximumPerNetwork: number;
  /** Refusals because of a limit. */
  readonly #refusals = new WindowCounter(shownMs, 1);
  #open = 0;

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
    const { maxDeviceConnections, maxUnauthenticatedConnections } = options.limits;
    this.#maximumPerNetwork = options.limits.maxUnauthenticatedConnectionsPerAddress;
    this.maximum = Math.min(maxDeviceConnections, maximumInProcess);
    this.maximumUnauthenticated = Math.min(maxUnauthenticatedConnections, Math.ceil(this.maximum / 2));
  }

  get open(): number {
    return this.#open;
  }

  get unauthenticated(): number {
    return this.#unauthenticated.size;
  }

  /** Describes a reconnect storm or a flood for /health; undefined without one. */
  get throttling(): string | undefined {
    const refused = this.#refusals.read('', performance.now());
    const unauthenticated = this.#unauthenticated.size;
    if (refused === 0 && unauthenticated <= manyUnauthenticated) return undefined;
    return `throttling connections: ${unauthenticated} not authenticated yet, ${refused} refused within a minute`;
  }

  /** Counts a new TCP connection until it closes, or closes it at once. @returns whether it stays */
  admit(socket: Socket): boolean {
    const { networks } = this.#options;
    if (networks && !isInNetworks(socket.remoteAddress ?? '', networks)) return this.#refuse('network', socket);
    const endpoint = endpointOf(socket);
    const network = networkOf(socket.remoteAddress ?? '');
    const isFull = this.#open >= this.maximum || openInProcess >= maximumInProcess;
    if (isFull) return this.#refuse('connections', socket);
    const ofNetwork = this.#perNetwork.get(network) ?? 0;
    if (ofNetwork >= this.#maximumPerNetwork) return this.#refuse('unauthenticated', socket);
    if (this.#unauthenticated.size >= this.maximumUnauthenticated) this.#closeOldest();
    this.#open += 1;
    openInProcess += 1;
    this.#unauthenticated.set(endpoint, { socket, network });
    this.#perNetwork.set(network, (this.#perNetwork.get(network) ?? 0) + 1);
    socket.once('close', () => {
      this.#open -= 1;
      openInProcess -= 1;
      if (this.#unauthenticated.get(endpoint)?.socket === socket) this.#forget(endpoint);
    });
    return true;
  }

  /** Reports a connection that was dropped before it had a socket, because too many are open. */
  dropped(address: string | undefined): void {
    this.#report('connections', address);
  }

  /** Notes that the client at the other end has authenticated. @param socket the connection, or TLS over it */
  authenticated(socket: Socket): void {
    this.#forget(endpointOf(socket));
  }

  #refuse(reason: ConnectionRefusal, socket: Socket): boolean {
    this.#report(reason, socket.remoteAddress);
    socket.destroy();
    return false;
  }

  #report(reason: ConnectionRefusal, address: string | undefined): void {
    if (reason !== 'network') this.#refusals.add('', performance.now());
    this.#options.onRefused(reason, address);
  }

  #closeOldest(): void {
    const [oldest] = this.#unauthenticated;
    if (oldest === undefined) return;
    const [endpoint, { socket }] = oldest;
    this.#forget(endpoint);
    this.#refuse('unauthenticated', socket);
  }

  #forget(endpoint: string): void {
    const entry = this.#unauthenticated.get(endpoint);
    if (entry === undefined) return;
    this.#unauthenticated.delete(endpoint);
    const left = (this.#perNetwork.get(entry.network) ?? 1) - 1;
    if (left === 0) this.#perNetwork.delete(entry.network);
    else this.#perNetwork.set(entry.network, left);
  }
}

/** Registers the gauge of open connections of a broker or gateway. */
export function addConnectionGauge(registry: Registry, service: 'broker' | 'gateway', limits: ConnectionLimits): void {
  new Gauge({
    name: `odograph_${service}_connections`,
    help: 'Open connections, by whether their client has authenticated',
    labelNames: ['authenticated'] as const,
    registers: [registry],
    collect() {
      this.set({ authenticated: 'no' }, limits.unauthenticated);
      this.set({ authenticated: 'yes' }, limits.open - limits.unauthenticated);
    },
  });
}

/** The same for a TCP connection and for TLS over it. */
function endpointOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
