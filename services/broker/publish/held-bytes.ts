import { Gauge, type Registry } from '@odograph/runtime/metrics';

/** What a publication costs beside its payload: the packet, its closures, its place in the order. */
const overheadBytes = 1024;

/** The memory that publications without an answer may take, all connections together. */
export interface HeldBytes {
  /** The bytes one payload counts for. */
  costOf(payload: string | Buffer): number;
  /** False when there is no room: nothing was taken. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function createHeldBytes(maximumBytes: number, registry: Registry): HeldBytes {
  let held = 0;
  new Gauge({
    name: 'odograph_broker_held_bytes',
    help: 'Bytes of publications that wait for Redis',
    registers: [registry],
    collect() {
      this.set(held);
    },
  });
  return {
    costOf: (payload) => payload.length + overheadBytes,
    take(bytes) {
      if (held + bytes > maximumBytes) return false;
      held += bytes;
      return true;
    },
    give(bytes) {
      held -= bytes;
    },
  };
}
