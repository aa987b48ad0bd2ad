import { InvalidMessage, isTooDeep, type SourceMessage } from '@odograph/codec/shared/source-format';
import { sourceFormats } from '@odograph/codec/uploads';
import { Failure } from '@odograph/contracts/failures';
import { createdDeviceId, type SourceFormatName } from '@odograph/contracts/sources';
import { maximumPacketBytes, maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { deviceIdPattern } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import { chooseLane, type ReceivedUpload, type UploadLane } from '@odograph/queue/intake';
import { CallBatcher } from '@odograph/runtime/batcher';
import { within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import { WindowCounter } from '@odograph/runtime/window-counter';
import type { GatewayUploads } from '../shared/uploads.ts';
import { createDevices, findOwners, type StoredSource } from './queries.ts';
import type { Sender } from './senders.ts';
import type { UsageCounts } from './usage.ts';

/** Messages of one request. */
export const maximumMessages = 5000;
const hourMs = 3_600_000;
const maximumSources = 10_000;
/**
 * A device that was found under its name is not looked up again for this long. If it leaves the application meanwhile, its
 * messages go to quarantine: ingest stores them for no vehicle of another application.
 */
const foundMs = 10_000;
const maximumFound = 100_000;
const databaseTimeoutMs = 5000;
const requestsPerStatement = 100;
/** How long a request waits for the queue. Senders give up after 30 s or later. */
const storeTimeoutMs = 10_000;
const retryAfterSeconds = 5;

/** The messages of one device, a JSON array, with the lane in which they are queued. */
interface SourceUpload {
  readonly upload: ReceivedUpload;
  readonly lane: UploadLane;
}

export interface MessageIntakeOptions {
  readonly db: Database;
  readonly logger: Logger;
  readonly usage: UsageCounts;
  readonly newDevicesPerHour: number;
  readonly uploads: GatewayUploads;
}

/** The devices named by the messages of a source. */
interface NamedDevices {
  /** Device ids by name; a name without an entry is itself an id. */
  readonly ids: ReadonlyMap<string, string>;
  /** The ids of those that belong to the application of the source. */
  readonly known: ReadonlySet<string>;
}

/** A request whose sender is known. */
export interface SourceDelivery {
  readonly format: SourceFormatName;
  readonly sender: Sender;
  readonly messages: readonly SourceMessage[];
  readonly address: string;
  readonly receivedAtMs: number;
}

/** Queues the messages of requests, and creates the devices that sources may create. */
export class MessageIntake {
  readonly #options: MessageIntakeOptions;
  readonly #created = new WindowCounter(hourMs, maximumSources);
  /** Recently found devices, each with its application. */
  readonly #found = new WindowCounter(foundMs, maximumFound);
  /** Many requests share a statement. */
  readonly #owners: CallBatcher<readonly string[], Map<string, number | null>>;

  constructor(options: MessageIntakeOptions) {
    this.#options = options;
    this.#owners = new CallBatcher({
      handle: (requests) => findOwners(options.db, requests.flat()),
      maximumItems: requestsPerStatement,
    });
  }

  /**
   * Queues all messages of a request; resolves once they are durable.
   * @throws InvalidMessage; Failure TOO_LARGE; OVERLOADED when they are not durable in time: some may be, and sending them
   * again changes nothing
   */
  async accept(delivery: SourceDelivery): Promise<void> {
    const uploads = describeUploads(delivery);
    const { sender, messages } = delivery;
    if (sender.kind === 'device') return this.#store(uploads);
    const { ids, known } = await this.#introduceDevices(delivery, sender.source);
    const idOf = (name: string): string => ids.get(name) ?? name;
    await this.#store(
      uploads.map(({ upload, lane }) => ({ upload: { ...upload, deviceId: idOf(upload.deviceId) }, lane })),
    );
    const unknownMessages = messages.filter(({ device }) => !known.has(idOf(device))).length;
    this.#options.usage.accepted(sender.source.id, { messages: messages.length, unknownMessages, deviceIds: known });
  }

  async #store(uploads: readonly SourceUpload[]): Promise<void> {
    const stored = uploads.map(({ upload, lane }) => this.#options.uploads.store(upload, lane));
    const held = stored.filter((one) => one !== undefined);
    if (held.length < stored.length) {
      throw new Failure('OVERLOADED', 'too many messages wait to be stored', { retryAfterSeconds });
    }
    await within(storeTimeoutMs, Promise.all(held)).catch((cause: unknown) => {
      throw new Failure('OVERLOADED', 'not stored yet: send it again', { retryAfterSeconds }, { cause });
    });
  }

  /**
   * Finds the devices that a source names, and creates those that it may create. A name is the id of a device of its application,
   * else that of a device in the namespace of the application.
   */
  async #introduceDevices({ messages, address }: SourceDelivery, source: StoredSource): Promise<NamedDevices> {
    const { db, logger } = this.#options;
    const names = [...new Set(messages.map(({ device }) => device))];
    const nowMs = performance.now();
    const keyOf = (id: string): string => `${source.applicationId} ${id}`;
    if (names.every((name) => this.#found.read(keyOf(name), nowMs) > 0))
      return { ids: new Map(), known: new Set(names) };
    const namesAndIds = names.flatMap((name) => [name, createdDeviceId(source.appId, name)]);
    const owners = await this.#answered(this.#owners.call(namesAndIds));
    const isOwn = (id: string): boolean => owners.get(id) === source.applicationId;
    const ids = new Map(names.map((name) => [name, isOwn(name) ? name : idInNamespace(source, name, isOwn)]));
    const known = new Set([...ids.values()].filter(isOwn));
    for (const name of names.filter(isOwn)) this.#found.add(keyOf(name), nowMs);
    const missing = [...ids].filter(([name, id]) => id !== name && !owners.has(id)).map(([, id]) => id);
    const chosen = this.#withinQuota(source, missing);
    if (chosen.length === 0) return { ids, known };
    const created = await this.#answered(createDevices(db, { source, address }, chosen));
    if (created.length > 0) logger.info({ sourceId: source.id, deviceIds: created }, 'devices created for a source');
    return { ids, known: new Set([...known, ...chosen]) };
  }

  /** Chooses the devices to create: no more an hour than the setting allows. */
  #withinQuota({ id }: StoredSource, missing: readonly string[]): readonly string[] {
    const nowMs = performance.now();
    const free = this.#options.newDevicesPerHour - this.#created.read(id, nowMs);
    const chosen = missing.slice(0, Math.max(0, free));
    for (const _device of chosen) this.#created.add(id, nowMs);
    if (chosen.length < missing.length) {
      this.#options.logger.warn({ sourceId: id }, 'devices of a source not created: over the limit of an hour');
    }
    return chosen;
  }

  /** @throws Failure OVERLOADED when the database does not answer */
  async #answered<T>(work: Promise<T>): Promise<T> {
    try {
      return await within(databaseTimeoutMs, work);
    } catch (cause) {
      throw new Failure('OVERLOADED', 'the database does not answer', { retryAfterSeconds }, { cause });
    }
  }
}

