import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveCommand, LiveVehicle } from '../../live/live-stream.ts';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { actingFor, mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatValue, nameOfValue } from '../../texts/fields.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import { loadStatus } from './now.tsx';
import { useLastContact } from './values.tsx';

/**
 * Every action with its path, the word in GET /v1/vehicle/actions that means that the device supports it, and the group
 * that shows it.
 */
const actions = [
  { action: 'LOCK', word: 'CENTRAL-LOCK', path: '/v1/vehicle/lock', group: 'access' },
  { action: 'UNLOCK', word: 'CENTRAL-LOCK', path: '/v1/vehicle/unlock', group: 'access' },
  { action: 'UNLOCK-TRUNK', word: 'UNLOCK-TRUNK', path: '/v1/vehicle/trunk/unlock', group: 'access' },
  { action: 'OPEN-WINDOWS', word: 'OPEN-WINDOWS', path: '/v1/vehicle/windows/open', group: 'access' },
  { action: 'CLOSE-WINDOWS', word: 'CLOSE-WINDOWS', path: '/v1/vehicle/windows/close', group: 'access' },
  { action: 'HONK', word: 'HONK', path: '/v1/vehicle/honk', group: 'find' },
  { action: 'TURNING-LIGHTS', word: 'TURNING-LIGHTS', path: '/v1/vehicle/lights/on', group: 'find' },
  { action: 'START', word: 'IMMOBILIZE', path: '/v1/vehicle/start', group: 'danger' },
  { action: 'IMMOBILIZE', word: 'IMMOBILIZE', path: '/v1/vehicle/immobilize', group: 'danger' },
] as const;
const groups = ['access', 'find', 'danger'] as const;
type Choice = (typeof actions)[number];
type Command = Schema<'Command'>;

const marks: Readonly<Record<Command['state'], string>> = {
  pending: '…',
  sent: '→',
  acknowledged: '✓',
  refused: '✕',
  unknown: '?',
  expired: '⊘',
};

async function load({ id, appId }: LiveVehicle) {
  const header = actingFor(appId);
  const query = { vehicleId: id };
  const [available, history] = await Promise.all([
    answerOf(api.GET('/v1/vehicle/actions', { params: { query, header } })),
    answerOf(api.GET('/v1/x/commands', { params: { query, header } })),
  ]);
  const choices = actions.filter(({ word }) => available.actions.some((one) => one === word));
  return { choices, commands: history.commands };
}

/** The state that commands change, as the device last reported it. */
function State({ vehicle, changed }: Omit<CommandsOptions, 'resets'>) {
  const loadState = () => loadStatus(vehicle);
  const { data: status, failure } = useLoad(loadState, [vehicle.id], [useLastContact(vehicle), changed?.endedAt]);
  if (failure) return <p class="notice late">{failure}</p>;
  const shown = (['lock', 'doors', 'windows', 'engine', 'immobilizer'] as const).flatMap((name) => {
    const value = status?.[name] ?? '';
    return value === '' ? [] : [{ name, value }];
  });
  if (shown.length === 0) return null;
  return (
    <dl class="card command-state">
      {shown.map(({ name, value }) => (
        <div key={name}>
          <dt>{nameOfValue({ group: 'fleet', name })}</dt>
          <dd>{formatValue(value, undefined, '')}</dd>
        </div>
      ))}
    </dl>
  );
}

function Outcome({ command }: { command: Command }) {
  const { commands: text } = texts.value;
  const { state, reason, message } = command;
  const cause = message ?? (reason === undefined ? '' : (lookUp(text.reasons, reason) ?? reason));
  return (
    <>
      <span class={`outcome ${state}`}>
        <span aria-hidden="true">{marks[state]}</span>
        {text.states[state]}
      </span>
      {cause !== '' && <span class="muted">{` ${cause}`}</span>}
    </>
  );
}

/** The steps of the last command: requested, sent, and how it ended. */
function Steps({ command }: { command: Command }) {
  const { commands: text } = texts.value;
  const { createdAt, sentAt, endedAt } = command;
  return (
    <ol class="card steps" aria-live="polite">
      <li class="done">
        <strong>{lookUp(text.actions, command.action) ?? command.action}</strong>
      </li>
      <li class="done" title={formatFull(createdAt)}>{`${text.requested} ${formatTime(createdAt)}`}</li>
      <li class={sentAt ? 'done' : ''}>{sentAt ? `${text.states.sent} ${formatTime(sentAt)}` : text.notSent}</li>
      <li class={endedAt ? 'done' : ''}>
        {endedAt ? <Outcome command={command} /> : <span class="spinner" />}
        {!endedAt && text.waiting}
      </li>
    </ol>
  );
}

