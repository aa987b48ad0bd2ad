import { networkOf } from '@odograph/runtime/network-address';
import { WindowCounter } from '@odograph/runtime/window-counter';

const windowMs = 60_000;
/** Names remembered at most, in about 10 MB. */
const maximumNames = 50_000;
/** Failures of a device from many addresses count as guessing at this multiple of the limit for one address. */
const addressesPerDevice = 10;
/** A fifth of what one statement looks up, so that one network cannot fill the next statement. */
const checksAtOncePerNetwork = 200;

export interface AttemptLimits {
  /** Failed CONNECTs a minute of one device id from one network. */
  readonly failuresPerDevice: number;
  /** Failed CONNECTs a minute from one network, of any ids. */
  readonly failuresPerAddress: number;
}

interface Turns {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Slows down guessing without refusing anyone: credentials are always checked, since a secret of 256 bits cannot be
 * guessed and a device may share its address with an attacker. Networks (an IPv4 address, an IPv6 /64) take turns at the
 * check, and those that fail often get their answers late.
 */
export class ConnectAttempts {
  readonly #limits: AttemptLimits;
  readonly #ofPair = new WindowCounter(windowMs, maximumNames);
  readonly #ofNetwork = new WindowCounter(windowMs, maximumNames);
  readonly #ofDevice = new WindowCounter(windowMs, maximumNames);
  readonly #turns = new Map<string, Turns>();

  constructor(limits: AttemptLimits) {
    this.#limits = limits;
  }

  /** Runs a check of credentials when the network of the address has its turn. */
  async check<Result>(address: string, run: () => Promise<Result>): Promise<Result> {
    const network = networkOf(address);
    await this.#enter(network);
    try {
      return await run();
    } finally {
      this.#leave(network);
    }
  }

  /** Counts a failed CONNECT. @returns whether many like it have failed in the last minute, so that its answer must wait */
  failed(address: string, deviceId: string, nowMs: number): boolean {
    const { failuresPerDevice, failuresPerAddress } = this.#limits;
    const network = networkOf(address);
    const pair = pairOf(network, deviceId);
    this.#ofPair.add(pair, nowMs);
    this.#ofNetwork.add(network, nowMs);
    this.#ofDevice.add(deviceId, nowMs);
    return (
      this.#ofPair.read(pair, nowMs) > failuresPerDevice ||
      this.#ofNetwork.read(network, nowMs) > failuresPerAddress ||
      this.#ofDevice.read(deviceId, nowMs) > failuresPerDevice * addressesPerDevice
    );
  }

  /** Forgets the failures of a device at the network that it connected from. */
  succeeded(address: string, deviceId: string): void {
    this.#ofPair.clear(pairOf(networkOf(address), deviceId));
  }

  async #enter(network: string): Promise<void> {
    let turns = this.#turns.get(network);
    if (turns === undefined) {
      turns = { running: 0, waiting: [] };
      this.#turns.set(network, turns);
    }
    const { waiting } = turns;
    if (turns.running < checksAtOncePerNetwork) turns.running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  #leave(network: string): void {
    const turns = this.#turns.get(network);
    if (turns === undefined) return;
    const next = turns.waiting.shift();
    if (next === undefined) turns.running -= 1;
    else next();
    if (turns.running === 0) this.#turns.delete(network);
  }
}

/** An address contains no space. */
function pairOf(network: string, deviceId: string): string {
  return `${network} ${deviceId}`;
}
