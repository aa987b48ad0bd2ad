import { setTimeout as delay } from 'node:timers/promises';
import type { Http } from './http.ts';

/** The time between the end of a process being asked for and its connections being refused. */
export interface Drain {
  readonly active: boolean;
  /** From now on /health is 503, while requests are answered as before, each the last of its connection. */
  begin(milliseconds: number): Promise<void>;
}

/**
 * Lets balancers turn to other replicas before this one refuses anything: a request that meets a connection being closed
 * may have been carried out or not, so nobody may repeat it but for a reader. To be called before the routes are added.
 */
export function createDrain(http: Http): Drain {
  let active = false;
  http.addHook('onSend', async (_request, reply) => {
    if (active) reply.header('connection', 'close');
  });
  return {
    get active() {
      return active;
    },
    async begin(milliseconds) {
      active = true;
      await delay(milliseconds);
    },
  };
}
