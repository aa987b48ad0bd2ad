import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useAction } from '../../api/use-action.ts';
import { usePages } from '../../api/use-pages.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { FactList } from '../../parts/layout/fact-list.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Deliveries, type DeliveriesOptions } from './delivery-log.tsx';
import type { Webhook } from './webhook-data.ts';

/** A webhook or a notification. */
type Receiver = Pick<Webhook, 'id' | 'state' | 'disabledReason'>;
/** The kind of receiver; also the query parameter that selects one. */
type Kind = 'webhook' | 'notification';

const textsOf = (kind: Kind) => (kind === 'webhook' ? texts.value.webhooks : texts.value.notifications);

/** The state of a receiver, as text and colour. */
export function DeliveryState({ state }: Pick<Receiver, 'state'>) {
  const kinds = { active: 'good', failing: 'wrong', disabled: 'muted' } as const;
  return <strong class={kinds[state]}>{texts.value.webhooks.states[state]}</strong>;
}

function Row({ kind, id, title, children }: { kind: Kind; id: string; title: string; children: ComponentChildren }) {
  const query = new URLSearchParams(address.value.query);
  query.set(kind, id);
  return (
    <li class="integration-row">
      <a href={`${address.value.path}?${query}`}>{title}</a>
      {children}
    </li>
  );
}

/** The loaded receivers, and a function that reloads them. */
export interface Listed<One> {
  readonly all: readonly One[];
  readonly reload: () => void;
}

interface ReceiversOptions<One> {
  readonly kind: Kind;
  readonly load: () => Promise<readonly One[]>;
  readonly titleOf: (one: One) => string;
  /** The cells of a row after its title. */
  readonly cells: (one: One) => ComponentChildren;
  /** Shows the form for a new receiver. @param preset the argument of `open` in `actions` */
  readonly form: (listed: Listed<One> & { preset: string; close: () => void }) => ComponentChildren;
  readonly page: (one: One, listed: Listed<One>) => ComponentChildren;
  /** Shown above the list. */
  readonly above?: ComponentChildren;
  /** Further actions of an administrator above the list. */
  readonly actions?: (open: (preset: string) => void, listed: Listed<One>) => ComponentChildren;
}

function List<One extends Receiver>({ listed, ...options }: ReceiversOptions<One> & { listed: Listed<One> }) {
  const { kind, titleOf, cells, form, above, actions } = options;
  const text = textsOf(kind);
  /** The preset of the open form. */
  const creating = useSignal<string | undefined>(undefined);
  const open = (preset: string) => assign(creating, preset);
  if (creating.value !== undefined) {
    return <>{form({ ...listed, preset: creating.value, close: () => assign(creating, undefined) })}</>;
  }
  return (
    <>
      {above}
      {hasRole('administrator') && (
        <div class="row start">
          <Button kind="primary" onClick={() => open('')}>
            {text.create}
          </Button>
          {actions?.(open, listed)}
        </div>
      )}
      {listed.all.length === 0 ? (
        <Empty title={text.none}>
          <p>{text.noneText}</p>
        </Empty>
      ) : (
        <ul class="card" aria-label={texts.value.integrations.tabs[`${kind}s`]}>
          {listed.all.map((one) => (
            <Row key={one.id} kind={kind} id={one.id} title={titleOf(one)}>
              {cells(one)}
            </Row>
          ))}
        </ul>
      )}
    </>
  );
}

/** The webhooks or notifications of an application, or the one in the address. */
export function Receivers<One extends Receiver>(options: ReceiversOptions<One>) {
  const { kind, load, page } = options;
  const text = textsOf(kind);
  const { rows, failure, reload } = usePages(
    async () => ({ rows: await load(), total: undefined, after: undefined }),
    [],
  );
  const id = address.value.query.get(kind);
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const listed = { all: rows.rows, reload };
  const shown = rows.rows.find((one) => one.id === id);
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {id === null && <List {...options} listed={listed} />}
      {id !== null && (
        <div>
          <Button onClick={() => changeQuery({ [kind]: undefined })}>{text.all}</Button>
        </div>
      )}
      {id !== null && !shown && <Empty title={text.gone} />}
      {shown && page(shown, listed)}
    </>
  );
}

interface Outcome {
  readonly isGood: boolean;
  readonly text: string;
}

interface ActionsOptions {
  readonly kind: Kind;
  readonly receiver: Receiver;
  readonly onChanged: () => void;
  /** Sends a test event. */
  readonly test: () => Promise<Outcome>;
  readonly setEnabled: (enabled: boolean) => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
  /** Further actions. */
  readonly actions?: ComponentChildren;
}

interface PageOptions extends ActionsOptions {
  readonly title: string;
  /** Explains why a receiver with the reason GONE is paused. */
  readonly goneText: string;
  /** Names and values; those without a value are omitted. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  readonly form: (close: () => void) => ComponentChildren;
  readonly load: DeliveriesOptions['load'];
  /** Shown before the log. */
  readonly children?: ComponentChildren;
}

/** The actions of an administrator. */
function Actions(options: ActionsOptions & { readonly onEdit: () => void; readonly onTested: () => void }) {
  const { kind, receiver, onChanged, test, setEnabled, remove, actions, onEdit, onTested } = options;
  const { webhooks, change, remove: removeText } = texts.value;
  const text = textsOf(kind);
  const action = useAction();
  const outcome = useSignal<Outcome | undefined>(undefined);
  const isPaused = receiver.state === 'disabled';
  const runTest = async () => {
    outcome.value = undefined;
    outcome.value = await test();
    onTested();
  };
  const enable = async () => {
    await setEnabled(isPaused);
    onChanged();
  };
  const confirmRemoval = async () => {
    await remove();
    changeQuery({ [kind]: undefined });
    onChanged();
  };
  return (
    <>
      <div class="row start">
        <Button kind="primary" disabled={action.isRunning} onClick={() => void action.run(runTest)}>
          {text.test}
        </Button>
        <Button onClick={onEdit}>{change}</Button>
        <Button disabled={action.isRunning} onClick={() => void action.run(enable)}>
          {isPaused ? webhooks.resume : webhooks.pause}
        </Button>
        {actions}
        <ActionButton action={removeText} title={text.deleteTitle} isDangerous onConfirm={confirmRemoval}>
          {text.deleteText}
        </ActionButton>
      </div>
      <div role="status">
        {outcome.value && <p class={`notice ${outcome.value.isGood ? 'good' : 'wrong'}`}>{outcome.value.text}</p>}
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </>
  );
}

/** A webhook or a notification: the state of its delivery, and its log. */
export function ReceiverPage({ title, goneText, facts, form, load, children, ...actions }: PageOptions) {
  const { receiver, onChanged } = actions;
  const isEditing = useSignal(false);
  /** Counts tests; each reloads the log. */
  const tests = useSignal(0);
  if (isEditing.value) {
    const close = () => {
      isEditing.value = false;
      onChanged();
    };
    return <>{form(close)}</>;
  }
  return (
    <>
      <section class="card form" aria-label={title}>
        <h2 class="webhook-title">
          {title} <DeliveryState state={receiver.state} />
        </h2>
        {receiver.disabledReason === 'GONE' && <p class="notice wrong">{goneText}</p>}
        <FactList rows={facts} />
        {hasRole('administrator') && (
          <Actions
            {...actions}
            onEdit={() => assign(isEditing, true)}
            onTested={() => assign(tests, tests.value + 1)}
          />
        )}
      </section>
      {children}
      <Deliveries load={load} generation={tests.value} />
    </>
  );
}
