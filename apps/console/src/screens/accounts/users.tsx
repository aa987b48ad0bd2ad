import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { readFields, SelectField, TextField } from '../../parts/forms/fields.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, navigate } from '../../router.ts';
import { hasRole, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { ActionButton } from './action-button.tsx';
import { Grants } from './grants.tsx';
import { createPassword } from './passwords.ts';
import { ShownOnce } from './shown-once.tsx';

type User = Schema<'User'>;

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

function UserActions({ user: { userId, username }, onPassword, onChanged }: UserOptions) {
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
  return (
    <li>
      <details class="user">
        <summary>
          <strong>{user.username}</strong>
          <span class="muted">{text.grantCount(user.grants.length)}</span>
          {user.mustChangePassword && <span class="muted">{text.mustChange}</span>}
        </summary>
        <div class="user-body">
          <Grants user={user} appId={appId} onChanged={onChanged} />
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
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
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
    <form class="card form inline-form" onSubmit={submit}>
      <TextField label={text.newUser} name="username" required maxLength={256} />
      <button type="submit" class="button primary" disabled={action.isRunning}>
        {text.create}
      </button>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </form>
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
      <SelectField
        label={text.application}
        value={appId}
        options={applications.map((one) => [one.appId, one.name])}
        onChange={(chosen) => navigate(`/accounts/users?app=${encodeURIComponent(chosen)}`, { replace: true })}
      />
      <UserList key={appId} appId={appId} />
    </>
  );
}
