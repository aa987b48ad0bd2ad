import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { Redis } from '@odograph/runtime/redis';
import type { RegisteredSession, SessionRegistry } from './session-registry.ts';

const retryMs = 1000;

export interface RevocationWatch<Session extends RegisteredSession> {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: Pick<SessionRegistry<Session>, 'sessions' | 'find'>;
  readonly failures: { failed(task: 'revocations', error: unknown): void; succeeded(task: 'revocations'): void };
  /** Repeats pending lookups of the device: they may have read its former credentials. */
  invalidate(deviceId: string): void;
  invalidateAll(): void;
  /** Whether a session must end. @throws while the database cannot answer */
  isRevoked(session: Session): Promise<boolean>;
  close(session: Session): void;
}

/**
 * Closes the sessions of devices that may not have one any more. Messages sent while this process was not subscribed are
 * lost, so every session is checked again once it is.
 * @returns ends it
 */
export function watchRevocations<Session extends RegisteredSession>(watch: RevocationWatch<Session>): () => void {
  const { subscriber, prefix, registry, failures } = watch;
  const channel = deviceRevokedChannel(prefix);
  let hasMissed = false;
  let retry: NodeJS.Timeout | undefined;

  const recheck = async (session: Session): Promise<void> => {
    if (await watch.isRevoked(session)) watch.close(session);
  };
  const subscribe = async (): Promise<void> => {
    await subscriber.subscribe(channel);
    if (!hasMissed) return;
    hasMissed = false;
    watch.invalidateAll();
    const results = await Promise.allSettled([...registry.sessions].map(recheck));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  };
  const subscribeOrRetry = async (): Promise<void> => {
    clearTimeout(retry);
    try {
      await subscribe();
      failures.succeeded('revocations');
    } catch (error) {
      hasMissed = true;
      failures.failed('revocations', error);
      // While Redis is unavailable, its 'ready' event triggers the next attempt.
      if (subscriber.status === 'ready') retry = setTimeout(() => void subscribeOrRetry(), retryMs);
    }
  };

  subscriber.on('close', () => {
    hasMissed = true;
  });
  subscriber.on('ready', () => void subscribeOrRetry());
  subscriber.on('message', (from, deviceId: string) => {
    if (from !== channel) return;
    watch.invalidate(deviceId);
    const session = registry.find(deviceId);
    // While the database cannot answer, the session is closed: the device reconnects.
    if (session) void recheck(session).catch(() => watch.close(session));
  });
  if (subscriber.status === 'ready') void subscribeOrRetry();
  return () => {
    clearTimeout(retry);
    subscriber.removeAllListeners('ready');
  };
}
