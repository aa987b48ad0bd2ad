import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { DeadLetters, Replay } from './delivery-log.tsx';
import { DeliveryState, ReceiverPage, Receivers } from './receivers.tsx';
import { loadWebhooks, nameEvents, paramsOf, type Webhook } from './webhook-data.ts';
import { WebhookForm } from './webhook-form.tsx';

const nameVehicles = ({ vehicleIds, groupId }: Webhook): string => {
  const { webhooks: text, groups } = texts.value;
  const limits = [groupId && groups.count(1), vehicleIds && text.vehicleCount(vehicleIds.length)];
  return limits.filter(Boolean).join(', ') || text.allVehicles;
};

function Cells({ webhook }: { webhook: Webhook }) {
  const { types, state, deadLetters } = webhook;
  return (
    <>
      <span class="muted">{types.map(nameEvents).join(', ')}</span>
      <span class="muted">{nameVehicles(webhook)}</span>
      <span>
        <DeliveryState state={state} />
        {deadLetters > 0 && <span class="wrong">{` · ${texts.value.webhooks.deadLetterCount(deadLetters)}`}</span>}
      </span>
    </>
  );
}

function SecretShownOnce({ id, secret }: Schema<'WebhookSecret'>) {
  const { webhooks: text, integrations } = texts.value;
  return (
    <ShownOnce
      entries={[
        [text.id, id],
        [integrations.secret, secret],
      ]}
    />
  );
}

function factsOf(webhook: Webhook) {
  const { webhooks: text } = texts.value;
  const { types, lastSuccessAt, failingSince, nextAttemptAt, lastError, previousSecretUntil } = webhook;
  const time = (moment: string) => <time title={formatFull(moment)}>{formatTime(moment)}</time>;
  return [
    [text.types, types.map(nameEvents).join(', ')],
    [text.appliesTo, nameVehicles(webhook)],
    [text.lastSuccess, lastSuccessAt && <time title={formatFull(lastSuccessAt)}>{formatAgo(lastSuccessAt)}</time>],
    [text.failingSince, failingSince && time(failingSince)],
    [text.lastError, lastError],
    [text.nextAttempt, nextAttemptAt && time(nextAttemptAt)],
    [text.waiting, webhook.waitingVehicles > 0 && formatNumber(webhook.waitingVehicles)],
    [text.bothSecrets, previousSecretUntil && time(previousSecretUntil)],
  ] as const;
}

interface PageOptions {
  readonly appId: string;
  readonly webhook: Webhook;
  readonly onChanged: () => void;
}

/** A webhook: the state of its delivery, its log, and its dead letters. */
function WebhookPage({ appId, webhook, onChanged }: PageOptions) {
  const { webhooks: text, integrations } = texts.value;
  const secret = useSignal<string | undefined>(undefined);
  const { id, url } = webhook;
  const params = paramsOf(appId, id);
  const test = async () => {
    const sent = await answerOf(api.POST('/v1/x/webhooks/{id}/test', { params }));
    const { delivered: isGood, status = 0, durationMs, error = '' } = sent;
    return { isGood, text: isGood ? text.testDelivered(status, durationMs) : text.testFailed(error) };
  };
  const setEnabled = async (enabled: boolean) => {
    // Another person may have changed it since it was shown.
    const current = await answerOf(api.GET('/v1/x/webhooks/{id}', { params }));
    const { types, vehicleIds, groupId } = current;
    const body = { url: current.url, types, ...(vehicleIds && { vehicleIds }), ...(groupId && { groupId }), enabled };
    return answerOf(api.PUT('/v1/x/webhooks/{id}', { params, body }));
  };
  const rotate = async () => {
    secret.value = (await answerOf(api.POST('/v1/x/webhooks/{id}/rotate', { params }))).secret;
    onChanged();
  };
  return (
    <>
      {secret.value && <SecretShownOnce id={id} secret={secret.value} />}
      <ReceiverPage
        kind="webhook"
        receiver={webhook}
        title={url}
        goneText={text.gonePaused}
        facts={factsOf(webhook)}
        form={(close) => <WebhookForm appId={appId} webhook={webhook} onClose={close} />}
        test={test}
        setEnabled={setEnabled}
        remove={() => answerOf(api.DELETE('/v1/x/webhooks/{id}', { params }))}
        actions={
          <ActionButton action={integrations.newSecret} title={text.rotateTitle} onConfirm={rotate}>
            {text.rotateText}
          </ActionButton>
        }
        load={(query) => api.GET('/v1/x/webhooks/{id}/deliveries', { params: { ...params, query } })}
        onChanged={onChanged}
      >
        <DeadLetters appId={appId} id={id} count={webhook.deadLetters} onReplayed={onChanged} />
        {hasRole('administrator') && <Replay appId={appId} id={id} onReplayed={onChanged} />}
      </ReceiverPage>
    </>
  );
}

/** The webhooks of an application, or the one in the address. */
export function Webhooks({ appId }: { appId: string }) {
  const created = useSignal<Schema<'WebhookSecret'> | undefined>(undefined);
  return (
    <Receivers
      kind="webhook"
      load={() => loadWebhooks(appId)}
      titleOf={({ url }) => url}
      cells={(webhook) => <Cells webhook={webhook} />}
      above={created.value && <SecretShownOnce {...created.value} />}
      form={({ reload, close }) => (
        <WebhookForm
          appId={appId}
          onCreated={(one) => {
            assign(created, one);
            reload();
          }}
          onClose={close}
        />
      )}
      page={(webhook, { reload }) => (
        <WebhookPage key={webhook.id} appId={appId} webhook={webhook} onChanged={reload} />
      )}
    />
  );
}
