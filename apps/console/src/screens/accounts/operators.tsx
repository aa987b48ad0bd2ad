import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { Form, readFields, SelectField, TextField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { operatorApplications, session } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Operator = Schema<'ListedOperator'>;
type OperatorPassword = Schema<'OperatorPassword'>;
type Role = Operator['role'];

const roles = ['viewer', 'operator', 'administrator'] as const;
const roleOf = (text: string): Role => roles.find((one) => one === text) ?? 'viewer';

/** The values of an operator's form. */
interface OperatorValues {
  readonly role: Role;
  readonly appIds: readonly string[];
}

interface ValuesOptions {
  readonly values: OperatorValues;
  readonly onChange: (values: OperatorValues) => void;
}

function ValuesFields({ values, onChange }: ValuesOptions) {
  const { accounts: text, profile } = texts.value;
  const { applications } = operatorApplications();
  const { role, appIds } = values;
  // Keep deleted applications in the limit: an operator without a limit sees all applications.
  const deleted = appIds.filter((id) => !applications.some(({ appId }) => appId === id));
  return (
    <>
      <SelectField
        label={text.role}
        value={role}
        options={roles.map((one) => [one, profile.roles[one]])}
        hint={text.roleTexts[role]}
        onChange={(one) => onChange({ role: roleOf(one), appIds })}
      />
      <fieldset class="plain applications-choice">
        <legend>{text.limitedTo}</legend>
        {[...applications, ...deleted.map((appId) => ({ appId, name: appId }))].map((one) => (
          <label key={one.appId}>
            <input
              type="checkbox"
              checked={appIds.includes(one.appId)}
              onChange={({ currentTarget }) => {
                const without = appIds.filter((appId) => appId !== one.appId);
                onChange({ role, appIds: currentTarget.checked ? [...without, one.appId] : without });
              }}
            />
            {one.name}
          </label>
        ))}
        {appIds.length === 0 && <small class="muted">{text.notLimited}</small>}
      </fieldset>
    </>
  );
}

function NewOperator({ onCreated }: { onCreated: (made: OperatorPassword) => void }) {
  const { accounts: text } = texts.value;
  const values = useSignal<OperatorValues>({ role: 'viewer', appIds: [] });
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      const { name = '' } = readFields(form);
      const body = { name, role: values.value.role, appIds: [...values.value.appIds], mustChangePassword: true };
      onCreated(await answerOf(api.POST('/v1/x/admin/operators', { body })));
      form.reset();
    });
  };
  return (
    <details class="card new-operator">
      <summary>{text.newOperator}</summary>
      <Form class="form" onSubmit={submit}>
        <TextField
          label={text.name}
          name="name"
          hint={text.nameRule}
          required
          pattern="[A-Za-z0-9][A-Za-z0-9._@\-]{0,63}"
        />
        <ValuesFields values={values.value} onChange={(changed) => assign(values, changed)} />
        <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
        <div class="row">
          <Button type="submit" kind="primary" disabled={action.isRunning}>
            {text.create}
          </Button>
        </div>
      </Form>
    </details>
  );
}

/** Finds an operator as it is stored now. @throws CallFailure UNKNOWN_USER when it was deleted */
async function findOperator(name: string): Promise<Operator> {
  const { operators } = await answerOf(api.GET('/v1/x/admin/operators'));
  const found = operators.find((one) => one.name === name);
  if (!found) throw new CallFailure('UNKNOWN_USER', texts.value.accounts.operatorGone);
  return found;
}

interface EditOptions {
  readonly operator: Operator;
  readonly onClose: () => void;
}

