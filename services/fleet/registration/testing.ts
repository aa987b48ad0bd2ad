import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { registerRegistration } from './register.ts';

/** Registration data alone, by a clock of the test's own. */
export function registrationService(now: () => number): Service<Http> {
  return {
    name: 'registration',
    async start(host) {
      const db = openDatabase({ url: host.config.DATABASE_URL, name: 'registration', size: 4 });
      host.onStop('registration database', () => db.destroy());
      await registerRegistration(host, db, now);
      return { health: () => ({ ok: true, state: 'running' }) };
    },
  };
}