const deviceIdForm = new RegExp(deviceIdPattern);

/** The id of a device that exists in the namespace, or that may be created there; else the name, which no device has. */
function idInNamespace({ appId, createDevices }: StoredSource, name: string, isOwn: (id: string) => boolean): string {
  const id = createdDeviceId(appId, name);
  return isOwn(id) || (createDevices && deviceIdForm.test(id)) ? id : name;
}

/** The messages of one device that go into one upload. */
interface Bundle {
  readonly deviceId: string;
  readonly texts: string[];
  /** Bytes as JSON, with its brackets and commas. */
  bytes: number;
  readonly first: SourceMessage['message'];
  last: SourceMessage['message'];
}

/**
 * Puts the messages of each device into uploads, in their order.
 * @throws InvalidMessage for one that is nested too deeply; Failure TOO_LARGE
 */
function describeUploads({ format, sender, messages, receivedAtMs }: SourceDelivery): SourceUpload[] {
  const bundles: Bundle[] = [];
  const current = new Map<string, Bundle>();
  for (const [index, { device, message }] of messages.entries()) {
    if (isTooDeep(message)) throw new InvalidMessage(`message ${index}`, 'is nested too deeply');
    const text = JSON.stringify(message);
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes >= maximumPacketBytes) {
      throw new Failure('TOO_LARGE', `message ${index} must have less than ${maximumPacketBytes} bytes`);
    }
    let bundle = current.get(device);
    if (bundle === undefined || isFull(bundle, bytes)) {
      bundle = { deviceId: device, texts: [], bytes: 1, first: message, last: message };
      bundles.push(bundle);
      current.set(device, bundle);
    }
    bundle.texts.push(text);
    bundle.bytes += bytes;
    bundle.last = message;
  }
  const { timestampOf } = sourceFormats[format];
  const application = sender.kind === 'source' && { applicationId: sender.source.applicationId };
  return bundles.map(({ deviceId, texts, first, last }) => ({
    upload: { deviceId, format, receivedAtMs, payload: Buffer.from(`[${texts.join(',')}]`), ...application },
    lane: chooseLane(timestampOf(first), timestampOf(last), receivedAtMs),
  }));
}

const isFull = ({ texts, bytes }: Bundle, moreBytes: number): boolean =>
  bytes + moreBytes > maximumPacketBytes || texts.length === maximumReadingsPerUpload;
