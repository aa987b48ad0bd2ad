import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { Form, SelectField } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

const roles = ['viewer', 'driver', 'manager'] as const;

interface GroupGrantsOptions {
  readonly user: Schema<'User'>;
  readonly appId: string;
  readonly onChanged: () => void;
}

/** Lists the group grants of a user with their roles, and adds and revokes them. */
export function GroupGrants({ user: { userId, groupGrants }, appId, onChanged }: GroupGrantsOptions) {
  const { accounts: text, groups } = texts.value;
  const action = useAction();
  const chosen = useSignal('');
  const role = useSignal<(typeof roles)[number]>('driver');
  const params = { path: { userId } };
  const change = (work: () => Promise<unknown>) => void action.run(() => work().finally(onChanged));
  const revoke = (groupId: string) =>
    change(() =>
      answerOf(api.DELETE('/v1/x/admin/users/{userId}/groups/{groupId}', { params: { path: { userId, groupId } } })),
    );
  const give = () => {
    const body = { groupId: chosen.value, role: role.value };
    if (chosen.value !== '') change(() => answerOf(api.POST('/v1/x/admin/users/{userId}/groups', { params, body })));
  };
  return (
    <>
      {groupGrants.length > 0 && (
        <ul aria-label={groups.count(groupGrants.length)}>
          {groupGrants.map(({ groupId, name, role: held }) => (
            <li key={groupId} class="row start">
              {`${name}: ${text.grantRoles[held]}`}
              {hasRole('administrator') && (
                <Button
                  aria-label={`${text.revoke}: ${name}`}
                  disabled={action.isRunning}
                  onClick={() => revoke(groupId)}
                >
                  {text.revoke}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {hasRole('administrator') && (
        <Form class="grant-form" aria-label={groups.grant} onSubmit={give}>
          <GroupField appId={appId} value={chosen.value} none={groups.none} onChange={(id) => assign(chosen, id)} />
          {chosen.value !== '' && (
            <>
              <SelectField
                label={text.role}
                value={role.value}
                options={roles.map((one) => [one, text.grantRoles[one]])}
                onChange={(one) => assign(role, roles.find((known) => known === one) ?? 'viewer')}
              />
              <Button type="submit" disabled={action.isRunning}>
                {text.grant}
              </Button>
            </>
          )}
        </Form>
      )}
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </>
  );
}
