/**
 * The cryptographic primitives of keyless access, which a port to firmware supplies. node-crypto.ts implements them for
 * Node.js; no other file of this package imports anything from outside it.
 */
export interface KeylessCrypto {
  /** FIPS 180-4; 32 bytes. */
  sha256(message: Uint8Array): Uint8Array;
  /** RFC 2104 with SHA-256; 32 bytes. */
  hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array;
  /** NIST SP 800-38D, AES-256-GCM with a nonce of 12 bytes; returns ciphertext and 16-byte tag. */
  sealAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, plain: Uint8Array): Uint8Array;
  /** Decrypts what sealAes256Gcm() returned; undefined for anything altered. */
  openAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, sealed: Uint8Array): Uint8Array | undefined;
}