/** The form of an operator. A change of another person is shown, and what was chosen stays. */
function EditOperator({ operator, onClose }: EditOptions) {
  const { accounts: text, cancel, profile } = texts.value;
  /** The stored state that the change is based on. */
  const base = useSignal(operator);
  const values = useSignal<OperatorValues>(operator);
  const meanwhile = useSignal<string | undefined>(undefined);
  const action = useAction();
  const { name } = operator;
  const save = async () => {
    const { role, appIds } = values.value;
    const isSameLimit = [...appIds].sort().join() === [...operator.appIds].sort().join();
    const body = { role, ...(!isSameLimit && { appIds: [...appIds] }), version: base.value.version };
    try {
      await answerOf(api.PUT('/v1/x/admin/operators/{name}', { params: { path: { name } }, body }));
      onClose();
    } catch (error) {
      if (!(error instanceof CallFailure) || error.code !== 'CHANGED_MEANWHILE') throw error;
      const now = await findOperator(name);
      meanwhile.value = text.changedMeanwhile(
        `${profile.roles[now.role]}, ${now.appIds.join(', ') || text.everything}`,
      );
      base.value = now;
    }
  };
  return (
    <Dialog title={text.editTitle(name)} onClose={onClose}>
      <Form class="form" onSubmit={() => void action.run(save)}>
        <ValuesFields values={values.value} onChange={(changed) => assign(values, changed)} />
        <div role="alert">
          {meanwhile.value && <p class="notice late">{meanwhile.value}</p>}
          {action.failure && <p class="notice wrong">{action.failure}</p>}
        </div>
        <div class="row">
          <Button onClick={onClose}>{cancel}</Button>
          <Button type="submit" kind="primary" disabled={action.isRunning}>
            {text.save}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface LineOptions {
  readonly operator: Operator;
  readonly onPassword: (made: OperatorPassword) => void;
  readonly onChanged: () => void;
}

function OperatorActions({ operator: { name, hasSecondFactor }, onPassword, onChanged }: LineOptions) {
  const { accounts: text } = texts.value;
  const params = { path: { name } };
  const isSelf =
    session.value.state === 'signed in' &&
    session.value.person.kind === 'operator' &&
    session.value.person.name === name;
  const reset = async () => {
    onPassword(await answerOf(api.POST('/v1/x/admin/operators/{name}/password', { params })));
    onChanged();
  };
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/admin/operators/{name}', { params }));
    onChanged();
  };
  return (
    <>
      <ActionButton action={text.resetPassword} title={text.resetTitle(name)} onConfirm={reset}>
        {text.resetText}
      </ActionButton>
      <ActionButton
        action={text.endSessions}
        title={text.endTitle(name)}
        onConfirm={() => answerOf(api.DELETE('/v1/x/admin/operators/{name}/sessions', { params })).then(onChanged)}
      >
        {text.endText}
      </ActionButton>
      {hasSecondFactor && (
        <ActionButton
          action={text.resetSecondFactor}
          title={text.resetSecondFactorTitle(name)}
          onConfirm={() =>
            answerOf(api.DELETE('/v1/x/admin/operators/{name}/second-factor', { params })).then(onChanged)
          }
        >
          {text.resetSecondFactorText}
        </ActionButton>
      )}
      {!isSelf && (
        <ActionButton
          action={text.deleteOperator}
          title={text.deleteTitle(name)}
          isDangerous
          typed={name}
          onConfirm={remove}
        >
          {text.deleteOperatorText}
        </ActionButton>
      )}
    </>
  );
}

function OperatorLine(options: LineOptions) {
  const { accounts: text, profile } = texts.value;
  const { operator, onChanged } = options;
  const isEditing = useSignal(false);
  const setEditing = (edits: boolean) => {
    isEditing.value = edits;
    if (!edits) onChanged();
  };
  const { name, role, appIds, usedAt, mustChangePassword } = operator;
  return (
    <li>
      <details class="user">
        <summary>
          <strong>{name}</strong>
          <span>{profile.roles[role]}</span>
          <span class="muted">{appIds.join(', ') || text.everything}</span>
          <span class="muted" title={usedAt ? formatFull(usedAt) : ''}>
            {usedAt ? text.lastUse(formatAgo(usedAt)) : text.notSignedIn}
          </span>
          {mustChangePassword && <span class="muted">{text.mustChange}</span>}
        </summary>
        <div class="user-body">
          <div class="row start">
            <Button onClick={() => setEditing(true)}>{text.edit}</Button>
            <OperatorActions {...options} />
          </div>
        </div>
      </details>
      {isEditing.value && <EditOperator operator={operator} onClose={() => setEditing(false)} />}
    </li>
  );
}

/** The operators, for administrators who are not limited to applications. */
export function Operators() {
  const { accounts: text } = texts.value;
  const made = useSignal<OperatorPassword | undefined>(undefined);
  const { data, failure, reload } = useLoad(() => answerOf(api.GET('/v1/x/admin/operators')), []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const show = (password: OperatorPassword) => {
    made.value = password;
    reload();
  };
  return (
    <>
      <NewOperator onCreated={show} />
      {made.value && (
        <ShownOnce
          entries={[
            [text.name, made.value.name],
            [text.password, made.value.password],
          ]}
        />
      )}
      {failure && <p class="notice late">{failure}</p>}
      <ul class="card user-list" aria-label={text.tabs.operators}>
        {data.operators.map((operator) => (
          <OperatorLine key={operator.name} operator={operator} onPassword={show} onChanged={reload} />
        ))}
      </ul>
    </>
  );
}
