import { answerOf, api, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { lookUp, texts } from '../../texts/texts.ts';

export type Webhook = Schema<'Webhook'>;

/** The types of events, and patterns for several types. */
export const eventPatterns = limits['/v1/x/webhooks'].types.enum;
export type EventPattern = (typeof eventPatterns)[number];

/** The pattern for all types of the same group. */
export const groupOf = (type: string): string => `${type.slice(0, type.indexOf('.'))}.*`;

/** Names events for people: "Alarms", "Alarms: raised". */
export function nameEvents(pattern: string): string {
  const { webhooks: text, labelled } = texts.value;
  if (pattern === '*') return text.allTypes;
  const group = lookUp(text.events, groupOf(pattern));
  const own = lookUp(text.events, pattern);
  if (group === undefined || own === undefined) return pattern;
  return pattern.endsWith('*') ? own : labelled(group, own);
}

/** Loads the webhooks of an application. @throws CallFailure */
export async function loadWebhooks(appId: string): Promise<readonly Webhook[]> {
  const params = { header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/webhooks', { params }))).webhooks;
}

/** Builds the parameters of a call for a webhook. */
export const paramsOf = (appId: string, id: string) => ({ path: { id }, header: headerFor(appId) });
