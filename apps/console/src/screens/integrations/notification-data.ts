import { answerOf, api, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { type TimeWindow, weekdays } from '../../parts/forms/time-windows.tsx';
import type { ScopeValue } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { language, lookUp, texts } from '../../texts/texts.ts';
import { writePath } from './gbfs-members.ts';
import { type EventPattern, eventPatterns } from './webhook-data.ts';

export type Notification = Schema<'Notification'>;

/** The types of events that a notification tells. */
export const toldPatterns = eventPatterns.filter((pattern) => !pattern.startsWith('reading.'));

/** The languages of messages, of which each has a file of its own on the platform. */
export const messageLanguages = limits['/v1/x/notifications'].language.enum;
export const languageOf = (code: string) => messageLanguages.find((one) => one === code) ?? 'en';

/** The fields of each channel, by their path in the body. */
export const channelFields = {
  email: ['email'],
  telegram: ['telegram.botToken', 'telegram.chatId'],
  slack: ['slack.url'],
  matrix: ['matrix.url'],
  teams: ['teams.url'],
  sms: ['sms.to', 'sms.url', 'sms.contentType', 'sms.body', 'sms.authorization'],
  push: [],
  /** Keeps the channel of a notification that is changed. */
  unchanged: [],
} as const satisfies Record<Notification['channel'] | 'unchanged', readonly string[]>;

/** The values of the form. */
export interface NotificationDraft extends ScopeValue {
  readonly name: string;
  readonly events: readonly EventPattern[];
  readonly channel: keyof typeof channelFields;
  /** Of the fields of channels, by their path. */
  readonly values: Readonly<Record<string, string>>;
  readonly groupIds: readonly string[];
  readonly language: (typeof messageLanguages)[number];
  readonly timeZone: string;
  readonly duty: readonly TimeWindow[];
  readonly maxPerHour: number | undefined;
  /** Empty without escalation. */
  readonly escalatesTo: string;
  readonly afterMinutes: number | undefined;
}

/** The name of a notification, else its address. */
export const titleOf = ({ name, channel, target }: Notification): string =>
  name ?? texts.value.labelled(texts.value.notifications.channels[channel], target);

export function toDraft(notification: Notification | undefined): NotificationDraft {
  const { name = '', events = ['alarm.*'], vehicleIds, groupIds = [], timeZone = '' } = notification ?? {};
  const { language: written = language.value, duty = [], maxPerHour = 20, escalation } = notification ?? {};
  return {
    ...{ name, events, groupIds, timeZone, maxPerHour, language: languageOf(written) },
    channel: notification ? 'unchanged' : 'email',
    values: { 'sms.contentType': 'application/json', 'sms.body': '{"to":"{to}","text":"{text}"}' },
    duty: duty.map((hours) => ({ ...hours, weekdays: weekdays.filter((_, day) => hours.weekdays.includes(day + 1)) })),
    escalatesTo: escalation?.notificationId ?? '',
    afterMinutes: escalation?.afterMinutes ?? 15,
    isForAll: vehicleIds === undefined,
    vehicles: (vehicleIds ?? []).map((id) => ({ id, plate: id })),
  };
}

/** Returns the settings of the chosen channel, as a part of the body. */
function channelOf({ channel, values }: NotificationDraft): object {
  return channelFields[channel].reduce<object>((body, path) => {
    const value = values[path]?.trim() ?? '';
    return value === '' && path === 'sms.authorization' ? body : Object(writePath(body, path, value));
  }, {});
}

/** Builds the body of a creation or a change. @param ruleIds the form has no field for them */
export function toBody(draft: NotificationDraft, { ruleIds }: Pick<Notification, 'ruleIds'> = {}) {
  const { name, events, isForAll, vehicles, groupIds, timeZone, duty, maxPerHour = 0, escalatesTo } = draft;
  const hours = duty.map((one) => ({ ...one, weekdays: one.weekdays.map((day) => weekdays.indexOf(day) + 1) }));
  return {
    ...{ events: [...events], language: draft.language, maxPerHour },
    ...(name.trim() && { name: name.trim() }),
    ...(!isForAll && { vehicleIds: vehicles.map(({ id }) => id) }),
    ...(groupIds.length > 0 && { groupIds: [...groupIds] }),
    ...(ruleIds && { ruleIds }),
    ...(timeZone.trim() && { timeZone: timeZone.trim() }),
    ...(hours.length > 0 && { duty: hours }),
    ...(escalatesTo && { escalation: { notificationId: escalatesTo, afterMinutes: draft.afterMinutes ?? 0 } }),
    ...channelOf(draft),
  };
}

/** Loads the notifications of an application. @throws CallFailure */
export async function loadNotifications(appId: string): Promise<readonly Notification[]> {
  const params = { header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/notifications', { params }))).notifications;
}

/** The label of a field of a channel. */
export const labelOf = (path: string): string => {
  const name = path.slice(path.indexOf('.') + 1);
  return lookUp(texts.value.notifications.fields, name) ?? name;
};
