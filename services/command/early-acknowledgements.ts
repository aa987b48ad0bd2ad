import { acknowledge, parseAcknowledgement } from './acknowledge.ts';
import type { CommandPath } from './await-end.ts';

/**
 * Records the acknowledgements that somebody here waits for when the broker hands them on, without the queue's way over
 * the disk, and tells the broker, which else puts each into the queue: what is lost here is recorded from there, and a
 * repeated one changes nothing.
 */
export function recordEarlyAcknowledgements(path: CommandPath): void {
  /** One at a time of a command, however often its device says it. */
  const underWay = new Set<string>();
  path.publisher.onAcknowledgement((deviceId, text) => {
    const id = parseAcknowledgement(text)?.id;
    if (id === undefined || !path.events.isWatched(id) || underWay.has(id)) return;
    underWay.add(id);
    void acknowledge(path, { deviceId, text })
      .then(() => path.publisher.confirmRecorded(deviceId, text))
      .catch((error: unknown) => path.logger.debug({ err: error }, 'an acknowledgement is left to the queue'))
      .finally(() => underWay.delete(id));
  });
}
