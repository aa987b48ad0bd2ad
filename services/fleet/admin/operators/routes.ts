import { type OperatorRequest, type OperatorRole, operatorRoles } from '@odograph/contracts/caller';
import { findApplicationId } from '@odograph/database/accounts';
import { type AuditEntry, appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, word } from '@odograph/http/schemas';
import { ExpectedVersion, requireVersion, Version, versionOf } from '@odograph/http/versions';
import { createSecret } from '@odograph/runtime/secrets';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { hashPassword } from '../../accounts/passwords.ts';
import {
  changeRole,
  createOperator,
  deleteOperator,
  endOperatorSessions,
  limitOperator,
  listOperators,
  lockOperator,
  requireAdministrator,
  resetOperatorPassword,
  type ListedOperator as StoredOperator,
} from './queries.ts';

const passwordLength = 20;
const Name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$',
  description: '1 to 64 of A-Z a-z 0-9 . _ @ -, to sign in with',
  examples: ['alex'],
});
const NamePath = Type.Object({ name: Type.String({ examples: ['alex'] }) });
const role = {
  ...word(operatorRoles),
  description:
    'viewer: reads; operator: also vehicles, devices, requests, quarantine and registration data; administrator: everything',
};
const Role = Type.Unsafe<OperatorRole>(role);
const AppIds = Type.Array(AppId, {
  maxItems: 1000,
  description: 'applications that the operator is limited to; without one, the operator sees all',
});
const ListedOperator = Type.Object(
  {
    name: Name,
    role: Role,
    appIds: AppIds,
    mustChangePassword: Type.Boolean(),
    version: Version,
    createdAt: moment('when it was created'),
    usedAt: Type.Union([moment('when a session that has not ended was last in use'), Type.Null()]),
  },
  { title: 'ListedOperator' },
);
const NewPassword = Type.Object(
  { name: Name, password: Type.String({ examples: ['q83vEjRWeJCrze8SNFZ4'] }) },
  { title: 'OperatorPassword' },
);

const withVersions = (operators: readonly StoredOperator[]) =>
  operators.map((one) => ({ ...one, version: versionOf({ role: one.role, appIds: one.appIds }) }));

/** A password that no one needs to remember for long. */
const createPassword = (): string => createSecret().slice(0, passwordLength);

/** Finds the applications of a limit. @throws Failure UNKNOWN_APPLICATION */
async function findLimit(db: Database, appIds: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const appId of appIds) ids.push(await findApplicationId(db, appId));
  return ids;
}

async function record(
  trx: Database,
  request: OperatorRequest,
  { name, action, details = {} }: { name: string; action: string; details?: NonNullable<AuditEntry['details']> },
): Promise<void> {
  const subject = `operator:${name}`;
  await appendAudit(trx, { ...operatorOrigin(request), action, subject, details, outcome: 'done' });
}

/** Routes for the operators themselves. */
export function operatorOperatorRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/operators',
      {
        schema: {
          summary: 'List the operators',
          response: answers(Type.Object({ operators: Type.Array(ListedOperator) })),
        },
      },
      async () => ({ operators: withVersions(await listOperators(db)) }),
    );
    addCreation(http, db);
    addChange(http, db);
    addEnds(http, db);
  };
}

function addCreation(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/operators',
    {
      schema: {
        summary: 'Create an operator; its password is shown only once',
        body: Type.Object({
          name: Name,
          role: Role,
          appIds: Type.Unsafe<string[]>({ ...AppIds, default: [] }),
          mustChangePassword: Type.Boolean({ default: false }),
        }),
        response: answers(NewPassword, 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
      },
    },
    async (request) => {
      const { name, appIds, ...rest } = request.body;
      const password = createPassword();
      const account = { name, ...rest, passwordHash: await hashPassword(password) };
      await db.transaction().execute(async (trx) => {
        const limit = await findLimit(trx, appIds);
        await limitOperator(trx, await createOperator(trx, account), limit);
        const details = { role: rest.role, appIds: appIds.join(' ') };
        await record(trx, request, { name, action: 'operator.create', details });
      });
      return { name, password };
    },
  );
}

function addChange(http: Http, db: Kysely<Tables>): void {
  http.put(
    '/v1/x/admin/operators/:name',
    {
      preValidation: leaveOutEmpty('role'),
      schema: {
        summary: 'Change the role or the applications of an operator; its sessions have the new ones at once',
        description: 'The last administrator without a limit to applications keeps role and applications.',
        params: NamePath,
        body: Type.Object({ role: Type.Optional(Role), appIds: Type.Optional(AppIds), version: ExpectedVersion }),
        response: answers(
          ListedOperator,
          'UNKNOWN_USER',
          'UNKNOWN_APPLICATION',
          'LAST_ADMINISTRATOR',
          'CHANGED_MEANWHILE',
        ),
      },
    },
    async (request) => {
      const { role, appIds, version } = request.body;
      return db.transaction().execute(async (trx) => {
        const operator = await lockOperator(trx, request.params.name);
        const { id, name } = operator;
        const [current] = await listOperators(trx, id);
        requireVersion(version, { role: current?.role, appIds: current?.appIds });
        if (role !== undefined) await changeRole(trx, id, role);
        if (appIds !== undefined) await limitOperator(trx, id, await findLimit(trx, appIds));
        await requireAdministrator(trx, operator);
        const details = { ...(role && { role }), ...(appIds && { appIds: appIds.join(' ') }) };
        const [changed] = withVersions(await listOperators(trx, id));
        await record(trx, request, { name, action: 'operator.change', details });
        if (!changed) throw new Error('the locked operator is gone');
        return changed;
      });
    },
  );
}

/** Resets of passwords, ends of sessions, and deletion. */
function addEnds(http: Http, db: Kysely<Tables>): void {
  const change = async (
    request: OperatorRequest & { params: { name: string } },
    action: string,
    apply: (trx: Database, id: string) => Promise<unknown>,
  ): Promise<string> =>
    db.transaction().execute(async (trx) => {
      const operator = await lockOperator(trx, request.params.name);
      await apply(trx, operator.id);
      await requireAdministrator(trx, operator);
      await record(trx, request, { name: operator.name, action });
      return operator.name;
    });

  http.post(
    '/v1/x/admin/operators/:name/password',
    {
      schema: {
        summary:
          'Replace the password of an operator, shown only once; its sessions end, and it must choose another one',
        params: NamePath,
        response: answers(NewPassword, 'UNKNOWN_USER'),
      },
    },
    async (request) => {
      const password = createPassword();
      const hash = await hashPassword(password);
      const name = await change(request, 'operator.reset', (trx, id) => resetOperatorPassword(trx, id, hash));
      return { name, password };
    },
  );
  http.delete(
    '/v1/x/admin/operators/:name/sessions',
    {
      schema: {
        summary: 'End all sessions of an operator',
        params: NamePath,
        response: answers(EmptyAnswer, 'UNKNOWN_USER'),
      },
    },
    async (request) => {
      await change(request, 'operator.sessions.end', endOperatorSessions);
      return {};
    },
  );
  http.delete(
    '/v1/x/admin/operators/:name',
    {
      schema: {
        summary: 'Delete an operator; its sessions end',
        params: NamePath,
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'LAST_ADMINISTRATOR'),
      },
    },
    async (request) => {
      await change(request, 'operator.delete', deleteOperator);
      return {};
    },
  );
}
