import type { Gauge } from '@odograph/runtime/metrics';

/** The connection of a device that signed in at a door. */
export interface GatewaySession {
  readonly deviceId: string;
  /** Writes bytes to the device. */
  send(bytes: Buffer): void;
  /** Calls `listener` with each answer of the device to a command. */
  onAnswer(listener: (text: string, isRefused: boolean) => void): void;
  /** Calls `listener` once, when the connection has ended. */
  onClose(listener: () => void): void;
  close(): void;
}

/** The live sessions of this gateway: one a device, the newest. */
export class GatewaySessions {
  readonly #live = new Map<string, GatewaySession>();
  readonly #connectedDevices: Gauge;

  constructor(connectedDevices: Gauge) {
    this.#connectedDevices = connectedDevices;
    connectedDevices.set(0);
  }

  /** Adds a session until it ends. The one before it is closed: its device has connected again. */
  add(session: GatewaySession): void {
    const { deviceId } = session;
    this.#live.get(deviceId)?.close();
    this.#live.set(deviceId, session);
    this.#connectedDevices.set(this.#live.size);
    session.onClose(() => {
      if (this.#live.get(deviceId) === session) this.#live.delete(deviceId);
      this.#connectedDevices.set(this.#live.size);
    });
  }

  find(deviceId: string): GatewaySession | undefined {
    return this.#live.get(deviceId);
  }
}
