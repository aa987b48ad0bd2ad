import { findListed } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { AppId, answers, text } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { erasePerson, exportPerson, findPerson, requireNothingOpen } from './queries.ts';

const PersonPath = Type.Object({ id: text(1, 256, { description: 'driver or user', examples: ['driver-17'] }) });
const Scope = Type.Object({
  appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'required if several applications know the id' })),
});
const Rows = Type.Array(Type.Record(Type.String(), Type.Unknown(), { examples: [{}] }));
const Exported = Type.Object(
  {
    account: Rows,
    grants: Rows,
    sessions: Rows,
    requests: Rows,
    commands: Rows,
    bookings: Rows,
    authorizations: Rows,
    trips: Rows,
    audit: Rows,
  },
  { title: 'PersonExport' },
);
const Erased = Type.Object(
  {
    pseudonym: Type.String({ description: 'what replaces the id from now on', examples: ['erased-4f1c2a'] }),
    changed: Type.Record(Type.String(), Type.Integer(), {
      description: 'number of changed rows by kind',
      examples: [{ bookings: 2 }],
    }),
  },
  { title: 'ErasedPerson' },
);

/** Operator routes that export and erase the data of a driver or user. */
export function operatorPersonRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/persons/:id',
      {
        schema: {
          summary: 'Export everything stored about a driver or user',
          params: PersonPath,
          querystring: Scope,
          response: answers(Exported, 'UNKNOWN_APPLICATION', 'UNKNOWN_USER'),
        },
      },
      async ({ params, query, ip, operator }) => {
        const person = await findPerson(db, params.id, await findListed(db, operator, query.appId));
        const subject = `${person.accountId === null ? 'driver' : 'user'}:${person.ids[0]}`;
        // Not in the snapshot of the export, which others that write to the same audit would make fail.
        await appendAudit(db, {
          ...operatorOrigin({ ip, operator }, person.applicationId),
          ...{ action: 'person.export', subject, outcome: 'done' },
        });
        return db
          .transaction()
          .setIsolationLevel('repeatable read')
          .execute((trx) => exportPerson(trx, person));
      },
    );

    http.post(
      '/v1/x/admin/persons/:id/erase',
      {
        schema: {
          summary: 'Erase a driver or user: replaces the id everywhere by an irreversible pseudonym',
          params: PersonPath,
          body: Scope,
          response: answers(Erased, 'UNKNOWN_APPLICATION', 'UNKNOWN_USER', 'NOT_ALL_AUTHORIZATIONS_REVOKED'),
        },
      },
      async ({ params, body, ip, operator }) => {
        const scope = await findListed(db, operator, body.appId);
        return db.transaction().execute(async (trx) => {
          const person = await findPerson(trx, params.id, scope);
          await requireNothingOpen(trx, person);
          const erased = await erasePerson(trx, person);
          const origin = operatorOrigin({ ip, operator }, person.applicationId);
          const subject = `person:${erased.pseudonym}`;
          await appendAudit(trx, {
            ...origin,
            action: 'person.erase',
            subject,
            details: { ...erased.changed },
            outcome: 'done',
          });
          return erased;
        });
      },
    );
  };
}
