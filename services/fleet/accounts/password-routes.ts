import { Failure } from '@odograph/contracts/failures';
import { appendAudit } from '@odograph/database/audit';
import { originOf } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { answers, EmptyAnswer, Password } from '@odograph/http/schemas';
import { hashSecret } from '@odograph/runtime/secrets';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { CountAttempt } from './login-limit.ts';
import { changePassword, findPasswordHash } from './password-queries.ts';
import { hashPassword, passwordMatches, requirePasswordLength } from './passwords.ts';

// Too short is a failure of its own, so the schema lets it pass.
const NewPassword = Type.String({ maxLength: 1024, description: 'at least 8 characters' });

/** POST /v1/user/updatePassword (interface specification, "Authentication"), in user mode only. */
export function addPasswordRoutes(http: Http, db: Kysely<Tables>, countAttempt: CountAttempt): void {
  http.post(
    '/v1/user/updatePassword',
    {
      schema: {
        tags: ['authentication'],
        summary: 'Change the password; other sessions of the user end',
        security: [{ serviceToken: [] }],
        body: Type.Object({ oldPassword: Password, newPassword: NewPassword }),
        response: answers(EmptyAnswer, 'INVALID_OLD_PASSWORD', 'INVALID_PASSWORD_LENGTH', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      const { body, headers } = request;
      const { userId } = request.caller;
      if (userId === undefined) throw new Failure('UNAUTHORIZED', 'an application has no password');
      requirePasswordLength(body.newPassword);
      await countAttempt('password', userId);
      const oldHash = await findPasswordHash(db, userId);
      if (!(await passwordMatches(body.oldPassword, oldHash)) || oldHash === undefined) {
        throw new Failure('INVALID_OLD_PASSWORD');
      }
      const newHash = await hashPassword(body.newPassword);
      const tokenSha256 = hashSecret(String(headers['x-service-token']));
      const changed = await db.transaction().execute(async (trx) => {
        if (!(await changePassword(trx, { userId, oldHash, newHash, tokenSha256 }))) return false;
        const subject = `user:${userId}`;
        await appendAudit(trx, { ...originOf(request), action: 'user.password', subject, outcome: 'done' });
        return true;
      });
      if (!changed) throw new Failure('INVALID_OLD_PASSWORD');
      return {};
    },
  );
}
