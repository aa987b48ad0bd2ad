import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

/** Creates a secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

/** A secret as the key of its HMAC. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(prefix.length), 'base64'));
}

/** What a delivery is identified and verified by. */
export interface SignedHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs a delivery with HMAC-SHA-256 under each key (Standard Webhooks, "Webhook headers").
 * @param keys while a secret is rotated, both
 */
export function signHeaders(keys: readonly KeyObject[], id: string, now: Date, body: string): SignedHeaders {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signatures = keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
