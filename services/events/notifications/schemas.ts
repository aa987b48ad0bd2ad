import { eventTypePatterns } from '@odograph/contracts/events';
import { uuidPattern } from '@odograph/contracts/text-patterns';
import { moment, text, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';
import { languages } from './messages.ts';

const id = (description: string) =>
  Type.String({ pattern: uuidPattern, description, examples: ['9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10'] });

/** Of RFC 8291, section 5. */
const examplePushKey = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';

/** The channels of a notification, of which exactly one is given. */
export const Channels = {
  email: Type.String({
    ...{ maxLength: 254, pattern: '^[^\\s<>@,;:"\\\\()\\[\\]]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$' },
    ...{ description: 'e-mail address; requires SMTP_URL', examples: ['ann@example.com'] },
  }),
  push: Type.Object(
    {
      endpoint: text(1, 2048, { examples: ['https://push.example.com/abc'] }),
      keys: Type.Object({
        p256dh: Type.String({ pattern: '^[A-Za-z0-9_-]{87}=?$', examples: [examplePushKey] }),
        auth: Type.String({ pattern: '^[A-Za-z0-9_-]{22}(==)?$', examples: ['BTBZMqHH6r4Tts7J_aSIgg'] }),
      }),
      expirationTime: Type.Optional(
        Type.Union([Type.Number(), Type.Null()], { description: 'ignored: an expired subscription answers 410' }),
      ),
    },
    { description: 'subscription of a browser, from PushSubscription.toJSON()' },
  ),
  telegram: Type.Object({
    botToken: Type.String({ pattern: '^\\d{1,20}:[A-Za-z0-9_-]{20,100}$', examples: [`1234:${'A'.repeat(35)}`] }),
    chatId: Type.String({ pattern: '^(-?\\d{1,20}|@\\w{1,64})$', examples: ['-1001234567890'] }),
    url: Type.Optional(
      text(1, 2048, { description: 'your own Bot API server', examples: ['https://api.telegram.org'] }),
    ),
  }),
  slack: Type.Object({ url: text(1, 2048, { examples: ['https://hooks.slack.com/services/T0/B0/x'] }) }),
  matrix: Type.Object({ url: text(1, 2048, { examples: ['https://matrix.example.com/webhook/x'] }) }),
  teams: Type.Object({ url: text(1, 2048, { examples: ['https://example.com/workflows/x'] }) }),
  sms: Type.Object(
    {
      to: Type.String({ pattern: '^\\+?\\d{3,20}$', examples: ['+33612345678'] }),
      url: text(1, 2048, { examples: ['https://sms.example.com/send'] }),
      body: text(0, 4000, { examples: ['{"to":"{to}","text":"{text}"}'] }),
      contentType: word(['application/json', 'application/x-www-form-urlencoded'] as const),
      authorization: Type.Optional(
        Type.String({
          ...{ minLength: 1, maxLength: 1000, pattern: '^[ -~]+$' },
          ...{ description: 'value of the header Authorization', examples: ['Bearer x'] },
        }),
      ),
    },
    { description: 'SMS provider; url and body may contain {to}, {text} and {id}, which are escaped' },
  ),
} as const;
export type ChannelName = keyof typeof Channels;
export const channelNames = Object.keys(Channels) as ChannelName[];

const time = (description: string, example: string) =>
  Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', description, examples: [example] });
const Duty = Type.Object({
  weekdays: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    ...{ minItems: 1, maxItems: 7, uniqueItems: true },
    ...{ description: 'Monday is 1', examples: [[1, 2, 3, 4, 5]] },
  }),
  from: time('local time', '06:00'),
  until: time('local time, exclusive; of the next day if it is not after `from`', '22:00'),
});

const selection = {
  name: Type.Optional(text(1, 100, { description: 'for people', examples: ['Night shift'] })),
  events: Type.Array(word(eventTypePatterns), {
    ...{ minItems: 1, maxItems: eventTypePatterns.length, uniqueItems: true },
    description:
      'event types; `alarm.*` matches every type with that prefix, `*` every type. Readings are never sent, commands only if they failed',
    examples: [['alarm.raised', 'device.silent']],
  }),
  vehicleIds: Type.Optional(
    Type.Array(VehicleId, {
      ...{
        maxItems: 1000,
        description: 'only events of these vehicles; default: all vehicles, and events without a vehicle',
      },
    }),
  ),
  groupIds: Type.Optional(
    Type.Array(id('vehicle group'), {
      ...{ minItems: 1, maxItems: 100 },
      description: 'only events of vehicles in these groups and their subgroups',
    }),
  ),
  ruleIds: Type.Optional(
    Type.Array(id('alarm rule'), { minItems: 1, maxItems: 100, description: 'limits alarms to those of these rules' }),
  ),
  language: Type.Unsafe<string>({
    type: 'string',
    enum: [...languages],
    default: 'en',
    description: 'language of messages',
  }),
  timeZone: Type.Optional(
    text(1, 64, { description: 'for times and duty hours; default: that of the application', examples: ['UTC'] }),
  ),
  duty: Type.Optional(
    Type.Array(Duty, { minItems: 1, maxItems: 20, description: 'duty hours; events outside them are skipped' }),
  ),
  maxPerHour: Type.Integer({
    ...{ minimum: 1, maximum: 1000, default: 20 },
    description: 'messages in 60 minutes; further events are sent in one digest',
  }),
  escalation: Type.Optional(
    Type.Object(
      { notificationId: id('is told'), afterMinutes: Type.Integer({ minimum: 1, maximum: 10_080 }) },
      { description: 'for alarms that nobody has acknowledged after this many minutes' },
    ),
  ),
};

/** Exactly one channel is given; a change may omit it to keep the current one. */
export const NewNotification = Type.Object({ ...Type.Partial(Type.Object(Channels)).properties, ...selection });
export const ChangedNotification = Type.Object({
  ...NewNotification.properties,
  enabled: Type.Boolean({
    default: true,
    description: 'false: events stay in the list and are delivered once enabled',
  }),
});
export type NewNotification = Static<typeof NewNotification>;

const notificationId = id('notification identifier');
export const CreatedNotification = Type.Object({ id: notificationId }, { title: 'CreatedNotification' });
export const NotificationPath = Type.Object({ id: Type.String({ description: 'notification identifier' }) });

export const Notification = Type.Object(
  {
    id: notificationId,
    channel: word(channelNames),
    target: Type.String({ description: 'the part of its address that is shown', examples: ['ann@example.com'] }),
    ...selection,
    language: Type.String({ examples: ['en'] }),
    state: word(['active', 'failing', 'disabled'] as const, { description: 'failing: the last attempt failed' }),
    disabledReason: Type.Optional(
      word(['GONE', 'REQUESTED'] as const, { description: 'GONE: the subscription or webhook no longer exists' }),
    ),
    createdAt: moment('of its creation'),
    lastSuccessAt: Type.Optional(moment('of the last message that was accepted')),
    failingSince: Type.Optional(moment('of the first failure since')),
    lastError: Type.Optional(Type.String({ examples: ['the mail server answered 550'] })),
    held: Type.Integer({ minimum: 0, description: 'events held for the next digest', examples: [0] }),
    undelivered: Type.Integer({
      minimum: 0,
      description: 'dead letters: events not delivered within three days',
      examples: [0],
    }),
  },
  { title: 'Notification' },
);
export type Notification = Static<typeof Notification>;

export const PushKey = Type.Object(
  { publicKey: Type.String({ description: 'for PushManager.subscribe(), base64url', examples: ['BAAA'] }) },
  { title: 'PushKey' },
);
