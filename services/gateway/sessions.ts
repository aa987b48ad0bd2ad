import type { RegisteredSession, SessionRegistry } from '@odograph/sessions/session-registry';

/** @returns whether the message answers a command */
export type AnswerListener = (text: string, isRefused: boolean) => boolean;

/** The connection of a device that signed in at a door. */
export interface GatewaySession extends RegisteredSession {
  /** Writes bytes to the device. */
  send(bytes: Buffer): void;
  /** Orders the sessions of a device by the arrival of their sign-in. */
  readonly signInNumber: number;
  /** Calls `listener` with each message of the device that may answer a command. */
  onAnswer(listener: AnswerListener): void;
  close(): void;
  /** Closes the connection and discards what was not delivered. */
  reset(): void;
}

/** The live sessions of this gateway: one a device, the newest. */
export type GatewaySessions = SessionRegistry<GatewaySession>;
