import { answerOf, api, CallFailure } from '../../api/client.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { texts } from '../../texts/texts.ts';

/** Whether this browser can be notified, else the reason. */
export function pushSupport(): 'supported' | 'insecure' | 'unsupported' | 'denied' {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) return 'unsupported';
  return Notification.permission === 'denied' ? 'denied' : 'supported';
}

interface OwnNotification {
  readonly id: string;
  readonly appId: string;
}

/** The service worker renews the subscription of these notifications. Its only storage is the cache. */
const cacheName = 'push';
const keptPath = '/subscription';

/** Lists the notifications of every application that are sent to this browser. */
export async function ownNotifications(): Promise<readonly OwnNotification[]> {
  if (!isSecureContext) return [];
  const kept = await (await caches.open(cacheName)).match(keptPath);
  return (await kept?.json())?.notifications ?? [];
}

/** Subscribes; a subscription to a former key of the installation is replaced. */
async function subscribe({ pushManager }: ServiceWorkerRegistration, options: PushSubscriptionOptionsInit) {
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    // Push API, subscribe(): there is a subscription with another applicationServerKey.
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
  // Browsers refuse service workers in some private windows.
  if (!registration) throw new CallFailure('REFUSED', text.unsupported);
  const subscription = await subscribe(registration, options).catch((error: unknown) => {
    throw new CallFailure('REFUSED', text.refused(error instanceof Error ? error.message : String(error)));
  });
  const { endpoint, keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
  return { endpoint: endpoint ?? '', keys: { p256dh, auth } };
}

/** Records that a notification is sent to this browser. */
export async function keepNotification(endpoint: string, own: OwnNotification): Promise<void> {
  const others = (await ownNotifications()).filter(({ id }) => id !== own.id);
  const kept = { endpoint, notifications: [...others, own] };
  await (await caches.open(cacheName)).put(keptPath, Response.json(kept));
}

/** Records that a notification was deleted; the browser unsubscribes with the last one. */
export async function forgetNotification(deletedId: string): Promise<void> {
  const own = await ownNotifications();
  const notifications = own.filter(({ id }) => id !== deletedId);
  if (notifications.length === own.length) return;
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (notifications.length > 0) {
    const kept = { endpoint: subscription?.endpoint, notifications };
    await (await caches.open(cacheName)).put(keptPath, Response.json(kept));
    return;
  }
  await caches.delete(cacheName);
  await subscription?.unsubscribe();
}