function History({ commands }: { commands: readonly Command[] }) {
  const { commands: text } = texts.value;
  if (commands.length === 0) return <Empty title={text.none} />;
  return (
    <div class="card table-frame">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{text.time}</th>
            <th scope="col">{text.action}</th>
            <th scope="col">{text.outcome}</th>
          </tr>
        </thead>
        <tbody>
          {commands.map((command) => (
            <tr key={command.id}>
              <td title={formatFull(command.createdAt)}>{formatTime(command.createdAt)}</td>
              <td>{lookUp(text.actions, command.action) ?? command.action}</td>
              <td>
                <Outcome command={command} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Merges what the live stream says into the list; the newest command comes first. */
function merge(commands: readonly Command[], changed: LiveCommand | undefined): Command[] {
  // The list is newer if the command ended while the stream was disconnected.
  if (!changed || commands.some(({ id, endedAt }) => id === changed.id && endedAt !== undefined)) return [...commands];
  const { vehicleId: _vehicleId, ...command } = changed;
  const others = commands.filter(({ id }) => id !== command.id);
  return [command, ...others].sort((one, other) => other.createdAt.localeCompare(one.createdAt));
}

const nameOf = ({ action }: Choice): string => texts.value.commands.actions[action] ?? action;

interface ConfirmOptions {
  readonly choice: Choice;
  readonly plate: string;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

function Confirm({ choice, plate, onClose, onConfirm }: ConfirmOptions) {
  const { commands: text, cancel } = texts.value;
  return (
    <Dialog title={text.confirm(nameOf(choice), plate)} onClose={onClose}>
      <p class="muted">{lookUp(text.confirmText, choice.action) ?? text.confirmAny}</p>
      <form method="dialog" class="row">
        <Button type="submit">{cancel}</Button>
        <Button kind="primary" onClick={onConfirm}>
          {nameOf(choice)}
        </Button>
      </form>
    </Dialog>
  );
}

function Choice({ choice, onChoose }: { choice: Choice; onChoose: (choice: Choice) => void }) {
  const note = lookUp(texts.value.commands.confirmText, choice.action);
  return (
    <li>
      <Button
        {...(choice.group === 'danger' && { kind: 'danger' })}
        disabled={!mayChange()}
        onClick={() => onChoose(choice)}
      >
        {nameOf(choice)}
      </Button>
      {note && <small class="muted">{note}</small>}
    </li>
  );
}

function Choices({ choices, onChoose }: { choices: readonly Choice[]; onChoose: (choice: Choice) => void }) {
  const { commands: text } = texts.value;
  if (choices.length === 0) return <Empty title={text.noActions} />;
  return (
    <>
      <div class="command-groups">
        {groups.map((group) => {
          const shown = choices.filter((choice) => choice.group === group);
          if (shown.length === 0) return null;
          return (
            <section key={group} class="card command-group" aria-labelledby={`commands-${group}`}>
              <h2 id={`commands-${group}`}>{text.groups[group]}</h2>
              <ul>
                {shown.map((choice) => (
                  <Choice key={choice.action} choice={choice} onChoose={onChoose} />
                ))}
              </ul>
            </section>
          );
        })}
      </div>
      {!mayChange() && <p class="muted">{texts.value.readOnly}</p>}
    </>
  );
}

/** Sends a command and waits for its outcome. @returns why it was not carried out, undefined when it was */
async function send({ id, appId }: LiveVehicle, { path }: Choice): Promise<string | undefined> {
  // A repeated request, such as one that a proxy sends again, makes no second command.
  const header = { ...actingFor(appId), 'Idempotency-Key': crypto.randomUUID() };
  try {
    await answerOf(api.POST(path, { params: { header }, body: { vehicleId: id } }));
    return undefined;
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    return error.code === 'COMMUNICATION_FAILED' ? `${texts.value.commands.failed} ${error.message}` : error.message;
  }
}

interface CommandsOptions {
  readonly vehicle: LiveVehicle;
  /** The command of the vehicle that changed last since the page was opened. */
  readonly changed: LiveCommand | undefined;
  /** The number of resets of the stream; commands before one may have been missed. */
  readonly resets: number;
}

/** Commands to a vehicle: confirmed by the person, followed step by step, and their history. */
export function Commands({ vehicle, changed, resets }: CommandsOptions) {
  const { commands: text } = texts.value;
  const loaded = useLoad(() => load(vehicle), [vehicle.id], [changed?.id, changed?.endedAt, resets]);
  const asked = useSignal<Choice | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const ask = (choice: Choice | undefined) => assign(asked, choice);
  const proposed = address.value.query.get('ask');
  const isLoaded = loaded.data !== undefined;
  useEffect(() => {
    if (proposed === null || !loaded.data) return;
    // The address only opens the confirmation; a person must confirm the command.
    ask(mayChange() ? loaded.data.choices.find(({ action }) => action === proposed) : undefined);
    changeQuery({ ask: undefined });
  }, [proposed, isLoaded]);
  const confirm = async (choice: Choice) => {
    ask(undefined);
    failure.value = undefined;
    failure.value = await send(vehicle, choice);
    loaded.reload();
  };
  if (!loaded.data) {
    return loaded.failure ? <LoadFailure message={loaded.failure} retry={loaded.reload} /> : <Loading />;
  }
  const commands = merge(loaded.data.commands, changed);
  const [latest] = commands;
  const choice = asked.value;
  return (
    <div class="page">
      <State vehicle={vehicle} changed={changed} />
      <Choices choices={loaded.data.choices} onChoose={ask} />
      <div role="alert">{failure.value && <p class="notice wrong">{failure.value}</p>}</div>
      {latest && <Steps command={latest} />}
      <h2>{text.history}</h2>
      <History commands={commands} />
      {choice && (
        <Confirm
          choice={choice}
          plate={vehicle.plate}
          onClose={() => ask(undefined)}
          onConfirm={() => void confirm(choice)}
        />
      )}
    </div>
  );
}
