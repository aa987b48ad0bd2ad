import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { formatAgo, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { ownNotifications, pushSupport, removeNotification } from './browser-push.ts';
import { loadNotifications, type Notification, titleOf, toBody, toDraft } from './notification-data.ts';
import { NotificationForm } from './notification-form.tsx';
import { DeliveryState, type Listed, ReceiverPage, Receivers } from './receivers.tsx';
import { nameEvents, paramsOf } from './webhook-data.ts';

const nameChannel = ({ channel, target }: Notification): string =>
  texts.value.labelled(texts.value.notifications.channels[channel], target);

function factsOf(notification: Notification) {
  const { notifications: text, webhooks } = texts.value;
  const { events, lastSuccessAt, failingSince, lastError, held, undelivered } = notification;
  return [
    [webhooks.types, events.map(nameEvents).join(', ')],
    [text.channel, nameChannel(notification)],
    [webhooks.lastSuccess, lastSuccessAt && <time title={formatFull(lastSuccessAt)}>{formatAgo(lastSuccessAt)}</time>],
    [webhooks.failingSince, failingSince && <time title={formatFull(failingSince)}>{formatTime(failingSince)}</time>],
    [webhooks.lastError, lastError],
    [text.held, held > 0 && formatNumber(held)],
    [text.undelivered, undelivered > 0 && formatNumber(undelivered)],
  ] as const;
}

async function deleteNotification(appId: string, id: string): Promise<void> {
  await answerOf(api.DELETE('/v1/x/notifications/{id}', { params: paramsOf(appId, id) }));
  await removeNotification(id);
}

interface PageOptions extends Listed<Notification> {
  readonly appId: string;
  readonly notification: Notification;
}

/** A notification: the state of its delivery, and its log. */
function NotificationPage({ appId, notification, all, reload }: PageOptions) {
  const { notifications: text, webhooks } = texts.value;
  const { id } = notification;
  const params = paramsOf(appId, id);
  const test = async () => {
    const sent = await answerOf(api.POST('/v1/x/notifications/{id}/test', { params }));
    const { delivered: isGood, durationMs, error = '' } = sent;
    return { isGood, text: isGood ? text.testDelivered(durationMs) : webhooks.testFailed(error) };
  };
  const setEnabled = async (enabled: boolean) => {
    // Another person may have changed it since it was shown.
    const current = await answerOf(api.GET('/v1/x/notifications/{id}', { params }));
    const body = { ...toBody(toDraft(current), current), enabled };
    return answerOf(api.PUT('/v1/x/notifications/{id}', { params, body }));
  };
  return (
    <ReceiverPage
      kind="notification"
      receiver={notification}
      title={titleOf(notification)}
      goneText={text.pausedText}
      facts={factsOf(notification)}
      form={(close) => (
        <NotificationForm appId={appId} notification={notification} known={all} onSaved={close} onClose={close} />
      )}
      test={test}
      setEnabled={setEnabled}
      remove={() => deleteNotification(appId, id)}
      load={(query) => api.GET('/v1/x/notifications/{id}/deliveries', { params: { ...params, query } })}
      onChanged={reload}
    />
  );
}

interface ThisBrowserOptions extends Listed<Notification> {
  readonly appId: string;
  readonly onStart: () => void;
}

/** Starts and stops push messages to this browser, or says why it cannot be notified. */
function ThisBrowser({ appId, all, reload, onStart }: ThisBrowserOptions) {
  const { browser: text } = texts.value.notifications;
  const { data = [] } = useLoad(ownNotifications, [], [all]);
  const support = pushSupport();
  const own = all.filter(({ id, channel }) => channel === 'push' && data.some((one) => one.id === id));
  if (support !== 'supported') return <p class="muted">{text[support]}</p>;
  if (own.length === 0) return <Button onClick={onStart}>{text.start}</Button>;
  const stop = async () => {
    for (const { id } of own) await deleteNotification(appId, id);
    reload();
  };
  return (
    <ActionButton action={text.stop} title={text.stopTitle} isDangerous onConfirm={stop}>
      {text.stopText(own.map(titleOf).join(', '))}
    </ActionButton>
  );
}

/** The notifications of an application, or the one in the address. */
export function Notifications({ appId }: { appId: string }) {
  return (
    <Receivers
      kind="notification"
      load={() => loadNotifications(appId)}
      titleOf={titleOf}
      cells={(notification) => (
        <>
          <span class="muted">{notification.events.map(nameEvents).join(', ')}</span>
          <span class="muted">{nameChannel(notification)}</span>
          <DeliveryState state={notification.state} />
        </>
      )}
      form={({ all, reload, preset, close }) => {
        const saved = () => {
          close();
          reload();
        };
        return (
          <NotificationForm appId={appId} known={all} isPush={preset === 'push'} onSaved={saved} onClose={close} />
        );
      }}
      page={(notification, listed) => (
        <NotificationPage key={notification.id} appId={appId} notification={notification} {...listed} />
      )}
      actions={(open, listed) => <ThisBrowser appId={appId} {...listed} onStart={() => open('push')} />}
    />
  );
}
