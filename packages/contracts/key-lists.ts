import Type from 'typebox';

/** Redis channel on which changed key lists are announced to the command service. */
export function keyListChannel(prefix: string): string {
  return `${prefix}:key-lists`;
}

/** Formats the id by which a device acknowledges a key list on v1/devices/{id}/acks. */
export function keyListAcknowledgementId(version: number): string {
  return `keys:${version}`;
}

/** Parses the version from the id of an acknowledgement; undefined for the acknowledgement of a command. */
export function parseKeyListAcknowledgementId(id: string): number | undefined {
  const digits = /^keys:(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** The retained message on v1/devices/{id}/keys; packages/keyless signs and checks it (docs/keyless.md, "The key list"). */
export const KeyListMessage = Type.Object({
  version: count('increases with every change'),
  keyVersion: count('version of the device key that signs authorization tokens'),
  epoch: count('lowest valid epoch of a token'),
  issuedAtMs: count('UNIX milliseconds, by the clock of the platform'),
  authorizations: Type.Array(
    Type.Object({
      id: Type.String({ format: 'uuid', description: 'authorization id' }),
      state: Type.Enum(['revoked', 'suspended']),
      untilMs: count('UNIX milliseconds, exclusive'),
    }),
  ),
  mac: Type.String({ description: 'HMAC-SHA-256 in base64url' }),
});
