import { setTimeout as delay } from 'node:timers/promises';
import { encodeMessage } from '@odograph/codec/encode-messages';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { TelemetryReading } from '@odograph/contracts/telemetry';

export interface SourceSenderOptions {
  /** Of the platform, such as http://127.0.0.1:8080. */
  readonly url: string;
  readonly format: SourceFormatName;
  readonly deviceId: string;
  /** Of a source or, for OwnTracks and OsmAnd, of the device. */
  readonly secret: string;
  /** For flespi and Tesla, which send lists; default: 100. */
  readonly messagesPerRequest?: number;
  /** Default: 5,000. */
  readonly timeoutMs?: number;
}

const retryMs = 100;
const lists: ReadonlySet<SourceFormatName> = new Set<SourceFormatName>(['flespi', 'tesla']);

/**
 * A system or app that forwards what a device said over HTTP: keeps its messages until a request with them was answered
 * with success, and sends them again in their order if it was not.
 */
export class SourceSender {
  readonly #options: SourceSenderOptions;
  #readings: TelemetryReading[] = [];

  constructor(options: SourceSenderOptions) {
    this.#options = options;
  }

  get bufferedMessages(): number {
    return this.#readings.length;
  }

  /** Adds a message to the buffer. */
  record(reading: TelemetryReading): void {
    this.#readings.push(reading);
  }

  /**
   * Sends the oldest messages in one request, and forgets them when it succeeds.
   * @returns how many were accepted; 0 when the platform asks for another attempt
   * @throws when the platform refuses the request for good, or cannot be reached
   */
  async send(): Promise<number> {
    const { format, messagesPerRequest = 100, timeoutMs = 5000 } = this.#options;
    const part = this.#readings.slice(0, lists.has(format) ? messagesPerRequest : 1);
    const { url, ...request } = this.#requestFor(part);
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) });
    const answer = await response.text();
    if (response.ok) {
      this.#readings.splice(0, part.length);
      return part.length;
    }
    if (response.status >= 500 || response.status === 429) return 0;
    throw new RefusedRequest(`${format}: ${response.status} ${answer}`);
  }

  /**
   * Sends everything that is buffered, and repeats what failed, until it is accepted or the signal aborts.
   * @throws when the platform refuses a request for good
   */
  async drain(signal?: AbortSignal): Promise<void> {
    while (this.#readings.length > 0 && signal?.aborted !== true) {
      const accepted = await this.send().catch((error: unknown) => {
        if (error instanceof RefusedRequest) throw error;
        return 0;
      });
      if (accepted === 0) await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #requestFor(readings: readonly TelemetryReading[]) {
    const { url, format, deviceId, secret } = this.#options;
    const messages = readings.map((reading) => encodeMessage(format, deviceId, reading));
    if (format === 'osmand') {
      const { id: _id, ...parameters } = messages[0] ?? {};
      const query = new URLSearchParams({ secret });
      for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
      return { url: `${url}/in/osmand/${encodeURIComponent(deviceId)}?${query.toString()}`, method: 'GET' };
    }
    const basic = Buffer.from(`${deviceId}:${secret}`).toString('base64');
    return {
      url: `${url}/in/${format}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: format === 'owntracks' ? `Basic ${basic}` : `Bearer ${secret}`,
      },
      body: JSON.stringify(lists.has(format) ? messages : messages[0]),
    };
  }
}

/** A request that would be refused again. */
class RefusedRequest extends Error {}
