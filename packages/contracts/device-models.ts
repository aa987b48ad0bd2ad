import type { DeviceAction } from './commands.ts';

/**
 * How the devices of a model report: over MQTT to the broker, in Teltonika's protocol to the gateway, or through another system
 * that forwards what they said (a source).
 */
export const deviceProtocols = ['mqtt', 'teltonika', 'source'] as const;

/**
 * The families of Teltonika devices, each of which numbers its I/O elements in its own way: FMB, FMC, FMM and FMU with one to
 * three digits below 600; FTC and ATC; TAT and other asset trackers; FMx6 (FMB640, FMC650, FM6300 and others).
 */
export const avlFamilies = ['fmb', 'ftc', 'tat', 'fmx6'] as const;
export type AvlFamily = (typeof avlFamilies)[number];

/**
 * The command to a Teltonika device for an action, and the meaning of its answers. An answer that contains a text of `refusal` is a
 * refusal, else one that contains a text of `success` is a success; with any other answer the outcome is unknown. Case does not
 * matter.
 */
export interface TextCommand {
  readonly text: string;
  readonly success: readonly string[];
  readonly refusal: readonly string[];
}

/**
 * The command of flespi by which a device is told an action; its answer is judged as that of a TextCommand. Without `success`,
 * every answer that is no refusal is a success.
 */
export interface FlespiCommand {
  readonly flespi: { readonly name: string; readonly properties: Readonly<Record<string, unknown>> };
  readonly success?: readonly string[];
  readonly refusal: readonly string[];
}

/** The actions of a model whose devices do not speak the platform's own protocol. */
export type DeviceCommands = Readonly<Partial<Record<DeviceAction, TextCommand | FlespiCommand>>>;
