import type { Caller } from '@odograph/contracts/caller';

/** The clock of the rules about time. */
export type Clock = () => Date;

/** Who asks, from which network address, and when. */
export interface RequestContext {
  readonly caller: Caller;
  readonly address: string;
  readonly now: Date;
}

/** The request as the rules and the audit see it. */
export function requestContext({ caller, ip }: { caller: Caller; ip: string }, clock: Clock): RequestContext {
  return { caller, address: ip, now: clock() };
}
