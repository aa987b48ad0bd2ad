import type { Socket } from 'node:net';

const statusOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are no HTTP request, or that come too slowly or with too many headers, and closes the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  // An answer that has begun cannot become another one.
  if (error.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent) {
    socket.destroy();
    return;
  }
  const status = statusOf[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: 'INVALID_PARAMETER', message: 'the request cannot be read', field: 'request' });
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
  socket.destroySoon();
}
