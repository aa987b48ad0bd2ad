import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Form, readFields, SelectField, TextField } from '../../parts/forms/fields.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { ApplicationField } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, navigate } from '../../router.ts';
import { hasRole, operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { DriverKeys } from './driver-keys.tsx';
import { GroupGrants } from './group-grants.tsx';

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const length = 20;
/** Bytes from here on would make the first characters more likely. */
const fairBytes = 256 - (256 % alphabet.length);

/** Creates a password that a person only needs until the first sign-in; it has 116 bits. */
function createPassword(): string {
  let password = '';
  while (password.length < length) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < fairBytes) password += alphabet[byte % alphabet.length];
  }
  return password;
}

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
          <Button
            aria-label={`${text.revoke}: ${plate}`}
            disabled={action.isRunning}
            onClick={() => void action.run(() => change(revoke, onChanged))}
          >
            {text.revoke}
          </Button>
        </td>
      )}
    </tr>
  );
}

function NewGrant({ user, appId, action, onChanged }: GrantsOptions & { action: Action }) {
  const { accounts: text } = texts.value;
  const role = useSignal<Role>('driver');
  const submit = (form: HTMLFormElement) => {
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
    <Form class="grant-form" onSubmit={submit}>
      <VehicleField label={text.grantVehicle} name="vehicle" appId={appId} required />
      <SelectField
        label={text.role}
        value={role.value}
        options={roles.map((one) => [one, text.grantRoles[one]])}
        onChange={(one) => assign(role, roleOf(one))}
      />
      <Button type="submit" disabled={action.isRunning}>
        {text.grant}
      </Button>
    </Form>
  );
}

/** The vehicles that a user may see or use, with the role on each. */
function Grants(options: GrantsOptions) {
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

/** A password that was made just now. */
interface NewPassword {
  readonly username: string;
  readonly password: string;
}

interface UserOptions {
  readonly user: User;
  readonly appId: string;
  readonly onPassword: (made: NewPassword) => void;
  readonly onChanged: () => void;
}

function UserActions({ user: { userId, username, hasSecondFactor }, onPassword, onChanged }: UserOptions) {
  const { accounts: text } = texts.value;
  const params = { path: { userId } };
  const reset = async () => {
    const password = createPassword();
    await answerOf(api.POST('/v1/x/admin/users/{userId}/password', { params, body: { password } }));
    onPassword({ username, password });
    onChanged();
  };
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/admin/users/{userId}', { params }));
    onChanged();
  };
  return (
    <div class="row start">
      <ActionButton action={text.resetPassword} title={text.resetTitle(username)} onConfirm={reset}>
        {text.resetText}
      </ActionButton>
      <ActionButton
        action={text.endSessions}
        title={text.endTitle(username)}
        onConfirm={() => answerOf(api.DELETE('/v1/x/admin/users/{userId}/sessions', { params }))}
      >
        {text.endText}
      </ActionButton>
      {hasSecondFactor && (
        <ActionButton
          action={text.resetSecondFactor}
          title={text.resetSecondFactorTitle(username)}
          onConfirm={() => answerOf(api.DELETE('/v1/x/admin/users/{userId}/second-factor', { params })).then(onChanged)}
        >
          {text.resetSecondFactorText}
        </ActionButton>
      )}
      <ActionButton
        action={text.deleteUser}
        title={text.deleteTitle(username)}
        isDangerous
        typed={username}
        onConfirm={remove}
      >
        {text.deleteUserText}
      </ActionButton>
    </div>
  );
}

function UserLine(options: UserOptions) {
  const { accounts: text } = texts.value;
  const { user, appId, onChanged } = options;
  const isOpen = useSignal(false);
  return (
    <li>
      <details class="user" onToggle={({ currentTarget }) => assign(isOpen, currentTarget.open)}>
        <summary>
          <strong>{user.username}</strong>
          <span class="muted">{text.grantCount(user.grants.length)}</span>
          {user.mustChangePassword && <span class="muted">{text.mustChange}</span>}
        </summary>
        <div class="user-body">
          <Grants user={user} appId={appId} onChanged={onChanged} />
          <GroupGrants user={user} appId={appId} onChanged={onChanged} />
          {isOpen.value && <DriverKeys username={user.username} appId={appId} />}
          {hasRole('administrator') && <UserActions {...options} />}
        </div>
      </details>
    </li>
  );
}

interface NewUserOptions {
  readonly appId: string;
  readonly onCreated: (made: NewPassword) => void;
}

function NewUser({ appId, onCreated }: NewUserOptions) {
  const { accounts: text } = texts.value;
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      const { username = '' } = readFields(form);
      const password = createPassword();
      const body = { appId, username, password, mustChangePassword: true };
      await answerOf(api.POST('/v1/x/admin/users', { body }));
      form.reset();
      onCreated({ username, password });
    });
  };
  return (
    <Form class="card form inline-form" onSubmit={submit}>
      <TextField label={text.newUser} name="username" required maxLength={256} />
      <Button type="submit" kind="primary" disabled={action.isRunning}>
        {text.create}
      </Button>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </Form>
  );
}

function UserList({ appId }: { appId: string }) {
  const { accounts: text } = texts.value;
  const made = useSignal<NewPassword | undefined>(undefined);
  const { data, failure, reload } = useLoad(
    () => answerOf(api.GET('/v1/x/admin/users', { params: { query: { appId } } })),
    [appId],
  );
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const show = (password: NewPassword) => {
    made.value = password;
    reload();
  };
  return (
    <>
      {hasRole('administrator') && <NewUser appId={appId} onCreated={show} />}
      {made.value && (
        <ShownOnce
          entries={[
            [text.username, made.value.username],
            [text.password, made.value.password],
          ]}
        />
      )}
      {failure && <p class="notice late">{failure}</p>}
      {data.users.length === 0 ? (
        <Empty title={text.noUsers} />
      ) : (
        <ul class="card user-list" aria-label={text.tabs.users}>
          {data.users.map((user) => (
            <UserLine key={user.userId} user={user} appId={appId} onPassword={show} onChanged={reload} />
          ))}
        </ul>
      )}
    </>
  );
}

/** The users of an application, with their grants. */
export function Users() {
  const { accounts: text } = texts.value;
  const { applications } = operatorApplications();
  const asked = address.value.query.get('app');
  const appId = applications.find((one) => one.appId === asked)?.appId ?? applications[0]?.appId;
  if (appId === undefined) return <Empty title={text.noApplications} />;
  return (
    <>
      <ApplicationField
        label={text.application}
        value={appId}
        onChange={(chosen) => navigate(`/accounts/users?app=${encodeURIComponent(chosen)}`, { replace: true })}
      />
      <UserList key={appId} appId={appId} />
    </>
  );
}
