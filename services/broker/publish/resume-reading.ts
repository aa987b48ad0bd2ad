import type { Publication } from './release-order.ts';

const patienceMs = 1000;
const intervalMs = 500;

/**
 * Keeps connections alive whose publications are held: aedes reads no further until every packet of a chunk is handled, so
 * a PINGREQ behind a held PUBLISH would stay unanswered and both ends would give the connection up. Each publication that
 * has waited for a second lets its connection read one chunk more; held-bytes.ts bounds what that may bring.
 * @param held what is held now; asked anew each time
 * @returns stops it
 */
export function resumeReadingWhileHeld(held: () => Publication[]): () => void {
  const timer = setInterval(() => {
    const since = performance.now() - patienceMs;
    for (const publication of held()) {
      if (publication.readingResumed || publication.heldSinceMs > since || publication.client.closed) continue;
      publication.readingResumed = true;
      publication.client.resume();
    }
  }, intervalMs);
  return () => clearInterval(timer);
}
