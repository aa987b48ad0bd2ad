import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 2000;

/** The process id of the Redis server that answers on the port, once it has loaded its data; undefined until then. */
export async function probeRedis(port: number): Promise<number | undefined> {
  const answer = await ask(port, 'INFO server\r\nPING\r\n', /\+PONG|-LOADING|-NOAUTH|-ERR/);
  const processId = /process_id:(\d+)/.exec(answer)?.[1];
  return answer.includes('+PONG') && processId !== undefined ? Number(processId) : undefined;
}

function ask(port: number, commands: string, complete: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(commands));
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (complete.test(answer)) socket.end();
    });
    // Refused while the server is not up yet: an empty answer says the same.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}
