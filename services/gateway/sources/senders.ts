import { applicationMoving, Failure, tooManyRequests } from '@odograph/contracts/failures';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { Database } from '@odograph/database/database';
import { CallBatcher } from '@odograph/runtime/batcher';
import { within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import { networkOf } from '@odograph/runtime/network-address';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { TokenBucket } from '@odograph/sessions/throttle';
import {
  endPreviousDeviceSecret,
  endPreviousSourceSecret,
  findDeviceSecrets,
  findSources,
  type StoredDevice,
  type StoredSecrets,
  type StoredSource,
} from './queries.ts';

/** The sender of a request: a source, or a device with its own secret. */
export type Sender =
  | { readonly kind: 'source'; readonly source: StoredSource }
  | { readonly kind: 'device'; readonly device: StoredDevice };

/** Credentials of a request. */
export interface PresentedSecret {
  /** The user name of basic authentication. */
  readonly name?: string;
  readonly secret: string;
  /** The device that the request is for, where its own secret is accepted. */
  readonly deviceId?: string;
}

interface Lookup {
  readonly sha256: Buffer;
  readonly deviceId: string | undefined;
}

interface Found {
  readonly sources: readonly StoredSource[];
  readonly devices: ReadonlyMap<string, StoredDevice>;
}

const lookupsPerStatement = 500;
const timeoutMs = 5000;
const windowMs = 60_000;
const maximumNames = 50_000;
const retryAfterSeconds = 5;

export interface SenderOptions {
  readonly db: Database;
  readonly logger: Logger;
  /** Attempts a minute with one wrong secret from one network. */
  readonly failuresPerSecret: number;
  /** Attempts a minute with wrong secrets, or none, from one network. */
  readonly failuresPerNetwork: number;
}

/**
 * Authenticates the senders of requests. Every request is looked up, so a secret that was replaced or deleted is refused at
 * once; many lookups share a statement.
 */
export class Senders {
  readonly #options: SenderOptions;
  readonly #lookups: CallBatcher<Lookup, Found>;
  readonly #failures = new WindowCounter(windowMs, maximumNames);

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#lookups = new CallBatcher({
      handle: (lookups) => this.#select(lookups),
      maximumItems: lookupsPerStatement,
    });
  }

  /**
   * Finds the sender of a request to the endpoint of a format.
   * @param presented undefined without a secret
   * @throws Failure MISSING_TOKEN, INVALID_CREDENTIALS, UNAUTHORIZED for a source of another format, TOO_MANY_REQUESTS,
   * OVERLOADED
   */
  async authenticate(
    format: SourceFormatName,
    presented: PresentedSecret | undefined,
    address: string,
  ): Promise<Sender> {
    const network = networkOf(address);
    this.#requireFewer(this.#options.failuresPerNetwork, network);
    if (presented === undefined) {
      this.#failures.add(network, performance.now());
      throw new Failure('MISSING_TOKEN', 'the secret is missing');
    }
    const sha256 = hashSecret(presented.secret);
    // Secrets cannot be guessed, so each counts alone: a wrong one never shuts out a right one of the same network.
    const attempt = `${network} ${sha256.toString('base64')}`;
    this.#requireFewer(this.#options.failuresPerSecret, attempt);
    const found = await this.#lookups.call({ sha256, deviceId: presented.deviceId });
    const source = found.sources.find((one) => isValid(one, sha256));
    if (source !== undefined && (presented.name === undefined || presented.name === source.id)) {
      if (source.format !== format) throw new Failure('UNAUTHORIZED', `the source has the format ${source.format}`);
      if (source.isMoving) throw applicationMoving();
      this.#endPrevious(source, sha256, () => endPreviousSourceSecret(this.#options.db, source.id, sha256));
      return { kind: 'source', source };
    }
    const device = presented.deviceId === undefined ? undefined : found.devices.get(presented.deviceId);
    if (device !== undefined && isValid(device, sha256)) {
      if (device.isMoving) throw applicationMoving();
      this.#endPrevious(device, sha256, () => endPreviousDeviceSecret(this.#options.db, device.id, sha256));
      return { kind: 'device', device };
    }
    const nowMs = performance.now();
    for (const one of [attempt, network]) this.#failures.add(one, nowMs);
    throw new Failure('INVALID_CREDENTIALS');
  }

  /** @throws Failure TOO_MANY_REQUESTS */
  #requireFewer(maximum: number, counted: string): void {
    const nowMs = performance.now();
    if (this.#failures.read(counted, nowMs) < maximum) return;
    throw tooManyRequests(this.#failures.remainingMs(counted, nowMs));
  }

  /** The first use of a new secret ends the one before it. */
  #endPrevious(
    { id, previousSha256, secretSha256 }: StoredSecrets & { id: string },
    sha256: Buffer,
    end: () => Promise<void>,
  ) {
    if (previousSha256 === null || !equalSecrets(sha256, secretSha256)) return;
    end().catch((err: unknown) => {
      this.#options.logger.warn({ err, id }, 'previous secret not ended; the next request tries again');
    });
  }

  /** @throws Failure OVERLOADED when the database does not answer */
  async #select(lookups: readonly Lookup[]): Promise<Found> {
    const deviceIds = [...new Set(lookups.flatMap(({ deviceId }) => deviceId ?? []))];
    try {
      const [sources, devices] = await within(
        timeoutMs,
        Promise.all([
          findSources(
            this.#options.db,
            lookups.map(({ sha256 }) => sha256),
          ),
          deviceIds.length === 0 ? [] : findDeviceSecrets(this.#options.db, deviceIds),
        ]),
      );
      return { sources, devices: new Map(devices.map((device) => [device.id, device])) };
    } catch (cause) {
      throw new Failure('OVERLOADED', 'the database does not answer', { retryAfterSeconds }, { cause });
    }
  }
}

