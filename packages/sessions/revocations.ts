import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Redis } from '@odograph/runtime/redis';
import { receiveChannel } from './presence.ts';
import type { RegisteredSession, SessionRegistry } from './session-registry.ts';

export interface RevocationWatch<Session extends RegisteredSession> {
  /** A dedicated connection: Redis permits no other commands on a subscribing one. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: Pick<SessionRegistry<Session>, 'sessions' | 'find'>;
  readonly failures: FailureReports<'revocations'>;
  /** Repeats pending lookups of the device: they may have read its former credentials. */
  invalidate(deviceId: string): void;
  invalidateAll(): void;
  /** Tells whether a session must end. @throws while the database is unavailable */
  isRevoked(session: Session): Promise<boolean>;
  close(session: Session): void;
}

/**
 * Closes the sessions of revoked devices. Messages sent while this process was not subscribed are lost, so every session
 * is checked again after each subscription.
 * @returns a function that ends it
 */
export function watchRevocations<Session extends RegisteredSession>(
  watch: RevocationWatch<Session>,
): () => Promise<void> {
  const { subscriber, prefix, registry, failures } = watch;
  const recheck = async (session: Session): Promise<void> => {
    if (await watch.isRevoked(session)) watch.close(session);
  };
  return receiveChannel({
    subscriber,
    channel: deviceRevokedChannel(prefix),
    onMessage(deviceId) {
      watch.invalidate(deviceId);
      const session = registry.find(deviceId);
      // While the database is unavailable, the session is closed; the device reconnects.
      if (session) void recheck(session).catch(() => watch.close(session));
    },
    async onSubscribed() {
      watch.invalidateAll();
      const results = await Promise.allSettled([...registry.sessions].map(recheck));
      const failure = results.find((result) => result.status === 'rejected');
      if (failure) throw failure.reason;
    },
    report(error) {
      if (error === undefined) failures.succeeded('revocations');
      else failures.failed('revocations', error);
    },
  });
}
