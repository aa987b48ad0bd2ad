import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { changeQuery } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { nameEvents, paramsOf, type Webhook } from './webhook-data.ts';
import { WebhookForm } from './webhook-form.tsx';
import { DeadLetters, Deliveries, Replay } from './webhook-log.tsx';

/** The state of a webhook or a notification, as text and colour. */
export function DeliveryState({ state }: Pick<Webhook, 'state'>) {
  const kinds = { active: 'good', failing: 'wrong', disabled: 'muted' } as const;
  return <strong class={kinds[state]}>{texts.value.webhooks.states[state]}</strong>;
}

/** Names and values; those without a value are left out. */
export function FactList({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value)
        .map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
    </dl>
  );
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { webhooks: text } = texts.value;
  const { types, vehicleIds, lastSuccessAt, failingSince, nextAttemptAt, lastError, previousSecretUntil } = webhook;
  const time = (moment: string) => <time title={formatFull(moment)}>{formatTime(moment)}</time>;
  const rows = [
    [text.types, types.map(nameEvents).join(', ')],
    [text.appliesTo, vehicleIds ? text.vehicleCount(vehicleIds.length) : text.allVehicles],
    [text.lastSuccess, lastSuccessAt && <time title={formatFull(lastSuccessAt)}>{formatAgo(lastSuccessAt)}</time>],
    [text.failingSince, failingSince && time(failingSince)],
    [text.lastError, lastError],
    [text.nextAttempt, nextAttemptAt && time(nextAttemptAt)],
    [text.waiting, webhook.waitingVehicles > 0 && formatNumber(webhook.waitingVehicles)],
    [text.bothSecrets, previousSecretUntil && time(previousSecretUntil)],
  ] as const;
  return <FactList rows={rows} />;
}

interface WebhookPageOptions {
  readonly appId: string;
  readonly webhook: Webhook;
  readonly onChanged: () => void;
}

interface ActionsOptions extends WebhookPageOptions {
  readonly onEdit: () => void;
  readonly onSecret: (secret: string) => void;
  readonly onTested: () => void;
}

/** The actions of an administrator on a webhook. */
function Actions({ appId, webhook, onChanged, onEdit, onSecret, onTested }: ActionsOptions) {
  const { webhooks: text, integrations, change, remove } = texts.value;
  const { id, url, types, vehicleIds, state } = webhook;
  const params = paramsOf(appId, id);
  const action = useAction();
  const outcome = useSignal<{ readonly isGood: boolean; readonly text: string } | undefined>(undefined);
  const test = async () => {
    const sent = await answerOf(api.POST('/v1/x/webhooks/{id}/test', { params }));
    const { delivered: isGood, status = 0, durationMs, error = '' } = sent;
    outcome.value = {
      isGood,
      text: isGood ? text.testDelivered(status, durationMs) : text.testFailed(error),
    };
    onTested();
  };
  const enable = async (enabled: boolean) => {
    const body = { url, types, ...(vehicleIds && { vehicleIds }), enabled };
    await answerOf(api.PUT('/v1/x/webhooks/{id}', { params, body }));
    onChanged();
  };
  const rotate = async () => {
    onSecret((await answerOf(api.POST('/v1/x/webhooks/{id}/rotate', { params }))).secret);
    onChanged();
  };
  const deleteWebhook = async () => {
    await answerOf(api.DELETE('/v1/x/webhooks/{id}', { params }));
    changeQuery({ webhook: undefined });
    onChanged();
  };
  const isPaused = state === 'disabled';
  return (
    <>
      <div class="row start">
        <Button kind="primary" disabled={action.isRunning} onClick={() => void action.run(test)}>
          {text.test}
        </Button>
        <Button onClick={onEdit}>{change}</Button>
        <Button disabled={action.isRunning} onClick={() => void action.run(() => enable(isPaused))}>
          {isPaused ? text.resume : text.pause}
        </Button>
        <ActionButton action={integrations.newSecret} title={text.rotateTitle} onConfirm={rotate}>
          {text.rotateText}
        </ActionButton>
        <ActionButton action={remove} title={text.deleteTitle} isDangerous onConfirm={deleteWebhook}>
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

/** A webhook: the state of its delivery, its log, and its dead letters. */
export function WebhookPage({ appId, webhook, onChanged }: WebhookPageOptions) {
  const { webhooks: text, integrations } = texts.value;
  const isEditing = useSignal(false);
  const secret = useSignal<string | undefined>(undefined);
  /** Counts tests; each reloads the log. */
  const tests = useSignal(0);
  if (isEditing.value) {
    const close = () => {
      isEditing.value = false;
      onChanged();
    };
    return <WebhookForm appId={appId} webhook={webhook} onClose={close} />;
  }
  const { id, url, disabledReason } = webhook;
  return (
    <>
      {secret.value && (
        <ShownOnce
          entries={[
            [text.id, id],
            [integrations.secret, secret.value],
          ]}
        />
      )}
      <section class="card form" aria-label={url}>
        <h2 class="webhook-title">
          {url} <DeliveryState state={webhook.state} />
        </h2>
        {disabledReason === 'GONE' && <p class="notice wrong">{text.gonePaused}</p>}
        <Facts webhook={webhook} />
        {hasRole('administrator') && (
          <Actions
            appId={appId}
            webhook={webhook}
            onChanged={onChanged}
            onEdit={() => assign(isEditing, true)}
            onSecret={(one) => assign(secret, one)}
            onTested={() => assign(tests, tests.value + 1)}
          />
        )}
      </section>
      <DeadLetters appId={appId} id={id} count={webhook.deadLetters} onReplayed={onChanged} />
      <Deliveries
        load={(query) => api.GET('/v1/x/webhooks/{id}/deliveries', { params: { ...paramsOf(appId, id), query } })}
        generation={tests.value}
      />
      {hasRole('administrator') && <Replay appId={appId} id={id} onReplayed={onChanged} />}
    </>
  );
}
