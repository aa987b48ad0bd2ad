import { TLSSocket } from 'node:tls';

/** A certificate that a client presented and that the certification authority of the devices vouches for. */
export interface ClientCertificate {
  /** Its only common name; undefined when it has none, or several. */
  readonly commonName: string | undefined;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Whether a client presented a certificate that nobody vouches for, or that is not of now. */
export function hasBadCertificate(socket: TLSSocket): boolean {
  // Without a certificate a resumed session counts as authorized, so the certificate is asked for first.
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
