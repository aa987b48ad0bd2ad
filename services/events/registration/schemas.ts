import { eventTypePatterns } from '@odograph/contracts/events';
import { uuidPattern } from '@odograph/contracts/text-patterns';
import { moment, text, timestamp, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

const WebhookId = Type.String({
  description: 'webhook identifier',
  examples: ['9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10'],
});
const EventId = text(1, 256, { description: 'event identifier', examples: ['5a1c-42'] });
const Types = Type.Array(word(eventTypePatterns), {
  ...{ minItems: 1, maxItems: eventTypePatterns.length, uniqueItems: true },
  description: 'types of events; `trip.*` stands for all types that begin so, `*` for all',
  examples: [['alarm.*', 'trip.finished']],
});
const url = { description: 'where events are posted to', examples: ['https://example.com/odograph'] };
const vehicleIds = Type.Array(VehicleId, {
  ...{ minItems: 1, maxItems: 1000 },
  description: 'events of these vehicles alone; left out for all vehicles, and events of no vehicle',
});

const groupId = Type.String({
  pattern: uuidPattern,
  description: 'only events of vehicles in this group and its subgroups',
  examples: ['0197a1de-5f0e-7000-8000-000000000007'],
});

export const WebhookPath = Type.Object({ id: WebhookId });
export const NewWebhook = Type.Object({
  url: text(1, 2048, url),
  types: Types,
  vehicleIds: Type.Optional(vehicleIds),
  groupId: Type.Optional(groupId),
});
export const ChangedWebhook = Type.Object({
  ...NewWebhook.properties,
  // Empty once all of its vehicles are deleted: what is shown can be sent back.
  vehicleIds: Type.Optional(Type.Array(VehicleId, { ...vehicleIds, minItems: 0 })),
  enabled: Type.Boolean({
    default: true,
    description: 'false stops the delivery; enabled again, it continues with the events since, as far as they are kept',
  }),
});
export type NewWebhook = Static<typeof NewWebhook>;

export const WebhookSecret = Type.Object(
  {
    id: WebhookId,
    secret: Type.String({
      description: 'verifies the signatures of deliveries (Standard Webhooks); shown only now',
      examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    }),
  },
  { title: 'WebhookSecret' },
);

export const webhookStates = ['active', 'failing', 'disabled'] as const;
const count = (description: string) => Type.Integer({ minimum: 0, description, examples: [0] });
export const Webhook = Type.Object(
  {
    id: WebhookId,
    url: Type.String(url),
    types: Types,
    vehicleIds: Type.Optional(vehicleIds),
    groupId: Type.Optional(groupId),
    state: word(webhookStates, { description: 'failing: nothing was delivered since `failingSince`' }),
    disabledReason: Type.Optional(
      word(['GONE', 'REQUESTED'] as const, { description: 'GONE: the receiver answered 410' }),
    ),
    createdAt: moment('of its creation'),
    lastSuccessAt: Type.Optional(moment('of the last delivery that succeeded')),
    failingSince: Type.Optional(moment('of the first failure since the last success')),
    nextAttemptAt: Type.Optional(moment('of the next attempt while the whole delivery is paused')),
    lastError: Type.Optional(Type.String({ description: 'of the last failure', examples: ['answered 500'] })),
    previousSecretUntil: Type.Optional(moment('until which the previous secret signs too')),
    waitingVehicles: count('vehicles whose next event is being tried again'),
    deadLetters: count('events not delivered within three days; see the list of dead letters'),
  },
  { title: 'Webhook' },
);
export type Webhook = Static<typeof Webhook>;

const limit = Type.Integer({
  minimum: 1,
  maximum: 1000,
  default: 100,
  description: 'maximum number of elements in the answer',
});
export const DeliveriesQuery = Type.Object({
  eventId: Type.Optional(EventId),
  failed: Type.Optional(Type.Boolean({ description: 'only attempts that failed, or only those that succeeded' })),
  limit,
  after: Type.Optional(Type.String({ pattern: '^[0-9]{1,18}$', description: 'continues a list; see the header Link' })),
});
export type DeliveriesQuery = Static<typeof DeliveriesQuery>;
const eventType = Type.String({ description: 'type of the event', examples: ['alarm.raised'] });
export const Delivery = Type.Object(
  {
    id: Type.String({ examples: ['1'] }),
    time: moment('of the end of the attempt'),
    eventId: EventId,
    type: eventType,
    vehicleId: Type.Optional(VehicleId),
    attempt: Type.Integer({ minimum: 1, description: 'at this event', examples: [1] }),
    status: Type.Optional(Type.Integer({ description: 'of the answer; left out without one', examples: [200] })),
    durationMs: Type.Integer({ minimum: 0, examples: [38] }),
    error: Type.Optional(Type.String({ description: 'left out after a success', examples: ['answered 500'] })),
  },
  { title: 'Delivery' },
);
export type Delivery = Static<typeof Delivery>;

export const DeadLettersQuery = Type.Object({
  limit,
  after: Type.Optional(Type.String({ maxLength: 320, description: 'continues a list; see the header Link' })),
});
export const DeadLetter = Type.Object(
  {
    eventId: EventId,
    type: eventType,
    vehicleId: Type.Optional(VehicleId),
    time: moment('of the event'),
    failedAt: moment('when it became a dead letter'),
    error: Type.String({ description: 'of the last attempt', examples: ['answered 500'] }),
  },
  { title: 'DeadLetter' },
);
export type DeadLetter = Static<typeof DeadLetter>;

export const Replay = Type.Object({
  from: Type.Optional(timestamp('sends every event from this time on again, in order')),
  eventIds: Type.Optional(
    Type.Array(EventId, { minItems: 1, maxItems: 1000, description: 'sends these dead letters again, once each' }),
  ),
});
export const Replaying = Type.Object(
  { deadLetters: Type.Optional(count('dead letters that will be sent again')) },
  { title: 'Replaying' },
);
export const TestDelivery = Type.Object(
  {
    delivered: Type.Boolean({ examples: [true] }),
    eventId: EventId,
    status: Type.Optional(Type.Integer({ description: 'of the answer; left out without one', examples: [200] })),
    durationMs: Type.Integer({ minimum: 0, examples: [38] }),
    error: Type.Optional(Type.String({ examples: ['the connection was refused'] })),
  },
  { title: 'TestDelivery' },
);
