import { networkOf, WindowCounter } from '@odograph/runtime/window-counter';

const windowMs = 60_000;
/** Names remembered at most, in about 10 MB. */
const maximumNames = 50_000;
/** Failures of a device from many addresses slow its answers at this multiple of the limit for one address. */
const addressesPerDevice = 10;

export interface AttemptLimits {
  /** Failed CONNECTs a minute of one device id from one address. */
  readonly failuresPerDevice: number;
  /** Failed CONNECTs a minute from one address, whatever ids they name. */
  readonly failuresPerAddress: number;
}

/** `admit` checks the credentials, `slow` does so after a delay, `refuse` answers after a delay without a check. */
export type Judgement = 'admit' | 'slow' | 'refuse';

/**
 * Counts failed CONNECTs of the last minute, by address and by device id. A device that shares the address of an attacker
 * (one NAT, one site) is admitted when it was admitted from there before. Failures from many addresses only slow the
 * answers to a device, since a lockout is all that an attacker without its secret could reach.
 */
export class ConnectAttempts {
  readonly #limits: AttemptLimits;
  readonly #ofPair = new WindowCounter(windowMs, maximumNames);
  readonly #ofAddress = new WindowCounter(windowMs, maximumNames);
  readonly #ofDevice = new WindowCounter(windowMs, maximumNames);
  /** Device ids with an address they were admitted from, the latest last. */
  readonly #known = new Set<string>();

  constructor(limits: AttemptLimits) {
    this.#limits = limits;
  }

  judge(address: string, deviceId: string, nowMs: number): Judgement {
    const { failuresPerDevice, failuresPerAddress } = this.#limits;
    const network = networkOf(address);
    const pair = pairOf(network, deviceId);
    const ofPair = this.#ofPair.read(pair, nowMs);
    const isKnown = this.#known.has(pair);
    if (!isKnown && (ofPair >= failuresPerDevice || this.#ofAddress.read(network, nowMs) >= failuresPerAddress)) {
      return 'refuse';
    }
    const isGuessed = this.#ofDevice.read(deviceId, nowMs) >= failuresPerDevice * addressesPerDevice;
    return ofPair >= failuresPerDevice || (isGuessed && !isKnown) ? 'slow' : 'admit';
  }

  failed(address: string, deviceId: string, nowMs: number): void {
    const network = networkOf(address);
    this.#ofPair.add(pairOf(network, deviceId), nowMs);
    this.#ofAddress.add(network, nowMs);
    this.#ofDevice.add(deviceId, nowMs);
  }

  succeeded(address: string, deviceId: string): void {
    const pair = pairOf(networkOf(address), deviceId);
    this.#ofPair.clear(pair);
    this.#known.delete(pair);
    this.#known.add(pair);
    if (this.#known.size <= maximumNames) return;
    const [oldest] = this.#known;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/** An address contains no space. */
function pairOf(network: string, deviceId: string): string {
  return `${network} ${deviceId}`;
}
