/**
 * All the cryptography that keyless access needs. Whoever ports it to a box gives these four functions; node-crypto.ts is
 * the implementation for Node, and nothing else in this package imports anything from outside it.
 */
export interface KeylessCrypto {
  /** FIPS 180-4; 32 bytes. */
  sha256(message: Uint8Array): Uint8Array;
  /** RFC 2104 with SHA-256; 32 bytes. */
  hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array;
  /** NIST SP 800-38D, AES-256-GCM with a nonce of 12 bytes; the ciphertext with its tag of 16 bytes behind it. */
  sealAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, plain: Uint8Array): Uint8Array;
  /** The reverse; undefined when anything was changed. */
  openAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, sealed: Uint8Array): Uint8Array | undefined;
}
