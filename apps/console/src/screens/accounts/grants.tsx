import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { readFields, SelectField } from '../../parts/forms/fields.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { hasRole } from '../../session.ts';
import { texts } from '../../texts/texts.ts';

type User = Schema<'User'>;
type Grant = Schema<'Grant'>;

const roles = ['viewer', 'driver', 'manager'] as const;
type Role = (typeof roles)[number];
const roleOf = (text: string): Role => roles.find((one) => one === text) ?? 'viewer';

interface GrantsOptions {
  readonly user: User;
  readonly appId: string;
  readonly onChanged: () => void;
}

async function give(userId: string, grant: { vehicleId: string; role: Role; fromRole?: Role }): Promise<void> {
  await answerOf(api.POST('/v1/x/admin/users/{userId}/vehicles', { params: { path: { userId } }, body: grant }));
}

/** Runs a change, explains one that another person was faster with, and loads what is stored in both cases. */
async function change(work: () => Promise<unknown>, onChanged: () => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isLate = error instanceof CallFailure && error.code === 'CHANGED_MEANWHILE';
    throw isLate ? new CallFailure(error.code, texts.value.accounts.grantChanged) : error;
  } finally {
    onChanged();
  }
}

type Action = ReturnType<typeof useAction>;

function GrantRow({ user, grant, action, onChanged }: Omit<GrantsOptions, 'appId'> & { grant: Grant; action: Action }) {
  const { accounts: text } = texts.value;
  const { vehicleId, plate, role } = grant;
  const { userId } = user;
  const path = { userId, vehicleId };
  const revoke = () => answerOf(api.DELETE('/v1/x/admin/users/{userId}/vehicles/{vehicleId}', { params: { path } }));
  return (
    <tr>
      <td>
        <a href={`/vehicles/${vehicleId}`}>{plate}</a>
      </td>
      <td>
        <select
          class="input"
          aria-label={text.roleOn(plate)}
          value={role}
          disabled={!hasRole('administrator') || action.isRunning}
          onChange={({ currentTarget: { value } }) => {
            const body = { vehicleId, role: roleOf(value), fromRole: role };
            void action.run(() => change(() => give(userId, body), onChanged));
          }}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {text.grantRoles[one]}
            </option>
          ))}
        </select>
      </td>
      {hasRole('administrator') && (
        <td>
          <button
            type="button"
            class="button"
            aria-label={`${text.revoke}: ${plate}`}
            disabled={action.isRunning}
            onClick={() => void action.run(() => change(revoke, onChanged))}
          >
            {text.revoke}
          </button>
        </td>
      )}
    </tr>
  );
}

function NewGrant({ user, appId, action, onChanged }: GrantsOptions & { action: Action }) {
  const { accounts: text } = texts.value;
  const role = useSignal<Role>('driver');
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    void action.run(async () => {
      const vehicleId = await readVehicle(readFields(form)['vehicle'] ?? '', appId);
      if (vehicleId === undefined) throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noSuchVehicle);
      const known = user.grants.find((grant) => grant.vehicleId === vehicleId);
      const grant = { vehicleId, role: role.value, ...(known && { fromRole: known.role }) };
      await change(() => give(user.userId, grant), onChanged);
      form.reset();
    });
  };
  return (
    <form class="grant-form" onSubmit={submit}>
      <VehicleField label={text.grantVehicle} name="vehicle" appId={appId} required />
      <SelectField
        label={text.role}
        value={role.value}
        options={roles.map((one) => [one, text.grantRoles[one]])}
        onChange={(one) => {
          role.value = roleOf(one);
        }}
      />
      <button type="submit" class="button" disabled={action.isRunning}>
        {text.grant}
      </button>
    </form>
  );
}

/** The vehicles that a user may see or use, with the role on each. */
export function Grants(options: GrantsOptions) {
  const { accounts: text } = texts.value;
  const { user, onChanged } = options;
  const action = useAction();
  return (
    <>
      {user.grants.length === 0 ? (
        <p class="muted">{text.noGrants}</p>
      ) : (
        <div class="table-frame">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.vehicle}</th>
                <th scope="col">{text.role}</th>
                {hasRole('administrator') && (
                  <th scope="col">
                    <span class="visually-hidden">{text.revoke}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {user.grants.map((grant) => (
                <GrantRow key={grant.vehicleId} user={user} grant={grant} action={action} onChanged={onChanged} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasRole('administrator') && <NewGrant {...options} action={action} />}
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </>
  );
}