function isValid({ secretSha256, previousSha256, previousUntil }: StoredSecrets, sha256: Buffer): boolean {
  if (equalSecrets(sha256, secretSha256)) return true;
  return (
    previousSha256 !== null && equalSecrets(sha256, previousSha256) && (previousUntil?.getTime() ?? 0) > Date.now()
  );
}

/** Burst size, in seconds of a sender's rates. */
const burstSeconds = 10;
const forgetIntervalMs = 10_000;

export interface SenderRates {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
}

interface Buckets {
  readonly requests: TokenBucket;
  readonly bytes: TokenBucket;
}

/** Limits the requests and bytes of each sender, in this process. */
export class SenderLimits {
  readonly #buckets = new Map<string, Buckets>();
  #forgottenAtMs = performance.now();

  /**
   * Counts a request of a sender.
   * @param sender its id, unique among all senders
   * @throws Failure TOO_MANY_REQUESTS when it is over its rates
   */
  take(sender: string, { requestsPerSecond, bytesPerSecond }: SenderRates, bytes: number): void {
    const nowMs = performance.now();
    const buckets = this.#buckets.get(sender) ?? {
      requests: new TokenBucket(requestsPerSecond, burstSeconds, nowMs),
      bytes: new TokenBucket(bytesPerSecond, burstSeconds, nowMs),
    };
    buckets.requests.perSecond = requestsPerSecond;
    buckets.bytes.perSecond = bytesPerSecond;
    const waitMs = Math.max(buckets.requests.debtMs(nowMs), buckets.bytes.debtMs(nowMs));
    if (waitMs > 0) throw tooManyRequests(waitMs);
    buckets.requests.take(1, nowMs);
    buckets.bytes.take(bytes, nowMs);
    this.#buckets.set(sender, buckets);
    if (nowMs - this.#forgottenAtMs > forgetIntervalMs) this.#forgetIdle(nowMs);
  }

  #forgetIdle(nowMs: number): void {
    this.#forgottenAtMs = nowMs;
    for (const [sender, { requests, bytes }] of this.#buckets) {
      if (requests.fullInMs(nowMs) <= 0 && bytes.fullInMs(nowMs) <= 0) this.#buckets.delete(sender);
    }
  }
}
