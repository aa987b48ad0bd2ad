import type { RegisteredSession, SessionRegistry } from '@odograph/runtime/session-registry';

/** The connection of a device that signed in at a door. */
export interface GatewaySession extends RegisteredSession {
  /** Writes bytes to the device. */
  send(bytes: Buffer): void;
  /** Calls `listener` with each answer of the device to a command. */
  onAnswer(listener: (text: string, isRefused: boolean) => void): void;
  close(): void;
  /** Closes the connection and discards what was not delivered. */
  reset(): void;
}

/** The live sessions of this gateway: one a device, the newest. */
export type GatewaySessions = SessionRegistry<GatewaySession>;
