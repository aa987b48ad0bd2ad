import { answerOf, api, CallFailure } from '../../api/client.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { texts } from '../../texts/texts.ts';

/** Returns whether this browser can receive push messages, else the reason. */
export function pushSupport(): 'supported' | 'insecure' | 'unsupported' | 'denied' {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) return 'unsupported';
  return Notification.permission === 'denied' ? 'denied' : 'supported';
}

interface OwnNotification {
  readonly id: string;
  readonly appId: string;
  /** Endpoint of the push subscription that the platform stores for this notification. */
  readonly endpoint: string;
}

/** Cache that the service worker reads to renew the subscription of these notifications; it has no other storage. */
const cacheName = 'push';
const storedPath = '/subscription';

/** Lists the notifications of every application that are sent to this browser. */
export async function ownNotifications(): Promise<readonly OwnNotification[]> {
  if (!isSecureContext) return [];
  const stored = await (await caches.open(cacheName)).match(storedPath);
  return (await stored?.json())?.notifications ?? [];
}

/** Subscribes; replaces a subscription to a previous key of the installation. */
async function subscribe({ pushManager }: ServiceWorkerRegistration, options: PushSubscriptionOptionsInit) {
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    // Push API, subscribe(): a subscription with another applicationServerKey exists.
    if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  }
}

/**
 * Asks for permission, and subscribes this browser to push messages.
 * @throws CallFailure if the person, the browser or its push service refuses
 */
export async function subscribeBrowser(appId: string) {
  const { browser: text } = texts.value.notifications;
  if ((await Notification.requestPermission()) !== 'granted') throw new CallFailure('DENIED', text.denied);
  const { publicKey } = await answerOf(
    api.GET('/v1/x/notifications/push-key', { params: { header: headerFor(appId) } }),
  );
  const options = { userVisibleOnly: true, applicationServerKey: publicKey };
  const registration = await navigator.serviceWorker.getRegistration();
  // Some browsers disable service workers in private windows.
  if (!registration) throw new CallFailure('REFUSED', text.unsupported);
  const subscription = await subscribe(registration, options).catch((error: unknown) => {
    throw new CallFailure('REFUSED', text.refused(error instanceof Error ? error.message : String(error)));
  });
  const { endpoint, keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
  return { endpoint: endpoint ?? '', keys: { p256dh, auth } };
}

async function store(notifications: readonly OwnNotification[]): Promise<void> {
  await (await caches.open(cacheName)).put(storedPath, Response.json({ notifications }));
}

/** Records that a notification is sent to this browser. */
export async function storeNotification(own: OwnNotification): Promise<void> {
  await store([...(await ownNotifications()).filter(({ id }) => id !== own.id), own]);
}

/** Records that a notification was deleted; the browser unsubscribes with the last one. */
export async function removeNotification(deletedId: string): Promise<void> {
  const own = await ownNotifications();
  const notifications = own.filter(({ id }) => id !== deletedId);
  if (notifications.length === own.length) return;
  if (notifications.length > 0) {
    await store(notifications);
    return;
  }
  await caches.delete(cacheName);
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}
