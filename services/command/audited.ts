import { type AuditExpressions, auditCall } from '@odograph/database/audit';
import { type RawBuilder, sql } from 'kysely';

/** Who changes a command, and from where; the outcome is the state it comes to unless it is given. */
export interface CommandOrigin {
  readonly actor: string;
  readonly address: string;
  readonly outcome?: string;
}

/** The platform itself, when a command's time is over or it cannot go out. */
export const byPlatform: CommandOrigin = { actor: 'platform', address: '' };

const entryOf = ({ actor, address, outcome }: CommandOrigin): AuditExpressions => ({
  actor,
  address,
  chain: sql`command.application_id`,
  action: sql`'command.' || lower(command.action)`,
  subject: sql`'vehicle:' || command.vehicle_id`,
  details: sql`jsonb_strip_nulls(jsonb_build_object('commandId', command.id, 'cause', command.cause))`,
  outcome: outcome ?? sql`command.state`,
});

/**
 * A change of commands with its rows of the audit, in one statement.
 * @param change an insert or update of the table command, without what it returns
 * @param returned what of the changed rows is answered, `command` being their alias
 */
export function audited<Row>(
  change: RawBuilder<unknown>,
  origin: CommandOrigin,
  returned: RawBuilder<unknown>,
): RawBuilder<Row> {
  // Sorted, so that every row is changed before the first chain is locked, and chains are taken in one order.
  return sql<Row>`with changed as (${change} returning *),
    ordered as materialized (select * from changed order by application_id, position)
    select ${returned}, ${auditCall(entryOf(origin))} as audited from ordered as command`;
}
