import { createECDH } from 'node:crypto';
import { invalidParameter } from '@odograph/contracts/failures';
import type { AddressRules } from '../delivery/addresses.ts';
import { requireUrl } from '../registration/rules.ts';
import { type ChannelSettings, fillSms } from './channels.ts';
import { type ChannelName, channelNames } from './schemas.ts';

/** The channel of a request. */
export interface Channel {
  readonly name: ChannelName;
  /** The non-secret part of the address, for display. */
  readonly target: string;
  readonly settings: ChannelSettings;
}

const hostOf = (url: string): string => new URL(url).host;

/** Validates the URL of an SMS provider, whose host must not depend on placeholders. @returns the host */
function requireSmsUrl(url: string, rules: AddressRules): string {
  if (/^[^:]*:[/\\]*[^/\\?#]*\{/.test(url)) throw invalidParameter('sms.url', 'must hold no placeholder in its host');
  return hostOf(requireUrl(fillSms(url, { to: '1', text: '1', id: '1' }, encodeURIComponent), rules, 'sms.url'));
}

/** Validates the public key of a browser, for which messages are encrypted. */
function requirePushKey(p256dh: string): void {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  try {
    ecdh.computeSecret(Buffer.from(p256dh, 'base64url'));
  } catch {
    throw invalidParameter('push.keys.p256dh', 'must be a point of the curve P-256');
  }
}

function targetOf({ email, push, telegram, slack, matrix, teams, sms }: ChannelSettings, rules: AddressRules): string {
  if (email !== undefined) return email;
  if (push !== undefined) {
    requirePushKey(push.keys.p256dh);
    return hostOf(requireUrl(push.endpoint, rules, 'push.endpoint'));
  }
  if (telegram !== undefined) {
    if (telegram.url !== undefined) requireUrl(telegram.url, rules, 'telegram.url');
    return telegram.chatId;
  }
  if (sms !== undefined) {
    requireSmsUrl(sms.url, rules);
    return sms.to;
  }
  if (slack !== undefined) return hostOf(requireUrl(slack.url, rules, 'slack.url'));
  if (matrix !== undefined) return hostOf(requireUrl(matrix.url, rules, 'matrix.url'));
  return hostOf(requireUrl(teams?.url ?? '', rules, 'teams.url'));
}

/**
 * Validates the channel of a request.
 * @param mayMail whether a mail server is configured
 * @returns undefined without a channel
 * @throws Failure INVALID_PARAMETER for several channels or an address that is not permitted
 */
export function readChannel(body: ChannelSettings, rules: AddressRules, mayMail: boolean): Channel | undefined {
  const [name, ...others] = channelNames.filter((one) => body[one] !== undefined);
  if (name === undefined) return undefined;
  if (others.length > 0) throw invalidParameter(others[0] ?? name, `cannot be combined with ${name}`);
  if (name === 'email' && !mayMail) throw invalidParameter('email', 'requires the setting SMTP_URL');
  const settings: ChannelSettings = { [name]: body[name] };
  return { name, target: targetOf(settings, rules), settings };
}

/** @throws Failure INVALID_PARAMETER without a channel */
export function requireChannel(body: ChannelSettings, rules: AddressRules, mayMail: boolean): Channel {
  const channel = readChannel(body, rules, mayMail);
  if (channel) return channel;
  throw invalidParameter('email', `or another of ${channelNames.join(', ')} must be given`);
}
