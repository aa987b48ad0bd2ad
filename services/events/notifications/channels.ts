import { performance } from 'node:perf_hooks';
import { MailFailure } from '@odograph/mail/mailer';
import webPush from 'web-push';
import type { Attempt } from '../delivery/context.ts';
import { type PostOptions, Receiver } from '../delivery/receiver.ts';
import { asHtml, asText, cutText, type Message } from './messages.ts';
import type { PushKey } from './push-key.ts';
import type { ChannelName, NewNotification } from './schemas.ts';

/** The settings of a channel, with exactly one member. Contains secrets; stored sealed. */
export type ChannelSettings = Pick<NewNotification, ChannelName>;

export interface ChannelOptions extends Pick<PostOptions, 'addresses' | 'timeLimitMs' | 'mailer' | 'publicUrl'> {
  /** Called only by the push channel. */
  readonly findPushKey: () => Promise<PushKey>;
}

type Send = (message: Message) => Promise<Attempt>;

const telegramUrl = 'https://api.telegram.org';
const maxTelegramLength = 4000;
/** Maximum characters of title and body each; push services accept 4096 bytes including encryption. */
const maxPushLength = 600;
const maxSmsLength = 480;
const pushSeconds = 86_400;

/** Posts a request to a URL that an application chose. */
async function post(
  url: string,
  { addresses, timeLimitMs }: ChannelOptions,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): Promise<Attempt> {
  const receiver = new Receiver(url, { ...addresses, connections: 1, timeLimitMs });
  try {
    return await receiver.post({ 'user-agent': 'Odograph', ...headers }, body);
  } finally {
    await receiver.close();
  }
}

const postJson = (url: string, options: ChannelOptions, body: object) =>
  post(url, options, { 'content-type': 'application/json' }, JSON.stringify(body));

const sendMail =
  (to: string, { mailer, timeLimitMs }: ChannelOptions): Send =>
  async (message) => {
    const startMs = performance.now();
    const result = (outcome: Attempt['outcome'], error?: string, status?: number): Attempt => {
      return { outcome, error, status, retryAfterMs: 0, durationMs: Math.round(performance.now() - startMs) };
    };
    if (!mailer) return result('unreachable', 'SMTP_URL is not set');
    const { key, subject } = message;
    const limit = AbortSignal.timeout(timeLimitMs);
    try {
      await mailer.send({ to, subject, key, text: asText(message, false), html: asHtml(message) }, limit);
      return result('delivered');
    } catch (error) {
      if (!(error instanceof MailFailure)) throw error;
      if (limit.aborted) return result('timeout', `no answer in ${timeLimitMs / 1000} s`);
      return result(error.status === undefined ? 'unreachable' : 'refused', error.message, error.status);
    }
  };

const sendPush =
  ({ endpoint, keys }: NonNullable<ChannelSettings['push']>, options: ChannelOptions): Send =>
  async (message) => {
    const { key, subject: title, link: url } = message;
    const body = cutText(message.lines.join('\n'), maxPushLength);
    const { publicUrl = '' } = options;
    const subject = publicUrl.startsWith('https:') ? publicUrl : 'mailto:operator@odograph.invalid';
    const vapidDetails = { subject, ...(await options.findPushKey()) };
    const payload = JSON.stringify({ title: cutText(title, maxPushLength), body, url, tag: key });
    const details = { vapidDetails, TTL: pushSeconds, urgency: 'high' as const };
    const request = webPush.generateRequestDetails({ endpoint, keys }, payload, details);
    const headers = Object.entries(request.headers).map(
      ([name, value]) => [name.toLowerCase(), String(value)] as const,
    );
    const sent = new Map(headers.filter(([name]) => name !== 'content-length'));
    const attempt = await post(endpoint, options, Object.fromEntries(sent), request.body ?? Buffer.alloc(0));
    // The browser has unsubscribed (RFC 8030, section 7.3).
    return attempt.status === 404 ? { ...attempt, outcome: 'gone' } : attempt;
  };

const sendTelegram =
  ({ botToken, chatId, url = telegramUrl }: NonNullable<ChannelSettings['telegram']>, options: ChannelOptions): Send =>
  (message) => {
    const text = cutText(asText(message), maxTelegramLength);
    return postJson(`${url.replace(/\/$/, '')}/bot${botToken}/sendMessage`, options, { chat_id: chatId, text });
  };

/** Escapes text for Slack, which interprets `<…>` as links and mentions (Slack API, "Escaping text"). */
const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Builds an adaptive card of text runs, which do not interpret mark-up. */
function teamsCard({ subject, lines, link, linkText }: Message): object {
  const block = (text: string, weight = 'Default') => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, weight }],
  });
  const actions = link === undefined ? [] : [{ type: 'Action.OpenUrl', title: linkText, url: link }];
  const body = [block(subject, 'Bolder'), ...lines.map((line) => block(line))];
  const content = { type: 'AdaptiveCard', version: '1.4', body, actions };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

/** Replaces the placeholders of an SMS template by escaped values. */
export function fillSms(template: string, values: Readonly<Record<string, string>>, write: (text: string) => string) {
  return template.replaceAll(/\{(to|text|id)\}/g, (_all, name: string) => write(values[name] ?? ''));
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

const sendSms =
  ({ to, url, body, contentType, authorization }: NonNullable<ChannelSettings['sms']>, options: ChannelOptions): Send =>
  (message) => {
    const values = { to, text: cutText(asText(message), maxSmsLength), id: message.key };
    const write = contentType === 'application/json' ? inJson : encodeURIComponent;
    const headers = { 'content-type': contentType, ...(authorization !== undefined && { authorization }) };
    return post(fillSms(url, values, encodeURIComponent), options, headers, fillSms(body, values, write));
  };

/** Creates the send function of the configured channel. */
export function openChannel(settings: ChannelSettings, options: ChannelOptions): Send {
  const { email, push, telegram, slack, matrix, teams, sms } = settings;
  if (email !== undefined) return sendMail(email, options);
  if (push !== undefined) return sendPush(push, options);
  if (telegram !== undefined) return sendTelegram(telegram, options);
  if (slack !== undefined) return (message) => postJson(slack.url, options, { text: escapeSlack(asText(message)) });
  if (teams !== undefined) return (message) => postJson(teams.url, options, teamsCard(message));
  if (sms !== undefined) return sendSms(sms, options);
  if (matrix === undefined) throw new Error('the settings name no channel');
  return (message) => postJson(matrix.url, options, { text: asText(message), html: asHtml(message) });
}
