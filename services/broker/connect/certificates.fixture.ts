import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Certificates that openssl creates for one test, in its directory. */

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...parameters: string[]): void {
  const { status, stderr } = spawnSync('openssl', parameters);
  if (status !== 0) throw new Error(`openssl ${parameters.join(' ')}: ${stderr.toString()}`);
}

/**
 * Creates a self-signed certificate for a server or an authority.
 * @param hosts subject alternative names, such as IP:127.0.0.1, for clients that verify the certificate
 * @returns the files of the certificate and its key
 */
export function createSelfSigned(
  directory: string,
  name: string,
  hosts?: string,
): { certificate: string; key: string } {
  const [certificate, key] = [join(directory, `${name}.pem`), join(directory, `${name}-key.pem`)];
  const subject = ['-subj', `/CN=${name}`, ...(hosts === undefined ? [] : ['-addext', `subjectAltName=${hosts}`])];
  openssl('req', '-x509', ...newKey, '-days', '2', ...subject, '-keyout', key, '-out', certificate);
  return { certificate, key };
}

/** Creates the revocation list of an authority. @returns its file */
export function createRevocationList(
  directory: string,
  authority: { certificate: string; key: string },
  revoked: readonly Buffer[],
): string {
  const base = join(directory, `revoked-${Math.random().toString(36).slice(2)}`);
  writeFileSync(`${base}-index`, '');
  const settings = `database = ${base}-index\ndefault_md = sha256\ndefault_crl_days = 1\n`;
  writeFileSync(`${base}.cnf`, `[ca]\ndefault_ca = it\n[it]\n${settings}`);
  const signer = ['-config', `${base}.cnf`, '-cert', authority.certificate, '-keyfile', authority.key];
  for (const certificate of revoked) {
    writeFileSync(`${base}-one.pem`, certificate);
    openssl('ca', ...signer, '-revoke', `${base}-one.pem`);
  }
  openssl('ca', ...signer, '-gencrl', '-out', `${base}.pem`);
  return `${base}.pem`;
}

/** Issues a client certificate for a subject such as `/CN=device`. @param days of validity; negative for an expired one */
export function issueCertificate(
  directory: string,
  authority: { certificate: string; key: string },
  subject: string,
  days = 1,
): { cert: Buffer; key: Buffer } {
  const base = join(directory, `client-${Math.random().toString(36).slice(2)}`);
  openssl('req', ...newKey, '-subj', subject, '-keyout', `${base}-key.pem`, '-out', `${base}.csr`);
  const signer = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial'];
  openssl('x509', '-req', '-in', `${base}.csr`, ...signer, '-days', String(days), '-out', `${base}.pem`);
  return { cert: readFileSync(`${base}.pem`), key: readFileSync(`${base}-key.pem`) };
}
