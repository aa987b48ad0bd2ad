import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { usePages } from '../../api/use-pages.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { loadNotifications, type Notification, titleOf, toBody, toDraft } from './notification-data.ts';
import { NotificationForm } from './notification-form.tsx';
import { nameEvents, paramsOf } from './webhook-data.ts';
import { Deliveries } from './webhook-log.tsx';
import { DeliveryState, FactList } from './webhook-page.tsx';

const nameChannel = ({ channel, target }: Notification): string =>
  texts.value.labelled(texts.value.notifications.channels[channel], target);

function NotificationRow({ notification }: { notification: Notification }) {
  const query = new URLSearchParams(address.value.query);
  query.set('notification', notification.id);
  return (
    <li class="integration-row">
      <a href={`/integrations/notifications?${query}`}>{titleOf(notification)}</a>
      <span class="muted">{notification.events.map(nameEvents).join(', ')}</span>
      <span class="muted">{nameChannel(notification)}</span>
      <DeliveryState state={notification.state} />
    </li>
  );
}

interface ListOptions {
  readonly appId: string;
  readonly notifications: readonly Notification[];
  readonly onChanged: () => void;
}

function NotificationList({ appId, notifications, onChanged }: ListOptions) {
  const { notifications: text, integrations } = texts.value;
  const isCreating = useSignal(false);
  if (isCreating.value) {
    const close = () => assign(isCreating, false);
    const saved = () => {
      close();
      onChanged();
    };
    return <NotificationForm appId={appId} known={notifications} onSaved={saved} onClose={close} />;
  }
  return (
    <>
      {hasRole('administrator') && (
        <div>
          <Button kind="primary" onClick={() => assign(isCreating, true)}>
            {text.create}
          </Button>
        </div>
      )}
      {notifications.length === 0 ? (
        <Empty title={text.none}>
          <p>{text.noneText}</p>
        </Empty>
      ) : (
        <ul class="card" aria-label={integrations.tabs.notifications}>
          {notifications.map((notification) => (
            <NotificationRow key={notification.id} notification={notification} />
          ))}
        </ul>
      )}
    </>
  );
}

function Facts({ notification }: { notification: Notification }) {
  const { notifications: text, webhooks } = texts.value;
  const { events, lastSuccessAt, failingSince, lastError, held, undelivered } = notification;
  const rows = [
    [webhooks.types, events.map(nameEvents).join(', ')],
    [text.channel, nameChannel(notification)],
    [webhooks.lastSuccess, lastSuccessAt && <time title={formatFull(lastSuccessAt)}>{formatAgo(lastSuccessAt)}</time>],
    [webhooks.failingSince, failingSince && <time title={formatFull(failingSince)}>{formatTime(failingSince)}</time>],
    [webhooks.lastError, lastError],
    [text.held, held > 0 && formatNumber(held)],
    [text.undelivered, undelivered > 0 && formatNumber(undelivered)],
  ] as const;
  return <FactList rows={rows} />;
}

interface PageOptions extends ListOptions {
  readonly notification: Notification;
}

interface ActionsOptions extends Omit<PageOptions, 'notifications'> {
  readonly onEdit: () => void;
  readonly onTested: () => void;
}

/** The actions of an administrator on a notification. */
function Actions({ appId, notification, onChanged, onEdit, onTested }: ActionsOptions) {
  const { notifications: text, webhooks, change, remove } = texts.value;
  const { id, state } = notification;
  const params = paramsOf(appId, id);
  const action = useAction();
  const outcome = useSignal<{ readonly isGood: boolean; readonly text: string } | undefined>(undefined);
  const test = async () => {
    const sent = await answerOf(api.POST('/v1/x/notifications/{id}/test', { params }));
    const { delivered: isGood, durationMs, error = '' } = sent;
    outcome.value = { isGood, text: isGood ? text.testDelivered(durationMs) : webhooks.testFailed(error) };
    onTested();
  };
  const isPaused = state === 'disabled';
  const enable = async () => {
    const body = { ...toBody(toDraft(notification), notification), enabled: isPaused };
    await answerOf(api.PUT('/v1/x/notifications/{id}', { params, body }));
    onChanged();
  };
  const deleteNotification = async () => {
    await answerOf(api.DELETE('/v1/x/notifications/{id}', { params }));
    changeQuery({ notification: undefined });
    onChanged();
  };
  return (
    <>
      <div class="row start">
        <Button kind="primary" disabled={action.isRunning} onClick={() => void action.run(test)}>
          {text.test}
        </Button>
        <Button onClick={onEdit}>{change}</Button>
        <Button disabled={action.isRunning} onClick={() => void action.run(enable)}>
          {isPaused ? webhooks.resume : webhooks.pause}
        </Button>
        <ActionButton action={remove} title={text.deleteTitle} isDangerous onConfirm={deleteNotification}>
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

/** A notification: the state of its delivery, and its log. */
function NotificationPage({ appId, notification, notifications, onChanged }: PageOptions) {
  const isEditing = useSignal(false);
  /** Counts tests; each reloads the log. */
  const tests = useSignal(0);
  if (isEditing.value) {
    const close = () => {
      isEditing.value = false;
      onChanged();
    };
    return (
      <NotificationForm
        appId={appId}
        notification={notification}
        known={notifications}
        onSaved={close}
        onClose={close}
      />
    );
  }
  const { id, state, disabledReason } = notification;
  const title = titleOf(notification);
  return (
    <>
      <section class="card form" aria-label={title}>
        <h2 class="webhook-title">
          {title} <DeliveryState state={state} />
        </h2>
        {disabledReason === 'GONE' && <p class="notice wrong">{texts.value.notifications.pausedText}</p>}
        <Facts notification={notification} />
        {hasRole('administrator') && (
          <Actions
            appId={appId}
            notification={notification}
            onChanged={onChanged}
            onEdit={() => assign(isEditing, true)}
            onTested={() => assign(tests, tests.value + 1)}
          />
        )}
      </section>
      <Deliveries
        load={(query) => api.GET('/v1/x/notifications/{id}/deliveries', { params: { ...paramsOf(appId, id), query } })}
        generation={tests.value}
      />
    </>
  );
}

/** The notifications of an application, or the one in the address. */
export function Notifications({ appId }: { appId: string }) {
  const { notifications: text } = texts.value;
  const { rows, failure, reload } = usePages(
    async () => ({ rows: await loadNotifications(appId), total: undefined, after: undefined }),
    [appId],
  );
  const id = address.value.query.get('notification');
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const list = { appId, notifications: rows.rows, onChanged: reload };
  const notification = rows.rows.find((one) => one.id === id);
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {id === null && <NotificationList {...list} />}
      {id !== null && (
        <div>
          <Button onClick={() => changeQuery({ notification: undefined })}>{text.all}</Button>
        </div>
      )}
      {id !== null && !notification && <Empty title={text.gone} />}
      {notification && <NotificationPage key={id} {...list} notification={notification} />}
    </>
  );
}
