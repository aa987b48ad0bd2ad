import { answerOf, sessionEnded } from '../../api/client.ts';

/** The platform takes parts of at most 4 MiB. */
const partBytes = 4 * 1024 ** 2;

const createId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

async function sendPart(query: URLSearchParams, body: Blob) {
  const headers = { 'content-type': 'application/octet-stream' };
  const response = await fetch(`/v1/x/admin/map?${query}`, { method: 'PUT', headers, body });
  if (response.status === 401) sessionEnded.value = true;
  return { response, error: await response.json().catch(() => undefined) };
}

/** Sends a map file in parts. @param onProgress receives the share sent, from 0 to 1 @throws CallFailure */
export async function uploadMap(file: File, onProgress: (share: number) => void): Promise<void> {
  const upload = createId();
  for (let offset = 0; offset < file.size; offset += partBytes) {
    onProgress(offset / file.size);
    const query = new URLSearchParams({ upload, offset: String(offset), size: String(file.size) });
    await answerOf(sendPart(query, file.slice(offset, offset + partBytes)));
  }
}
