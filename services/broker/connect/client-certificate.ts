import { TLSSocket } from 'node:tls';

/** A client certificate signed by a certification authority of the devices. */
export interface ClientCertificate {
  /** Its only common name; undefined when it has none, or several. */
  readonly commonName: string | undefined;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Whether a client presented a certificate that no authority signed, or that is expired, revoked or not yet valid. */
export function hasBadCertificate(socket: TLSSocket): boolean {
  // Without a certificate a resumed TLS session counts as authorized, so the certificate is checked first.
  return socket.getPeerX509Certificate() !== undefined && !socket.authorized;
}

/** The client certificate of a connection whose handshake was accepted; undefined without one. */
export function clientCertificateOf(connection: unknown): ClientCertificate | undefined {
  if (!(connection instanceof TLSSocket) || connection.getPeerX509Certificate() === undefined) return undefined;
  const { subject, valid_from: issued, valid_to: expires } = connection.getPeerCertificate();
  // Declared as text, but a list when the subject has several.
  const commonName: unknown = subject?.CN;
  return {
    commonName: connection.authorized && typeof commonName === 'string' ? commonName : undefined,
    issuedAtMs: Date.parse(issued),
    expiresAtMs: Date.parse(expires),
  };
}
