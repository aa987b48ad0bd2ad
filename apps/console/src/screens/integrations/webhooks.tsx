import { useSignal } from '@preact/signals';
import type { Schema } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { loadWebhooks, nameEvents, type Webhook } from './webhook-data.ts';
import { WebhookForm } from './webhook-form.tsx';
import { DeliveryState, WebhookPage } from './webhook-page.tsx';

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { webhooks: text } = texts.value;
  const { id, url, types, vehicleIds, deadLetters } = webhook;
  const query = new URLSearchParams(address.value.query);
  query.set('webhook', id);
  return (
    <li class="integration-row">
      <a href={`/integrations?${query}`}>{url}</a>
      <span class="muted">{types.map(nameEvents).join(', ')}</span>
      <span class="muted">{vehicleIds ? text.vehicleCount(vehicleIds.length) : text.allVehicles}</span>
      <span>
        <DeliveryState state={webhook.state} />
        {deadLetters > 0 && <span class="wrong">{` · ${text.deadLetterCount(deadLetters)}`}</span>}
      </span>
    </li>
  );
}

interface ListOptions {
  readonly appId: string;
  readonly webhooks: readonly Webhook[];
  readonly onCreated: () => void;
}

function WebhookList({ appId, webhooks, onCreated }: ListOptions) {
  const { webhooks: text, integrations } = texts.value;
  const isCreating = useSignal(false);
  const created = useSignal<Schema<'WebhookSecret'> | undefined>(undefined);
  if (isCreating.value) {
    return (
      <WebhookForm
        appId={appId}
        onCreated={(one) => {
          created.value = one;
          onCreated();
        }}
        onClose={() => assign(isCreating, false)}
      />
    );
  }
  return (
    <>
      {created.value && (
        <ShownOnce
          entries={[
            [text.id, created.value.id],
            [integrations.secret, created.value.secret],
          ]}
        />
      )}
      {hasRole('administrator') && (
        <div>
          <Button kind="primary" onClick={() => assign(isCreating, true)}>
            {text.create}
          </Button>
        </div>
      )}
      {webhooks.length === 0 ? (
        <Empty title={text.none}>
          <p>{text.noneText}</p>
        </Empty>
      ) : (
        <ul class="card" aria-label={integrations.tabs.webhooks}>
          {webhooks.map((webhook) => (
            <WebhookRow key={webhook.id} webhook={webhook} />
          ))}
        </ul>
      )}
    </>
  );
}

/** The webhooks of an application, or the one in the address. */
export function Webhooks({ appId }: { appId: string }) {
  const { webhooks: text } = texts.value;
  const { rows, failure, reload } = usePages(
    async () => ({ rows: await loadWebhooks(appId), total: undefined, after: undefined }),
    [appId],
  );
  const id = address.value.query.get('webhook');
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const webhook = rows.rows.find((one) => one.id === id);
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {id === null && <WebhookList appId={appId} webhooks={rows.rows} onCreated={reload} />}
      {id !== null && (
        <div>
          <Button onClick={() => changeQuery({ webhook: undefined })}>{text.all}</Button>
        </div>
      )}
      {id !== null && !webhook && <Empty title={text.gone} />}
      {webhook && <WebhookPage key={id} appId={appId} webhook={webhook} onChanged={reload} />}
    </>
  );
}
