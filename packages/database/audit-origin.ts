import type { Caller } from '@odograph/contracts/caller';
import { type AuditEntry, operatorChain } from './audit.ts';

/** What every row of the audit begins with: in whose chain, who, and from which network address. */
export type AuditOrigin = Pick<AuditEntry, 'chain' | 'actor' | 'address'>;

/** The caller as the audit names it: `application`, or `user:{id}` in user mode. */
export function actorOf({ userId }: Caller): string {
  return userId === undefined ? 'application' : `user:${userId}`;
}

/** An application, or one of its users, by its request. */
export function originOf({ caller, ip }: { caller: Caller; ip: string }): AuditOrigin {
  return { chain: caller.applicationId, actor: actorOf(caller), address: ip };
}

/** The operator by its request. @param chain the application that is acted on, if it is one */
export function operatorOrigin({ ip }: { ip: string }, chain = operatorChain): AuditOrigin {
  return { chain, actor: 'operator', address: ip };
}
