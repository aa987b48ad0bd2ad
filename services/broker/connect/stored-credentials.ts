import { equalSecrets } from '@odograph/runtime/secrets';

/** What a device is known by, as it is stored. */
export interface StoredCredentials {
  readonly secretSha256: Buffer;
  /** The secret before, which holds until `previousUntilMs`. */
  readonly previousSha256: Buffer | undefined;
  readonly previousUntilMs: number;
  /** Certificates issued before are revoked. */
  readonly certificatesFromMs: number;
}

/** What a device showed to be let in. */
export type Proof =
  | { readonly kind: 'secret'; readonly sha256: Buffer }
  | { readonly kind: 'certificate'; readonly issuedAtMs: number; readonly expiresAtMs: number };

/** Compared with when there is nothing to compare with, so that an unknown device takes as long as a wrong secret. */
const nobody: StoredCredentials = {
  secretSha256: Buffer.alloc(32),
  previousSha256: undefined,
  previousUntilMs: 0,
  certificatesFromMs: Number.POSITIVE_INFINITY,
};

/** Until when a proof lets its device in, in ms since 1970, Infinity for no end; 0 when it does not. */
export function validUntil(proof: Proof, stored: StoredCredentials | undefined, nowMs: number): number {
  const known = stored ?? nobody;
  const untilMs = proof.kind === 'secret' ? secretValidUntil(proof.sha256, known) : certificateValidUntil(proof, known);
  return stored !== undefined && untilMs > nowMs ? untilMs : 0;
}

/** The newest secret if it was shown while the one before still holds, which its first use ends. */
export function replacingSecret(proofs: readonly Proof[], stored: StoredCredentials): Buffer | undefined {
  const shown = proofs.find((proof) => proof.kind === 'secret')?.sha256;
  if (shown === undefined || stored.previousSha256 === undefined) return undefined;
  return equalSecrets(shown, stored.secretSha256) ? shown : undefined;
}

function secretValidUntil(sha256: Buffer, { secretSha256, previousSha256, previousUntilMs }: StoredCredentials) {
  const isCurrent = equalSecrets(sha256, secretSha256);
  const isPrevious = equalSecrets(sha256, previousSha256 ?? nobody.secretSha256) && previousSha256 !== undefined;
  if (isCurrent) return Number.POSITIVE_INFINITY;
  return isPrevious ? previousUntilMs : 0;
}

function certificateValidUntil(
  { issuedAtMs, expiresAtMs }: { issuedAtMs: number; expiresAtMs: number },
  { certificatesFromMs }: StoredCredentials,
): number {
  return issuedAtMs >= certificatesFromMs ? expiresAtMs : 0;
}
