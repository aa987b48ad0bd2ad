import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import type { KeylessCrypto } from './key-hierarchy.ts';

const algorithm = 'aes-256-gcm';
const tagBytes = 16;

/** The primitives of this package, implemented with node:crypto. */
export const nodeCrypto: KeylessCrypto = {
  sha256: (message) => createHash('sha256').update(message).digest(),
  hmacSha256: (key, message) => createHmac('sha256', key).update(message).digest(),
  sealAes256Gcm(key, nonce, header, plain) {
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(header);
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  },
  openAes256Gcm(key, nonce, header, sealed) {
    if (sealed.length < tagBytes) return undefined;
    const end = sealed.length - tagBytes;
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(header);
    decipher.setAuthTag(sealed.subarray(end));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
    } catch {
      return undefined;
    }
  },
};
