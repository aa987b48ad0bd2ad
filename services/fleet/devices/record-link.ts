import { appendAudit } from '@odograph/database/audit';
import type { AuditOrigin } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { LinkChange } from './links.ts';

function nameOf({ from, to }: LinkChange): string {
  if (to === undefined) return 'device.unlink';
  return from === undefined ? 'device.link' : 'device.move';
}

/** Records a change of links in the audit, in the transaction that makes it. */
export async function recordLink(
  db: Database,
  origin: AuditOrigin,
  deviceId: string,
  change: LinkChange,
): Promise<void> {
  const { from, to } = change;
  await appendAudit(db, {
    ...origin,
    action: nameOf(change),
    subject: `device:${deviceId}`,
    details: { from: from === undefined ? null : String(from), to: to === undefined ? null : String(to) },
    outcome: from === to ? 'unchanged' : 'done',
  });
}
