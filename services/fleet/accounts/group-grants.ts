import { Failure } from '@odograph/contracts/failures';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { lockGroups } from '@odograph/database/vehicle-groups';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import Type from 'typebox';
import { requireUuid } from '../alarms/geofences.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { GroupId } from '../groups/schemas.ts';
import { applicationOf, Role, UserId, UserPath } from './users.ts';

/** Operator routes for group grants. Database triggers derive access to vehicles from them. */
export const groupGrants: FleetRoutes = { operator: [addGroupGrants] };

function addGroupGrants(http: Http, { db }: Fleet): void {
  const grantOptions = {
    preValidation: leaveOutEmpty('role'),
    schema: {
      summary: 'Grant a user access to the vehicles of a group and its subgroups, or change the role of the grant',
      params: UserPath,
      body: Type.Object({ groupId: GroupId, role: Role }),
      response: answers(EmptyAnswer, 'UNKNOWN_USER', 'NOT_FOUND'),
    },
  };
  http.post('/v1/x/admin/users/:userId/groups', grantOptions, async ({ params, body, ip, operator }) => {
    const { userId } = params;
    const { groupId, role } = body;
    await db.transaction().execute(async (trx) => {
      const applicationId = await applicationOf(trx, operator, userId);
      await lockGroups(trx, applicationId);
      const grant = { user_id: userId, application_id: applicationId, group_id: requireUuid(groupId), role };
      await failOnConstraint({ group_grant_group: ['NOT_FOUND', 'no group has this id'] }, () =>
        trx
          .insertInto('group_grant')
          .values(grant)
          .onConflict((conflict) => conflict.columns(['user_id', 'group_id']).doUpdateSet({ role }))
          .execute(),
      );
      const origin = operatorOrigin({ ip, operator }, applicationId);
      await auditChange(trx, origin, 'grant.give', `group:${groupId}`, { userId, role });
    });
    return {};
  });

  const revokeSchema = {
    summary: 'Revoke the grant on a group; bookings and authorizations end where no other grant gives access',
    params: Type.Object({ userId: UserId, groupId: GroupId }),
    response: answers(EmptyAnswer, 'UNKNOWN_USER', 'NOT_FOUND'),
  };
  http.delete(
    '/v1/x/admin/users/:userId/groups/:groupId',
    { schema: revokeSchema },
    async ({ params: { userId, groupId }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const applicationId = await applicationOf(trx, operator, userId);
        await lockGroups(trx, applicationId);
        const { numDeletedRows } = await trx
          .deleteFrom('group_grant')
          .where('user_id', '=', userId)
          .where('group_id', '=', requireUuid(groupId))
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw new Failure('NOT_FOUND', 'the user has no grant for this group');
        await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'grant.take', `group:${groupId}`, {
          userId,
        });
      });
      return {};
    },
  );
}
